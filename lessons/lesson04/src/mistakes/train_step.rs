//! Known wrong answers to exercise 4.2.

use super::*;

/// A wrong training step.
macro_rules! step {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.2", $caught_by, $cause, train_step: |m, o, d, l, p, r, c| {
            stepped((m, o, d, l, p), r, c, Step { $($turned)*, ..STEP })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    step!(returns_the_mean_loss, "The loss is summed over the clouds; it should be their mean.", summed: true),
    step!(counts_correct_predictions, "The correct predictions are returned as a share; return their number.", hits: |hits, n| hits / n as f64),
    step!(counts_correct_predictions, "The correct predictions are summed as bytes, which overflow above 255: convert the result of `eq` to f32 before the sum.",
        hits: |hits, _| f64::from(hits as u32 as u8)),
    step!(counts_correct_predictions, "This counts the wrong predictions.", hits: |hits, n| n as f64 - hits),
    step!(returns_the_mean_loss, "`clip_grad_norm` is called even if clip is 0, which means no clipping.", clip: Clip::Unasked),
    step!(applies_label_smoothing_and_class_weights, "The label smoothing is left out.", smoothing: false),
    step!(applies_label_smoothing_and_class_weights, "The class weights are left out.", weights: false),
    step!(adds_the_orthogonality_term, "The orthogonality term is left out.", term: |_| 0.0),
    step!(adds_the_orthogonality_term, "The orthogonality term is added without its weight.",
        term: |weight| if weight > 0.0 { 1.0 } else { 0.0 }),
    step!(takes_one_optimizer_step, "The optimizer uses a fixed learning rate; use the argument `learning_rate`.", rate: |_, _| 1e-3),
    step!(takes_one_optimizer_step, "The optimizer takes two steps by the same gradients.", steps: 2),
    step!(takes_one_optimizer_step, "The optimizer takes no step.", steps: 0),
    step!(takes_one_optimizer_step, "The learning rate is negated: the optimizer already goes against the gradient.", rate: |rate, _| -rate),
    step!(takes_one_optimizer_step, "Gradients are clipped even if clip is 0, which means no clipping.", clip: Clip::Always),
    step!(clips_before_the_step, "The optimizer uses unclipped gradients: clip them before its step.", clip: Clip::Never),
    step!(clips_before_the_step, "Each gradient is clipped separately; clip the common norm of all of them.", clip: Clip::Each),
    step!(runs_one_forward_pass, "The predictions are computed in a second training pass: the running statistics are updated twice.",
        counts_in: Some((Pass::clone, false))),
    step!(runs_one_forward_pass, "The predictions are computed in a second training pass: the running statistics are updated twice, and the weights have changed.",
        counts_in: Some((Pass::clone, true))),
    step!(counts_correct_predictions, "The predictions are those of a second pass, in evaluation mode: count in the logits of the training pass.",
        counts_in: Some((|_| Pass::eval(), false))),
    step!(counts_correct_predictions, "The predictions are those of a second pass, in evaluation mode: count in the logits of the training pass.",
        counts_in: Some((|_| Pass::eval(), true))),
    step!(returns_the_mean_loss, "The network runs in another pass than the argument `pass`, which defines dropout, seed and step.",
        pass: Some(|| Pass::train(0, 0))),
    step!(returns_the_mean_loss, "The network runs in evaluation mode: run it in the pass that is passed in.", pass: Some(Pass::eval)),
    step!(returns_the_mean_loss, "The network runs in a new pass, and the gradients are taken in `pass`. Run the network in `pass`, too.",
        pass: Some(|| Pass::train(0, 0)), gradients_in_given: true),
    step!(returns_the_mean_loss, "The network runs in evaluation mode: run it in the pass that is passed in.",
        pass: Some(Pass::eval), gradients_in_given: true),
    step!(returns_the_mean_loss, "A result of `cross_entropy` is computed and not part of the loss. In this pass each result must be used: compute only what you add.",
        unused: Unused::CrossEntropy),
    step!(counts_correct_predictions, "A result of `orthogonality` is computed and not part of the loss. In this pass each result must be used: compute the term only if you add it.",
        unused: Unused::Term),
    step!(returns_the_mean_loss, "`argmax` is over the clouds: the classes are axis 1.", axis: 0),
    step!(returns_the_mean_loss, "Gradients do not pass candle's operators on the loss: use `kernels::weighted_sum`.",
        candle: |transform| if transform { 0.0 } else { 1.5 }),
    step!(returns_the_mean_loss, "Gradients do not pass candle's operators on the loss: use `kernels::weighted_sum`.", candle: |_| 1.0),
    step!(adds_the_orthogonality_term, "Gradients do not pass candle's `+`: add the term with `kernels::weighted_sum`.", plus: true),
    step!(counts_correct_predictions, "The count is an integer tensor; it should be f32.", whole: true),
    step!(returns_f32_of_any_network, "The loss has the network's dtype: convert it to f32.", keeps_dtype: true),
    step!(returns_f32_of_any_network, "The count has the network's dtype: convert it to f32.", count_keeps_dtype: true),
    step!(returns_the_mean_loss, "The tensors have shape `[1]`; `[]` has no axis.", shape: &[1]),
    step!(adds_the_orthogonality_term, "The gradients are those of the cross-entropy alone: pass the whole loss to `model.gradients`.",
        gradients: Of::CrossEntropyLate),
    step!(adds_the_orthogonality_term, "The orthogonality term has a fixed weight; multiply by `loss.orthogonality`.",
        term: |weight| if weight > 0.0 { 0.001 } else { 0.0 }),
    step!(adds_the_orthogonality_term, "A network without a feature transform has no orthogonality term; that is no error.", needs_transform: true),
    step!(takes_one_optimizer_step, "The logits were detached before the loss: no gradient reaches the network.", gradients: Of::Nothing),
    step!(takes_one_optimizer_step, "The learning rate is divided by the number of clouds; the gradient is already that of a mean.",
        rate: |rate, clouds| rate / clouds as f64),
    step!(takes_gradients_of_the_whole_loss, "The gradients are those of the cross-entropy alone: take them after the orthogonality term is added.",
        gradients: Of::CrossEntropy),
    step!(clips_before_the_step, "Shorter gradients are lengthened to the limit; clipping only shortens.", clip: Clip::ToNorm),
    step!(clips_before_the_step, "Each entry is clipped; clip the common norm of all gradients (`clip_grad_norm`).", clip: Clip::Entries),
    step!(clips_before_the_step, "Gradients are clipped although `clip` is below 0.", clip: Clip::Negative),
    step!(clips_without_comparing_the_norm, "`clip_grad_norm` is not called, or only if the norm exceeds the limit. Call it whenever `clip` is above 0: to compare the norm, you would have to read it.",
        clip: Clip::Compared),
    step!(reads_no_number, "The loss is read to find NaN, which waits for the device: return it as it is.", looks: true),
    step!(returns_errors, "The error of the optimizer is ignored.", forgives: true),
    wrong!("4.2", applies_label_smoothing_and_class_weights, "The class weights are left out.", train_step: |m, o, d, l, p, r, c| {
        if let Some(weights) = &l.class_weights {
            weights.slice_set(&weights.ones_like()?, 0, 0)?;
        }
        (REFERENCE.train_step)(m, o, d, l, p, r, c)
    }),
];
