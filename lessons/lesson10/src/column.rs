//! 10.1: a linear layer whose outputs are split.

use canopy::parallel::Link;
use grader::{Check, Mistake, Verdict, given, mistakes, rows};
use kit::{Ran, broken, ok, on_ranks, values};

use crate::{
    Lesson10, LinearGrads, REFERENCE, answers,
    layer::{Drawn, expected, gradients, part, sent_once},
};

fn outputs(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let layer = drawn.layer()?;
    let whole = layer.outputs().map_err(candle_core::Error::wrap)?;
    for rank in 0..drawn.world {
        let own = layer.of_outputs(rank, drawn.world)?;
        let what = format!("outputs of rank {rank}");
        let case = drawn.case();
        let got = ok(
            &drawn.input(),
            &what,
            (answer.column_parallel)(&own.x, &own.weight, &own.bias),
        )?;
        case.close(
            &what,
            values(&got)?,
            expected(&part(&whole, 1, rank, drawn.world)?)?,
        )?;
    }
    Ok(())
}

fn backward(answer: &Lesson10, drawn: &Drawn) -> Result<Ran<LinearGrads>, grader::Finding> {
    drawn.case();
    let (layer, answer, world) = (drawn.layer()?, answer.column_parallel_backward, drawn.world);
    let ran = on_ranks(world, move |end| {
        let own = layer.of_outputs(end.rank(), world)?;
        answer(end, &own.x, &own.weight, &own.grad)
    });
    ran.all_well(&drawn.input())?;
    Ok(ran)
}

fn compared(answer: &Lesson10, drawn: &Drawn, parts: &[&str]) -> Verdict {
    let whole = drawn.layer()?.gradients().map_err(candle_core::Error::wrap)?;
    for (rank, got) in backward(answer, drawn)?.ranks.iter().enumerate() {
        let Ok(got) = got else { continue };
        let right = [
            expected(&whole.x)?,
            expected(&part(&whole.weight, 0, rank, drawn.world)?)?,
            expected(&part(&whole.bias, 0, rank, drawn.world)?)?,
        ];
        let got = [values(&got.x)?, values(&got.weight)?, values(&got.bias)?];
        drawn
            .case()
            .same(gradients(rank, parts, got), gradients(rank, parts, right))?;
    }
    Ok(())
}

fn input_gradient(answer: &Lesson10, drawn: Drawn) -> Verdict {
    compared(answer, &drawn, &["input"])
}

fn own_gradients(answer: &Lesson10, drawn: Drawn) -> Verdict {
    compared(answer, &drawn, &["weight", "bias", "input"])
}

fn sent(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let ran = backward(answer, &drawn)?;
    sent_once(&drawn, &ran, drawn.layer()?.x.elem_count())
}

fn error(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let own = drawn.layer()?.of_outputs(0, 2)?;
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let got = (answer.column_parallel_backward)(&broken(), &own.x, &own.weight, &own.grad);
    case.require("result", got.is_err(), "Ok, expected the error")
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.1";
    by outputs {
        computes_its_own_outputs: "This rank's outputs of a linear layer",
            "Multiply x by the transpose of this rank's rows of W." => |d| Drawn::all(d, false, false);
        adds_its_part_of_the_bias: "its part of b", "Add this rank's part of the bias to each row, once." =>
            |d| Drawn::all(d, false, true);
    }
    by input_gradient {
        sums_the_gradient_of_x: "the sum over all ranks",
            "The gradient of x is grad_y·W, summed over the ranks by one `sum_over_ranks` that all of them call." =>
            |d| Drawn::all(d, true, true);
    }
    by own_gradients {
        keeps_its_own_gradients: "stay on this rank",
            "The gradients of weight and bias are grad_yᵀ·x and the sum of grad_y over the rows, of this rank alone." =>
            |d| Drawn::all(d, false, true);
    }
    by sent {
        sends_one_all_reduce: "by one call of `sum_over_ranks`", "Sum the whole gradient of x by one call, and send nothing else." =>
            |d| Drawn::all(d, false, true);
    }
    by error {
        returns_the_error_of_the_sum: "return it", "Return the error of the sum, with `?`." =>
            |d| Drawn::all(d, false, true).into_iter().take(1).collect();
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.1" [column_parallel, column_parallel_backward];
    1 "The weight is not transposed: W has a row for each output, so the product is x·Wᵀ.";
    2 "The bias is left out.";
    3 "The bias is added twice.";
    4 "The gradient of x is not summed: every rank has read all of x, so each knows only a part.";
    5 "The gradient of x is averaged over the ranks; it is the sum.";
    6 "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.";
    7 "The gradients of weight and bias are summed over the ranks, too, as in data parallelism; here each rank has other rows of W.";
    8 "The gradient of the bias is the mean over the rows; it is their sum.";
    9 "The gradient of the weight is transposed: it has the shape of the weight, grad_yᵀ·x.";
    10 "The gradient of the bias is summed over the outputs; sum it over the rows, `sum(0)`.";
    11 "There is one all-reduce for each row of the gradient: each message has a latency.";
    12 "An error of the all-reduce is swallowed, and the rank goes on with its own part: return it with `?`.";
    13 "The gradients of weight and bias are divided by the number of rows; the loss has done that, if it is a mean.";
};
