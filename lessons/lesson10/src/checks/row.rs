use candle_core::Tensor;
use canopy::parallel::Link;
use grader::{Verdict, draw, given};

use super::{
    column::WORLDS,
    matrix::{Layer, bias_gradient, input_gradient, ok, values},
};
use crate::{
    Lesson10,
    ranks::{Ran, alone_of_two, on_ranks},
};

fn forward(answer: &Lesson10, layer: &Layer, world: usize) -> Ran<Tensor> {
    on_ranks(world, |rank| {
        let own = layer.of_inputs(Link::rank(rank), world);
        let (x, weight, bias) = (own.x.tensor()?, own.weight.tensor()?, own.bias.vector()?);
        (answer.row_parallel)(rank, &x, &weight, &bias)
    })
}

fn outputs(answer: &Lesson10, layer: &Layer, world: usize) -> Verdict {
    let case = layer.case(world);
    let ran = forward(answer, layer, world);
    ran.all_well(&case)?;
    for (rank, got) in ran.results.iter().enumerate() {
        if let Ok(got) = got {
            let what = format!("outputs on rank {rank}");
            case.close(&what, values(got)?, layer.output().values())?;
        }
    }
    Ok(())
}

pub fn sums_over_the_inputs_of_all_ranks(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        let mut layer = Layer::drawn(&mut draw, world);
        layer.bias = layer.bias.zeros();
        outputs(answer, &layer, world)?;
    }
    Ok(())
}

pub fn adds_the_bias_once(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        outputs(answer, &Layer::drawn(&mut draw, world), world)?;
    }
    Ok(())
}

pub fn sends_the_outputs_once(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    let layer = Layer::drawn(&mut draw, 1);
    forward(answer, &layer, 1).all_well(&layer.case(1))?;
    for world in [3, 2, 4] {
        let layer = Layer::drawn(&mut draw, world);
        let case = layer.case(world);
        let ran = forward(answer, &layer, world);
        ran.all_well(&case)?;
        ran.sent_once(&case, layer.x.rows * layer.weight.rows)?;
    }
    Ok(())
}

pub fn passes_on_the_error(answer: &Lesson10) -> Verdict {
    let layer = Layer::drawn(&mut draw(), 2);
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let own = layer.of_inputs(0, 2);
    let (x, weight, bias) = (own.x.tensor()?, own.weight.tensor()?, own.bias.vector()?);
    let got = (answer.row_parallel)(&alone_of_two(), &x, &weight, &bias);
    case.require("result", got.is_err(), "Ok, expected the error")
}

/// Calls the backward function for each rank; it sends nothing, so that one thread is enough.
fn gradients(
    answer: &Lesson10,
    test: impl Fn(&grader::Case, usize, &canopy::split::LinearGrads, &Layer) -> Verdict,
) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        let layer = Layer::drawn(&mut draw, world);
        let case = layer.case(world);
        for rank in 0..world {
            let own = layer.of_inputs(rank, world);
            let (x, weight, grad) = (own.x.tensor()?, own.weight.tensor()?, own.grad.tensor()?);
            let got = ok(&case, (answer.row_parallel_backward)(&x, &weight, &grad))?;
            test(&case, rank, &got, &own)?;
        }
    }
    Ok(())
}

pub fn returns_the_gradients_of_its_columns(answer: &Lesson10) -> Verdict {
    gradients(answer, |case, rank, got, own| {
        input_gradient(case, rank, got, &own.grad_x())?;
        let what = format!("gradient of rank {rank}'s weight");
        case.close(&what, values(&got.weight)?, own.grad_weight().values())
    })
}

pub fn returns_the_whole_gradient_of_the_bias(answer: &Lesson10) -> Verdict {
    gradients(answer, bias_gradient)
}
