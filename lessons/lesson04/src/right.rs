//! Right answers that are not written as canopy's.

use candle_core::DType;
use canopy::train::{Failure, OnDevice};
use grader::{Right, right};

use crate::{Lesson04, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson04>] = &[
    right!("4.1", "one place where a device is opened", choose_device: |name, open| chosen(name, open, CHOICE)),
    right!("4.2", "hits counted on the host, after the step", train_step: |m, o, d, l, p, r, c| {
        stepped((m, o, d, l, p), r, c, STEP)
    }),
    right!("4.3", "softmax by hand, let go at the end", probabilities: |model, points| {
        let logits = model.forward(points, &canopy::kernels::Pass::eval())?.logits;
        Ok(softmax(&logits.to_dtype(DType::F32)?, 1)?.detach())
    }),
    right!("4.4", "row sums and column sums first", scores: |t, n, c| scored((t, n, c), recall, f1, 0.0)),
    right!("4.5", "added up on the device", mean_loss: |steps| {
        let mut sum: Option<OnDevice> = None;
        let all = each(steps, |loss, clouds| {
            let part = loss.times(clouds as f64)?;
            sum = Some(match &sum {
                Some(sum) => sum.plus(&part)?,
                None => part,
            });
            Ok(())
        })?;
        match sum {
            Some(sum) => Ok(sum.read()? / all as f64),
            None => Ok(0.0),
        }
    }),
    right!("4.6", "one cloud's bytes, then a division", largest_batch: |s, b| filled(s, b, BYTES)),
    right!("4.7", "tensor by tensor, skipping what is done", resume_batches: |s, m, o, r, n| {
        resumed(s, (m, o), (r, n), RESUMING)
    }),
    right!("4.8", "calling itself", executable_batch: |start, least, attempt| {
        fn down(batch: usize, least: usize, attempt: crate::Attempt) -> Result<usize, Failure> {
            if batch == 0 || batch < least {
                return Err(Failure::OutOfMemory);
            }
            match attempt(batch) {
                Err(Failure::OutOfMemory) => down(batch / 2, least, attempt),
                other => other.map(|()| batch),
            }
        }
        down(start, least, attempt)
    }),
];
