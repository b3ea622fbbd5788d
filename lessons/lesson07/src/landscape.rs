//! 7.8: the loss along a direction.

use candle_core::{Error, Result};
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

fn look(d: &mut Draw, alphas: &[f64]) -> Look {
    let mut weights = numbers(d, [1.0, 4.0, 0.25]);
    // −0 becomes 0 if α·d is added and subtracted again.
    (weights[0][11], weights[1][4]) = (-0.0, -0.0);
    Look {
        weights,
        ways: numbers(d, [1.0, 0.0625, -2.0]),
        alphas: alphas.to_vec(),
        loss: |_, squares| Some(squares),
        of_loss: "the loss is the sum of the squares of parameter 3",
    }
}

/// Facts of a call, each with the parameter that its case describes.
fn facts(lesson: &Lesson07, look: &Look) -> Result<Vec<(usize, Facts)>> {
    let (params, ways) = (variables(&look.weights)?, tensors(&look.ways)?);
    let now = || params.iter().map(|p| values(p)).collect::<Result<Vec<_>>>();
    let mut seen = Vec::new();
    let result = (lesson.loss_along)(&params, &ways, &look.alphas, &mut || {
        let here = now()?;
        let squares = here[2].numbers.iter().map(|x| x * x).sum();
        seen.push(here);
        (look.loss)(seen.len(), squares).ok_or_else(|| Error::Msg(FAILURE.into()))
    });
    let position = |i: usize| {
        let numbers: Vec<f64> = seen.iter().flat_map(|at| at[i].numbers.clone()).collect();
        let rows = [seen.len(), numbers.len() / seen.len().max(1)];
        let facts = Facts::of(result.as_ref(), |_| Facts::default());
        let facts = facts.values("number of calls of `loss`", seen.len());
        let what = format!("parameter {} at each call", i + 1);
        let facts = facts.values(what, Values::tensor(numbers, &rows, "f32"));
        if SHAPES[i].len() < 2 {
            let facts = facts.cause("A parameter with at most one axis does not move.");
            return (i, facts.asked("at most one axis"));
        }
        (i, facts)
    };
    let losses = result.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
    let count = losses.len();
    let after = now()?.into_iter().flat_map(|values| values.numbers);
    let end = Facts::default()
        .text("result", ending(&result))
        .cause("Return an error only if `loss` does, and then its own.")
        .asked("then return its error at once")
        // They are as exact as the f32 parameter.
        .values("losses", Values::tensor(losses, &[count], "f32"))
        .cause("Return the loss of each α, in their order, whatever it is.")
        .items("the numbers of all parameters afterwards", after)
        .cause("At the end, also after an error, each parameter must have its old bits: `set` it to a copy of w.")
        .asked("bit-identical to w");
    Ok((0..SHAPES.len()).map(position).chain([(2, end)]).collect())
}

fn looked(answer: &Lesson07, look: Look) -> Verdict {
    let case = |i: usize| {
        let [w, d] = [&look.weights[i], &look.ways[i]].map(|list| shown(list));
        let (alphas, loss, shape, number) = (&look.alphas, look.of_loss, SHAPES[i], i + 1);
        given(format!(
            "alphas {alphas:?}; {loss}; parameter {number} of 5, {shape:?}, is [{w}], its direction [{d}]"
        ))
    };
    case(2);
    let pairs = facts(answer, &look)?.into_iter().zip(facts(&REFERENCE, &look)?);
    for ((i, got), (_, expected)) in pairs {
        // The terms of w + α·d may cancel.
        case(i).at_scale(1.0).same(got, expected)?;
    }
    Ok(())
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.8";
    by looked {
        normalises_each_filter: "scaled to the 2-norm",
            "Call `loss` once, at w + α·d. With two axes or more, each d[i] is multiplied by the 2-norm of w[i] and divided \
             by its own." =>
            |d| vec![look(d, &[0.75])];
        starts_every_step_at_the_weights: "at `w + α·d`",
            "Normalise d to the first w, once; call `loss` once for each α, in their order, at that w + α·d." =>
            |d| vec![look(d, &[-0.5, 0.0, 0.25, 1.0]), look(d, &[0.5, -1.0, 0.0, 2.0, 1500.0]), look(d, &[])];
        accepts_a_filter_of_zeros: "A filter of zeros in w or d stays",
            "If w[i] or d[i] is all zeros, w[i] stays: neither divide by its length, nor replace it." => |d| {
            let (weights, ways) = (numbers(d, [1.0, 0.0, 0.25]), numbers(d, [0.0, 1.0, 1.0]));
            vec![look(d, &[0.5]), Look { weights, ways, ..look(d, &[0.5]) }]
        };
        accepts_short_filters: "scaled to the 2-norm",
            "Only a length of exactly 0 is special: add nothing to a length, and take no short one for 0." => |d| {
            let ways = numbers(d, [TINY; 3]);
            vec![look(d, &[0.25]), Look { ways, ..look(d, &[0.25]) }]
        };
        returns_non_finite_losses: "for each α of `alphas`",
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
    3 "`?` returns before the parameters are restored: keep the result, restore, then return it.";
};
