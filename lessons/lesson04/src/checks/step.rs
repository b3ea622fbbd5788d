mod calls;

use candle_core::{DType, Device, Result, Tensor};
use canopy::{
    kernels::{Pass, cross_entropy, weighted_sum},
    model::{Kind, Output, PointNet, orthogonality},
    train::{Loss, OnDevice},
};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::{
    refuse, said,
    tiny::{CLASSES, Recorder, batch, bits, network},
    values,
};
use crate::Lesson04;

pub use calls::*;

const PLAIN: Loss = Loss {
    smoothing: 0.0,
    class_weights: None,
    orthogonality: 0.0,
};

/// A network before its step, its twin, and a batch.
struct Place {
    kind: Kind,
    dtype: DType,
    clouds: usize,
    model: PointNet,
    twin: PointNet,
    points: Tensor,
    labels: Tensor,
    step: u64,
}

/// The results of a student's step.
struct Stepped {
    case: Case,
    loss: Tensor,
    hits: Tensor,
    recorder: Recorder,
}

impl Place {
    fn new(draw: &mut Draw, kind: Kind) -> Result<Self> {
        let clouds = draw.whole(5, 9);
        Self::of(draw, kind, clouds, DType::F32)
    }

    fn of(draw: &mut Draw, kind: Kind, clouds: usize, dtype: DType) -> Result<Self> {
        let seed = draw.whole(1, 10_000) as u64;
        let (points, labels) = batch(draw, clouds)?;
        let mut place = Self {
            kind,
            dtype,
            clouds,
            model: network(kind, dtype, seed)?,
            twin: network(kind, dtype, seed)?,
            points: points.to_dtype(dtype)?,
            labels,
            step: draw.whole(0, 50) as u64,
        };
        // In a large batch all predictions but the second are correct, in a small one only the first is.
        let other = network(kind, dtype, seed)?;
        let logits = said(other.forward(&place.points, &place.pass()))?.logits;
        let named: Vec<u32> = logits.argmax(1)?.to_vec1()?;
        let mut labels: Vec<u32> = place.labels.to_vec1()?;
        if clouds > 255 {
            labels.clone_from(&named);
        }
        (labels[0], labels[1]) = (named[0], (named[1] + 1) % CLASSES as u32);
        place.labels = Tensor::from_vec(labels, clouds, &Device::Cpu)?;
        Ok(place)
    }

    fn pass(&self) -> Pass {
        Pass::train(11, self.step)
    }

    /// An untrained transform is the identity, whose term is 0.
    fn tilted(self) -> Result<Self> {
        self.change("feature_transform.out.bias", |i| (i % 5) as f32 * 0.3 - 0.5)
    }

    /// Replaces a parameter of the network and of its twin.
    fn change(self, wanted: &str, value: impl Fn(usize) -> f32) -> Result<Self> {
        for model in [&self.model, &self.twin] {
            for (_, var) in model.params().iter().filter(|(name, _)| name == wanted) {
                let count = var.elem_count();
                let numbers: Vec<f32> = (0..count).map(&value).collect();
                var.set(&Tensor::from_vec(numbers, count, &Device::Cpu)?.to_dtype(self.dtype)?)?;
            }
        }
        Ok(self)
    }

    fn told(&self, loss: &Loss, rate: f64, clip: f64) -> String {
        let weights = if loss.class_weights.is_some() {
            "given"
        } else {
            "none"
        };
        format!(
            "a narrow {} PointNet in {}, {} clouds of 8 points, smoothing {}, class weights {weights}, orthogonality {}, \
             rate {}, clip {}",
            self.kind,
            self.dtype.as_str(),
            self.clouds,
            loss.smoothing,
            grader::number(loss.orthogonality),
            grader::number(rate),
            grader::number(clip)
        )
    }

    fn stepped(&self, answer: &Lesson04, loss: &Loss, rate: f64, clip: f64) -> Result<Stepped> {
        said(self.try_step(answer, loss, rate, clip))
    }

    fn try_step(&self, answer: &Lesson04, loss: &Loss, rate: f64, clip: f64) -> anyhow::Result<Stepped> {
        let case = given(self.told(loss, rate, clip));
        let mut recorder = Recorder::new(&self.model);
        // Copies, because the expected results are computed afterwards and an answer can write into a tensor.
        let data = (&self.points.copy()?, &self.labels.copy()?);
        let loss = &Loss {
            class_weights: loss.class_weights.as_ref().map(Tensor::copy).transpose()?,
            ..*loss
        };
        let (loss, hits) =
            (answer.train_step)(&self.model, &mut recorder, data, loss, &self.pass(), rate, clip)?;
        Ok(Stepped {
            case,
            loss,
            hits,
            recorder,
        })
    }

    /// The output of the twin in the same pass.
    fn seen(&self, pass: &Pass) -> Result<Output> {
        said(self.twin.forward(&self.points, pass))
    }

