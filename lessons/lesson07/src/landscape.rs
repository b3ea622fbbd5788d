//! 7.8: the loss along a direction.

use candle_core::{DType, Error, Result};
use grader::{Check, Draw, Facts, Mistake, Values, Verdict, given, mistakes, rows};
use kit::{shown, values};

use crate::layers::{SHAPES, TINY, numbers, tensors, variables};
use crate::{FAILURE, Lesson07, REFERENCE, answers, ending};

/// Parameters and directions to look along.
struct Look {
    weights: Vec<Vec<f64>>,
    ways: Vec<Vec<f64>>,
    alphas: Vec<f64>,
    /// The loss of a call, counted from 1, or that it fails, from the sum of the squares of parameter 3.
    loss: fn(usize, f64) -> Option<f64>,
    /// What a student reads of the loss.
    of_loss: &'static str,
}

/// The result, the parameters at each call of `loss`, and the numbers of all parameters afterwards.
type Looked = (Result<Vec<f64>>, Vec<Vec<Values>>, Vec<f64>);

fn look(d: &mut Draw, alphas: &[f64]) -> Look {
    let mut weights = numbers(d, [1.0, 4.0, 0.25]);
    // Compared bit by bit with a grid computed again.
    (weights[0][11], weights[1][4]) = (-0.0, -0.0);
    Look {
        weights,
        ways: numbers(d, [1.0, 0.0625, -2.0]),
        alphas: alphas.to_vec(),
        loss: |_, squares| Some(squares),
        of_loss: "the loss is the sum of the squares of parameter 3",
    }
}

impl Look {
    fn run(&self, lesson: &Lesson07) -> Result<Looked> {
        let (params, ways) = (
            variables(&self.weights, DType::F32)?,
            tensors(&self.ways, DType::F32)?,
        );
        let now = || params.iter().map(|p| values(p)).collect::<Result<Vec<_>>>();
        let mut seen = Vec::new();
        let result = (lesson.loss_along)(&params, &ways, &self.alphas, &mut || {
            let here = now()?;
            let squares = here[2].numbers.iter().map(|x| x * x).sum();
            seen.push(here);
            (self.loss)(seen.len(), squares).ok_or_else(|| Error::Msg(FAILURE.into()))
        });
        let after = now()?.into_iter().flat_map(|values| values.numbers).collect();
        Ok((result, seen, after))
    }

    /// Compares the facts of a call, in the case of parameter `i`.
    fn compare(&self, i: usize, answer: &Lesson07, facts: impl Fn(Looked) -> Facts) -> Verdict {
        let [w, d] = [&self.weights[i], &self.ways[i]].map(|list| shown(list));
        let (alphas, loss, shape, number) = (&self.alphas, self.of_loss, SHAPES[i], i + 1);
        let case = given(format!(
            "alphas {alphas:?}; {loss}; parameter {number} of 5, {shape:?}, is [{w}], its direction [{d}]"
        ));
        // The terms of w + α·d may cancel.
        case.at_scale(1.0)
            .same(facts(self.run(answer)?), facts(self.run(&REFERENCE)?))
    }
}

fn positions(answer: &Lesson07, look: Look) -> Verdict {
    let of = |i: usize| {
        look.compare(i, answer, |(result, seen, _)| {
            let numbers: Vec<f64> = seen.iter().flat_map(|at| at[i].numbers.clone()).collect();
            let rows = [seen.len(), numbers.len() / seen.len().max(1)];
            let facts = Facts::of(result, |_| Facts::default());
            let facts = facts.values("number of calls of `loss`", seen.len());
            let what = format!("parameter {} at each call", i + 1);
            facts.values(what, Values::tensor(numbers, &rows, "f32"))
        })
    };
    (0..SHAPES.len()).try_for_each(of)
}

fn outcome(answer: &Lesson07, look: Look) -> Verdict {
    look.compare(2, answer, |(result, seen, after)| {
        let facts = Facts::default().text("result", ending(&result));
        let losses = result.unwrap_or_default();
        let count = losses.len();
        // They are as exact as the f32 parameter.
        let facts = facts.values("losses", Values::tensor(losses, &[count], "f32"));
        let facts = facts.items("the numbers of all parameters afterwards", after);
        facts.values("number of calls of `loss`", seen.len())
    })
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.8";
    by positions {
        normalises_each_filter: "is scaled to the length",
            "Call `loss` once, at w + α·d: each d[i] gets the 2-norm of w[i]; with at most one axis, w stays." =>
            |d| vec![look(d, &[0.75])];
        starts_every_step_at_the_weights: "The loss at w + α·d",
            "Normalise d to the first w, once; call `loss` once for each α, in their order, at that w + α·d." =>
            |d| vec![look(d, &[-0.5, 0.0, 0.25, 1.0])];
        accepts_a_filter_of_zeros: "all zeros",
            "If w[i] or d[i] is all zeros, w[i] stays: neither divide by its length, nor replace it." => |d| {
            let (weights, ways) = (numbers(d, [1.0, 0.0, 0.25]), numbers(d, [0.0, 1.0, 1.0]));
            vec![look(d, &[0.5]), Look { weights, ways, ..look(d, &[0.5]) }]
        };
        accepts_short_filters: "between 1e-15 and 1e15",
            "Only a length of exactly 0 is special: add nothing to a length, and take no short one for 0." => |d| {
            let ways = numbers(d, [TINY; 3]);
            vec![look(d, &[0.25]), Look { ways, ..look(d, &[0.25]) }]
        };
    }
    by outcome {
        restores_parameters_bit_identically: "bit-identical",
            "Return the loss of each α, in order. Then each parameter must have its old bits: `set` it to a copy." =>
            |d| vec![look(d, &[0.5, -1.0, 0.0, 2.0, 1500.0]), look(d, &[])];
        returns_non_finite_losses: "may be infinite or NaN",
            "A loss that is infinite or NaN is a loss like the others: no end, and no error." => |d| {
            let loss = |call: usize, loss| Some([f64::INFINITY, loss, f64::NAN, loss][call % 4]);
            vec![Look { loss, of_loss: "loss 2 is NaN, loss 4 infinite", ..look(d, &[2.0, 1.0, 0.5, 0.0]) }]
        };
        restores_parameters_after_an_error: "even if `loss` fails",
            "If `loss` fails, call it no more, restore all parameters, and then return its error." => |d| {
            let loss = |call, loss| (call != 2).then_some(loss);
            vec![Look { loss, of_loss: "the second call of `loss` fails", ..look(d, &[0.3, 0.6, 0.9]) }]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.8" loss_along;
    1 "The saved value shares its memory with the variable: keep `as_detached_tensor().copy()?`.";
    2 "Biases move as well; they should not move.";
    3 "The columns are taken for filters: sum the squares over all axes but the first.";
    4 "The whole parameter is normalised at once; each filter has its own norm.";
    5 "The direction is not normalised; scale its filters to the norms of the weights' filters.";
    6 "Each step starts at the last position: keep copies of w, and start from them every time.";
    7 "`?` returns before the parameters are restored: keep the result, restore, then return it.";
};
