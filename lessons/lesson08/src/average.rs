//! 8.4: averaged gradients.

use candle_core::DType::{self, BF16, F16, F32, F64};
use candle_core::{Device, Result, Tensor};
use canopy::parallel::Link;
use grader::{Check, Draw, Facts, Finding, Mistake, Verdict, given, mistakes, rows};
use kit::{Operation, Ran, broken, on_ranks, shown, values};

use crate::{Lesson08, REFERENCE, answers};

/// The gradients of each rank.
type Input = Result<Vec<Vec<Tensor>>>;

/// The shape and the dtype of a gradient.
type Kind = (&'static [usize], DType);

/// There are four, so that dividing by their number is not dividing by that of two or three ranks.
const FOUR: [Kind; 4] = [(&[2, 3], F32), (&[4], F32), (&[3], F32), (&[2], F32)];

/// Multiples of 1/4 for each of `world` ranks, which f32 sums exactly in any order, and bf16 rounds.
fn drawn(d: &mut Draw, world: usize, kinds: &[Kind]) -> Input {
    let mut tensor = |&(shape, dtype): &Kind| {
        let count: usize = shape.iter().product();
        let numbers = (0..count).map(|_| d.whole(0, 800) as f32 / 4.0 - 100.0);
        Tensor::from_iter(numbers, &Device::Cpu)?
            .reshape(shape)?
            .to_dtype(dtype)
    };
    let mut rank = |_| kinds.iter().map(&mut tensor).collect();
    (0..world).map(&mut rank).collect()
}

/// One gradient of these numbers on each rank.
fn one(dtype: DType, ranks: &[&[f32]]) -> Input {
    let rank = |numbers: &&[f32]| Ok(vec![Tensor::new(*numbers, &Device::Cpu)?.to_dtype(dtype)?]);
    ranks.iter().map(rank).collect()
}

fn viewed(ranks: Input, view: fn(&Tensor) -> Result<Tensor>) -> Input {
    ranks?.iter().map(|own| own.iter().map(view).collect()).collect()
}

/// What the ranks have of gradient `g`.
fn text(ranks: &[Vec<Tensor>], g: usize) -> Result<String> {
    let (world, count, first) = (ranks.len(), ranks[0].len(), &ranks[0][g]);
    let (dtype, shape, stride) = (first.dtype(), first.dims(), first.stride());
    let mut text = format!("{world} ranks, gradient {g} of {count}, {dtype:?} {shape:?}, stride {stride:?}:");
    for own in ranks {
        text += &format!(" [{}]", shown(&values(&own[g])?.numbers));
    }
    Ok(text)
}

fn run(answer: &Lesson08, ranks: &[Vec<Tensor>]) -> std::result::Result<Ran<Vec<Tensor>>, Finding> {
    let (answer, ranks, text) = (*answer, ranks.to_vec(), text(ranks, 0)?);
    given(&text);
    let ran = on_ranks(ranks.len(), move |end| {
        let mut gradients = ranks[end.rank()].clone();
        (answer.average_gradients)(end, &mut gradients)?;
        Ok(gradients)
    });
    ran.all_well(&text)?;
    Ok(ran)
}

fn averaged(answer: &Lesson08, ranks: Input) -> Verdict {
    let ranks = ranks?;
    let (got, expected) = (run(answer, &ranks)?, run(&REFERENCE, &ranks)?);
    for g in 0..ranks[0].len() {
        // The parts may cancel.
        let case = given(text(&ranks, g)?).at_scale(1.0);
        let pairs = got.ranks.iter().flatten().zip(expected.ranks.iter().flatten());
        for (rank, (got, expected)) in pairs.enumerate() {
            let what = format!("gradient {g} of rank {rank}");
            case.close(&what, values(&got[g])?, values(&expected[g])?)?;
        }
    }
    // A single rank may do without the call.
    let calls = |ran: &Ran<_>| {
        let lengths = ran.lengths(Operation::AllReduce);
        let calls = if ranks.len() > 1 { &lengths[..] } else { &[] };
        Facts::default()
            .items("numbers in each call of all_reduce, of all ranks", calls)
            .cause("Collect all gradients, of all dtypes, in one list, and call `all_reduce` once, on each rank.")
            .asked("in one call of `collective.all_reduce`")
    };
    given(text(&ranks, 0)?).same(calls(&got), calls(&expected))
}

fn fails(answer: &Lesson08, ranks: Input) -> Verdict {
    let case = given("rank 0 of 2, gradient [1, 2]; all_reduce returns an error");
    let result = (answer.average_gradients)(&broken(), &mut ranks?[0]);
    case.require("result", result.is_err(), "Ok, expected the error")
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.4";
    by averaged {
        averages_over_ranks: "its mean over all ranks",
            "List all numbers as `flatten_all` orders them, sum the list, divide by the ranks, and cut it into the shapes." => |d| {
            let mut all: Vec<Input> = [1, 3, 2, d.whole(4, 9)].map(|world| drawn(d, world, &FOUR)).into();
            // A long message is still one.
            all.push(drawn(d, 2, &[(&[262_147], F32)]));
            // A rank that diverges must not go unnoticed.
            all.push(one(F32, &[&[f32::NAN, 2.0, 3.0], &[4.0, f32::INFINITY, 5.0]]));
            all
        };
        accepts_any_number_of_axes: "in its shape",
            "Read each gradient with `flatten_all`, also one without axes, and give its mean the same shape." => |d| {
            let many = [(&[2, 3, 2][..], F32), (&[], F32), (&[1, 4, 1], F32), (&[2, 1, 3, 1], F32)];
            vec![drawn(d, 1, &many), drawn(d, 2, &[(&[2], F32), (&[], F32)]), drawn(d, 2, &many)]
        };
        preserves_shapes_and_dtypes: "in its shape and dtype",
            "Convert each gradient to f32 to send it, and its mean back to the gradient's own dtype." => |d| {
            let six = |dtype| (&[6][..], dtype);
            let mixed = [F32, F16, BF16, F64, F32].map(six);
            vec![drawn(d, 1, &[six(F64)]), drawn(d, 2, &[six(F64)]), drawn(d, 2, &mixed)]
        };
        accepts_non_contiguous_gradients: "contiguous or not",
            "Read the numbers in the order of the shape: `flatten_all` copies what is not contiguous." => |d| vec![
                viewed(drawn(d, 1, &[(&[3, 2], F32)]), Tensor::t),
                viewed(drawn(d, 2, &[(&[3, 2], F32)]), Tensor::t),
                viewed(drawn(d, 2, &[(&[2, 3], F32)]), |wide| wide.narrow(1, 1, 2)),
                viewed(drawn(d, 2, &[(&[1, 6], F32)]), |row| row.broadcast_as((2, 6))),
            ];
        divides_in_f32: "Divide in f32",
            "Sum and divide in f32, and convert only the mean: f16 and bf16 round, and f16 ends at 65504." => |_| vec![
                one(F16, &[&[2.5]]),
                // The sum overflows f16.
                one(F16, &[&[60_000.0, 1.0], &[50_016.0, 3.0]]),
                // The sums cancel, so that what a division of each part in its own dtype rounds off remains.
                one(F16, &[&[2000.0], &[-1999.0], &[2.0]]),
                one(BF16, &[&[200.0], &[-199.0], &[2.0]]),
            ];
    }
    by fails {
        passes_on_the_error: "return its error", "Return the error of `all_reduce`, with `?`; do not unwrap it." =>
            |_| vec![one(F32, &[&[1.0, 2.0]])];
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.4" average_gradients;
    1 "The gradients are summed, but not divided: each step is p times as long.";
    2 "Only rank 0 calls all_reduce: all ranks must make the same calls, or it waits forever.";
    3 "The gradients are as before: the means must replace them in the slice, `*g = …`.";
    4 "The gradients are returned as lists: their shapes are lost.";
    5 "Each tensor is filled from the beginning of the list; start where the last one ended.";
};
