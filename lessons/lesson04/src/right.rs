//! Right answers that are not written as canopy's.

use candle_core::{DType, Tensor};
use canopy::{
    device::Settled,
    kernels::{Pass, cross_entropy, weighted_sum},
    loader::epoch_order,
    model::orthogonality,
    optim::clip_grad_norm,
    train::{Failure, memory::StepBytes, metrics::Scores},
};
use grader::{Right, known};

use crate::{Lesson04, REFERENCE};

pub const RIGHT: &[Right<Lesson04>] = &[
    known!("4.1", "one place where a device is opened", choose_device: |name, open| {
        let settled = |cuda, reason| Ok(Settled { cuda, reason });
        let n: usize = match name.strip_prefix("cuda:") {
            Some(digits) if digits.chars().all(|c| c.is_ascii_digit()) => digits.parse().ok(),
            None if name == "cpu" => return settled(None, None),
            None if name == "auto" || name == "cuda" => Some(0),
            _ => None,
        }.ok_or_else(|| format!("'{name}' is none of auto, cpu, cuda or cuda:N"))?;
        match open(n) {
            Ok(()) => settled(Some(n), None),
            Err(why) if name == "auto" => settled(None, Some(why)),
            Err(why) => Err(format!("device cuda:{n} does not open ({why})")),
        }
    }),
    known!("4.2", "hits counted on the host", train_step: |model, optimizer, data, loss, pass, rate, clip| {
        let output = model.forward(data.0, pass)?;
        let cross = cross_entropy(&output.logits, data.1, loss.smoothing, loss.class_weights.as_ref())?;
        let transform = output.feature_transform.filter(|_| loss.orthogonality > 0.0);
        let total = match transform.map(|t| orthogonality(&t)).transpose()? {
            Some(term) => weighted_sum(&[(&term, loss.orthogonality), (&cross, 1.0)])?,
            None => cross,
        };
        let mut grads = model.gradients(&total, pass)?;
        if clip > 0.0 {
            clip_grad_norm(&mut grads, clip)?;
        }
        optimizer.step(&grads, rate)?;
        let (named, labels): (Vec<u32>, Vec<u32>) = (output.logits.argmax(1)?.to_vec1()?, data.1.to_vec1()?);
        let hits = named.iter().zip(&labels).filter(|(a, b)| a == b).count();
        Ok((total.to_dtype(DType::F32)?, Tensor::new(hits as f32, data.0.device())?))
    }),
    known!("4.3", "let go at the end, by log_sum_exp", probabilities: |model, points| {
        let logits = model.forward(points, &Pass::eval())?.logits.to_dtype(DType::F32)?;
        let sum = logits.log_sum_exp(1)?.unsqueeze(1)?;
        Ok(logits.broadcast_sub(&sum)?.exp()?.detach())
    }),
    known!("4.4", "counted from the lists, class by class", scores: |truth, named, classes| {
        let count = |fits: &dyn Fn(usize, usize) -> bool| {
            truth.iter().zip(named).filter(|&(&t, &n)| fits(t as usize, n as usize)).count()
        };
        let cell = |t, n| count(&|a, b| (a, b) == (t, n)) as u64;
        let confusion = (0..classes).map(|t| (0..classes).map(|n| cell(t, n)).collect()).collect();
        let share = |part: f64, all: usize| if all > 0 { part / all as f64 } else { 0.0 };
        let occur = || (0..classes).filter(|&c| truth.contains(&(c as u32)));
        let mean = |of: &dyn Fn(usize) -> f64| share(occur().map(of).sum(), occur().count());
        let accuracy = share(count(&|t, n| t == n) as f64, truth.len());
        let recall = |c| share(cell(c, c) as f64, count(&|t, _| t == c));
        let f1 = |c| share(2.0 * cell(c, c) as f64, count(&|t, _| t == c) + count(&|_, n| n == c));
        Scores { confusion, accuracy, balanced_accuracy: mean(&recall), macro_f1: mean(&f1) }
    }),
    known!("4.5", "added up on the device", mean_loss: |steps| {
        let (mut sum, mut all) = (None, 0);
        for step in steps {
            let (loss, clouds) = step?;
            let part = loss.times(clouds as f64)?;
            sum = Some(sum.map_or(Ok(part.clone()), |sum: canopy::train::OnDevice| sum.plus(&part))?);
            all += clouds;
        }
        sum.map_or(Ok(0.0), |sum| Ok(sum.read()? / all as f64))
    }),
    known!("4.6", "one cloud's bytes, then a division", largest_batch: |step, budget| {
        let bytes = |clouds: u64| StepBytes {
            parameters: step.parameters * (u64::from(step.each.weight) + u64::from(step.each.master)),
            gradients: u64::from(step.each.gradient) * step.parameters,
            optimizer: u64::from(step.each.optimizer) * step.parameters,
            activations: step.layers.iter().map(|l| l.rows * clouds * l.kept).sum(),
            passing: step.layers.iter().fold(0, |most, l| most.max(clouds * l.rows * l.passing)),
        };
        let fixed = bytes(0).total();
        let batch = (budget >= fixed).then(|| (budget - fixed) / (bytes(1).total() - fixed))?;
        if batch < 2 { None } else { Some((batch, bytes(batch))) }
    }),
    known!("4.7", "batch by batch, by place", resume_batches: |saved, model, optimizer, records, size| {
        optimizer.load_state(&saved.optimizer)?;
        model.from_map(&saved.model, "a checkpoint")?;
        let order = epoch_order(records.len(), saved.seed, saved.epoch as u64);
        let batch = |b: usize| order[b * size..(b + 1) * size].iter().map(|&i| records[i]).collect();
        Ok((saved.batch..records.len() / size).map(batch).collect())
    }),
    known!("4.8", "the first size of an iterator that ends the search", executable_batch: |start, least, attempt| {
        let halves = std::iter::successors(Some(start), |n| Some(n / 2));
        let ends = |n| match attempt(n) {
            Err(Failure::OutOfMemory) => None,
            other => Some(other.map(|()| n)),
        };
        halves.take_while(|&n| n > 0 && n >= least).find_map(ends).unwrap_or(Err(Failure::OutOfMemory))
    }),
];
