//! Known wrong answers to exercise 4.5.

use super::*;

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
        "All steps are taken to have as many clouds as one of them; divide by the sum of their clouds.",
        |losses, clouds| losses.iter().zip(clouds).map(|(l, &n)| l * n as f64).sum::<f64>()
            / (losses.len() as f64 * clouds[0] as f64)
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "The sum of clouds·loss is divided by the clouds of the last step; divide by those of all steps.",
        |losses, clouds| losses.iter().zip(clouds).map(|(l, &n)| l * n as f64).sum::<f64>()
            / clouds[clouds.len() - 1] as f64
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "Losses that are NaN are left out: a run that diverges would look well.",
        |losses, clouds| {
            let pairs = losses.iter().zip(clouds).filter(|(l, _)| l.is_finite());
            let (sum, all) = pairs.fold((0.0, 0), |(sum, all), (l, &n)| (sum + l * n as f64, all + n));
            sum / all.max(1) as f64
        }
    ),
    averaging!(
        weights_steps_by_their_clouds,
        "A mean that is NaN becomes 0: a run that diverges would look well. Only an epoch without steps is 0.",
        |losses, clouds| {
            let sum: f64 = losses.iter().zip(clouds).map(|(l, &n)| l * n as f64).sum();
            let mean = sum / clouds.iter().sum::<u64>() as f64;
            if mean.is_nan() { 0.0 } else { mean }
        }
    ),
    averaging!(
        never_waits_between_steps,
        "Steps with fewer clouds than the first are left out; every step counts.",
        |losses, clouds| {
            let pairs = losses.iter().zip(clouds).filter(|(_, n)| **n >= clouds[0]);
            let (sum, all) = pairs.fold((0.0, 0), |(sum, all), (l, &n)| (sum + l * n as f64, all + n));
            sum / all as f64
        }
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
    wrong!("4.5", returns_an_error_at_once, "The error of the step is replaced by another; return it as it is (`?`).", mean_loss: |steps| {
        (REFERENCE.mean_loss)(steps).map_err(|_| candle_core::Error::Msg("a step failed".into()))
    }),
    wrong!("4.5", returns_an_error_at_once, "The next step is taken before the error of the last one is returned.", mean_loss: |steps| {
        let mut steps = steps.peekable();
        let mut ahead = std::iter::from_fn(move || {
            let step = steps.next();
            steps.peek();
            step
        });
        (REFERENCE.mean_loss)(&mut ahead)
    }),
    wrong!("4.5", returns_an_error_at_once, "Further steps are taken after a step that failed.", mean_loss: |steps| {
        let all: Vec<_> = steps.collect();
        (REFERENCE.mean_loss)(&mut all.into_iter())
    }),
];
