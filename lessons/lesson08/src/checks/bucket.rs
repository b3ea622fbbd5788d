use canopy::parallel::{Bucket, BucketSizes, Kind};
use grader::{Case, Verdict, draw, given};

use crate::Lesson08;

const SMALL: BucketSizes = BucketSizes {
    first: 10,
    others: 100,
};

fn case(params: &[(usize, Kind)], sizes: BucketSizes) -> Case {
    given(format!(
        "parameters {params:?}, limits: first {}, others {}",
        sizes.first, sizes.others
    ))
}

/// The parameters of each bucket, all in one list, and how many each has.
fn check(answer: &Lesson08, params: &[(usize, Kind)], sizes: BucketSizes, expected: &[&[usize]]) -> Verdict {
    let case = case(params, sizes);
    let got = (answer.buckets)(params, sizes);
    case.close("parameters, bucket after bucket", &flat(&got), &expected.concat())?;
    let lengths: Vec<usize> = expected.iter().map(|b| b.len()).collect();
    case.close(
        "parameters of each bucket",
        &got.iter().map(|b| b.params.len()).collect::<Vec<_>>(),
        &lengths,
    )
}

fn flat(buckets: &[Bucket]) -> Vec<usize> {
    buckets.iter().flat_map(|b| b.params.clone()).collect()
}

pub fn fills_from_the_last_parameter(answer: &Lesson08) -> Verdict {
    check(
        answer,
        &[(40, "f32"), (20, "f32"), (3, "f32"), (4, "f32"), (5, "f32")],
        SMALL,
        &[&[4, 3, 2], &[1, 0]],
    )?;
    let size = draw().whole(20, 30);
    let params = vec![(size, "f32"); 3];
    check(answer, &params, SMALL, &[&[2], &[1, 0]])
}

pub fn closes_at_the_byte_limit(answer: &Lesson08) -> Verdict {
    // Exactly full, then beyond.
    check(
        answer,
        &[(7, "f32"), (4, "f32"), (6, "f32")],
        SMALL,
        &[&[2, 1], &[0]],
    )?;
    let size = draw().whole(50, 60);
    let params = [(8, "f32"), (size, "f32"), (size, "f32"), (9, "f32"), (2, "f32")];
    check(answer, &params, SMALL, &[&[4, 3], &[2, 1], &[0]])
}

pub fn keeps_the_first_bucket_small(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let sizes = BucketSizes {
        first: draw.whole(5, 9),
        others: draw.whole(31, 39),
    };
    let params = vec![(10, "f32"); 9];
    check(answer, &params, sizes, &[&[8], &[7, 6, 5, 4], &[3, 2, 1, 0]])
}

pub fn separates_dtypes(answer: &Lesson08) -> Verdict {
    let params = [(4, "f32"), (4, "bf16"), (4, "f32"), (4, "bf16")];
    check(answer, &params, SMALL, &[&[3, 1], &[2, 0]])?;
    let size = draw().whole(10, 20);
    let params = [
        (60, "bf16"),
        (60, "f32"),
        (60, "bf16"),
        (60, "f32"),
        (size, "bf16"),
        (size, "f32"),
    ];
    check(answer, &params, SMALL, &[&[5], &[4], &[3, 1], &[2, 0]])?;
    let case = case(&params, SMALL);
    let got: Vec<Kind> = (answer.buckets)(&params, SMALL).iter().map(|b| b.kind).collect();
    case.require(
        "kinds of the buckets",
        got == ["f32", "bf16", "f32", "bf16"],
        format!("{got:?}"),
    )
}

pub fn counts_the_bytes(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let params: Vec<(usize, Kind)> = (0..6).map(|_| (draw.whole(20, 60), "f32")).collect();
    let case = case(&params, SMALL);
    let got = (answer.buckets)(&params, SMALL);
    let sum = |b: &Bucket| {
        b.params
            .iter()
            .filter_map(|&p| params.get(p))
            .map(|p| p.0)
            .sum::<usize>()
    };
    let bytes: Vec<usize> = got.iter().map(|b| b.bytes).collect();
    case.close(
        "bytes of each bucket",
        &bytes,
        &got.iter().map(sum).collect::<Vec<_>>(),
    )
}

pub fn orders_the_remaining_buckets(answer: &Lesson08) -> Verdict {
    // Both are open at the end; the one whose last gradient arrived first is complete first.
    check(
        answer,
        &[(1, "f32"), (2, "bf16"), (3, "bf16")],
        SMALL,
        &[&[2, 1], &[0]],
    )?;
    check(
        answer,
        &[(1, "bf16"), (2, "f32"), (3, "bf16")],
        SMALL,
        &[&[1], &[2, 0]],
    )?;
    check(answer, &[], SMALL, &[])?;
    check(answer, &[(12, "f32")], SMALL, &[&[0]])?;
    let size = draw().whole(1, 4);
    check(
        answer,
        &[(size, "f32"), (size, "u8"), (size, "bf16"), (size, "f32")],
        SMALL,
        &[&[2], &[1], &[3, 0]],
    )
}
