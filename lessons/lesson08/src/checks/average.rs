use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::parallel::Link;
use grader::{Draw, Values, Verdict, draw, given};

use super::ok;
use crate::{
    Lesson08,
    recorded_group::{End, Ran, on_ranks},
};

const SHAPES: [&[usize]; 3] = [&[2, 3], &[4], &[]];

/// Gradients of each rank: a matrix, a vector, a number.
fn gradients(draw: &mut Draw, world: usize) -> Vec<Vec<Vec<f32>>> {
    let one = |draw: &mut Draw| SHAPES.map(|s| draw.list(s.iter().product(), -2.0, 2.0)).to_vec();
    (0..world).map(|_| one(draw)).collect()
}

fn tensors(numbers: &[Vec<f32>]) -> Result<Vec<Tensor>> {
    let made = numbers
        .iter()
        .zip(SHAPES)
        .map(|(v, s)| Tensor::from_slice(v, s, &Device::Cpu));
    Ok(made.collect::<candle_core::Result<_>>()?)
}

/// Each rank's gradients after the student's function.
fn averaged(answer: &Lesson08, all: &[Vec<Vec<f32>>]) -> Ran<Vec<Tensor>> {
    let (answer, all) = (*answer, all.to_vec());
    on_ranks(all.len(), move |end: &End| {
        let mut grads = tensors(&all[Link::rank(end)])?;
        (answer.average_gradients)(end, &mut grads)?;
        Ok(grads)
    })
}

fn case(world: usize) -> grader::Case {
    given(format!("{world} ranks, gradients of shapes [2, 3], [4] and []")).at_scale(1.0)
}

/// On one rank the mean is the gradient itself. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson08) -> Verdict {
    held(answer, &gradients(&mut draw(), 1))
}

fn held(answer: &Lesson08, all: &[Vec<Vec<f32>>]) -> Verdict {
    let case = case(all.len());
    let run = averaged(answer, all);
    run.all_well(&case)?;
    for (rank, got) in run.ranks.iter().enumerate() {
        let got = got.as_deref().unwrap_or_default();
        case.close("number of gradients", got.len(), SHAPES.len())?;
        for (g, shape) in SHAPES.iter().enumerate() {
            let mean = |i: usize| all.iter().map(|r| f64::from(r[g][i])).sum::<f64>() / all.len() as f64;
            let expected = Values::tensor((0..all[0][g].len()).map(mean).collect(), shape, "f32");
            case.close(
                &format!("gradient {g} of rank {rank}"),
                values(&got[g])?,
                expected,
            )?;
        }
    }
    Ok(())
}

fn values(t: &Tensor) -> candle_core::Result<Values> {
    let numbers = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, t.dims(), t.dtype().as_str()))
}

pub fn averages_over_ranks(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    for world in [2, draw.whole(3, 5)] {
        held(answer, &gradients(&mut draw, world))?;
    }
    Ok(())
}

pub fn keeps_ranks_identical_after_a_step(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let world = draw.whole(2, 4);
    let all = gradients(&mut draw, world);
    let weights = draw.list(6, -1.0, 1.0);
    let case = given(format!(
        "{world} ranks, each steps w − 0.1·g by its gradient g, w of shape [2, 3]"
    ));
    let run = averaged(answer, &all);
    run.all_well(&case)?;
    let step = |g: &[f32]| -> Vec<f32> { weights.iter().zip(g).map(|(w, g)| w - 0.1 * g).collect() };
    let after: Vec<Vec<f32>> = run
        .ranks
        .iter()
        .map(|r| match r.as_deref() {
            Ok([g, ..]) => Ok(step(&g.flatten_all()?.to_vec1()?)),
            _ => Ok(Vec::new()),
        })
        .collect::<candle_core::Result<_>>()?;
    // Before the step, the ranks differ.
    let apart = step(&all[0][0]) != step(&all[1][0]);
    case.require("the ranks' own steps differ", apart, "the same steps")?;
    for rank in 1..world {
        case.close(
            &format!("w of rank {rank}, against rank 0's"),
            &after[rank],
            &after[0],
        )?;
        case.require(
            "w, bit-identical",
            after[rank]
                .iter()
                .zip(&after[0])
                .all(|(a, b)| a.to_bits() == b.to_bits()),
            format!("other bits on rank {rank}"),
        )?;
    }
    Ok(())
}

pub fn calls_all_reduce_once(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let world = draw.whole(2, 4);
    let case = case(world);
    let run = averaged(answer, &gradients(&mut draw, world));
    run.all_well(&case)?;
    case.close("calls of all_reduce on all ranks", run.all_reduces.len(), world)?;
    case.close("numbers in each", &run.all_reduces, &vec![11usize; world])
}

/// One tensor on each of two ranks, and their means: whole numbers, so that they are exact in every type.
fn one_tensor(answer: &Lesson08, make: fn(&[f64]) -> candle_core::Result<Tensor>, what: &str) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let numbers: Vec<Vec<f64>> = (0..2)
        .map(|_| (0..6).map(|_| 2.0 * draw.whole(0, 50) as f64).collect())
        .collect();
    let case = given(format!("2 ranks, one gradient each: {what}"));
    let (answer, given) = (*answer, numbers.clone());
    let run = on_ranks(2, move |end: &End| {
        let mut grads = vec![make(&given[Link::rank(end)])?];
        (answer.average_gradients)(end, &mut grads)?;
        Ok(grads)
    });
    run.all_well(&case)?;
    let halves: Vec<f64> = numbers[0]
        .iter()
        .zip(&numbers[1])
        .map(|(a, b)| (a + b) / 2.0)
        .collect();
    let expected = ok(&case, "the mean", make(&halves).map_err(Into::into))?;
    for got in run.ranks.iter().flatten() {
        case.close("number of gradients", got.len(), 1usize)?;
        case.close("gradient", values(&got[0])?, values(&expected)?)?;
    }
    Ok(())
}

pub fn preserves_shapes_and_dtypes(answer: &Lesson08) -> Verdict {
    one_tensor(
        answer,
        |v| Tensor::from_slice(v, (3, 2), &Device::Cpu),
        "f64, shape [3, 2]",
    )?;
    one_tensor(
        answer,
        |v| Tensor::from_slice(v, (1, 6, 1), &Device::Cpu)?.to_dtype(DType::BF16),
        "bf16, shape [1, 6, 1]",
    )
}

pub fn accepts_non_contiguous_gradients(answer: &Lesson08) -> Verdict {
    let turned = |v: &[f64]| {
        Tensor::from_slice(v, (3, 2), &Device::Cpu)?
            .to_dtype(DType::F32)?
            .t()
    };
    one_tensor(answer, turned, "f32, shape [2, 3], a transposed matrix")
}
