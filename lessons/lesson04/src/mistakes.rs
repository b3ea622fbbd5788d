//! Known wrong answers with the cause a student is told.

use candle_core::DType;
use canopy::{
    device::Settled,
    kernels::Pass,
    train::{Failure, OnDevice},
};
use grader::{Mistake, wrong};

use crate::{Lesson04, REFERENCE, parts::*};

/// A choice of device with something turned.
macro_rules! choice {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.1", $caught_by, $cause, choose_device: |name, open| {
            chosen(name, open, Choice { $($turned)*, ..CHOICE })
        })
    };
}

/// A training step with something turned.
macro_rules! step {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.2", $caught_by, $cause, train_step: |m, o, d, l, p, r, c| {
            stepped((m, o, d, l, p), r, c, Step { $($turned)*, ..STEP })
        })
    };
}

/// A count of bytes with something turned.
macro_rules! bytes {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.6", $caught_by, $cause, largest_batch: |s, b| filled(s, b, Bytes { $($turned)*, ..BYTES }))
    };
}

/// A taking up with something turned.
macro_rules! taking {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.7", $caught_by, $cause, take_up: |s, m, o, r, n| {
            taken(s, (m, o), (r, n), Taking { $($turned)*, ..TAKING })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.1", takes_the_cpu_without_asking, "A CUDA device is opened where the CPU is named: that takes memory there, and time.",
    choose_device: |name, open| {
        let _ = open(0);
        chosen(name, &mut |_| Ok(()), CHOICE)
    }),
    choice!(opens_the_device_named, "The number behind the colon is not looked at.", number: |_| Some(0)),
    choice!(opens_the_device_named, "Only the first digit of the number is taken.",
        number: |digits| digits[..1].parse().ok().filter(|_| (CHOICE.number)(digits).is_some())),
    wrong!("4.1", takes_the_first_device_for_auto, "`auto` takes the CPU always; it is the last resort.",
    choose_device: |name, open| match name {
        "auto" => Ok(Settled { cuda: None, reason: Some("auto".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(falls_back_for_auto_and_says_why, "`auto` falls back in silence: nobody learns why the run is slow.", tells: false),
    wrong!("4.1", falls_back_for_auto_and_says_why, "`auto` fails where no CUDA device opens; there it is the CPU.",
        choose_device: |name, open| chosen(if name == "auto" { "cuda" } else { name }, open, CHOICE)),
    choice!(never_falls_back_from_a_name, "A device asked for by name falls back to the CPU: who asked for a GPU would not notice, and wait.",
        falls: true),
    choice!(never_falls_back_from_a_name, "The error leaves out what the device said.", words: |n, _| format!("cuda:{n} does not open")),
    choice!(never_falls_back_from_a_name, "The error does not say which device it is about.", words: |_, why| why.to_owned()),
    choice!(refuses_other_names, "`parse` takes a sign as well: ask for digits alone.", number: |digits| digits.parse().ok()),
    choice!(refuses_other_names, "So many digits are no number any more: `parse` fails, and `unwrap` panics. It is a name like any other that is not known.",
        number: |digits| (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(refuses_other_names, "The error does not say which names there are.", unknown: |name| format!("no device {name}")),
    wrong!("4.1", refuses_other_names, "An unknown name is taken for the CPU.", choose_device: |name, open| {
        let known = matches!(name, "auto" | "cpu" | "cuda")
            || name.strip_prefix("cuda:").is_some_and(|d| (CHOICE.number)(d).is_some());
        chosen(if known { name } else { "cpu" }, open, CHOICE)
    }),
    step!(gives_the_loss_of_the_batch, "The loss is a sum over the clouds; cross-entropy's mean is asked.", summed: true),
    step!(counts_what_was_named_rightly, "The hits are a share; their number is asked.", hits: |hits, n| hits / n as f64),
    step!(counts_what_was_named_rightly, "The hits are summed as bytes, and a byte ends at 255: what `eq` gives goes to f32 first, then into the sum.",
        hits: |hits, _| f64::from(hits as u32 as u8)),
    step!(counts_what_was_named_rightly, "These are the misses.", hits: |hits, n| n as f64 - hits),
    step!(gives_the_loss_of_the_batch, "`clip_grad_norm` is asked where clip is 0, too: that means never.", clip: Clip::Unasked),
    step!(smooths_and_weighs, "The label smoothing is left out.", smoothing: false),
    step!(smooths_and_weighs, "The class weights are left out.", weights: false),
    step!(adds_the_orthogonality_term, "The orthogonality term is left out.", term: |_| 0.0),
    step!(adds_the_orthogonality_term, "The orthogonality term is added without its weight.",
        term: |weight| if weight > 0.0 { 1.0 } else { 0.0 }),
    step!(steps_once_by_the_gradients, "The optimizer steps at a rate of its own; the one that is given counts.", rate: |_| 1e-3),
    step!(steps_once_by_the_gradients, "The optimizer takes two steps by the same gradients.", steps: 2),
    step!(steps_once_by_the_gradients, "The optimizer takes no step.", steps: 0),
    step!(steps_once_by_the_gradients, "The rate is turned round: the optimizer goes downhill by itself.", rate: |rate| -rate),
    step!(steps_once_by_the_gradients, "Gradients are clipped where clip is 0, too: that means never.", clip: Clip::Always),
    step!(clips_before_it_steps, "The optimizer steps by gradients that are not clipped: clip them before its step.", clip: Clip::Never),
    step!(clips_before_it_steps, "Each gradient is clipped by itself; it is the norm of all of them together that is held.", clip: Clip::Each),
    step!(sees_the_batch_once_in_its_pass, "The hits are counted in a second training pass: the running statistics move twice.",
        counts_in: Some(|| Pass::train(11, 0))),
    step!(sees_the_batch_once_in_its_pass, "The network runs in another pass than the one that is given: its dropout, seed and step are part of the run.",
        pass: Some(|| Pass::train(0, 999))),
    wrong!("4.3", gives_each_cloud_its_probabilities, "These are logits; softmax turns them into probabilities.",
        probabilities: logits),
    wrong!("4.3", gives_each_cloud_its_probabilities, "The softmax runs over the clouds; it runs over the classes.",
        probabilities: |model, points| softmax(&logits(model, points)?, 0)),
    wrong!("4.3", gives_each_cloud_its_probabilities, "This is the logarithm of the probabilities.",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.log()?)),
    wrong!("4.3", gives_each_cloud_its_probabilities, "A sigmoid of each logit: the classes of a cloud must sum to 1.",
        probabilities: |model, points| Ok((logits(model, points)?.neg()?.exp()? + 1.0)?.recip()?)),
    wrong!("4.3", answers_the_same_in_any_company, "The batch's own statistics are taken: a training pass. Evaluation takes the running ones.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::train(0, 0))?.logits;
        softmax(&logits.detach().to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", leaves_the_network_as_it_was, "A training pass runs as well, and moves the running statistics.",
    probabilities: |model, points| {
        let p = (REFERENCE.probabilities)(model, points)?;
        if points.dim(0)? > 1 {
            model.forward(points, &Pass::train(0, 0))?;
        }
        Ok(p)
    }),
    wrong!("4.3", keeps_no_graph, "The result still hangs on the weights' graph: detach it.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::eval())?.logits;
        softmax(&logits.to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", stays_finite_for_huge_logits, "exp of a large logit is infinite: take the greatest of its row off first.",
        probabilities: |model, points| careless(&logits(model, points)?)),
    wrong!("4.3", answers_in_f32, "The probabilities have the network's number type; f32 is asked.",
        probabilities: |model, points| softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)),
    wrong!("4.4", has_the_truth_in_rows, "Rows and columns are swapped: the truth is the row.",
        scores: |t, n, c| scored((n, t, c), |&[_, column, hits]| recall(&[column, 0.0, hits]), |&[r, c, h]| f1(&[c, r, h]), 0.0)),
    wrong!("4.4", counts_the_share_named_rightly, "The accuracy is the balanced one; it is the share of all clouds.", scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { accuracy: s.balanced_accuracy, ..s }
    }),
    wrong!("4.4", balances_over_classes_that_occur, "A class that does not occur counts as a recall of 0; it has none.",
        scores: |t, n, c| scored((t, n, c), |v| Some(recall(v).unwrap_or(0.0)), f1, 0.0)),
    wrong!("4.4", balances_over_classes_that_occur, "Hits are divided by how often the class was named: that is precision. Recall divides by how often it occurs.",
        scores: |t, n, c| scored((t, n, c), |&[_, named, hits]| (named > 0.0).then(|| hits / named), f1, 0.0)),
    wrong!("4.4", balances_over_classes_that_occur, "This is the plain accuracy; the balanced one is a mean over the classes.",
    scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { balanced_accuracy: s.accuracy, ..s }
    }),
    wrong!("4.4", gives_each_class_its_own_f1, "The mean is over the classes that were named; it is over those that occur.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", gives_each_class_its_own_f1, "A class that occurs but is never named is left out; its F1 is 0.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r > 0.0 && named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", gives_each_class_its_own_f1, "hits/(occurs + named) is half of F1.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).map(|f| f / 2.0), 0.0)),
    wrong!("4.4", scores_nothing_as_0, "0/0 is no number: of nothing the scores are 0.",
        scores: |t, n, c| scored((t, n, c), recall, f1, f64::NAN)),
    wrong!("4.5", weighs_steps_by_their_clouds, "Each step counts alike; a step counts as often as it has clouds.",
    mean_loss: |steps| {
        let mut losses = Vec::new();
        each(steps, |loss, _| { losses.push(loss); Ok(()) })?;
        let count = losses.len().max(1) as f64;
        Ok(OnDevice::read_all(&losses)?.iter().sum::<f64>() / count)
    }),
    wrong!("4.5", weighs_steps_by_their_clouds, "The sum is not divided by the number of clouds.", mean_loss: |steps| {
        let mut losses = Vec::new();
        each(steps, |loss, clouds| { losses.push(loss.times(clouds as f64)?); Ok(()) })?;
        Ok(OnDevice::read_all(&losses)?.iter().sum())
    }),
    wrong!("4.5", weighs_steps_by_their_clouds, "This is the loss of the last step alone.", mean_loss: |steps| {
        let mut last = None;
        each(steps, |loss, _| { last = Some(loss); Ok(()) })?;
        last.map_or(Ok(0.0), |l| l.read())
    }),
    wrong!("4.5", waits_not_between_steps, "Each loss is read before the next step is asked for: the device stands still meanwhile.",
    mean_loss: |steps| {
        let mut sum = 0.0;
        let all = each(steps, |loss, clouds| { sum += loss.read()? * clouds as f64; Ok(()) })?;
        Ok(sum / all.max(1) as f64)
    }),
    wrong!("4.5", waits_not_between_steps, "The losses are read every ten steps: still a wait between two steps.", mean_loss: |steps| {
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
    wrong!("4.5", waits_once_in_all, "Each loss is read by itself at the end: a wait for each, where one serves all.", mean_loss: |steps| {
        let mut held = Vec::new();
        let all = each(steps, |loss, clouds| { held.push(loss.times(clouds as f64)?); Ok(()) })?;
        let mut sum = 0.0;
        for loss in held {
            sum += loss.read()?;
        }
        Ok(sum / all.max(1) as f64)
    }),
    wrong!("4.5", is_0_without_steps, "0/0 is no number: of no steps the mean is 0.", mean_loss: |steps| {
        let mut held = Vec::new();
        let all = each(steps, |loss, clouds| { held.push(loss.times(clouds as f64)?); Ok(()) })?;
        Ok(OnDevice::read_all(&held)?.iter().sum::<f64>() / all as f64)
    }),
    wrong!("4.5", passes_an_error_on_at_once, "A step that fails is passed over.", mean_loss: |steps| {
        (REFERENCE.mean_loss)(&mut steps.filter(Result::is_ok))
    }),
    wrong!("4.5", passes_an_error_on_at_once, "After a step that failed further steps are taken.", mean_loss: |steps| {
        let all: Vec<_> = steps.collect();
        (REFERENCE.mean_loss)(&mut all.into_iter())
    }),
    bytes!(counts_what_each_parameter_needs, "The gradients are left out.", gradient: 0),
    bytes!(counts_what_each_parameter_needs, "The optimizer's own numbers are left out.", optimizer: |_| 0),
    bytes!(counts_what_each_parameter_needs, "The master copies of mixed precision are left out.", weight: |weight, _| weight),
    bytes!(counts_all_that_layers_keep, "What a row keeps is not taken times the rows.", kept: |layers| layers.iter().map(|l| l.kept).sum()),
    bytes!(counts_all_that_layers_keep, "Only the layer that keeps most is counted; all are kept at once.",
        kept: |layers| layers.iter().map(|l| l.rows * l.kept).max().unwrap_or(0)),
    bytes!(counts_the_widest_layer_once, "What passes is summed over the layers; the backward pass is at one at a time.",
        passing: |layers| layers.iter().map(|l| l.rows * l.passing).sum()),
    bytes!(counts_the_widest_layer_once, "The widest row is not the widest layer: take it times the rows first.",
        passing: |layers| layers.iter().map(|l| l.passing).max().unwrap_or(0)),
    bytes!(counts_the_widest_layer_once, "What the backward pass needs is left out.", passing: |_| 0),
    bytes!(fills_the_budget, "Rounded up: the last cloud does not fit.", fill: |room, each| room.div_ceil(each)),
    bytes!(fills_the_budget, "The largest power of two is taken; any number of clouds may fit.",
        fill: |room, each| match room / each { 0 => 0, n => 1 << n.ilog2() }),
    bytes!(leaves_out_what_does_not_fit, "A batch of 1 is taken: batch norm cannot learn from one cloud.", least: 1),
    bytes!(leaves_out_what_does_not_fit, "Where nothing fits the result is a batch of 0; it is None.", least: 0),
    wrong!("4.6", leaves_out_what_does_not_fit, "The budget is smaller than the parameters, and less than nothing is left: ask first.",
    largest_batch: |s, b| {
        let (_, bytes) = filled(s, u64::MAX / 4, BYTES)?;
        let fixed = bytes.parameters + bytes.gradients + bytes.optimizer;
        assert!(b >= fixed, "attempt to subtract with overflow");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in f32, which has 24 bits: whole numbers are exact.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f32 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, canopy::train::memory::StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
    taking!(puts_weights_back, "The weights are not put back.", tensors: |name| name.contains("running")),
    taking!(puts_running_statistics_back, "Running means and variances are not put back: they are no parameters, and yet of the run.",
        tensors: |name| !name.contains("running")),
    taking!(puts_running_statistics_back, "Of the running statistics only the means are put back.", tensors: |name| !name.contains("running_var")),
    taking!(puts_the_optimizer_back, "The optimizer begins anew.", optimizer: false),
    taking!(puts_the_optimizer_back, "The optimizer's count of steps begins anew: Adam takes its means for young ones.",
        fresh: |name| name == "step"),
    taking!(puts_the_optimizer_back, "Adam's means of squares are not put back.", fresh: |name| name.starts_with("exp_avg_sq")),
    taking!(goes_on_where_the_epoch_was, "The epoch begins anew: some clouds are seen twice.", at: |s| (s.epoch, 0)),
    taking!(goes_on_where_the_epoch_was, "One batch too many is passed over.", at: |s| (s.epoch, s.batch + 1)),
    taking!(goes_on_where_the_epoch_was, "The order is that of epoch 0; each epoch has its own.", at: |s| (0, s.batch)),
    taking!(goes_on_where_the_epoch_was, "The order is that of the next epoch.", at: |s| (s.epoch + 1, s.batch)),
    taking!(goes_on_where_the_epoch_was, "The order is drawn by another seed than the run's.", seed: |_| 0),
    taking!(goes_on_where_the_epoch_was, "These are places in the list of records, not the records.", records: false),
    taking!(leaves_out_a_batch_that_is_not_full, "The last batch is kept though it is not full.", drop_last: false),
    wrong!("4.8", stops_at_the_first_that_fits, "The search begins at half of what it was given.",
        executable_batch: |start, least, attempt| (REFERENCE.executable_batch)(start / 2, least, attempt)),
    wrong!("4.8", stops_at_the_first_that_fits, "It goes on after the first that fits.", executable_batch: |start, least, attempt| {
        let found = (REFERENCE.executable_batch)(start, least, attempt)?;
        let _ = attempt(found / 2);
        Ok(found)
    }),
    wrong!("4.8", halves_on_the_way_down, "One cloud less each time: from 512 down that is hours of trying.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n - 1, starved)),
    wrong!("4.8", halves_on_the_way_down, "Half is rounded up; it is rounded down.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| if n > 1 { n.div_ceil(2) } else { 0 }, starved)),
    wrong!("4.8", halves_on_the_way_down, "A tenth less each time, as others do; here it is half.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n * 9 / 10, starved)),
    wrong!("4.8", tries_the_least_and_none_below, "The least is not tried itself.",
        executable_batch: |start, least, attempt| sought(start, least + 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_the_least_and_none_below, "Batches below the least are tried.",
        executable_batch: |start, _, attempt| sought(start, 1, attempt, |n| n / 2, starved)),
    wrong!("4.8", tries_the_least_and_none_below, "A batch of 0 is tried where `least` is 0: half of 1 is 0, and so is half of that. A batch must be above 0 as well.",
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
    wrong!("4.8", tries_the_least_and_none_below, "Where the half is too small the least is tried in its place; only halves are.",
    executable_batch: |start, least, attempt| {
        match (REFERENCE.executable_batch)(start, least, attempt) {
            Err(Failure::OutOfMemory) if least > 0 => attempt(least).map(|()| least),
            other => other,
        }
    }),
    wrong!("4.8", passes_another_failure_on_at_once, "Any failure is taken for a lack of memory: a smaller batch cures no other.",
        executable_batch: |start, least, attempt| sought(start, least, attempt, |n| n / 2, |_| true)),
    wrong!("4.8", passes_another_failure_on_at_once, "Another failure is told as a lack of memory: who reads it looks in the wrong place.",
    executable_batch: |start, least, attempt| {
        (REFERENCE.executable_batch)(start, least, attempt).map_err(|_| Failure::OutOfMemory)
    }),
];
