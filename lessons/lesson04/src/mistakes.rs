//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::DType;
use canopy::{
    device::Settled,
    kernels::Pass,
    train::{
        Failure, OnDevice,
        memory::StepBytes,
        metrics::{Scores, accuracy, balanced_accuracy, macro_f1},
    },
};
use grader::{Mistake, wrong};

use crate::{Lesson04, REFERENCE, answer_helpers::*};

/// A choice of device with something turned.
macro_rules! choice {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.1", $caught_by, $cause, choose_device: |name, open| {
            chosen(name, open, Choice { $($turned)*, ..CHOICE })
        })
    };
}

/// A wrong training step.
macro_rules! step {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.2", $caught_by, $cause, train_step: |m, o, d, l, p, r, c| {
            stepped((m, o, d, l, p), r, c, Step { $($turned)*, ..STEP })
        })
    };
}

/// A wrong count of bytes.
macro_rules! bytes {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.6", $caught_by, $cause, largest_batch: |s, b| filled(s, b, Bytes { $($turned)*, ..BYTES }))
    };
}

/// A wrong way to resume.
macro_rules! resuming {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.7", $caught_by, $cause, resume_batches: |s, m, o, r, n| {
            resumed(s, (m, o), (r, n), Resuming { $($turned)*, ..RESUMING })
        })
    };
}

/// Wrong scores, from the right ones and the confusion matrix.
macro_rules! scoring {
    ($caught_by:ident, $cause:literal, $twist:expr) => {
        wrong!("4.4", $caught_by, $cause, scores: |t, n, c| {
            let twist: fn(Scores) -> Scores = $twist;
            twist((REFERENCE.scores)(t, n, c))
        })
    };
}