    fn gradients(&self, loss: &Loss) -> Result<Vec<Tensor>> {
        let pass = self.pass();
        let output = self.seen(&pass)?;
        let mut total = cross_entropy(
            &output.logits,
            &self.labels,
            loss.smoothing,
            loss.class_weights.as_ref(),
        )?;
        if let Some(t) = output.feature_transform.filter(|_| loss.orthogonality > 0.0) {
            total = weighted_sum(&[(&total, 1.0), (&orthogonality(&t)?, loss.orthogonality)])?;
        }
        said(self.twin.gradients(&total, &pass))
    }

    /// The number of clouds whose greatest logit is the label's.
    fn correct(&self) -> Result<f64> {
        let logits = self.seen(&self.pass())?.logits.to_dtype(DType::F64)?;
        let labels: Vec<u32> = self.labels.to_vec1()?;
        let logits = logits.to_vec2::<f64>()?;
        let right = logits.iter().zip(&labels).filter(|(row, label)| {
            let of_label = row[**label as usize];
            row.iter().all(|v| *v <= of_label)
        });
        Ok(right.count() as f64)
    }

    /// Σ over clouds of weight·loss over Σ of weights, in f64, from the twin's logits.
    fn by_hand(&self, loss: &Loss) -> Result<f64> {
        let output = self.seen(&self.pass())?;
        let labels: Vec<u32> = self.labels.to_vec1()?;
        let weights: Vec<f64> = match &loss.class_weights {
            Some(w) => w.to_dtype(DType::F64)?.to_vec1()?,
            None => vec![1.0; CLASSES],
        };
        let (mut sum, mut all) = (0.0, 0.0);
        let logits: Vec<Vec<f64>> = output.logits.to_dtype(DType::F64)?.to_vec2()?;
        for (row, &label) in logits.iter().zip(&labels) {
            let log_sum = row.iter().map(|v| v.exp()).sum::<f64>().ln();
            for (c, v) in row.iter().enumerate() {
                let hit = if c == label as usize {
                    1.0 - loss.smoothing
                } else {
                    0.0
                };
                let share = hit + loss.smoothing / CLASSES as f64;
                sum += weights[c] * share * (log_sum - v);
            }
            all += weights[label as usize];
        }
        let mut total = sum / all;
        if let Some(t) = output.feature_transform {
            total +=
                loss.orthogonality * f64::from(orthogonality(&t)?.to_dtype(DType::F32)?.to_scalar::<f32>()?);
        }
        Ok(total)
    }
}

fn f32_scalar(value: f64) -> Values {
    Values::tensor(vec![value], &[], "f32")
}

pub fn returns_the_mean_loss(answer: &Lesson04) -> Verdict {
    let place = Place::new(&mut draw(), Kind::Vanilla)?;
    let got = place.stepped(answer, &PLAIN, 0.1, 0.0)?;
    got.case
        .close("loss", values(&got.loss)?, f32_scalar(place.by_hand(&PLAIN)?))
}

pub fn returns_f32_of_any_network(answer: &Lesson04) -> Verdict {
    let place = Place::of(&mut draw(), Kind::Full, 6, DType::F64)?.tilted()?;
    let loss = Loss {
        orthogonality: 0.5,
        ..PLAIN
    };
    let got = place.stepped(answer, &loss, 0.1, 1.0)?;
    got.case
        .close("loss", values(&got.loss)?, f32_scalar(place.by_hand(&loss)?))?;
    got.case.close(
        "dtype of the count",
        values(&got.hits)?,
        f32_scalar(place.correct()?),
    )
}

pub fn counts_correct_predictions(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let places = [
        Place::new(&mut draw, Kind::Vanilla)?,
        Place::new(&mut draw, Kind::Full)?,
        // More correct predictions than a byte can count.
        Place::of(&mut draw, Kind::Vanilla, 300, DType::F32)?,
    ];
    for place in places {
        let got = place.stepped(answer, &PLAIN, 0.1, 0.0)?;
        got.case
            .close("correct clouds", values(&got.hits)?, f32_scalar(place.correct()?))?;
    }
    Ok(())
}

pub fn applies_label_smoothing_and_class_weights(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let weights = Tensor::from_vec(draw.list(CLASSES, 0.5, 2.0), CLASSES, &Device::Cpu)?;
    for (smoothing, class_weights) in [(0.2, None), (0.0, Some(weights.clone())), (0.1, Some(weights))] {
        let place = Place::new(&mut draw, Kind::Vanilla)?;
        let loss = Loss {
            smoothing,
            class_weights,
            orthogonality: 0.0,
        };
        let got = place.stepped(answer, &loss, 0.1, 0.0)?;
        got.case
            .close("loss", values(&got.loss)?, f32_scalar(place.by_hand(&loss)?))?;
    }
    Ok(())
}

