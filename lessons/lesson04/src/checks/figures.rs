use candle_core::{Device, Error, Result, Tensor};
use canopy::train::OnDevice;
use grader::{Draw, Verdict, draw, given};

use super::refuse;
use crate::Lesson04;

const FAILURE: &str = "a label is out of range";

/// An epoch whose steps record the number of waits before them.
struct Epoch {
    steps: Vec<(f32, u64)>,
    /// The step that fails.
    fails: Option<usize>,
    asked: usize,
    waits: Vec<u64>,
    before: u64,
}

impl Epoch {
    fn new(steps: Vec<(f32, u64)>, fails: Option<usize>) -> Self {
        Self {
            steps,
            fails,
            asked: 0,
            waits: Vec::new(),
            before: OnDevice::waits(),
        }
    }

    fn drawn(draw: &mut Draw, count: usize) -> Self {
        let losses = draw.list(count, 0.2, 3.0);
        let clouds = draw.below(count, 400);
        Self::new(
            losses
                .into_iter()
                .zip(clouds)
                .map(|(l, n)| (l, u64::from(n) + 1))
                .collect(),
            None,
        )
    }

    fn said(&self) -> String {
        format!("losses with their clouds: {:?}", self.steps)
    }

    /// Waits since it began.
    fn waited(&self) -> u64 {
        OnDevice::waits() - self.before
    }
}

impl Iterator for Epoch {
    type Item = Result<(OnDevice, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let &(loss, clouds) = self.steps.get(self.asked)?;
        self.waits.push(self.waited());
        self.asked += 1;
        if self.fails == Some(self.asked - 1) {
            return Some(Err(Error::Msg(FAILURE.into())));
        }
        let loss = Tensor::new(loss, &Device::Cpu).and_then(|t| OnDevice::new(&t));
        Some(loss.map(|loss| (loss, clouds)))
    }
}

pub fn weights_steps_by_their_clouds(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(4, 7);
    let mut epoch = Epoch::drawn(&mut draw, count);
    // More than a u8 holds, and a loss unlike the others.
    epoch.steps[1] = (5.0, 300 + draw.whole(0, 90) as u64);
    let case = given(epoch.said());
    let (mut sum, mut all) = (0.0, 0.0);
    for &(loss, clouds) in &epoch.steps {
        sum += f64::from(loss) * clouds as f64;
        all += clouds as f64;
    }
    let got = (answer.mean_loss)(&mut epoch)?;
    // A sum on the device is rounded to f32.
    case.close("mean loss", got as f32, (sum / all) as f32)?;
    case.close("steps taken", epoch.asked, count)?;
    // A run that diverges must not look well.
    let mut epoch = Epoch::drawn(&mut draw, count);
    epoch.steps[draw.whole(1, count - 2)].0 = f32::NAN;
    let case = given(epoch.said());
    case.close("mean loss", (answer.mean_loss)(&mut epoch)?, f64::NAN)
}

pub fn never_waits_between_steps(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let count = draw.whole(2500, 2600);
    let mut epoch = Epoch::drawn(&mut draw, count);
    let input = format!("an epoch of {count} steps");
    given(&input);
    let got = (answer.mean_loss)(&mut epoch)?;
    let first = epoch.waits.iter().position(|&waits| waits > 0);
    let (Some(first), waits) = (first, *epoch.waits.last().unwrap_or(&0)) else {
        let (mut sum, mut all) = (0.0, 0.0);
        for &(loss, clouds) in &epoch.steps {
            sum += f64::from(loss) * clouds as f64;
            all += clouds as f64;
        }
        given(&input).close("steps taken", epoch.asked, count)?;
        // A sum of so many f32 on the device is rounded.
        let near = (got - sum / all).abs() < 1e-3;
        return given(&input).require("mean loss", near, format!("{got}, expected {}", sum / all));
    };
    // Known mistakes are recognised by how often they wait, not by the number of steps between.
    let often = if waits + 1 == count as u64 { 1.0 } else { 2.0 };
    refuse(
        &input,
        "waits between steps",
        vec![often],
        "0",
        &format!("{waits}, the first after step {first}"),
    )
}

pub fn waits_once(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for count in [9, 1] {
        let mut epoch = Epoch::drawn(&mut draw, count);
        let case = given(format!("an epoch of {count} steps"));
        (answer.mean_loss)(&mut epoch)?;
        case.close("waits", epoch.waited(), 1u64)?;
    }
    Ok(())
}

pub fn is_zero_without_steps(answer: &Lesson04) -> Verdict {
    let mut epoch = Epoch::new(Vec::new(), None);
    let input = "an epoch without steps";
    let case = given(input);
    match (answer.mean_loss)(&mut epoch) {
        Ok(got) => case.close("mean loss", got, 0.0),
        Err(error) => refuse(input, "mean loss", vec![1.0], "0", &format!("Err: {error}")),
    }
}

pub fn returns_an_error_at_once(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let count = 6;
    // Two steps at least after the first of them.
    for bad in [draw.whole(1, 3), 0, count - 1] {
        let mut epoch = Epoch::drawn(&mut draw, count);
        epoch.fails = Some(bad);
        let input = format!("{count} steps, of which number {bad} (from 0) fails: \"{FAILURE}\"");
        let case = given(&input);
        let told = match (answer.mean_loss)(&mut epoch) {
            Ok(mean) => Some((1.0, format!("Ok: {mean}"))),
            Err(error) if !error.to_string().contains(FAILURE) => Some((2.0, format!("Err: {error}"))),
            Err(_) => None,
        };
        if let Some((code, got)) = told {
            let code = vec![code, epoch.asked as f64];
            return refuse(&input, "result", code, &format!("Err: {FAILURE}"), &got);
        }
        case.close("steps taken", epoch.asked, bad + 1)?;
        case.close("waits", epoch.waited(), 0u64)?;
    }
    Ok(())
}
