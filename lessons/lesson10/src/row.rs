//! 10.2: a linear layer whose inputs are split.

use candle_core::Tensor;
use canopy::parallel::Link;
use grader::{Check, Finding, Mistake, Verdict, given, mistakes, rows};
use kit::{Ran, broken, ok, on_ranks, values};

use crate::{
    Lesson10, REFERENCE, answers,
    layer::{Layer, layers},
};

fn forward(lesson: &Lesson10, layer: &Layer) -> Result<Ran<Tensor>, Finding> {
    layer.case();
    let (all, function) = (layer.clone(), lesson.row_parallel);
    let ran = on_ranks(layer.world, move |end| {
        let own = all.of_inputs(end.rank())?;
        function(end, &own.x, &own.weight, &own.bias)
    });
    ran.all_well(&layer.input())?;
    Ok(ran)
}

fn outputs(answer: &Lesson10, layer: Layer) -> Verdict {
    let [got, expected] = [forward(answer, &layer)?, forward(&REFERENCE, &layer)?];
    let both = got.ranks.iter().flatten().zip(expected.ranks.iter().flatten());
    for (rank, (got, expected)) in both.enumerate() {
        let what = format!("outputs on rank {rank}");
        layer.case().close(&what, values(got)?, values(expected)?)?;
    }
    Ok(())
}

fn sent(answer: &Lesson10, layer: Layer) -> Verdict {
    layer.sent_once(&forward(answer, &layer)?, layer.grad.elem_count())
}

fn error(answer: &Lesson10, layer: Layer) -> Verdict {
    let own = layer.of_inputs(0)?;
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let got = (answer.row_parallel)(&broken(), &own.x, &own.weight, &own.bias);
    case.require("result", got.is_err(), "Ok, expected the error")
}

/// The backward function sends nothing, so that one thread is enough.
fn gradients(answer: &Lesson10, layer: Layer) -> Verdict {
    for rank in 0..layer.world {
        let (case, own) = (layer.case(), layer.of_inputs(rank)?);
        let facts = |lesson: &Lesson10| {
            let result = (lesson.row_parallel_backward)(&own.x, &own.weight, &own.grad);
            let grads = ok(&layer.input(), "gradients", result)?;
            let cause = "The gradient of the input is grad_y·W, with this rank's columns of W.";
            Ok::<_, Finding>(Layer::facts(rank, &grads, cause)?)
        };
        case.same(facts(answer)?, facts(&REFERENCE)?)?;
    }
    Ok(())
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.2";
    by outputs {
        sums_the_outputs_and_adds_the_bias_once: "Returns all outputs of `x·Wᵀ + b`",
            "Multiply this rank's columns of x and W, sum the products over the ranks by one call that all of them make, and then add \
             the whole bias." => |d| layers(d, false);
    }
    by sent {
        sends_the_outputs_once: "Calls `sum_over_ranks` once", "Sum all outputs by one call, and send nothing else." =>
            |d| layers(d, false);
    }
    by error {
        passes_on_the_error: "returns its error", "Return the error of the sum, with `?`." =>
            |d| layers(d, false).split_off(2);
    }
    by gradients {
        returns_the_gradients_of_its_part: "Returns the gradients of `row_parallel`",
            "The gradients are grad_y·W, grad_yᵀ·x and the sum of grad_y over the rows, with this rank's columns and nothing sent." =>
            |d| layers(d, false);
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.2" [row_parallel, row_parallel_backward];
    1 "The parts are not summed: each rank has the products of its own inputs only.";
    2 "The sum is divided by the number of ranks; it is not a mean.";
    3 "The sum over the ranks contains the bias p times: add it once, after the sum.";
    4 "The bias is left out.";
    5 "Only rank 0 adds the bias, after the sum: the other ranks have outputs without it.";
    6 "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.";
    7 "The gradient of the bias is the mean over the rows; it is their sum.";
};