/// A wrong mean, from the losses, read once, and their clouds.
macro_rules! averaging {
    ($caught_by:ident, $cause:literal, $mean:expr) => {
        wrong!("4.5", $caught_by, $cause, mean_loss: |steps| {
            let mean: fn(&[f64], &[u64]) -> f64 = $mean;
            let (mut losses, mut clouds) = (Vec::new(), Vec::new());
            each(steps, |loss, n| {
                losses.push(loss);
                clouds.push(n);
                Ok(())
            })?;
            if losses.is_empty() {
                return Ok(0.0);
            }
            Ok(mean(&OnDevice::read_all(&losses)?, &clouds))
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.1", returns_the_cpu_without_opening_a_gpu, "A CUDA device is opened although the CPU is named: that takes time, and memory of the GPU.",
    choose_device: |name, open| {
        let _ = open(0);
        chosen(name, &mut |_| Ok(()), CHOICE)
    }),
    wrong!("4.1", returns_the_cpu_without_opening_a_gpu, "The CPU has a reason; only the fallback of `auto` has one.",
    choose_device: |name, open| match name {
        "cpu" => Ok(Settled { cuda: None, reason: Some("chosen".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(opens_the_named_device, "The number after the colon is ignored.", number: |_| Some(0)),
    wrong!("4.1", opens_the_named_device, "The result has the number N, but another device was opened: call `open(N)`.",
        choose_device: |name, open| chosen(name, &mut |_| open(0), CHOICE)),
    wrong!("4.1", opens_the_named_device, "`cuda` alone is an error; it means device 0.", choose_device: |name, open| match name {
        "cuda" => Err((CHOICE.unknown)(name)),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(opens_the_named_device, "Leading zeros are refused: `cuda:007` consists of digits, too.",
        number: |digits| (CHOICE.number)(digits).filter(|_| digits.len() < 2 || !digits.starts_with('0'))),
    choice!(opens_the_named_device, "Only the first digit of the number is used.",
        number: |digits| digits[..1].parse().ok().filter(|_| (CHOICE.number)(digits).is_some())),
    wrong!("4.1", auto_takes_the_first_gpu, "`auto` always returns the CPU, which is only the fallback.",
    choose_device: |name, open| match name {
        "auto" => Ok(Settled { cuda: None, reason: Some("auto".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_takes_the_first_gpu, "The device has a reason; only the fallback to the CPU has one.",
    choose_device: |name, open| match name {
        "auto" => chosen(name, open, CHOICE).map(|s| Settled { reason: Some("auto".into()), ..s }),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_takes_the_first_gpu, "`open` is called twice; keep the result of the first call.",
    choose_device: |name, open| match name {
        "auto" if open(0).is_err() => chosen("cpu", open, CHOICE),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_falls_back_with_a_reason, "`open` is called a second time to learn the reason; keep the result of the first call.",
    choose_device: |name, open| {
        let mut last = Ok(());
        let mut asked = |n| { last = open(n); last.clone() };
        let choice = chosen(name, &mut asked, CHOICE);
        if name == "auto" && last.is_err() {
            let _ = open(0);
        }
        choice
    }),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` tries further devices; it means device 0 or the CPU.",
    choose_device: |name, open| match name {
        "auto" => match (0..8).find(|&n| open(n).is_ok()) {
            Some(n) => Ok(Settled { cuda: Some(n), reason: None }),
            None => Ok(Settled { cuda: None, reason: Some("no device opens".into()) }),
        },
        _ => chosen(name, open, CHOICE),
    }),
    choice!(auto_falls_back_with_a_reason, "`auto` falls back without a reason: nobody learns why the run is slow.", tells: false),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` fails if no CUDA device opens; it should be the CPU.",
        choose_device: |name, open| chosen(if name == "auto" { "cuda" } else { name }, open, CHOICE)),
    choice!(never_falls_back_from_a_named_device, "A named device falls back to the CPU: a user who named a GPU would not notice, and wait.",
        falls: true),
    choice!(never_falls_back_from_a_named_device, "The error does not contain the reason of `open`.", words: |n, _| format!("cuda:{n} does not open")),
    choice!(never_falls_back_from_a_named_device, "The error does not contain `cuda:N`.", words: |_, why| why.to_owned()),
    wrong!("4.1", never_falls_back_from_a_named_device, "The error contains the name as it was given; for `cuda` it must contain `cuda:0`.",
    choose_device: |name, open| match name {
        "cuda" => open(0).map(|()| Settled { cuda: Some(0), reason: None }).map_err(|why| format!("cuda does not open: {why}")),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(rejects_unknown_names, "`parse` accepts a sign as well: accept only digits.", number: |digits| digits.parse().ok()),
    choice!(rejects_unknown_names, "A text that is no number becomes device 0; it is an unknown name.", number: |digits| digits.parse().ok().or(Some(0))),
    choice!(rejects_unknown_names, "`parse` fails on a text that is no number, and `unwrap` panics: return the error of an unknown name.",
        number: |digits| Some(digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "`cuda:` has no digit: `all` is true for an empty text. It is an unknown name.",
        number: |digits| if digits.is_empty() { Some(0) } else { (CHOICE.number)(digits) }),
    choice!(rejects_unknown_names, "`cuda:` has no digit: `all` is true for an empty text, and `parse` fails. It is an unknown name.",
        number: |digits| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "`is_numeric` is true for ½ as well, on which `parse` fails: use `is_ascii_digit`.",
        number: |digits| (!digits.is_empty() && digits.chars().all(char::is_numeric))
            .then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    wrong!("4.1", rejects_unknown_names, "Only the text after the last colon is looked at; the name must begin with `cuda:`.",
    choose_device: |name, open| match name.rsplit_once(':') {
        Some((_, digits)) if !digits.is_empty() && (CHOICE.number)(digits).is_some() => chosen(&format!("cuda:{digits}"), open, CHOICE),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", rejects_unknown_names, "Names are lower case: `CPU` is no valid name.",
        choose_device: |name, open| chosen(&name.to_lowercase(), open, CHOICE)),
    wrong!("4.1", rejects_unknown_names, "Spaces are trimmed: ` cpu` is no valid name.",
        choose_device: |name, open| chosen(name.trim(), open, CHOICE)),
    choice!(rejects_unknown_names, "The error does not contain the name.", unknown: |_| "not one of auto, cpu, cuda or cuda:N".into()),
    wrong!("4.1", rejects_unknown_names, "An unknown name is treated as `auto`.", choose_device: |name, open| {
        let known = matches!(name, "auto" | "cpu" | "cuda")
            || name.strip_prefix("cuda:").is_some_and(|d| (CHOICE.number)(d).is_some());
        chosen(if known { name } else { "auto" }, open, CHOICE)
    }),
    choice!(rejects_unknown_names, "The number has too many digits: `parse` fails, and `unwrap` panics. Treat it like any other unknown name.",
        number: |digits| (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "The error does not list the valid names.", unknown: |name| format!("no device {name}")),
    wrong!("4.1", rejects_unknown_names, "An unknown name is treated as the CPU.", choose_device: |name, open| {
        let known = matches!(name, "auto" | "cpu" | "cuda")
            || name.strip_prefix("cuda:").is_some_and(|d| (CHOICE.number)(d).is_some());
        chosen(if known { name } else { "cpu" }, open, CHOICE)
    }),
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
    step!(takes_one_optimizer_step, "The optimizer uses a fixed learning rate; use the one that is passed in.", rate: |_, _| 1e-3),
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
    step!(counts_correct_predictions, "The predictions are those of a second pass, in evaluation mode, after the step: count in the logits of the training pass.",
        counts_in: Some((|_| Pass::eval(), true))),
    step!(returns_the_mean_loss, "The network runs in another pass than the one that is passed in, which defines dropout, seed and step.",
        pass: Some(|| Pass::train(0, 0))),
    step!(returns_the_mean_loss, "The network runs in evaluation mode: run it in the pass that is passed in.", pass: Some(Pass::eval)),
    step!(returns_the_mean_loss, "`argmax` is over the clouds: the classes are axis 1.", axis: 0),
    step!(returns_the_mean_loss, "Gradients do not pass candle's operators on the loss: use `kernels::weighted_sum`.", candle: true),
    step!(adds_the_orthogonality_term, "Gradients do not pass candle's `+`: add the term with `kernels::weighted_sum`.", plus: true),
    step!(counts_correct_predictions, "The count is an integer tensor; it should be f32.", whole: true),
    step!(returns_f32_of_any_network, "The loss has the network's dtype: convert it to f32.", keeps_dtype: true),
    step!(adds_the_orthogonality_term, "The orthogonality term has a fixed weight; multiply by `loss.orthogonality`.",
        term: |weight| if weight > 0.0 { 0.001 } else { 0.0 }),
    step!(adds_the_orthogonality_term, "A network without a feature transform has no orthogonality term; that is no error.", needs_transform: true),
    step!(takes_one_optimizer_step, "All gradients are 0: the logits were detached before the loss.", gradients: Of::Nothing),
    step!(takes_one_optimizer_step, "The learning rate is divided by the number of clouds; the gradient is already that of a mean.",
        rate: |rate, clouds| rate / clouds as f64),
    step!(takes_gradients_of_the_whole_loss, "The gradients are those of the cross-entropy alone: take them after the orthogonality term is added.",
        gradients: Of::CrossEntropy),
    step!(clips_before_the_step, "Shorter gradients are lengthened to the limit; clipping only shortens.", clip: Clip::ToNorm),
    step!(clips_before_the_step, "Each entry is clipped; clip the common norm of all gradients (`clip_grad_norm`).", clip: Clip::Entries),
    step!(clips_before_the_step, "Gradients are clipped although `clip` is below 0.", clip: Clip::Negative),
    step!(clips_without_comparing_the_norm, "The norm is compared with the limit first, which waits for the device: `clip_grad_norm` leaves shorter gradients as they are.",
        clip: Clip::Compared),
    step!(reads_no_number, "The loss is read to find NaN, which waits for the device: return it as it is.", looks: true),
    step!(returns_errors, "The error of the optimizer is ignored.", forgives: true),
    wrong!("4.3", returns_probabilities_of_each_cloud, "These are logits; softmax turns them into probabilities.",
        probabilities: logits),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The softmax is over the clouds; it should be over the classes.",
        probabilities: |model, points| softmax(&logits(model, points)?, 0)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "These are the logarithms of the probabilities.",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.log()?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "A sigmoid of each logit: the classes of a cloud must sum to 1.",
        probabilities: |model, points| Ok((logits(model, points)?.neg()?.exp()? + 1.0)?.recip()?)),
    wrong!("4.3", does_not_depend_on_the_batch, "The statistics of the batch are used (a training pass). Evaluation uses the running statistics.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::train(0, 0))?.logits;
        softmax(&logits.detach().to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", leaves_the_network_unchanged, "A training pass runs as well, and updates the running statistics.",
    probabilities: |model, points| {
        let p = (REFERENCE.probabilities)(model, points)?;
        if points.dim(0)? > 1 {
            model.forward(points, &Pass::train(0, 0))?;
        }
        Ok(p)
    }),
    wrong!("4.3", is_detached_from_the_graph, "The result is still part of the graph of the weights: detach it.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::eval())?.logits;
        softmax(&logits.to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
        probabilities: |model, points| careless(&logits(model, points)?)),
    wrong!("4.3", returns_f32_of_any_network_dtype, "The probabilities have the network's dtype; they should be f32.",
        probabilities: |model, points| softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)),
    wrong!("4.3", returns_f32_of_any_network_dtype, "The softmax is computed in the network's dtype, which may be bf16: convert the logits to f32 before it.",
        probabilities: |model, points| Ok(softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)?.to_dtype(DType::F32)?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The probabilities are f64; they should be f32.",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.to_dtype(DType::F64)?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "All rows together sum to 1; each row should.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        let up = up.broadcast_sub(&up.max_keepdim(1)?)?.exp()?;
        Ok(up.broadcast_div(&up.sum_all()?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "All rows together sum to 1; each row should.",
    probabilities: |model, points| {
        let up = logits(model, points)?.exp()?;
        Ok(up.broadcast_div(&up.sum_all()?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The maxima are over the clouds; each row needs its own (axis 1).",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.max_keepdim(0)?)?)
    }),
    wrong!("4.3", does_not_depend_on_the_batch, "The result for one cloud lost its first axis; it should be [1, classes].",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.squeeze(0)?)),
    wrong!("4.3", stays_exact_for_large_logits, "The maximum of the whole batch is subtracted; a row with smaller logits becomes 0/0. Subtract the maximum of each row.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.max_all()?)?)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.min_keepdim(1)?)?)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.mean_keepdim(1)?)?)
    }),
    wrong!("4.4", has_true_classes_in_rows, "Rows and columns are swapped: the true class is the row.",
        scores: |t, n, c| scored((n, t, c), |&[_, column, hits]| recall(&[column, 0.0, hits]), |&[r, c, h]| f1(&[c, r, h]), 0.0)),
    wrong!("4.4", accuracy_is_the_share_of_correct_predictions, "This is the balanced accuracy; the accuracy is the share of all clouds.", scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { accuracy: s.balanced_accuracy, ..s }
    }),
    wrong!("4.4", averages_recall_over_classes_that_occur, "A class that does not occur counts with a recall of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), |v| Some(recall(v).unwrap_or(0.0)), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "Correct predictions are divided by all predictions of the class: that is precision. Recall divides by the clouds of the class.",
        scores: |t, n, c| scored((t, n, c), |&[_, named, hits]| (named > 0.0).then(|| hits / named), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "This is the plain accuracy; the balanced accuracy is a mean over the classes.",
    scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { balanced_accuracy: s.accuracy, ..s }
    }),
    wrong!("4.4", averages_f1_over_classes_that_occur, "The mean is over the predicted classes; it should be over the classes that occur.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that occurs but has no correct prediction is left out; its F1 is 0.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).filter(|&f| f > 0.0), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that was predicted but does not occur counts with an F1 of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r + named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that does not occur counts with an F1 of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), recall, |v| Some(f1(v).unwrap_or(0.0)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "F1 from precision and recall is 0/0 for a class that was never predicted: use the formula in the comment.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r > 0.0).then(|| {
            let (p, r) = (h / named, h / r);
            2.0 * p * r / (p + r)
        }), 0.0)),
    scoring!(
        averages_f1_over_classes_that_occur,
        "The classes are weighted by their clouds; macro F1 weights all alike.",
        |s| {
            let row = |c: usize| s.confusion[c].iter().sum::<u64>() as f64;
            let f1 = |c: usize| {
                let column = s.confusion.iter().map(|r| r[c]).sum::<u64>() as f64;
                2.0 * s.confusion[c][c] as f64 / (row(c) + column)
            };
            let classes = (0..s.confusion.len()).filter(|&c| row(c) > 0.0);
            let (sum, all) = classes.fold((0.0, 0.0), |(sum, all), c| (sum + row(c) * f1(c), all + row(c)));
            Scores {
                macro_f1: if all > 0.0 { sum / all } else { 0.0 },
                ..s
            }
        }
    ),
    scoring!(
        averages_f1_over_classes_that_occur,
        "This is the F1 over all clouds together, which equals the accuracy; take the mean of the classes' F1.",
        |s| Scores {
            macro_f1: s.accuracy,
            ..s
        }
    ),
    scoring!(
        averages_f1_over_classes_that_occur,
        "This is the F1 of the mean precision and the mean recall; take the mean of the classes' F1.",
        |s| {
            let occur: Vec<usize> = (0..s.confusion.len())
                .filter(|&c| s.confusion[c].iter().sum::<u64>() > 0)
                .collect();
            let precision = |&c: &usize| {
                s.confusion[c][c] as f64 / s.confusion.iter().map(|r| r[c]).sum::<u64>().max(1) as f64
            };
            let p = occur.iter().map(precision).sum::<f64>() / occur.len().max(1) as f64;
            let sum = p + s.balanced_accuracy;
            Scores {
                macro_f1: if sum > 0.0 {
                    2.0 * p * s.balanced_accuracy / sum
                } else {
                    0.0
                },
                ..s
            }
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The scores are percentages; they should be shares from 0 to 1.",
        |s| Scores {
            accuracy: 100.0 * s.accuracy,
            balanced_accuracy: 100.0 * s.balanced_accuracy,
            macro_f1: 100.0 * s.macro_f1,
            ..s
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The scores are computed in f32; compute in f64.",
        |s| Scores {
            accuracy: f64::from(s.accuracy as f32),
            balanced_accuracy: f64::from(s.balanced_accuracy as f32),
            macro_f1: f64::from(s.macro_f1 as f32),
            ..s
        }
    ),
    scoring!(
        has_true_classes_in_rows,
        "Correct predictions are missing in the matrix; they are its diagonal.",
        |mut s| {
            (0..s.confusion.len()).for_each(|c| s.confusion[c][c] = 0);
            s
        }
    ),
    scoring!(
        averages_recall_over_classes_that_occur,
        "The loop ends at the first class that does not occur; skip it and go on.",
        |s| {
            let occurs = |row: &&Vec<u64>| row.iter().sum::<u64>() > 0;
            let first = s.confusion.iter().take_while(occurs).count();
            let part = |of: fn(&[Vec<u64>]) -> f64| {
                if first == 0 {
                    0.0
                } else {
                    of(&s.confusion[..first])
                }
            };
            Scores {
                balanced_accuracy: part(balanced_accuracy),
                macro_f1: part(macro_f1),
                ..s
            }
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The loop ends at the first class that does not occur; skip it and go on.",
        |s| {
            let occurs = |row: &&Vec<u64>| row.iter().sum::<u64>() > 0;
            let first = s.confusion.iter().take_while(occurs).count();
            let correct: u64 = (0..first).map(|c| s.confusion[c][c]).sum();
            Scores {
                accuracy: correct as f64 / s.confusion.iter().flatten().sum::<u64>().max(1) as f64,
                ..s
            }
        }
    ),
    scoring!(
        counts_many_clouds,
        "The counts are of a small integer type and overflow: use u64.",
        |mut s| {
            s.confusion.iter_mut().flatten().for_each(|n| *n %= 65_536);
            Scores {
                accuracy: accuracy(&s.confusion),
                ..s
            }
        }
    ),
    wrong!("4.4", counts_many_clouds, "The counts are of a small integer type and overflow; use u64.", scores: |t, n, c| {
        assert!(t.len() < 65_536, "attempt to add with overflow");
        (REFERENCE.scores)(t, n, c)
    }),
    scoring!(
        is_zero_without_clouds,
        "Without clouds the matrix is empty; it should have a row of zeros for each class.",
        |s| {
            let none = s.confusion.iter().flatten().all(|&n| n == 0);
            Scores {
                confusion: if none { Vec::new() } else { s.confusion },
                ..s
            }
        }
    ),
    wrong!("4.4", is_zero_without_clouds, "0/0 is NaN: without clouds the scores are 0.",
        scores: |t, n, c| scored((t, n, c), recall, f1, f64::NAN)),
    wrong!("4.5", weights_steps_by_their_clouds, "All steps have the same weight; weight each step by its number of clouds.",
    mean_loss: |steps| {
        let mut losses = Vec::new();
        each(steps, |loss, _| { losses.push(loss); Ok(()) })?;
        let count = losses.len().max(1) as f64;
        Ok(OnDevice::read_all(&losses)?.iter().sum::<f64>() / count)
    }),
    wrong!("4.5", weights_steps_by_their_clouds, "The sum is not divided by the number of clouds.", mean_loss: |steps| {
        let mut losses = Vec::new();
        each(steps, |loss, clouds| { losses.push(loss.times(clouds as f64)?); Ok(()) })?;
        Ok(OnDevice::read_all(&losses)?.iter().sum())
    }),
    wrong!("4.5", weights_steps_by_their_clouds, "This is only the loss of the last step.", mean_loss: |steps| {
        let mut last = None;
        each(steps, |loss, _| { last = Some(loss); Ok(()) })?;
        last.map_or(Ok(0.0), |l| l.read())
    }),
    wrong!("4.5", never_waits_between_steps, "Each loss is read before the next step is taken: the device is idle meanwhile.",
    mean_loss: |steps| {
        let mut sum = 0.0;
        let all = each(steps, |loss, clouds| { sum += loss.read()? * clouds as f64; Ok(()) })?;
        Ok(sum / all.max(1) as f64)
    }),
    averaging!(
        weights_steps_by_their_clouds,
        "The sum of clouds·loss is divided by the number of steps; divide by the clouds.",
        |losses, clouds| losses.iter().zip(clouds).map(|(l, &n)| l * n as f64).sum::<f64>()
            / losses.len() as f64
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "The losses are added without their clouds, then divided by the clouds.",
        |losses, clouds| losses.iter().sum::<f64>() / clouds.iter().sum::<u64>() as f64
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "The loss of the first step is not multiplied by its clouds.",
        |losses, clouds| {
            let first = losses[0] * (1.0 - clouds[0] as f64);
            let sum: f64 = losses.iter().zip(clouds).map(|(l, &n)| l * n as f64).sum();
            (sum + first) / clouds.iter().sum::<u64>() as f64
        }
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "The first step is taken and then forgotten.",
        |losses, clouds| {
            let sum: f64 = losses
                .iter()
                .zip(clouds)
                .skip(1)
                .map(|(l, &n)| l * n as f64)
                .sum();
            sum / clouds[1..].iter().sum::<u64>().max(1) as f64
        }
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "n / Σ n is a division of integers, which is 0: divide in f64.",
        |losses, clouds| losses
            .iter()
            .zip(clouds)
            .map(|(l, &n)| l * (n / clouds.iter().sum::<u64>()) as f64)
            .sum()
    ),
    wrong!("4.5", weights_steps_by_their_clouds, "`count` takes all steps and drops them: afterwards there are none.", mean_loss: |steps| {
        let _ = steps.count();
        Ok(0.0)
    }),
    averaging!(
        weights_steps_by_their_clouds,
        "The clouds are counted as u8, which has no number above 255.",
        |losses, clouds| {
            let sum: f64 = losses
                .iter()
                .zip(clouds)
                .map(|(l, &n)| l * f64::from(n as u8))
                .sum();
            sum / clouds.iter().map(|&n| f64::from(n as u8)).sum::<f64>()
        }
    ),
    wrong!("4.5", waits_once, "One loss is read apart from the others: all of them need only one wait.", mean_loss: |steps| {
        let mut held = Vec::new();
        let all = each(steps, |loss, clouds| { held.push(loss.times(clouds as f64)?); Ok(()) })?;
        if let Some(first) = held.first() {
            first.read()?;
        }
        Ok(OnDevice::read_all(&held)?.iter().sum::<f64>() / all.max(1) as f64)
    }),
    wrong!("4.5", is_zero_without_steps, "An epoch without steps is an error; it should be 0.", mean_loss: |steps| {
        let mut steps = steps.peekable();
        if steps.peek().is_none() {
            return Err(candle_core::Error::Msg("no steps".into()));
        }
        (REFERENCE.mean_loss)(&mut steps)
    }),
    wrong!("4.5", returns_an_error_at_once, "The losses so far are read before the error is returned: that waits.", mean_loss: |steps| {
        let (mut held, mut failure) = (Vec::new(), None);
        for step in steps {
            match step {
                Ok((loss, clouds)) => held.push((loss, clouds)),
                Err(error) => { failure = Some(error); break; }
            }
        }
        let losses: Vec<OnDevice> = held.iter().map(|(loss, _)| loss.clone()).collect();
        let read = OnDevice::read_all(&losses)?;
        let sum: f64 = read.iter().zip(&held).map(|(l, (_, n))| l * *n as f64).sum();
        match failure {
            Some(error) => Err(error),
            None => Ok(sum / held.iter().map(|h| h.1).sum::<u64>().max(1) as f64),
        }
    }),
    wrong!("4.5", returns_an_error_at_once, "A step that fails ends the epoch as if it were over; return its error.", mean_loss: |steps| {
        (REFERENCE.mean_loss)(&mut steps.take_while(Result::is_ok))
    }),
    wrong!("4.5", returns_an_error_at_once, "A step that fails panics (`unwrap`); return its error (`?`).", mean_loss: |steps| {
        (REFERENCE.mean_loss)(&mut steps.map(|s| Ok(s.expect("called `Result::unwrap()` on an `Err` value"))))
    }),
    wrong!("4.5", never_waits_between_steps, "The losses are read every few steps, or some of them early, which is still a wait between two steps.", mean_loss: |steps| {
        let (mut sum, mut held) = (0.0, Vec::<OnDevice>::new());
        let all = each(steps, |loss, clouds| {
            held.push(loss.times(clouds as f64)?);
            if held.len() == 10 {
                sum += OnDevice::read_all(&held)?.iter().sum::<f64>();
                held.clear();
            }
            Ok(())
        })?;
        Ok((sum + OnDevice::read_all(&held)?.iter().sum::<f64>()) / all.max(1) as f64)
    }),
    wrong!("4.5", waits_once, "Each loss is read separately at the end: one wait for all of them is enough.", mean_loss: |steps| {
        let mut held = Vec::new();
        let all = each(steps, |loss, clouds| { held.push(loss.times(clouds as f64)?); Ok(()) })?;
        let mut sum = 0.0;
        for loss in held {
            sum += loss.read()?;
        }
        Ok(sum / all.max(1) as f64)
    }),
    wrong!("4.5", is_zero_without_steps, "0/0 is NaN: without steps the mean is 0.", mean_loss: |steps| {
        let mut held = Vec::new();
        let all = each(steps, |loss, clouds| { held.push(loss.times(clouds as f64)?); Ok(()) })?;
        Ok(OnDevice::read_all(&held)?.iter().sum::<f64>() / all as f64)
    }),
    wrong!("4.5", returns_an_error_at_once, "A step that fails is skipped; return its error.", mean_loss: |steps| {
        (REFERENCE.mean_loss)(&mut steps.filter(Result::is_ok))
    }),
    wrong!("4.5", returns_an_error_at_once, "Further steps are taken after a step that failed.", mean_loss: |steps| {
        let all: Vec<_> = steps.collect();
        (REFERENCE.mean_loss)(&mut all.into_iter())
    }),
    bytes!(counts_the_bytes_of_parameters, "The gradients are missing.", gradient: |_| 0),
    bytes!(counts_the_bytes_of_parameters, "The optimizer state is missing.", optimizer: |_| 0),
    bytes!(counts_the_bytes_of_parameters, "The master copies of mixed precision are missing.", weight: |weight, _| weight),
    bytes!(counts_the_bytes_of_parameters, "Of weight and master copy only the larger is counted; a step has both.", weight: |weight, master| weight.max(master)),
    bytes!(counts_the_bytes_of_parameters, "The optimizer takes 8 bytes per parameter only with Adam in fp32; use `step.each.optimizer`.", optimizer: |_| 8),
    bytes!(counts_the_bytes_of_parameters, "Weights are taken to have 4 bytes; use `step.each`.", weight: |_, master| 4 + master, gradient: |_| 4),
    bytes!(counts_the_bytes_of_parameters, "Weights are taken to have 4 bytes; use `step.each`.", weight: |_, _| 4, gradient: |_| 4),
    bytes!(counts_the_bytes_of_parameters, "Gradients are taken to be as wide as the weights, or 4 bytes; use `step.each.gradient`.", gradient: |_| 4),
    bytes!(counts_the_activations_of_all_layers, "The bytes are those of one cloud; they should be those of the batch.", reported: |_| 1),
    bytes!(counts_the_activations_of_all_layers, "The bytes of a row are not multiplied by the number of rows.", kept: |layers| layers.iter().map(|l| l.kept).sum()),
    bytes!(counts_the_activations_of_all_layers, "Only the layer that keeps most is counted; all layers keep their activations at the same time.",
        kept: |layers| layers.iter().map(|l| l.rows * l.kept).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is summed over the layers; the backward pass is in one layer at a time.",
        passing: |layers| layers.iter().map(|l| l.rows * l.passing).sum()),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The widest row is not in the layer that needs most: multiply by the number of rows first.",
        passing: |layers| layers.iter().map(|l| l.passing).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The memory of the backward pass is missing.", passing: |_| 0),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the last layer; take the layer with the greatest rows × passing.",
        passing: |layers| layers.last().map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the first layer; take the layer with the greatest rows × passing.",
        passing: |layers| layers.first().map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the layer with most rows; take the greatest rows × passing.",
        passing: |layers| layers.iter().max_by_key(|l| l.rows).map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the layer with the widest row; take the greatest rows × passing.",
        passing: |layers| layers.iter().max_by_key(|l| l.passing).map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is not counted when the batch is chosen: the step exceeds the budget.",
        chosen: |_| 0),
    wrong!("4.6", counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of one cloud; it grows with the batch.", largest_batch: |s, b| {
        let passing = (BYTES.passing)(&s.layers);
        let room = b.checked_sub(filled(s, u64::MAX / 4, BYTES)?.1.parameters)?;
        let fixed = |bytes: u64| s.parameters * bytes;
        let each = s.each;
        let room = room.checked_sub(fixed(u64::from(each.gradient)) + fixed(u64::from(each.optimizer)) + passing)?;
        let batch = room / (BYTES.kept)(&s.layers);
        let (_, bytes) = filled(s, u64::MAX / 4, Bytes { reported: |_| 1, ..BYTES })?;
        (batch >= 2).then_some((batch, StepBytes { activations: batch * bytes.activations, passing, ..bytes }))
    }),
    bytes!(fills_the_budget, "The number of clouds is rounded up: the last one does not fit.", fill: |room, each| room.div_ceil(each)),
    bytes!(fills_the_budget, "The batch is rounded down to a power of two; any number of clouds is allowed.",
        fill: |room, each| match room / each { 0 => 0, n => 1 << n.ilog2() }),
    bytes!(is_none_if_two_clouds_do_not_fit, "A batch of exactly 2 is refused; 2 clouds are enough.", least: 3),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "A batch of 2 is returned although 2 clouds do not fit; the result is None.",
        largest_batch: |s, b| filled(s, b, BYTES).or_else(|| Some((2, filled(s, u64::MAX / 4, Bytes { reported: |_| 2, ..BYTES })?.1)))),
    wrong!("4.6", fills_the_budget, "Only the parameters are subtracted from the budget; gradients and optimizer take memory, too.",
    largest_batch: |s, b| {
        let more = s.parameters * u64::from(s.each.gradient + s.each.optimizer);
        filled(s, b.saturating_add(more), BYTES)
    }),
    bytes!(is_none_if_two_clouds_do_not_fit, "A batch of 1 is returned: batch norm cannot learn from one cloud.", least: 1),
    bytes!(is_none_if_two_clouds_do_not_fit, "If nothing fits, the result is a batch of 0; it should be None.", least: 0),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and the subtraction underflows: check it first.",
    largest_batch: |s, b| {
        let (_, bytes) = filled(s, u64::MAX / 4, BYTES)?;
        let fixed = bytes.parameters + bytes.gradients + bytes.optimizer;
        assert!(b >= fixed, "attempt to subtract with overflow");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in floating point, which is not exact for large numbers: use integers.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f32 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and the subtraction wraps to a huge number: check it first.",
    largest_batch: |s, b| {
        let (_, none) = filled(s, u64::MAX / 4, Bytes { reported: |_| 0, ..BYTES })?;
        if b >= none.total() {
            return filled(s, b, BYTES);
        }
        let (kept, passing) = ((BYTES.kept)(&s.layers), (BYTES.passing)(&s.layers));
        let batch = b.wrapping_sub(none.total()) / (kept + passing);
        Some((batch, StepBytes { activations: batch * kept, passing: batch * passing, ..none }))
    }),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and `unwrap` panics: return None.",
    largest_batch: |s, b| {
        let (_, none) = filled(s, u64::MAX / 4, Bytes { reported: |_| 0, ..BYTES })?;
        assert!(b >= none.total(), "called `Option::unwrap()` on a `None` value");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in floating point, which is not exact for large numbers: use integers.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f64 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
    resuming!(restores_weights, "The weights are not restored.", tensors: |name| name.contains("running")),
    resuming!(restores_running_statistics, "Running means and variances are not restored: they are not parameters, but belong to the run.",
        tensors: |name| !name.contains("running")),
    resuming!(restores_running_statistics, "Only the means of the running statistics are restored.", tensors: |name| !name.contains("running_var")),
    resuming!(restores_the_optimizer, "The optimizer state is not restored.", optimizer: false),
    resuming!(restores_the_optimizer, "The optimizer's step count restarts at 0, so that Adam's bias correction is wrong.",
        fresh: |name| name == "step"),
    resuming!(restores_the_optimizer, "Adam's means of squares are not restored.", fresh: |name| name.starts_with("exp_avg_sq")),
    resuming!(returns_the_rest_of_the_epoch, "The epoch starts again: some clouds are seen twice.", at: |s| (s.epoch, 0)),
    resuming!(returns_the_rest_of_the_epoch, "One batch too many is skipped.", at: |s| (s.epoch, s.batch + 1)),
    resuming!(returns_the_rest_of_the_epoch, "The order is that of epoch 0; each epoch has its own.", at: |s| (0, s.batch)),
    resuming!(returns_the_rest_of_the_epoch, "The order is that of the next epoch.", at: |s| (s.epoch + 1, s.batch)),
    resuming!(returns_the_rest_of_the_epoch, "The order is drawn with another seed than that of the run.", seed: |_| 0),
    resuming!(returns_the_rest_of_the_epoch, "These are positions in the list of records, not the records.", records: false),
    resuming!(returns_the_rest_of_the_epoch, "`saved.batch` counts batches; that many records are skipped.", left: |all, done| {
        let size = all.first().map_or(1, Vec::len);
        let rest: Vec<usize> = all.into_iter().flatten().skip(done).collect();
        rest.chunks_exact(size).map(<[usize]>::to_vec).collect()
    }),
    resuming!(returns_the_rest_of_the_epoch, "The last batch that is done is returned again.", at: |s| (s.epoch, s.batch.saturating_sub(1))),
    resuming!(returns_the_rest_of_the_epoch, "These are the batches that are done; return the others.",
        left: |all, done| all.into_iter().take(done).collect()),
    resuming!(returns_the_rest_of_the_epoch, "The remaining batches are in reverse order.",
        left: |all, done| all.into_iter().skip(done).rev().collect()),
    resuming!(returns_the_rest_of_the_epoch, "Only the next batch is returned; return all remaining ones.",
        left: |all, done| all.into_iter().skip(done).take(1).collect()),
    resuming!(returns_the_rest_of_the_epoch, "The records are sorted first; take them as they are listed.", listed: |records| {
        let mut all = records.to_vec();
        all.sort_unstable();
        all
    }),
    wrong!("4.7", restores_weights, "Nothing is restored at the start of an epoch; a run also stops between two epochs.", resume_batches: |s, m, o, r, n| {
        let wanted = s.batch > 0;
        resumed(s, (m, o), (r, n), Resuming { tensors: if wanted { |_| true } else { |_| false }, optimizer: wanted, ..RESUMING })
    }),
    resuming!(returns_errors_of_other_tensors, "The error of `from_map` or `load_state` is ignored: the run would go on with other weights.", forgives: true),
    resuming!(drops_an_incomplete_batch, "The last batch is kept although it is not full.", drop_last: false),
    resuming!(drops_an_incomplete_batch, "The completed records were left out before `batches` divided the rest: it keeps an incomplete batch if that is the only one.",
    left: |all, done| match all.len() == done {
        true => vec![vec![0]],
        false => all.into_iter().skip(done).collect(),
    }),
    resuming!(drops_an_incomplete_batch, "The last batch is filled up with records that were seen before; drop it.", drop_last: false,
    left: |mut all, done| {
        let (size, first) = (all.first().map_or(0, Vec::len), all.first().cloned().unwrap_or_default());
        if let Some(last) = all.last_mut() {
            let missing = size - last.len();
            last.extend(&first[..missing]);
        }
        all.into_iter().skip(done).collect()
    }),
    wrong!("4.7", drops_an_incomplete_batch, "If no batch is left, the next epoch's are returned; return none.", resume_batches: |s, m, o, r, n| {
        let rest = (REFERENCE.resume_batches)(s, m, o, r, n)?;
        if !rest.is_empty() {
            return Ok(rest);
        }
        resumed(s, (m, o), (r, n), Resuming { at: |s| (s.epoch + 1, 0), ..RESUMING })
    }),
    wrong!("4.8", stops_at_the_first_success, "The search starts at half of `start`.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start / 2, least, attempt)),
    wrong!("4.8", stops_at_the_first_success, "It continues after the first success.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        let _ = attempt(found / 2);
        Ok(found)
    }),
    wrong!("4.8", halves_the_batch_after_each_failure, "The batch is reduced by one cloud each time: from 512 down, that takes hours.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n - 1, starved)),
    wrong!("4.8", halves_the_batch_after_each_failure, "Half is rounded up; round it down.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| if n > 1 { n.div_ceil(2) } else { 0 }, starved)),
    wrong!("4.8", halves_the_batch_after_each_failure, "The batch is reduced by a tenth each time; halve it.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n * 9 / 10, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "`least` itself is not tried.",
        executable_batch: |start, least, attempt| sought(start, least + 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "Batches below `least` are tried.",
        executable_batch: |start, _, attempt| sought(start, 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_no_batch_below_the_least, "A batch of 0 is tried if `least` is 0: half of 1 is 0, and half of 0 is 0 again. A batch must be above 0 as well.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        while batch >= least {
            match attempt(batch) {
                Ok(()) => return Ok(batch),
                Err(Failure::OutOfMemory) => batch /= 2,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::OutOfMemory)
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If the half is too small, `least` is tried instead; try only halves.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) if least > 0 => attempt(least).map(|()| least),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If the half is too small, `least` is tried instead; try only halves.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        while batch > 0 && batch >= least {
            match attempt(batch) {
                Ok(()) => return Ok(batch),
                Err(Failure::OutOfMemory) if batch > least && batch / 2 < least => batch = least,
                Err(Failure::OutOfMemory) => batch /= 2,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::OutOfMemory)
    }),
    wrong!("4.8", stops_at_the_first_success, "It continues after the first success, down to `least`.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        let mut batch = found / 2;
        while batch >= least.max(1) {
            let _ = attempt(batch);
            batch /= 2;
        }
        Ok(found)
    }),
    wrong!("4.8", returns_other_failures_at_once, "Every failure is treated as out of memory: a smaller batch does not help against others.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |_| true)),
    wrong!("4.8", returns_other_failures_at_once, "Another failure is reported as out of memory, which misleads its reader.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|_| Failure::OutOfMemory)
    }),
    wrong!("4.8", returns_other_failures_at_once, "The text of a `Failure::Other` is read: only `Failure::OutOfMemory` means out of memory.",
    executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |f| match f {
        Failure::OutOfMemory => true,
        Failure::Other(words) => words.contains("memory"),
    })),
    wrong!("4.8", returns_other_failures_at_once, "The failure is returned with another text; return it unchanged.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|f| match f {
            Failure::Other(words) => Failure::Other(format!("batch {start}: {words}")),
            other => other,
        })
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, the failure is `Failure::OutOfMemory`, not another one.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|f| match f {
            Failure::OutOfMemory => Failure::Other("no batch fits".into()),
            other => other,
        })
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, 0 is returned; the result is `Failure::OutOfMemory`.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) => Ok(0),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "If no batch is left, `least` is returned, which was not tried; the result is `Failure::OutOfMemory`.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) => Ok(least),
            other => other,
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "`start` is tried although it is below `least`: compare before the attempt.",
    executable_batch: |start, least, attempt| {
        let mut batch = start;
        loop {
            match attempt(batch) {
                Err(Failure::OutOfMemory) if batch / 2 >= least.max(1) => batch /= 2,
                other => return other.map(|()| batch),
            }
        }
    }),
    wrong!("4.8", tries_no_batch_below_the_least, "A start of 0 is tried as 1; no batch is left, and the result is `Failure::OutOfMemory`.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start.max(1), least, attempt)),
    wrong!("4.8", halves_the_batch_after_each_failure, "No batch below 2 is tried; `least` says what the smallest batch is.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least.max(2), attempt)),
    wrong!("4.8", halves_the_batch_after_each_failure, "It gives up after some attempts; go on down to `least`.", executable_batch: |start, least, attempt| {
        let mut count = 0;
        (REFERENCE.executable_batch)(start, least, &mut |batch| {
            count += 1;
            if count > 10 { Err(Failure::Other("no batch fits".into())) } else { attempt(batch) }
        })
    }),
    wrong!("4.8", stops_at_the_first_success, "The result is not the batch that ran, but half of it.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start, least, attempt).map(|n| n / 2)),
    wrong!("4.8", stops_at_the_first_success, "The batch that ran is tried once more.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        attempt(found).map(|()| found)
    }),
    wrong!("4.8", stops_at_the_first_success, "`start` is rounded down to a power of two; try `start` itself.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(if start > 0 { 1 << start.ilog2() } else { 0 }, least, attempt)
    }),
];
