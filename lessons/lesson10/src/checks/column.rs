use canopy::split::LinearGrads;
use grader::{Draw, Verdict, draw, given};

use super::matrix::{Layer, input_gradient, ok, own_gradients, values};
use crate::{
    Lesson10,
    ranks::{Ran, alone_of_two, on_ranks},
};

/// First one rank, on whose thread a stub panics, then several.
pub const WORLDS: [usize; 4] = [1, 3, 2, 4];

fn outputs(answer: &Lesson10, layer: &Layer, world: usize) -> Verdict {
    let case = layer.case(world);
    for rank in 0..world {
        let own = layer.of_outputs(rank, world);
        let (x, weight, bias) = (own.x.tensor()?, own.weight.tensor()?, own.bias.vector()?);
        let got = ok(&case, (answer.column_parallel)(&x, &weight, &bias))?;
        let what = format!("outputs of rank {rank}");
        case.close(&what, values(&got)?, own.output().values())?;
    }
    Ok(())
}

pub fn computes_its_own_outputs(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        let mut layer = Layer::drawn(&mut draw, world);
        layer.bias = layer.bias.zeros();
        outputs(answer, &layer, world)?;
    }
    Ok(())
}

pub fn adds_its_part_of_the_bias(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        outputs(answer, &Layer::drawn(&mut draw, world), world)?;
    }
    Ok(())
}

fn backward(answer: &Lesson10, layer: &Layer, world: usize) -> Ran<LinearGrads> {
    on_ranks(world, |rank| {
        let own = layer.of_outputs(canopy::parallel::Link::rank(rank), world);
        let (x, weight, grad) = (own.x.tensor()?, own.weight.tensor()?, own.grad.tensor()?);
        (answer.column_parallel_backward)(rank, &x, &weight, &grad)
    })
}

/// Compares the gradients of every rank by `test`.
fn gradients(
    answer: &Lesson10,
    drawn: fn(&mut Draw, usize) -> Layer,
    test: impl Fn(&Layer, usize, usize, &LinearGrads) -> Verdict,
) -> Verdict {
    let mut draw = draw();
    for world in WORLDS {
        let layer = drawn(&mut draw, world);
        let case = layer.case(world);
        let ran = backward(answer, &layer, world);
        ran.all_well(&case)?;
        for (rank, got) in ran.results.iter().enumerate() {
            if let Ok(got) = got {
                test(&layer, rank, world, got)?;
            }
        }
    }
    Ok(())
}

pub fn sums_the_gradient_of_x(answer: &Lesson10) -> Verdict {
    gradients(answer, Layer::even, |layer, rank, world, got| {
        input_gradient(&layer.case(world), rank, got, &layer.grad_x())
    })
}

pub fn keeps_its_own_gradients(answer: &Lesson10) -> Verdict {
    gradients(answer, Layer::drawn, |layer, rank, world, got| {
        let case = layer.case(world);
        own_gradients(&case, rank, got, &layer.of_outputs(rank, world))?;
        input_gradient(&case, rank, got, &layer.grad_x())
    })
}

pub fn sends_one_all_reduce(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    let layer = Layer::drawn(&mut draw, 1);
    backward(answer, &layer, 1).all_well(&layer.case(1))?;
    for world in [3, 2, 4] {
        let layer = Layer::drawn(&mut draw, world);
        let case = layer.case(world);
        let ran = backward(answer, &layer, world);
        ran.all_well(&case)?;
        ran.sent_once(&case, layer.x.rows * layer.x.columns)?;
    }
    Ok(())
}

pub fn returns_the_error_of_the_sum(answer: &Lesson10) -> Verdict {
    let layer = Layer::drawn(&mut draw(), 2);
    let case = given("rank 0 of 2, the other rank has ended: the all-reduce returns an error");
    let own = layer.of_outputs(0, 2);
    let (x, weight, grad) = (own.x.tensor()?, own.weight.tensor()?, own.grad.tensor()?);
    let got = (answer.column_parallel_backward)(&alone_of_two(), &x, &weight, &grad);
    case.require("result", got.is_err(), "Ok, expected the error")
}
