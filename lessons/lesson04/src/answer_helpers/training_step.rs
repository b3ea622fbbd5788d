//! A training step with other parts.

use super::*;

/// When gradients are clipped.
#[derive(Clone, Copy, PartialEq)]
pub enum Clip {
    Asked,
    Never,
    Each,
    Always,
    /// By what was given, 0 as well.
    Unasked,
    /// Longer gradients and shorter ones.
    ToNorm,
    /// Each entry on its own.
    Entries,
    /// Only if the norm, once read, exceeds the limit.
    Compared,
    /// By the absolute value of a negative limit.
    Negative,
}

/// Of which loss the gradients are.
#[derive(Clone, Copy, PartialEq)]
pub enum Of {
    Total,
    CrossEntropy,
    /// The same, taken after the term was added.
    CrossEntropyLate,
    /// Logits without a graph.
    Nothing,
}

/// What is computed and not part of the loss.
#[derive(Clone, Copy, PartialEq)]
pub enum Unused {
    Nothing,
    /// The orthogonality term, if its weight is 0.
    Term,
    /// A second cross-entropy.
    CrossEntropy,
}

/// Another pass, from the one that was passed in.
pub type OtherPass = fn(&Pass) -> Pass;

/// What a training step may do differently.
#[derive(Clone, Copy)]
pub struct Step {
    pub smoothing: bool,
    pub weights: bool,
    /// Times the orthogonality term, given its weight.
    pub term: fn(f64) -> f64,
    pub clip: Clip,
    /// Of the learning rate and the number of clouds.
    pub rate: fn(f64, usize) -> f64,
    pub steps: usize,
    /// The correct predictions are counted in another pass: after the step, or before.
    pub counts_in: Option<(OtherPass, bool)>,
    pub gradients: Of,
    /// The count is an integer tensor.
    pub whole: bool,
    /// The loss keeps the network's dtype.
    pub keeps_dtype: bool,
    /// The count has the network's dtype.
    pub count_keeps_dtype: bool,
    /// Both tensors have this shape.
    pub shape: &'static [usize],
    /// The logits are compared along this axis.
    pub axis: usize,
    /// A NaN loss is an error.
    pub looks: bool,
    /// A missing feature transform is an error.
    pub needs_transform: bool,
    /// Errors of the optimizer are ignored.
    pub forgives: bool,
    /// Of hits and clouds.
    pub hits: fn(f64, usize) -> f64,
    /// The loss is a sum over the clouds.
    pub summed: bool,
    /// The network runs in another pass than asked for.
    pub pass: Option<fn() -> Pass>,
    /// One of candle's operators scales the loss by this, given whether there is a feature transform; 0 for none.
    pub candle: fn(bool) -> f64,
    /// A result is computed and is not part of the loss.
    pub unused: Unused,
    /// The gradients are taken in the pass that was passed in, whatever the network runs in.
    pub gradients_in_given: bool,
    /// The term is added by candle's `+`.
    pub plus: bool,
}

pub const STEP: Step = Step {
    smoothing: true,
    weights: true,
    term: |weight| weight,
    clip: Clip::Asked,
    rate: |rate, _| rate,
    steps: 1,
    counts_in: None,
    gradients: Of::Total,
    whole: false,
    keeps_dtype: false,
    count_keeps_dtype: false,
    shape: &[],
    axis: 1,
    looks: false,
    needs_transform: false,
    forgives: false,
    candle: |_| 0.0,
    unused: Unused::Nothing,
    gradients_in_given: false,
    plus: false,
    hits: |hits, _| hits,
    summed: false,
    pass: None,
};

/// Network, optimizer, points and labels, loss, pass.
pub type Given<'a> = (
    &'a PointNet,
    &'a mut dyn Optimizer,
    (&'a Tensor, &'a Tensor),
    &'a Loss,
    &'a Pass,
);

