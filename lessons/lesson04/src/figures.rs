//! 4.5: the mean loss of an epoch.

use candle_core::{Device, Error, Tensor};
use canopy::train::OnDevice;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

const FAILURE: &str = "a label is out of range";

/// The loss and the clouds of each step, and the step that fails.
type Input = (Vec<(f32, u64)>, Option<usize>);

fn take(answer: &Lesson04, (steps, fails): &Input) -> Facts {
    let start = OnDevice::waits();
    let (mut taken, mut between) = (0, 0);
    let mut epoch = steps.iter().enumerate().map(|(i, &(loss, clouds))| {
        (taken, between) = (i + 1, OnDevice::waits() - start);
        match fails {
            Some(bad) if *bad == i => Err(Error::Msg(FAILURE.into())),
            _ => Ok((OnDevice::new(&Tensor::new(loss, &Device::Cpu)?)?, clouds)),
        }
    });
    let mean = (answer.mean_loss)(&mut epoch);
    drop(epoch);
    // Without steps, a sum of none may be read.
    let waits = if steps.is_empty() {
        0
    } else {
        OnDevice::waits() - start
    };
    let is_own = matches!(&mean, Err(error) if error.to_string().contains(FAILURE));
    // A sum on the device is rounded to f32.
    Facts::of(mean, |mean| Facts::default().values("mean loss", mean as f32))
        .items("steps taken", [taken])
        .text("whether it is the error of a step", is_own.to_string())
        .values("waits before the last step", between)
        .cause("Do not read in the loop: keep the losses, or their sum, on the device until the last step.")
        .asked("Wait once")
        .values("waits", waits)
        .cause("Read once after the loop, and not after an error: either all losses with `read_all`, or the sum.")
        .asked("Wait once")
}

fn compared(answer: &Lesson04, input: Input) -> Verdict {
    let count = input.0.len();
    let fails = input.1.map_or("none".into(), |i| format!("number {i}, from 0,"));
    let first = &input.0[..count.min(9)];
    let case = given(format!(
        "{count} steps, of which {fails} fails; losses and clouds {first:?}"
    ));
    case.same(take(answer, &input), take(&REFERENCE, &input))
}

/// The last step has fewer clouds than the others, as the rest of an epoch does.
fn drawn(d: &mut Draw, count: usize) -> Vec<(f32, u64)> {
    let mut steps = Vec::new();
    for (loss, clouds) in d.list(count, 0.2, 3.0).into_iter().zip(d.below(count, 390)) {
        steps.push((loss, u64::from(clouds) + 12));
    }
    steps[count - 1].1 = 11;
    steps
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.5";
    by compared {
        weights_steps_by_their_clouds: "Σ clouds·loss / Σ clouds",
            "Multiply each loss by its clouds, add all products, and divide by the clouds of all steps." => |d| {
            let count = d.whole(4, 7);
            let mut steps = drawn(d, count);
            // More than a u8 holds, and a loss unlike the others.
            steps[1] = (5.0, 300 + d.whole(0, 90) as u64);
            vec![(steps, None), (drawn(d, 1), None)]
        };
        is_nan_if_a_loss_is: "Σ clouds·loss / Σ clouds",
            "Neither leave a NaN out nor replace it: a run that diverges must not look well." => |d| {
            let mut steps = drawn(d, 5);
            steps[d.whole(1, 3)].0 = f32::NAN;
            vec![(steps, None)]
        };
        never_waits_between_steps: "Wait once, after the last",
            "Do not read in the loop, however many steps there are." => |d| {
            let count = d.whole(2500, 2600);
            vec![(drawn(d, count), None)]
        };
        is_zero_without_steps: "or 0 without steps",
            "Without steps, return 0: neither an error nor 0/0." => |_| vec![(Vec::new(), None)];
        returns_an_error_at_once: "return an error at once",
            "Return the error of a step with `?`, before you take another step or read a loss." =>
            // Two steps at least follow the first failure.
            |d| [d.whole(1, 3), 0, 5].map(|bad| (drawn(d, 6), Some(bad))).to_vec();
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.5" mean_loss;
    1 "All steps have the same weight; weight each step by its number of clouds.";
    2 "Each loss is read before the next step is taken: the device is idle meanwhile.";
    3 "0/0 is NaN: without steps the mean is 0.";
};
