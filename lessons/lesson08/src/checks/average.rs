use candle_core::{DType, Device, Tensor};
use canopy::parallel::Link;
use grader::{Draw, Values, Verdict, draw, given};
use kit::{End, Operation, Ran, broken, on_ranks};

use super::refused;
use crate::Lesson08;

/// Of most checks. There are four, so that dividing by their number is not dividing by that of two or three ranks.
const SHAPES: [&[usize]; 4] = [&[2, 3], &[4], &[3], &[2]];

type Numbers = Vec<Vec<f32>>;

/// Gradients of each rank.
fn gradients(draw: &mut Draw, world: usize, shapes: &[&[usize]]) -> Vec<Numbers> {
    let mut one = || {
        let of = |s: &&[usize]| draw.list(s.iter().product(), -2.0, 2.0);
        shapes.iter().map(of).collect()
    };
    (0..world).map(|_| one()).collect()
}

/// Each rank's gradients after the student's function, from those that `make` makes on a rank.
fn averaged(
    answer: &Lesson08,
    world: usize,
    make: impl Fn(usize) -> candle_core::Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Ran<Vec<Tensor>> {
    let answer = *answer;
    on_ranks(world, move |end: &End| {
        let mut grads = make(Link::rank(end))?;
        (answer.average_gradients)(end, &mut grads)?;
        Ok(grads)
    })
}

fn tensors(numbers: &Numbers, shapes: &[&[usize]]) -> candle_core::Result<Vec<Tensor>> {
    let pairs = numbers.iter().zip(shapes);
    pairs
        .map(|(v, s)| Tensor::from_slice(v, *s, &Device::Cpu))
        .collect()
}

fn run_of(answer: &Lesson08, all: &[Numbers], shapes: &'static [&[usize]]) -> Ran<Vec<Tensor>> {
    let all = all.to_vec();
    averaged(answer, all.len(), move |rank| tensors(&all[rank], shapes))
}

fn input(world: usize, shapes: &[&[usize]]) -> String {
    format!("{world} ranks, gradients of shapes {shapes:?}")
}

/// On one rank the mean is the gradient itself. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson08) -> Verdict {
    let shapes: &[&[usize]] = &[&[3]];
    means(answer, &[vec![vec![0.5, -2.0, 4.0]]], shapes)
}