pub fn stepped(given: Given, rate: f64, clip: f64, twist: Step) -> Result<(Tensor, Tensor)> {
    let (model, optimizer, (points, labels), loss, pass) = given;
    let own = twist.pass.map(|pass| pass());
    let given_pass = pass;
    let pass = own.as_ref().unwrap_or(pass);
    let output = model.forward(points, pass)?;
    let smoothing = if twist.smoothing { loss.smoothing } else { 0.0 };
    let weights = loss.class_weights.as_ref().filter(|_| twist.weights);
    let logits = match twist.gradients {
        Of::Nothing => output.logits.detach(),
        _ => output.logits.clone(),
    };
    let mut total = kernels::cross_entropy(&logits, labels, smoothing, weights)?;
    if twist.summed {
        total = kernels::weighted_sum(&[(&total, points.dim(0)? as f64)])?;
    }
    let term = (twist.term)(loss.orthogonality);
    let cross = total.clone();
    let early = match twist.gradients {
        Of::CrossEntropy => Some(model.gradients(&total, pass)?),
        _ => None,
    };
    ensure!(
        !twist.needs_transform || term == 0.0 || output.feature_transform.is_some(),
        "no transform"
    );
    let factor = (twist.candle)(output.feature_transform.is_some());
    match (twist.unused, &output.feature_transform) {
        (Unused::Term, Some(t)) if term == 0.0 => drop(orthogonality(t)?),
        (Unused::CrossEntropy, _) => drop(kernels::cross_entropy(&logits, labels, smoothing, weights)?),
        _ => {}
    }
    if let Some(t) = output.feature_transform.filter(|_| term > 0.0) {
        if twist.plus {
            total = (&total + (orthogonality(&t)? * term)?)?;
        } else {
            total = kernels::weighted_sum(&[(&total, 1.0), (&orthogonality(&t)?, term)])?;
        }
    }
    if factor != 0.0 {
        total = (total * factor)?;
    }
    if twist.looks {
        let read: f32 = total.to_dtype(DType::F32)?.to_scalar()?;
        ensure!(!read.is_nan(), "the loss is NaN");
    }
    let mut grads = match early {
        Some(grads) => grads,
        None if twist.gradients == Of::CrossEntropyLate => model.gradients(&cross, pass)?,
        None if twist.gradients_in_given => model.gradients(&total, given_pass)?,
        None => model.gradients(&total, pass)?,
    };
    clipped(&mut grads, clip, twist.clip)?;
    let count = |pass: fn(&Pass) -> Pass| model.forward(points, &pass(given_pass));
    let before = match twist.counts_in {
        Some((pass, false)) => Some(count(pass)?.logits),
        _ => None,
    };
    for _ in 0..twist.steps {
        let step = optimizer.step(&grads, (twist.rate)(rate, points.dim(0)?));
        if !twist.forgives {
            step?;
        }
    }
    let logits = match twist.counts_in {
        Some((pass, true)) => count(pass)?.logits,
        _ => before.unwrap_or(output.logits),
    };
    let named: Vec<u32> = match twist.axis {
        1 => logits.argmax(1)?.to_vec1()?,
        axis => {
            logits.argmax(axis)?.eq(labels)?;
            Vec::new()
        }
    };
    let labels: Vec<u32> = labels.to_vec1()?;
    let hits = named.iter().zip(&labels).filter(|(a, b)| a == b).count();
    let hits = (twist.hits)(hits as f64, labels.len());
    let hits = Tensor::new(hits as f32, points.device())?;
    let own = total.dtype();
    let loss = total
        .detach()
        .to_dtype(if twist.keeps_dtype { own } else { DType::F32 })?;
    let hits = hits.to_dtype(match twist {
        Step { whole: true, .. } => DType::U32,
        Step {
            count_keeps_dtype: true,
            ..
        } => own,
        _ => DType::F32,
    })?;
    Ok((loss.reshape(twist.shape)?, hits.reshape(twist.shape)?))
}

fn clipped(grads: &mut [Tensor], clip: f64, how: Clip) -> Result<()> {
    let shorten = |grads: &mut [Tensor], limit: f64| clip_grad_norm(grads, limit).map(drop);
    match how {
        Clip::Never => Ok(()),
        Clip::Always => shorten(grads, clip.max(1.0)),
        Clip::Unasked => shorten(grads, clip),
        Clip::Negative if clip < 0.0 => shorten(grads, -clip),
        _ if clip <= 0.0 => Ok(()),
        Clip::Asked | Clip::Negative => shorten(grads, clip),
        Clip::Each => grads.chunks_mut(1).try_for_each(|one| shorten(one, clip)),
        Clip::Entries => {
            for grad in grads {
                *grad = grad.clamp(-clip, clip)?;
            }
            Ok(())
        }
        Clip::ToNorm | Clip::Compared => {
            let norm: f64 = clip_grad_norm(&mut grads.to_vec(), clip)?
                .to_dtype(DType::F64)?
                .to_scalar()?;
            if norm > clip {
                return shorten(grads, clip);
            }
            if how == Clip::ToNorm {
                for grad in grads {
                    *grad = (grad.detach() * (clip / norm))?;
                }
            }
            Ok(())
        }
    }
}