pub fn adds_the_orthogonality_term(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let weight = draw.number(0.3, 0.9);
    for (kind, orthogonality) in [(Kind::Full, 0.0), (Kind::Full, weight), (Kind::Vanilla, weight)] {
        let place = Place::new(&mut draw, kind)?.tilted()?;
        let loss = Loss {
            orthogonality,
            ..PLAIN
        };
        let got = match place.try_step(answer, &loss, 0.1, 0.0) {
            // A network without a transform is no error, whatever the words are.
            Err(error) if kind == Kind::Vanilla => {
                let input = place.told(&loss, 0.1, 0.0);
                return refuse(&input, "result", vec![1.0], "Ok", &format!("Err: {error:#}"));
            }
            got => said(got)?,
        };
        got.case
            .close("loss", values(&got.loss)?, f32_scalar(place.by_hand(&loss)?))?;
    }
    Ok(())
}

/// Tests that one step was taken, with the gradients `expected` times `factor`.
fn check_step(got: &Stepped, place: &Place, expected: &[Tensor], factor: f64, rate: f64) -> Verdict {
    let steps = got.recorder.steps.len();
    got.case.close("steps of the optimizer", steps, 1usize)?;
    let (grads, lr) = &got.recorder.steps[0];
    got.case.close("learning rate", *lr, rate)?;
    got.case
        .close("number of gradients", grads.len(), expected.len())?;
    // Gradients may be tiny: they are compared in units of the norm.
    let unit = 1.0 / norm(expected)?.max(1e-30);
    for ((grad, expected), (name, _)) in grads.iter().zip(expected).zip(place.model.params()) {
        let (grad, expected) = ((grad * unit)?, (expected * (factor * unit))?);
        let what = format!("gradient of {name} / norm before clipping");
        got.case.close(&what, values(&grad)?, values(&expected)?)?;
    }
    Ok(())
}

fn norm(grads: &[Tensor]) -> Result<f64> {
    let mut square = 0.0;
    for grad in grads {
        square += grad.to_dtype(DType::F64)?.sqr()?.sum_all()?.to_scalar::<f64>()?;
    }
    Ok(square.sqrt())
}

pub fn takes_one_optimizer_step(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let rate = draw.number(0.01, 0.3);
    // On the tape, and by candle's graph.
    for dtype in [DType::F32, DType::F64] {
        let place = Place::of(&mut draw, Kind::Vanilla, 7, dtype)?;
        let got = place.stepped(answer, &PLAIN, rate, 0.0)?;
        check_step(&got, &place, &place.gradients(&PLAIN)?, 1.0, rate)?;
    }
    Ok(())
}

pub fn takes_gradients_of_the_whole_loss(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let weights = Tensor::from_vec(draw.list(CLASSES, 0.5, 2.0), CLASSES, &Device::Cpu)?;
    let loss = Loss {
        smoothing: 0.1,
        class_weights: Some(weights),
        orthogonality: draw.number(0.3, 0.9),
    };
    let place = Place::new(&mut draw, Kind::Full)?.tilted()?;
    let got = place.stepped(answer, &loss, 0.1, 0.0)?;
    got.case
        .close("loss", values(&got.loss)?, f32_scalar(place.by_hand(&loss)?))?;
    check_step(&got, &place, &place.gradients(&loss)?, 1.0, 0.1)
}

pub fn clips_before_the_step(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for clip in [draw.number(0.01, 0.05), 1e4, -1.0] {
        let place = Place::new(&mut draw, Kind::Vanilla)?;
        let got = place.stepped(answer, &PLAIN, 0.2, clip)?;
        let expected = place.gradients(&PLAIN)?;
        let factor = if clip > 0.0 {
            (clip / (norm(&expected)? + 1e-6)).min(1.0)
        } else {
            1.0
        };
        check_step(&got, &place, &expected, factor, 0.2)?;
    }
    Ok(())
}

/// `clip_grad_norm` adds 1e-6 to the norm: it shortens gradients whose norm is just below the limit, too. An answer that reads
/// the norm, and clips only if it exceeds the limit, does not.
pub fn clips_without_comparing_the_norm(answer: &Lesson04) -> Verdict {
    // The network is sure of class 0, so that gradients are small.
    let sure = |i: usize| if i == 0 { 13.0 } else { 0.0 };
    let mut place = Place::new(&mut draw(), Kind::Vanilla)?.change("classifier.bias", sure)?;
    place.labels = place.labels.zeros_like()?;
    let expected = place.gradients(&PLAIN)?;
    let norm = norm(&expected)?;
    let clip = norm + 3e-7;
    // The twin has seen the batch.
    let got = place.stepped(answer, &PLAIN, 0.1, clip)?;
    check_step(&got, &place, &expected, clip / (norm + 1e-6), 0.1)
}
