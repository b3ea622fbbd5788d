//! 4.2: a training step.

use anyhow::Result;
use candle_core::{DType, Device, Error, Tensor};
use canopy::{
    kernels::Pass,
    model::Kind::{self, Full, Vanilla},
    optim::OptimConfig,
    train::{Loss, OnDevice},
};
use grader::{Check, Facts, Mistake, Values, Verdict, draw, given, mistakes, rows};
use kit::values;

use crate::{
    Lesson04, REFERENCE, answers,
    networks::{CLASSES, Tensors, after, network, points, tensors},
};

/// A step of SGD of a narrow network, on clouds of 8 points.
#[derive(Clone, Debug)]
struct Step {
    network: Kind,
    dtype: DType,
    clouds: usize,
    loss: Loss,
    rate: f64,
    clip: f64,
    /// What is wrong with it, or unusual.
    but: &'static str,
}

const PLAIN: Step = Step {
    network: Vanilla,
    dtype: DType::F32,
    clouds: 7,
    loss: Loss::CROSS_ENTROPY,
    rate: 0.1,
    clip: 0.0,
    but: "",
};

const NAN: &str = "all coordinates are NaN, and so is the loss";
const FEW: &str = "there is a label too few";
const FAILS: &str = "the step of the optimizer fails";
const SURE: &str = "the network is sure of the labels";

/// What is compared: of the loss and the count, of the tensors of optimizer and network afterwards, and of the waits.
type Part = fn(Result<[Values; 2]>, Tensors, u64) -> Facts;

/// Takes a step with a network of its own.
fn take(answer: &Lesson04, step: &Step, part: Part) -> Result<Facts> {
    let d = &mut draw();
    let model = network(step.network, step.dtype, d.whole(1, 10_000) as u64, 0.3)?;
    for (name, var) in model.params() {
        let slope = match &*name {
            // An untrained transform is the identity, whose term is 0.
            "feature_transform.out.bias" => 0.1,
            "classifier.bias" if step.but == SURE => -20.0,
            _ => continue,
        };
        let bias = Tensor::arange(0f32, var.elem_count() as f32, &Device::Cpu)?;
        var.set(&(bias * slope)?.to_dtype(step.dtype)?)?;
    }
    let mut points = points(d, step.clouds, step.dtype)?;
    let mut labels = d.below(step.clouds, CLASSES);
    let mut params = model.params();
    match step.but {
        SURE => labels.fill(0),
        NAN => points = (points * f64::NAN)?,
        FEW => labels.truncate(step.clouds - 1),
        FAILS => drop(params.pop()),
        _ => {}
    }
    let labels = Tensor::new(labels, &Device::Cpu)?;
    let mut loss = step.loss.clone();
    loss.class_weights = loss.class_weights.map(|weights| weights.copy()).transpose()?;
    // After one step, the velocity of each parameter is its gradient.
    let mut optimizer = OptimConfig::sgd().build(params)?;
    let (data, pass) = ((&points, &labels), Pass::train(11, d.whole(0, 50) as u64));
    let (train, before) = (answer.train_step, OnDevice::waits());
    let result = train(&model, &mut *optimizer, data, &loss, &pass, step.rate, step.clip);
    let waits = OnDevice::waits() - before;
    let result = result.and_then(|(loss, hits)| Ok([values(&loss)?, values(&hits)?]));
    let all = optimizer.state()?.into_iter().chain(model.to_map()?);
    Ok(part(result, tensors(all)?, waits))
}

fn compared(answer: &Lesson04, (step, part): (Step, Part)) -> Verdict {
    let text = format!("{step:?}").replace(", but: \"\"", "");
    let case = given(format!(
        "a narrow PointNet, clouds of 8 points, SGD with momentum; {text}"
    ));
    let seen = |answer| take(answer, &step, part).map_err(|e| Error::Msg(e.to_string()));
    case.same(seen(answer)?, seen(&REFERENCE)?)
}

const RESULTS: Part = |result, _, _| {
    Facts::of(result, |[loss, hits]| {
        let format = |v: &Values| format!("{} of shape {:?}", v.dtype, v.shape);
        let facts = Facts::default()
            .text("loss", format(&loss))
            .text("count", format(&hits));
        facts.values("loss", loss).values("count", hits)
    })
};

const STATISTICS: Part = |_, mut tensors, _| {
    tensors.retain(|(name, _)| name.contains("running"));
    after(Facts::default(), tensors)
};

