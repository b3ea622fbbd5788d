//! Trials: trainings of a small PointNet with given hyper-parameters, on trees of the built-in forest.

use anyhow::Result;
use canopy::{
    kernels::Pass,
    loader::{Augment, Collate},
    schedule::cosine_with_warmup,
    search::{Parameter, Range, Value},
    train::{
        Config, Loss, evaluate,
        short::{self, Forest, Learner},
    },
};

/// Points of a cloud.
pub const POINTS: usize = 64;
/// Epochs of a whole trial.
pub const EPOCHS: u64 = 16;

/// Hyper-parameters by name.
pub type Values = Vec<(String, Value)>;

/// The space that is searched. Only one of the two optimizers has a momentum.
pub fn space() -> Vec<Parameter> {
    let word = |word: &str| Value::Word(word.into());
    let log = |low, high| Range::Log { low, high };
    let batches = [16.0, 32.0].map(Value::Number);
    let all = [
        ("optimizer", Range::Choice(vec![word("adamw"), word("sgd")])),
        ("learning-rate", log(1e-4, 1.0)),
        ("weight-decay", log(1e-5, 0.1)),
        ("momentum", Range::Uniform { low: 0.0, high: 0.99 }),
        ("batch", Range::Choice(batches.into())),
    ];
    let parameter = |(name, range): (&str, Range)| Parameter {
        name: name.into(),
        range,
        only_if: (name == "momentum").then(|| ("optimizer".into(), word("sgd"))),
    };
    all.map(parameter).into()
}

/// A grid of the two optimizers and five learning rates. All else is canopy's default.
pub fn grid() -> Vec<Values> {
    let trial = |i: usize| {
        let optimizer = Value::Word(["adamw", "sgd"][i / 5].into());
        let rate = Value::Number([1e-4, 1e-3, 1e-2, 0.1, 1.0][i % 5]);
        vec![("optimizer".into(), optimizer), ("learning-rate".into(), rate)]
    };
    (0..10).map(trial).collect()
}

/// The trees, divided into training, validation and test set.
pub fn forest(seed: u64) -> Result<Forest> {
    Forest::open(Config {
        validation: 0.2,
        test: 0.3,
        // The trials are trained in parallel, by the CPU's threads.
        device: "cpu".into(),
        ..short::small(POINTS, seed)
    })
}

/// A trial in training.
pub struct Trial {
    pub values: Values,
    config: Config,
    learner: Learner,
    /// Epochs, and the validation accuracy after them; NaN if training has diverged.
    pub scores: Vec<(u64, f64)>,
    /// Whether it classifies each validation cloud correctly.
    pub correct: Vec<bool>,
}

impl Trial {
    /// A trial before its first epoch.
    pub fn new(forest: &Forest, values: Values) -> Result<Self> {
        let mut config = forest.config.clone();
        for (name, value) in &values {
            match (&**name, value) {
                ("optimizer", Value::Word(word)) => config.optimizer.clone_from(word),
                ("learning-rate", Value::Number(x)) => config.learning_rate = *x,
                ("weight-decay", Value::Number(x)) => config.weight_decay = *x,
                ("momentum", Value::Number(x)) => config.momentum = *x,
                ("batch", Value::Number(x)) => config.batch = *x as usize,
                _ => {}
            }
        }
        let model = forest.model()?;
        let optimizer = config.optim()?.build(model.params())?;
        Ok(Self {
            values,
            config,
            learner: Learner::new(model, optimizer, Loss::CROSS_ENTROPY),
            scores: Vec::new(),
            correct: Vec::new(),
        })
    }

    /// A trial with the weights and the optimizer's state of this one, and other hyper-parameters.
    pub fn continue_with(&self, forest: &Forest, values: Values) -> Result<Self> {
        let mut next = Self::new(forest, values)?;
        let weights = self.learner.model.to_map()?.into_iter().collect();
        next.learner.model.from_map(&weights, "the copied trial")?;
        let state = self.learner.optimizer.state()?.into_iter().collect();
        next.learner.optimizer.load_state(&state)?;
        next.scores.clone_from(&self.scores);
        Ok(next)
    }

    /// Trains until it has `epochs` epochs, with the learning-rate schedule of a whole trial, and evaluates it.
    pub fn train(&mut self, forest: &Forest, epochs: u64) -> Result<()> {
        let (batch, peak) = (self.config.batch, self.config.learning_rate);
        let steps = (forest.split.train.len() / batch) as u64;
        let mut loss = 0.0;
        for epoch in self.scores.last().map_or(0, |(epochs, _)| *epochs)..epochs {
            let first = self.learner.steps;
            let step = |step| epoch * steps + step - first;
            let mut rate = |now| cosine_with_warmup(step(now), steps / 2, EPOCHS * steps, peak, 0.0);
            loss = self.learner.epoch(&mut forest.epoch(epoch, batch), &mut rate)?;
        }
        // After few steps, batch norm's running statistics lag behind the weights. Training does not use them.
        for batch in forest.epoch(0, 64).chain(forest.epoch(1, 64)) {
            self.learner.model.forward(&batch?.0, &Pass::train(0, 0))?;
        }
        self.correct = self.classifies(forest, &forest.split.validation)?;
        let accuracy = share(&self.correct);
        let score = if loss.is_finite() { accuracy } else { f64::NAN };
        self.scores.push((epochs, score));
        Ok(())
    }

    /// Its score after so many epochs.
    pub fn score(&self, epochs: u64) -> f64 {
        let scored = self.scores.iter().find(|(at, _)| *at == epochs);
        scored.map_or(f64::NAN, |(_, score)| *score)
    }

    /// Whether it classifies each of `records` correctly.
    pub fn classifies(&self, forest: &Forest, records: &[usize]) -> Result<Vec<bool>> {
        let (augment, base) = (Augment::NONE, forest.collate());
        let collate = Collate { augment, ..base };
        let (points, species) = collate.batch(records, 0)?.to_device(&forest.device)?;
        let probabilities = evaluate::probabilities(&self.learner.model, &points, &Pass::eval())?;
        let right = probabilities.argmax(1)?.eq(&species)?.to_vec1::<u8>()?;
        Ok(right.into_iter().map(|right| right == 1).collect())
    }
}

/// The share that is true.
pub fn share(correct: &[bool]) -> f64 {
    correct.iter().filter(|c| **c).count() as f64 / correct.len() as f64
}
