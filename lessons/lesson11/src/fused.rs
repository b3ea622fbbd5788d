//! 11.7: bias, batch norm and ReLU in one pass, in Rust.

use canopy::profile::Counted;
use grader::{Check, Draw, Facts, Mistake, Values, Verdict, given, mistakes, rows};

use crate::{Lesson11, REFERENCE, answers};

/// x, and a value of bias, scale and shift for each channel.
type Input = (Vec<f32>, [Vec<f32>; 3]);

fn drawn(d: &mut Draw, rows: usize, channels: usize) -> Input {
    let x = d.list(rows * channels, -4.0, 4.0);
    let scale = d.list(channels, 0.3, 3.0);
    (
        x,
        [d.list(channels, -2.0, 2.0), scale, d.list(channels, -1.0, 1.0)],
    )
}

/// The values after the function, and the bytes that it read and wrote.
fn after(lesson: &Lesson11, (x, [bias, scale, shift]): &Input) -> (Vec<f32>, [usize; 2]) {
    let mut counted = Counted::new(x.clone());
    (lesson.bias_norm_relu)(&mut counted, bias, scale, shift);
    counted.finish()
}

fn compare(answer: &Lesson11, input: &Input, bytes: bool) -> Verdict {
    let (x, [bias, scale, shift]) = input;
    let text = format!("x {x:?}, bias {bias:?}, scale {scale:?}, shift {shift:?}");
    let shape = [x.len() / bias.len(), bias.len()];
    let facts = |(values, [read, written]): &(Vec<f32>, [usize; 2])| {
        let numbers = values.iter().copied().map(f64::from).collect();
        let facts = Facts::default().values("x", Values::tensor(numbers, &shape, "f32"));
        if bytes {
            return facts
                .values("bytes written", *written)
                .values("bytes read", *read);
        }
        facts
    };
    let case = given(text).at_scale(10.0);
    let [got, expected] = [answer, &REFERENCE].map(|lesson| after(lesson, input));
    let some_unchanged = got.0.iter().zip(x).any(|(after, before)| after == before);
    case.same(facts(&got), facts(&expected)).map_err(|mut wrong| {
        wrong.cause = some_unchanged.then_some(
            "Some values are unchanged: the loop must go over all x.len() values, and write each of them.",
        );
        wrong
    })
}

fn values(answer: &Lesson11, input: Input) -> Verdict {
    compare(answer, &input, false)
}

fn traffic(answer: &Lesson11, input: Input) -> Verdict {
    compare(answer, &input, true)
}

pub const CHECKS: &[Check<Lesson11>] = rows! { "11.7";
    by values {
        applies_all_three_operators: "max((x + bias)·scale + shift, 0)",
            "Bias first, then scale, then shift; negative results become 0." =>
            |d| [(1, 4), (1, 1), (1, 7)].map(|(rows, channels)| drawn(d, rows, channels)).into();
        takes_the_parameters_of_the_channel: "a `bias`, `scale` and `shift` for each channel",
            "x is row-major: value i is of channel i modulo the number of channels." =>
            |d| [(5, 3), (2, 8), (9, 4)].map(|(rows, channels)| drawn(d, rows, channels)).into();
    }
    by traffic {
        moves_each_value_once: "Reads and writes each value of x once",
            "Keep the value in a variable between the operators: one `read` and one `write` for each value." =>
            |d| vec![drawn(d, 3, 4)];
    }
};

pub const MISTAKES: &[Mistake<Lesson11>] = mistakes! { "11.7" bias_norm_relu;
    1 "x is read and written several times for each value: keep it in a variable, in one loop for all operators.";
    2 "The channel is taken to be i / channels, which is the row: i % channels.";
    3 "The index is that of a matrix with one row for each channel: the channel is i % channels.";
    4 "x is read twice: keep the value in a variable.";
    5 "The bias is missing.";
    6 "The shift is missing.";
    7 "Scale and shift are missing.";
    8 "ReLU comes before scale and shift; it is the last operator.";
    9 "The bias is added after the scale: (x + bias) · scale.";
    10 "The ReLU is missing.";
    11 "Only positive results are written: where the result is 0, the old value stays.";
    12 "ReLU comes before scale and shift; it is the last operator.";
    13 "Only the bias is multiplied by the scale, as without brackets: (x + bias) · scale.";
    14 "The shift is added before the scale: (x + bias) · scale + shift.";
    15 "The smaller of value and 0 is taken; ReLU takes the greater.";
};