const UPDATE: Part = |result, tensors, _| after(Facts::of(result, |_| Facts::default()), tensors);

/// An error is a text here: an answer may have its own words.
const END: Part = |result, tensors, waits| {
    let end = if result.is_ok() { "Ok" } else { "Err" };
    after(Facts::default().text("end", end).values("waits", waits), tensors)
};

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.2";
    by compared {
        returns_the_mean_loss_and_the_count: "Returns the loss and the number",
            "Run the network in `pass`. Return `kernels::cross_entropy` of its logits, and the number of rows whose \
             argmax is the label, in the same logits, each as an f32 of shape []." => |_| {
            // More correct predictions than a byte can count.
            let mut steps: Vec<_> = [(Vanilla, 7), (Full, 8), (Vanilla, 1600)]
                .map(|(network, clouds)| (Step { network, clouds, ..PLAIN }, RESULTS)).to_vec();
            steps.push((Step { dtype: DType::BF16, ..PLAIN }, RESULTS));
            steps
        };
        applies_label_smoothing_and_class_weights: "by the settings of `loss`",
            "Pass `loss.smoothing` and `loss.class_weights` to `kernels::cross_entropy`." => |d| {
            let weights = Tensor::new(d.list(CLASSES, 0.5, 2.0), &Device::Cpu).ok();
            [(0.2, None), (0.0, weights.clone()), (0.1, weights)].map(|(smoothing, class_weights)| {
                (Step { loss: Loss { smoothing, class_weights, orthogonality: 0.0 }, ..PLAIN }, RESULTS)
            }).to_vec()
        };
        adds_the_orthogonality_term: "`loss.orthogonality` times the",
            "Only with a transform and a weight above 0: add weight times `orthogonality`, by `weighted_sum`, and return the sum." => |d| {
            let weight = d.number(0.3, 0.9);
            [(Full, 0.0), (Full, weight), (Vanilla, weight)]
                .map(|(network, orthogonality)| {
                    (Step { network, loss: Loss { orthogonality, ..PLAIN.loss }, ..PLAIN }, RESULTS)
                }).to_vec()
        };
        runs_one_forward_pass: "after one forward pass",
            "A second training pass updates the running statistics again: count in the logits that you have." =>
            |_| vec![(PLAIN, STATISTICS)];
        takes_one_optimizer_step: "one optimizer step",
            "Call `optimizer.step` once, by `model.gradients` of the whole loss, and `learning_rate`." => |d| {
            let rate = d.number(0.01, 0.3);
            let class_weights = Tensor::new(d.list(CLASSES, 0.5, 2.0), &Device::Cpu).ok();
            let loss = Loss { smoothing: 0.1, class_weights, orthogonality: d.number(0.3, 0.9) };
            let whole = Step { network: Full, loss, ..PLAIN };
            [Step { rate, ..PLAIN }, Step { dtype: DType::BF16, rate, ..PLAIN }, whole].map(|step| (step, UPDATE)).to_vec()
        };
        clips_before_the_step: "If `clip` is above 0",
            "If `clip` is above 0, call `clip_grad_norm` with all gradients before the step; otherwise leave them." =>
            |d| [d.number(0.01, 0.05), 1e4, -1.0].map(|clip| (Step { clip, ..PLAIN }, UPDATE)).to_vec();
        // `clip_grad_norm` adds 1e-6 to the norm, and shortens these gradients, whose norm is below the limit, by half.
        clips_without_comparing_the_norm: "If `clip` is above 0",
            "Call `clip_grad_norm` whenever `clip` is above 0: to compare the norm, you would have to read it." =>
            |_| vec![(Step { but: SURE, clip: 5e-7, rate: 1e9, ..PLAIN }, UPDATE)];
        reads_no_number: "reads no number",
            "Do not read the loss, not even to see whether it is NaN: return it as a tensor." =>
            |_| ["", NAN].map(|but| (Step { clip: 0.5, but, ..PLAIN }, END)).to_vec();
        returns_errors: "Takes one optimizer step",
            "Return each error with `?`, that of the optimizer, too; after one, take no step." =>
            |_| [FEW, FAILS].map(|but| (Step { clip: 0.5, but, ..PLAIN }, END)).to_vec();
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.2" train_step;
    1 "The correct predictions are summed as bytes, which overflow above 255: convert to f32 before the sum.";
    2 "The orthogonality term is computed, but not part of the loss: in this pass each result must be used.";
    3 "The network runs in evaluation mode: run it in the pass that is passed in.";
};