fn means(answer: &Lesson08, all: &[Numbers], shapes: &'static [&[usize]]) -> Verdict {
    let input = input(all.len(), shapes);
    let case = given(&input).at_scale(1.0);
    let run = run_of(answer, all, shapes);
    run.all_well(&input)?;
    for (rank, got) in run.ranks.iter().enumerate() {
        let got = got.as_deref().unwrap_or_default();
        case.close("number of gradients", got.len(), shapes.len())?;
        for (g, shape) in shapes.iter().enumerate() {
            let mean = |i: usize| all.iter().map(|r| f64::from(r[g][i])).sum::<f64>() / all.len() as f64;
            let expected = Values::tensor((0..all[0][g].len()).map(mean).collect(), shape, "f32");
            let what = format!("gradient {g} of rank {rank}");
            case.close(&what, values(&got[g])?, expected)?;
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
    for world in [3, 2, draw.whole(4, 9)] {
        means(answer, &gradients(&mut draw, world, &SHAPES), &SHAPES)?;
    }
    // A rank that diverges must not go unnoticed.
    let mut all = gradients(&mut draw, 2, &SHAPES);
    (all[1][1][2], all[0][2][0]) = (f32::INFINITY, f32::NAN);
    means(answer, &all, &SHAPES)
}

pub fn keeps_ranks_identical_after_a_step(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let world = draw.whole(2, 9);
    let all = gradients(&mut draw, world, &SHAPES);
    let weights = draw.list(6, -1.0, 1.0);
    let input = format!("{world} ranks, each steps w − 0.1·g by its gradient g, w of shape [2, 3]");
    let case = given(&input);
    let run = run_of(answer, &all, &SHAPES);
    run.all_well(&input)?;
    let step = |g: &[f32]| -> Vec<f32> { weights.iter().zip(g).map(|(w, g)| w - 0.1 * g).collect() };
    let after: Vec<Vec<f32>> = run
        .ranks
        .iter()
        .map(|r| match r.as_deref() {
            Ok([g, ..]) => Ok(step(&g.flatten_all()?.to_vec1()?)),
            _ => Ok(Vec::new()),
        })
        .collect::<candle_core::Result<_>>()?;
    for rank in 1..world {
        let what = format!("w of rank {rank}, against rank 0's");
        case.close(&what, &after[rank], &after[0])?;
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
    let all = gradients(&mut draw, world, &SHAPES);
    one_call(answer, world, input(world, &SHAPES), 15, move |rank| {
        tensors(&all[rank], &SHAPES)
    })?;
    let text = "2 ranks, gradients of f32, f64 and bf16, 2 numbers each".to_owned();
    one_call(answer, 2, text, 6, |_| {
        let of = |dtype| Tensor::new(&[1f32, 2.0], &Device::Cpu)?.to_dtype(dtype);
        [DType::F32, DType::F64, DType::BF16]
            .into_iter()
            .map(of)
            .collect()
    })?;
    // A long message is still one.
    let long = |rank: usize| -> Vec<f32> { (0..262_147).map(|i| (i % 7 + rank) as f32).collect() };
    let input = "2 ranks, one gradient of 262147 numbers";
    let case = given(input);
    let run = averaged(answer, 2, move |rank| {
        Ok(vec![Tensor::new(long(rank), &Device::Cpu)?])
    });
    run.all_well(input)?;
    let lengths = run.lengths(Operation::AllReduce);
    let calls = lengths.len();
    if calls != 2 {
        let said = format!("{calls}, expected 2");
        refused(input, "calls of all_reduce on all ranks", &said)?;
    }
    case.close("numbers in each call", &lengths, &vec![262_147usize; 2])?;
    let halves: Vec<f32> = long(0).iter().map(|v| v + 0.5).collect();
    for got in run.ranks.iter().flatten() {
        let got = got.first().map(Tensor::to_vec1::<f32>).transpose()?;
        case.close("gradient 0", &got.unwrap_or_default(), &halves)?;
    }
    Ok(())
}

fn one_call(
    answer: &Lesson08,
    world: usize,
    input: String,
    numbers: usize,
    make: impl Fn(usize) -> candle_core::Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Verdict {
    let case = given(&input);
    let run = averaged(answer, world, make);
    run.all_well(&input)?;
    let lengths = run.lengths(Operation::AllReduce);
    let calls = lengths.len() as f64 / world as f64;
    case.close("calls of all_reduce on each rank", calls, 1.0)?;
    case.close("numbers in each", &lengths, &vec![numbers; world])
}

/// A gradient of each dtype, from six numbers.
type Make = fn(&[f64], DType) -> candle_core::Result<Tensor>;

/// One gradient for each of `dtypes` on two ranks, and their means: whole numbers, so that they are exact in every dtype.
fn exact(answer: &Lesson08, make: Make, dtypes: &'static [DType], what: &str) -> Verdict {
    let mut draw = draw();
    let mut six = || -> Vec<f64> { (0..6).map(|_| 2.0 * draw.whole(0, 50) as f64).collect() };
    let numbers: Vec<[Vec<f64>; 2]> = dtypes.iter().map(|_| [six(), six()]).collect();
    exact_means(answer, make, dtypes, numbers, what)
}

fn exact_means(
    answer: &Lesson08,
    make: Make,
    dtypes: &'static [DType],
    numbers: Vec<[Vec<f64>; 2]>,
    what: &str,
) -> Verdict {
    let half = |[a, b]: &[Vec<f64>; 2]| a.iter().zip(b).map(|(a, b)| (a + b) / 2.0).collect();
    let halves: Vec<Vec<f64>> = numbers.iter().map(half).collect();
    let input = format!("2 ranks, gradients: {what}");
    let case = given(&input);
    let run = averaged(answer, 2, move |rank| {
        let pairs = numbers.iter().zip(dtypes);
        pairs.map(|(own, &dtype)| make(&own[rank], dtype)).collect()
    });
    run.all_well(&input)?;
    for got in run.ranks.iter().flatten() {
        case.close("number of gradients", got.len(), dtypes.len())?;
        for (g, (halves, &dtype)) in halves.iter().zip(dtypes).enumerate() {
            let expected = values(&make(halves, dtype)?)?;
            case.close(&format!("gradient {g}"), values(&got[g])?, expected)?;
        }
    }
    Ok(())
}

fn flat(v: &[f64], dtype: DType) -> candle_core::Result<Tensor> {
    Tensor::from_slice(v, v.len(), &Device::Cpu)?.to_dtype(dtype)
}

pub fn accepts_any_number_of_axes(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let mut draw = draw();
    let none: &[&[usize]] = &[&[2], &[]];
    means(answer, &gradients(&mut draw, 2, none), none)?;
    let many: &[&[usize]] = &[&[2, 3, 2], &[], &[1, 4, 1], &[2, 1, 3, 1]];
    means(answer, &gradients(&mut draw, 2, many), many)
}

pub fn preserves_shapes_and_dtypes(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    exact(answer, flat, &[DType::F64], "f64")?;
    exact(answer, flat, &[DType::BF16], "bf16")?;
    exact(answer, flat, &[DType::F16], "f16")?;
    let mixed = &[DType::F32, DType::F64, DType::BF16, DType::F32];
    exact(answer, flat, mixed, "f32, f64, bf16 and f32")
}

pub fn accepts_non_contiguous_gradients(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let turned: Make = |v, dtype| Tensor::from_slice(v, (3, 2), &Device::Cpu)?.to_dtype(dtype)?.t();
    exact(
        answer,
        turned,
        &[DType::F32],
        "f32, shape [2, 3], a transposed matrix",
    )?;
    let part: Make = |v, dtype| {
        let wide = Tensor::from_slice(v, (2, 3), &Device::Cpu)?.to_dtype(dtype)?;
        wide.narrow(1, 1, 2)
    };
    exact(answer, part, &[DType::F32], "f32, the last two of three columns")?;
    let repeated: Make = |v, dtype| {
        let row = Tensor::from_slice(v, (1, 6), &Device::Cpu)?.to_dtype(dtype)?;
        row.broadcast_as((2, 6))
    };
    exact(answer, repeated, &[DType::F32], "f32, a row broadcast to two")
}

pub fn does_not_overflow_f16(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    let numbers = vec![[vec![60_000.0, 1.0], vec![50_016.0, 3.0]]];
    let what = "f16, [60000, 1] and [50016, 3]; the sum 110016 overflows f16";
    exact_means(answer, flat, &[DType::F16], numbers, what)
}

pub fn divides_in_f32(answer: &Lesson08) -> Verdict {
    alone(answer)?;
    // The sums cancel, so that what a division of each part in its own dtype rounds off remains.
    for (dtype, name, parts) in [
        (DType::F16, "f16", [2000.0, -1999.0, 2.0]),
        (DType::BF16, "bf16", [200.0, -199.0, 2.0]),
    ] {
        let input = format!(
            "3 ranks, a gradient of {name}: [{}], [{}] and [{}]",
            parts[0], parts[1], parts[2]
        );
        let case = given(&input);
        let run = averaged(answer, 3, move |rank| Ok(vec![flat(&[parts[rank]], dtype)?]));
        run.all_well(&input)?;
        for got in run.ranks.iter().flatten() {
            case.close("number of gradients", got.len(), 1usize)?;
            case.close("gradient 0", values(&got[0])?, values(&flat(&[1.0], dtype)?)?)?;
        }
    }
    Ok(())
}

pub fn passes_on_the_error(answer: &Lesson08) -> Verdict {
    let input = "rank 0 of 2, gradient [1, 2]; all_reduce returns an error";
    given(input);
    let mut grads = vec![Tensor::new(&[1f32, 2.0], &Device::Cpu)?];
    match (answer.average_gradients)(&broken(), &mut grads) {
        Ok(()) => refused(input, "result", "Ok, expected the error"),
        Err(_) => Ok(()),
    }
}
