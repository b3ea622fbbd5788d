//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::DType;
use canopy::{
    device::Settled,
    kernels::Pass,
    train::{Failure, OnDevice},
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
macro_rules! taking {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.7", $caught_by, $cause, take_up: |s, m, o, r, n| {
            taken(s, (m, o), (r, n), Taking { $($turned)*, ..TAKING })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.1", returns_the_cpu_without_opening_a_gpu, "A CUDA device is opened although the CPU is named: that takes time, and memory of the GPU.",
    choose_device: |name, open| {
        let _ = open(0);
        chosen(name, &mut |_| Ok(()), CHOICE)
    }),
    choice!(opens_the_named_device, "The number after the colon is ignored.", number: |_| Some(0)),
    choice!(opens_the_named_device, "Only the first digit of the number is used.",
        number: |digits| digits[..1].parse().ok().filter(|_| (CHOICE.number)(digits).is_some())),
    wrong!("4.1", auto_takes_the_first_gpu, "`auto` always returns the CPU, which is only the fallback.",
    choose_device: |name, open| match name {
        "auto" => Ok(Settled { cuda: None, reason: Some("auto".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(auto_falls_back_with_a_reason, "`auto` falls back without a reason: nobody learns why the run is slow.", tells: false),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` fails if no CUDA device opens; it should be the CPU.",
        choose_device: |name, open| chosen(if name == "auto" { "cuda" } else { name }, open, CHOICE)),
    choice!(never_falls_back_from_a_named_device, "A named device falls back to the CPU: a user who named a GPU would not notice, and wait.",
        falls: true),
    choice!(never_falls_back_from_a_named_device, "The error does not contain the reason of `open`.", words: |n, _| format!("cuda:{n} does not open")),
    choice!(never_falls_back_from_a_named_device, "The error does not name the device.", words: |_, why| why.to_owned()),
    choice!(rejects_unknown_names, "`parse` accepts a sign as well: accept only digits.", number: |digits| digits.parse().ok()),
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
    step!(takes_one_optimizer_step, "The optimizer uses a fixed learning rate; use the one that is passed in.", rate: |_| 1e-3),
    step!(takes_one_optimizer_step, "The optimizer takes two steps by the same gradients.", steps: 2),
    step!(takes_one_optimizer_step, "The optimizer takes no step.", steps: 0),
    step!(takes_one_optimizer_step, "The learning rate is negated: the optimizer already goes against the gradient.", rate: |rate| -rate),
    step!(takes_one_optimizer_step, "Gradients are clipped even if clip is 0, which means no clipping.", clip: Clip::Always),
    step!(clips_before_the_step, "The optimizer uses unclipped gradients: clip them before its step.", clip: Clip::Never),
    step!(clips_before_the_step, "Each gradient is clipped separately; clip the common norm of all of them.", clip: Clip::Each),
    step!(runs_one_forward_pass, "The predictions are computed in a second training pass: the running statistics are updated twice.",
        counts_in: Some(|| Pass::train(11, 0))),
    step!(runs_one_forward_pass, "The network runs in another pass than the one that is passed in, which defines dropout, seed and step.",
        pass: Some(|| Pass::train(0, 999))),
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
    wrong!("4.3", stays_finite_for_huge_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first.",
        probabilities: |model, points| careless(&logits(model, points)?)),
    wrong!("4.3", returns_f32, "The probabilities have the network's dtype; they should be f32.",
        probabilities: |model, points| softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)),
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
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that occurs but is never predicted is left out; its F1 is 0.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r > 0.0 && named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "correct/(clouds + predictions) is half of F1.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).map(|f| f / 2.0), 0.0)),
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
    wrong!("4.5", never_waits_between_steps, "The losses are read every ten steps, which is still a wait between two steps.", mean_loss: |steps| {
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
    bytes!(counts_the_bytes_of_parameters, "The gradients are missing.", gradient: 0),
    bytes!(counts_the_bytes_of_parameters, "The optimizer state is missing.", optimizer: |_| 0),
    bytes!(counts_the_bytes_of_parameters, "The master copies of mixed precision are missing.", weight: |weight, _| weight),
    bytes!(counts_the_activations_of_all_layers, "The bytes of a row are not multiplied by the number of rows.", kept: |layers| layers.iter().map(|l| l.kept).sum()),
    bytes!(counts_the_activations_of_all_layers, "Only the layer that keeps most is counted; all layers keep their activations at the same time.",
        kept: |layers| layers.iter().map(|l| l.rows * l.kept).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is summed over the layers; the backward pass is in one layer at a time.",
        passing: |layers| layers.iter().map(|l| l.rows * l.passing).sum()),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The widest row is not in the layer that needs most: multiply by the number of rows first.",
        passing: |layers| layers.iter().map(|l| l.passing).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The memory of the backward pass is missing.", passing: |_| 0),
    bytes!(fills_the_budget, "The number of clouds is rounded up: the last one does not fit.", fill: |room, each| room.div_ceil(each)),
    bytes!(fills_the_budget, "The batch is rounded down to a power of two; any number of clouds is allowed.",
        fill: |room, each| match room / each { 0 => 0, n => 1 << n.ilog2() }),
    bytes!(is_none_if_two_clouds_do_not_fit, "A batch of 1 is returned: batch norm cannot learn from one cloud.", least: 1),
    bytes!(is_none_if_two_clouds_do_not_fit, "If nothing fits, the result is a batch of 0; it should be None.", least: 0),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and the subtraction underflows: check it first.",
    largest_batch: |s, b| {
        let (_, bytes) = filled(s, u64::MAX / 4, BYTES)?;
        let fixed = bytes.parameters + bytes.gradients + bytes.optimizer;
        assert!(b >= fixed, "attempt to subtract with overflow");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in f32, which is exact only up to 24 bits: use integers.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f32 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, canopy::train::memory::StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
    taking!(restores_weights, "The weights are not restored.", tensors: |name| name.contains("running")),
    taking!(restores_running_statistics, "Running means and variances are not restored: they are not parameters, but belong to the run.",
        tensors: |name| !name.contains("running")),
    taking!(restores_running_statistics, "Only the means of the running statistics are restored.", tensors: |name| !name.contains("running_var")),
    taking!(restores_the_optimizer, "The optimizer state is not restored.", optimizer: false),
    taking!(restores_the_optimizer, "The optimizer's step count restarts at 0, so that Adam's bias correction is wrong.",
        fresh: |name| name == "step"),
    taking!(restores_the_optimizer, "Adam's means of squares are not restored.", fresh: |name| name.starts_with("exp_avg_sq")),
    taking!(returns_the_rest_of_the_epoch, "The epoch starts again: some clouds are seen twice.", at: |s| (s.epoch, 0)),
    taking!(returns_the_rest_of_the_epoch, "One batch too many is skipped.", at: |s| (s.epoch, s.batch + 1)),
    taking!(returns_the_rest_of_the_epoch, "The order is that of epoch 0; each epoch has its own.", at: |s| (0, s.batch)),
    taking!(returns_the_rest_of_the_epoch, "The order is that of the next epoch.", at: |s| (s.epoch + 1, s.batch)),
    taking!(returns_the_rest_of_the_epoch, "The order is drawn with another seed than that of the run.", seed: |_| 0),
    taking!(returns_the_rest_of_the_epoch, "These are positions in the list of records, not the records.", records: false),
    taking!(drops_an_incomplete_batch, "The last batch is kept although it is not full.", drop_last: false),
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
    wrong!("4.8", returns_other_failures_at_once, "Every failure is treated as out of memory: a smaller batch does not help against others.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |_| true)),
    wrong!("4.8", returns_other_failures_at_once, "Another failure is reported as out of memory, which misleads its reader.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|_| Failure::OutOfMemory)
    }),
];
