use canopy::optim::{AdamConfig, AdamState};
use grader::{Draw, Finding, Verdict, draw};

use super::{
    shown,
    steps::{ALIKE, DTYPES, Kind, SHAPES, Steps},
};
use crate::Lesson01;

/// Where Adam begins: the steps that it has counted, and the numbers in m and v.
type Start = (u64, f64, f64);

const FRESH: Start = (0, 0.0, 0.0);

struct Ran {
    steps: Steps,
    rates: Vec<f64>,
    state: AdamState,
    config: AdamConfig,
    start: Start,
}

impl Ran {
    fn new(answer: &Lesson01, steps: Steps, rates: &[f64], config: AdamConfig) -> Result<Self, Finding> {
        Self::from(answer, steps, rates, config, FRESH)
    }

    fn from(
        answer: &Lesson01,
        steps: Steps,
        rates: &[f64],
        config: AdamConfig,
        start: Start,
    ) -> Result<Self, Finding> {
        let (beta1, beta2, eps) = (config.beta1, config.beta2, config.eps);
        let lr = shown(rates);
        let mut settings = format!("lr {lr}, β₁ {beta1}, β₂ {beta2}, ε {eps:e}");
        if start != FRESH {
            let (step, m, v) = start;
            settings += &format!(", state.step {step}, m {m}, v {v}");
        }
        let steps = steps.set(settings);
        let mut state = AdamState {
            step: start.0,
            mean: steps.filled(start.1)?,
            square: steps.filled(start.2)?,
        };
        for (grads, &lr) in steps.grads.iter().zip(rates) {
            steps.ended((answer.adam_step)(&steps.params, grads, &mut state, lr, &config))?;
        }
        Ok(Self {
            steps,
            rates: rates.into(),
            state,
            config,
            start,
        })
    }

    /// w, m and v of one number after all steps.
    fn by_hand(&self, w: f64, slopes: &[f64]) -> [f64; 3] {
        let c = &self.config;
        let (mut t, mut m, mut v) = (self.start.0 as i32, self.start.1, self.start.2);
        let mut w = w;
        for (g, lr) in slopes.iter().zip(&self.rates) {
            t += 1;
            m = c.beta1 * m + (1.0 - c.beta1) * g;
            v = c.beta2 * v + (1.0 - c.beta2) * g * g;
            let corrected = (m / (1.0 - c.beta1.powi(t)), v / (1.0 - c.beta2.powi(t)));
            w -= lr * corrected.0 / (corrected.1.sqrt() + c.eps);
        }
        [w, m, v]
    }

    fn parameters(&self) -> Verdict {
        let rule = |w: f64, g: &[f64]| self.by_hand(w, g)[0];
        self.steps.check("parameter", &self.steps.params, rule)
    }

    fn means(&self) -> Verdict {
        let mean = |w: f64, g: &[f64]| self.by_hand(w, g)[1];
        self.steps.check("mean m of parameter", &self.state.mean, mean)?;
        let square = |w: f64, g: &[f64]| self.by_hand(w, g)[2];
        self.steps
            .check("mean square v of parameter", &self.state.square, square)
    }

    fn count(&self) -> Verdict {
        let count = self.start.0 + self.rates.len() as u64;
        self.steps.case(0).close("state.step", self.state.step, count)
    }
}

fn drawn_config(draw: &mut Draw) -> AdamConfig {
    let thousandths = |x: f64| (x * 1e3).round() / 1e3;
    AdamConfig {
        beta1: thousandths(draw.number(0.6, 0.8)),
        beta2: thousandths(draw.number(0.9, 0.95)),
        ..AdamConfig::default()
    }
}

pub fn first_step_has_size_lr(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    for kinds in [&ALIKE[..1], &ALIKE] {
        let steps = Steps::new(&mut draw, kinds, 1)?;
        Ran::new(answer, steps, &[0.125], AdamConfig::default())?.parameters()?;
    }
    let steps = Steps::new(&mut draw, &SHAPES, 1)?;
    let steps = steps.with_gradient(0, 0, 1e4)?.with_gradient(0, 1, 1e-4)?;
    Ran::new(answer, steps, &[0.125], AdamConfig::default())?.parameters()
}

pub fn corrects_the_bias_of_both_means(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = drawn_config(&mut draw);
    let steps = Steps::new(&mut draw, &ALIKE, 3)?;
    Ran::new(answer, steps, &[0.1; 3], config)?.parameters()
}

pub fn stores_both_means(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = drawn_config(&mut draw);
    Ran::new(answer, Steps::new(&mut draw, &ALIKE, 2)?, &[0.1; 2], config)?.means()
}

pub fn counts_the_steps(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(2, 6);
    let steps = Steps::new(&mut draw, &SHAPES, count)?;
    Ran::new(answer, steps, &vec![0.1; count], AdamConfig::default())?.count()?;
    // As after a training that was interrupted.
    let start = (draw.whole(5, 40) as u64, 0.25, 0.5);
    let config = drawn_config(&mut draw);
    let ran = Ran::from(
        answer,
        Steps::new(&mut draw, &ALIKE, 2)?,
        &[0.1; 2],
        config,
        start,
    )?;
    ran.count()?;
    ran.parameters()?;
    ran.means()
}

pub fn adds_epsilon_after_the_root(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = AdamConfig {
        eps: 0.5,
        ..drawn_config(&mut draw)
    };
    Ran::new(answer, Steps::new(&mut draw, &ALIKE, 3)?, &[0.1; 3], config)?.parameters()?;
    // A gradient that has always been 0 does not move the parameter.
    let steps = Steps::new(&mut draw, &ALIKE, 1)?.with_gradient(0, 0, 0.0)?;
    Ran::new(answer, steps, &[0.1], AdamConfig::default())?.parameters()
}

pub fn updates_the_means_without_a_gradient(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = drawn_config(&mut draw);
    for i in 0..3 {
        let steps = Steps::new(&mut draw, &SHAPES, 3)?.with_gradient(1, i, 0.0)?;
        let ran = Ran::new(answer, steps, &[0.1; 3], config.clone())?;
        ran.parameters()?;
        ran.means()?;
    }
    let none = Steps::new(&mut draw, &[] as &[Kind], 1)?;
    Ran::new(answer, none, &[0.1], config)?.count()
}

pub fn steps_at_the_current_rate(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let config = drawn_config(&mut draw);
    let ran = Ran::new(
        answer,
        Steps::new(&mut draw, &ALIKE, 3)?,
        &[0.1, 0.0, 0.01],
        config,
    )?;
    ran.parameters()?;
    ran.means()
}

pub fn keeps_the_dtype_of_the_means(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    // ε and both β are numbers of every dtype.
    let config = AdamConfig {
        beta1: 0.5,
        beta2: 0.75,
        eps: 0.125,
        ..AdamConfig::default()
    };
    let steps = Steps::new(&mut draw, &DTYPES, 2)?.with_size(0, 1e40)?;
    let ran = Ran::new(answer, steps, &[0.25; 2], config)?;
    ran.means()?;
    ran.parameters()?;
    let steps = Steps::new(&mut draw, &DTYPES[1..2], 3)?;
    let ran = Ran::new(answer, steps, &[0.1; 3], AdamConfig::default())?;
    ran.parameters()?;
    ran.means()
}
