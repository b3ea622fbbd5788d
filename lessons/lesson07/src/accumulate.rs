//! 7.7: accumulation over micro-batches.

use candle_core::{DType, Device, Error, Result, Tensor, Var};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::values;

use crate::{FAILURE, Lesson07, REFERENCE, answers, ending};

/// For each micro-batch its weight and the numbers of two gradients; the one that fails; whether each call writes its
/// gradients into the memory of those before.
type Input = (Vec<f64>, Vec<Vec<f32>>, Option<usize>, bool);

fn batches(d: &mut Draw, weights: &[f64]) -> Input {
    let lists = weights.iter().map(|_| d.list(7, -1.0, 2.0)).collect();
    (weights.to_vec(), lists, None, false)
}

fn sum(answer: &Lesson07, (weights, lists, fails, reuses): Input) -> Verdict {
    let case = given(format!(
        "weights {weights:?}; gradients [3, 2] and []: {lists:?}; in the same memory: {reuses}; who fails: {fails:?}"
    ));
    let facts = |lesson: &Lesson07| -> Result<Facts> {
        let memory = Var::zeros(7, DType::F32, &Device::Cpu)?;
        let mut calls = Vec::new();
        let result = (lesson.accumulated)(&weights, &mut |i| {
            calls.push(i);
            let list = lists.get(i).filter(|_| fails != Some(i));
            let list = list.ok_or_else(|| Error::Msg(FAILURE.into()))?;
            let new = Tensor::new(&list[..], &Device::Cpu)?;
            memory.set(&new)?;
            let all = if reuses { memory.as_detached_tensor() } else { new };
            Ok(vec![all.narrow(0, 0, 6)?.reshape((3, 2))?, all.get(6)?])
        });
        let end = ending(&result);
        let numbers = result.and_then(|list| list.iter().map(values).collect::<Result<Vec<_>>>());
        let facts = Facts::of(numbers, |list| {
            let facts = Facts::default().values("number of gradients", list.len());
            list.into_iter()
                .fold(facts, |facts, one| facts.values("gradient", one))
        });
        let facts = facts.text("result", end);
        Ok(facts.values("micro-batches in the order of the calls", &calls))
    };
    // The terms of the sum may cancel.
    case.at_scale(1.0).same(facts(answer)?, facts(&REFERENCE)?)
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.7";
    by sum {
        equals_the_large_batch: "Σᵢ weightᵢ·gᵢ / Σᵢ",
            "Ask once for each micro-batch, in order; add up all gradients of a parameter times weight/total." => |d| {
            let last = d.whole(1, 2) as f64;
            vec![batches(d, &[4.0; 3]), batches(d, &[5.0]), batches(d, &[6.0, 6.0, last])]
        };
        accepts_fractional_and_zero_weights: "once for each i",
            "Divide by the exact sum of all weights, which may be fractions; ask for the gradients of weight 0, too." =>
            |d| vec![batches(d, &[3.5, 0.25, 2.5]), batches(d, &[3.5, 0.0, 0.4, 2.5, 0.0])];
        keeps_only_the_sum: "keep only the sum",
            "The next call may overwrite the gradients: keep neither a list nor the first ones, only products." => |d| {
            // A product by 1 is no reason to keep a gradient.
            let all = [[4.0, 5.0, 6.0, 7.0], [1.0; 4]].map(|weights| batches(d, &weights));
            all.map(|(weights, lists, ..)| (weights, lists, None, true)).into()
        };
        returns_errors_of_gradients: "Return its error",
            "If `gradients` fails, return its own error at once, as `?` does: no further call, no panic." => |d| {
            let (weights, lists, ..) = batches(d, &[3.0; 6]);
            vec![(weights, lists, Some(d.whole(1, 2)), false)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.7" accumulated;
    1 "The gradients are summed; return their weighted mean.";
    2 "The gradients are divided by the sum of the weights, but not multiplied by their own weight.";
    3 "This is a plain mean: a smaller last micro-batch counts as much as a full one.";
};
