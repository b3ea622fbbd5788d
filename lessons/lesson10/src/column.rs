//! 10.1: a linear layer whose outputs are split.

use canopy::parallel::Link;
use grader::{Check, Finding, Mistake, Verdict, given, mistakes, rows};
use kit::{Ran, broken, ok, on_ranks, values};

use crate::{
    Lesson10, LinearGrads, REFERENCE, answers,
    layer::{Layer, layers},
};

fn outputs(answer: &Lesson10, layer: Layer) -> Verdict {
    for rank in 0..layer.world {
        let own = layer.of_outputs(rank)?;
        let (case, what) = (layer.case(), format!("outputs of rank {rank}"));
        let of = |lesson: &Lesson10| {
            let result = (lesson.column_parallel)(&own.x, &own.weight, &own.bias);
            Ok::<_, Finding>(values(&ok(&layer.input(), &what, result)?)?)
        };
        case.close(&what, of(answer)?, of(&REFERENCE)?)?;
    }
    Ok(())
}

fn backward(lesson: &Lesson10, layer: &Layer) -> Result<Ran<LinearGrads>, Finding> {
    layer.case();
    let (all, function) = (layer.clone(), lesson.column_parallel_backward);
    let ran = on_ranks(layer.world, move |end| {
        let own = all.of_outputs(end.rank())?;
        function(end, &own.x, &own.weight, &own.grad)
    });
    ran.all_well(&layer.input())?;
    Ok(ran)
}

fn gradients(answer: &Lesson10, layer: Layer) -> Verdict {
    let [got, expected] = [backward(answer, &layer)?, backward(&REFERENCE, &layer)?];
    let both = got.ranks.iter().flatten().zip(expected.ranks.iter().flatten());
    for (rank, (got, expected)) in both.enumerate() {
        let cause = "The gradient of x is grad_y·W, summed over the ranks by one `sum_over_ranks` that all of them call.";
        let facts = |grads| Layer::facts(rank, grads, cause);
        layer.case().same(facts(got)?, facts(expected)?)?;
    }
    Ok(())
}

fn sent(answer: &Lesson10, layer: Layer) -> Verdict {
    layer.sent_once(&backward(answer, &layer)?, layer.x.elem_count())
}

fn error(answer: &Lesson10, layer: Layer) -> Verdict {
    let own = layer.of_outputs(0)?;
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let got = (answer.column_parallel_backward)(&broken(), &own.x, &own.weight, &own.grad);
    case.require("result", got.is_err(), "Ok, expected the error")
}

pub const CHECKS: &[Check<Lesson10>] = rows! { "10.1";
    by outputs {
        computes_its_own_outputs: "this rank's outputs",
            "Multiply x by the transpose of this rank's rows of W, and add its part of the bias to each row, once." => |d| layers(d, false);
    }
    by gradients {
        sums_the_gradient_of_x_alone: "summed over all ranks",
            "Sum the gradient of x by one `sum_over_ranks` that all ranks call; those of weight and bias stay on this rank." =>
            |d| [layers(d, true), layers(d, false)].concat();
    }
    by sent {
        sends_one_all_reduce: "by one call of `sum_over_ranks`", "Sum the whole gradient of x by one call, and send nothing else." =>
            |d| layers(d, false);
    }
    by error {
        returns_the_error_of_the_sum: "Returns its error", "Return the error of the sum, with `?`." =>
            |d| layers(d, false).split_off(2);
    }
};

pub const MISTAKES: &[Mistake<Lesson10>] = mistakes! { "10.1" [column_parallel, column_parallel_backward];
    1 "The shapes do not fit: W has a row for each output, so the product is x·Wᵀ, and `broadcast_add` adds the bias to each row.";
    2 "The bias is left out.";
    3 "The gradient of x is not summed: every rank has read all of x, so each knows only a part.";
    4 "The gradient of x is averaged over the ranks; it is the sum.";
    5 "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.";
    6 "The gradients of weight and bias are summed over the ranks, too, as in data parallelism; here each rank has other rows of W.";
    7 "The gradient of the bias is the mean over the rows; it is their sum.";
};
