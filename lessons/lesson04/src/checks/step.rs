use candle_core::{DType, Device, Result, Tensor};
use canopy::{
    kernels::{Pass, cross_entropy, weighted_sum},
    model::{Kind, Output, PointNet, orthogonality},
    train::Loss,
};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::{
    said,
    tiny::{CLASSES, Recorder, batch, bits, network},
    values,
};
use crate::Lesson04;

const PLAIN: Loss = Loss {
    smoothing: 0.0,
    class_weights: None,
    orthogonality: 0.0,
};

/// A network before its step, its twin, and a batch.
struct Place {
    kind: Kind,
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
        Self::of(draw, kind, clouds)
    }

    fn of(draw: &mut Draw, kind: Kind, clouds: usize) -> Result<Self> {
        let seed = draw.whole(1, 10_000) as u64;
        let (points, labels) = batch(draw, clouds)?;
        let mut place = Self {
            kind,
            clouds,
            model: network(kind, DType::F32, seed)?,
            twin: network(kind, DType::F32, seed)?,
            points,
            labels,
            step: draw.whole(0, 50) as u64,
        };
        // In a large batch all predictions but the second are correct, in a small one only the first is.
        let other = network(kind, DType::F32, seed)?;
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

    fn stepped(&self, answer: &Lesson04, loss: &Loss, rate: f64, clip: f64) -> Result<Stepped> {
        let case = given(format!(
            "a narrow {} PointNet, {} clouds of 8 points, smoothing {}, class weights {}, orthogonality {}, rate {rate}, clip {clip}",
            self.kind,
            self.clouds,
            loss.smoothing,
            if loss.class_weights.is_some() {
                "given"
            } else {
                "none"
            },
            loss.orthogonality
        ));
        let mut recorder = Recorder::new(&self.model);
        let data = (&self.points, &self.labels);
        let (loss, hits) = said((answer.train_step)(
            &self.model,
            &mut recorder,
            data,
            loss,
            &self.pass(),
            rate,
            clip,
        ))?;
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
            total += loss.orthogonality * f64::from(orthogonality(&t)?.to_scalar::<f32>()?);
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

pub fn counts_correct_predictions(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let places = [
        Place::new(&mut draw, Kind::Vanilla)?,
        Place::new(&mut draw, Kind::Full)?,
        // More correct predictions than a byte can count.
        Place::of(&mut draw, Kind::Vanilla, 300)?,
    ];
    for place in places {
        let got = place.stepped(answer, &PLAIN, 0.1, 0.0)?;
        let logits: Vec<Vec<f32>> = place.seen(&place.pass())?.logits.to_vec2()?;
        let labels: Vec<u32> = place.labels.to_vec1()?;
        let right = logits.iter().zip(&labels).filter(|(row, label)| {
            let of_label = row[**label as usize];
            row.iter().all(|v| *v <= of_label)
        });
        let right = right.count() as f64;
        got.case.close("hits", values(&got.hits)?, f32_scalar(right))?;
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
    for orthogonality in [0.0, draw.number(0.3, 0.9)] {
        let place = Place::new(&mut draw, Kind::Full)?;
        // An untrained transform is the identity, whose term is 0.
        for model in [&place.model, &place.twin] {
            for (name, var) in model.params() {
                if name == "feature_transform.out.bias" {
                    let count = var.elem_count();
                    let off: Vec<f32> = (0..count).map(|i| (i % 5) as f32 * 0.3 - 0.5).collect();
                    var.set(&Tensor::from_vec(off, count, &Device::Cpu)?)?;
                }
            }
        }
        let loss = Loss {
            orthogonality,
            ..PLAIN
        };
        let got = place.stepped(answer, &loss, 0.1, 0.0)?;
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
    for ((grad, expected), (name, _)) in grads.iter().zip(expected).zip(place.model.params()) {
        let expected = (expected * factor)?;
        got.case
            .close(&format!("gradient of {name}"), values(grad)?, values(&expected)?)?;
    }
    Ok(())
}

pub fn takes_one_optimizer_step(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let rate = draw.number(0.01, 0.3);
    let place = Place::new(&mut draw, Kind::Vanilla)?;
    let got = place.stepped(answer, &PLAIN, rate, 0.0)?;
    check_step(&got, &place, &place.gradients(&PLAIN)?, 1.0, rate)
}

pub fn clips_before_the_step(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for clip in [draw.number(0.01, 0.05), 1e4] {
        let place = Place::new(&mut draw, Kind::Vanilla)?;
        let got = place.stepped(answer, &PLAIN, 0.2, clip)?;
        let expected = place.gradients(&PLAIN)?;
        let mut square = 0.0;
        for grad in &expected {
            square += grad.to_dtype(DType::F64)?.sqr()?.sum_all()?.to_scalar::<f64>()?;
        }
        let factor = (clip / (square.sqrt() + 1e-6)).min(1.0);
        check_step(&got, &place, &expected, factor, 0.2)?;
    }
    Ok(())
}

pub fn runs_one_forward_pass(answer: &Lesson04) -> Verdict {
    let place = Place::new(&mut draw(), Kind::Vanilla)?;
    let got = place.stepped(answer, &PLAIN, 0.0, 0.0)?;
    place.seen(&place.pass())?;
    let (own, expected) = (bits(&place.model)?, bits(&place.twin)?);
    let mut names: Vec<&String> = expected.keys().filter(|n| n.contains("running")).collect();
    names.sort();
    let numbers = |b: &[u64]| b.iter().map(|&v| f64::from_bits(v)).collect::<Vec<f64>>();
    for name in names {
        let (a, b) = (numbers(&own[name]), numbers(&expected[name]));
        let shape = [b.len()];
        let of = |v| Values::tensor(v, &shape, "f32");
        got.case.close(&format!("{name} afterwards"), of(a), of(b))?;
    }
    Ok(())
}
