//! 10.2: a linear layer whose inputs are split.

use candle_core::Tensor;
use canopy::parallel::Link;
use grader::{Check, Mistake, Verdict, given, mistakes, rows};
use kit::{Ran, broken, ok, on_ranks, values};

use crate::{
    Lesson10, REFERENCE, answers,
    layer::{Drawn, expected, gradients, part, sent_once},
};

fn forward(answer: &Lesson10, drawn: &Drawn) -> Result<Ran<Tensor>, grader::Finding> {
    drawn.case();
    let (layer, answer, world) = (drawn.layer()?, answer.row_parallel, drawn.world);
    let ran = on_ranks(world, move |end| {
        let own = layer.of_inputs(end.rank(), world)?;
        answer(end, &own.x, &own.weight, &own.bias)
    });
    ran.all_well(&drawn.input())?;
    Ok(ran)
}

fn outputs(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let whole = drawn.layer()?.outputs().map_err(candle_core::Error::wrap)?;
    for (rank, got) in forward(answer, &drawn)?.ranks.iter().enumerate() {
        if let Ok(got) = got {
            drawn.case().close(
                &format!("outputs on rank {rank}"),
                values(got)?,
                expected(&whole)?,
            )?;
        }
    }
    Ok(())
}

fn sent(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let ran = forward(answer, &drawn)?;
    sent_once(&drawn, &ran, drawn.layer()?.grad.elem_count())
}

fn error(answer: &Lesson10, drawn: Drawn) -> Verdict {
    let own = drawn.layer()?.of_inputs(0, 2)?;
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let got = (answer.row_parallel)(&broken(), &own.x, &own.weight, &own.bias);
    case.require("result", got.is_err(), "Ok, expected the error")
}

/// The backward function sends nothing, so that one thread is enough.
fn compared(answer: &Lesson10, drawn: &Drawn, parts: &[&str]) -> Verdict {
    let layer = drawn.layer()?;
    let whole = layer.gradients().map_err(candle_core::Error::wrap)?;
    for rank in 0..drawn.world {
        let own = layer.of_inputs(rank, drawn.world)?;
        let case = drawn.case();
        let got = (answer.row_parallel_backward)(&own.x, &own.weight, &own.grad);
        let got = ok(&drawn.input(), "gradients", got)?;
        let right = [
            expected(&part(&whole.x, 1, rank, drawn.world)?)?,
            expected(&part(&whole.weight, 1, rank, drawn.world)?)?,
            expected(&whole.bias)?,
        ];
        let got = [values(&got.x)?, values(&got.weight)?, values(&got.bias)?];
        case.same(gradients(rank, parts, got), gradients(rank, parts, right))?;
    }
    Ok(())
}

fn of_columns(answer: &Lesson10, drawn: Drawn) -> Verdict {
    compared(answer, &drawn, &["input", "weight"])
}

fn of_bias(answer: &Lesson10, drawn: Drawn) -> Verdict {
    compared(answer, &drawn, &["bias"])
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.2";
    by outputs {
        sums_over_the_inputs_of_all_ranks: "whose inputs are split over the ranks",
            "Multiply this rank's columns of x and W, and sum the products over the ranks by one call that all of them make." =>
            |d| Drawn::all(d, false, false);
        adds_the_bias_once: "added once, not once a rank", "Add the whole bias once, after the sum." =>
            |d| Drawn::all(d, false, true);
    }
    by sent {
        sends_the_outputs_once: "by one call of `sum_over_ranks`", "Sum all outputs by one call, and send nothing else." =>
            |d| Drawn::all(d, false, true);
    }
    by error {
        passes_on_the_error: "return it", "Return the error of the sum, with `?`." =>
            |d| Drawn::all(d, false, true).into_iter().take(1).collect();
    }
    by of_columns {
        returns_the_gradients_of_its_columns: "those of this rank's columns",
            "The gradients of input and weight are grad_y·W and grad_yᵀ·x, with this rank's columns." =>
            |d| Drawn::all(d, false, true);
    }
    by of_bias {
        returns_the_whole_gradient_of_the_bias: "that of the whole bias", "The gradient of the bias is the sum of grad_y over the rows." =>
            |d| Drawn::all(d, false, true);
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.2" [row_parallel, row_parallel_backward];
    1 "The parts are not summed: each rank has the products of its own inputs only.";
    2 "The sum is divided by the number of ranks; it is not a mean.";
    3 "Every rank adds the bias before the sum, so that it is in it p times.";
    4 "The bias is left out.";
    5 "Only rank 0 adds the bias, after the sum: the other ranks have outputs without it.";
    6 "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.";
    7 "There are several all-reduces for the outputs: send all rows by one call, because each message has a latency.";
    8 "An error of the all-reduce is swallowed, and the rank goes on with its own part: return it with `?`.";
    9 "The gradient of the weight is transposed: it has the shape of the weight, grad_yᵀ·x.";
    10 "The gradient of the bias is the mean over the rows; it is their sum.";
    11 "The gradient of the bias is summed over the outputs; sum it over the rows, `sum(0)`.";
    12 "Weight and gradient of the weight are exchanged.";
    13 "A barrier or another message comes beside the all-reduce, which waits for all ranks by itself.";
};
