use canopy::parallel::{Bucket, BucketSizes, Kind};
use grader::{Case, Draw, Verdict, draw, given};

use crate::Lesson08;
use kit::{refused, wrong};

const EQUAL: BucketSizes = BucketSizes {
    first: 10,
    others: 10,
};

const SMALL: BucketSizes = BucketSizes {
    first: 10,
    others: 20,
};

const KINDS: [Kind; 6] = ["f32", "bf16", "f16", "f64", "f32 cuda:1", "u8"];

fn input(params: &[(usize, Kind)], sizes: BucketSizes) -> String {
    let BucketSizes { first, others } = sizes;
    format!("parameters {params:?}, limits: first {first}, others {others}")
}

fn case(params: &[(usize, Kind)], sizes: BucketSizes) -> Case {
    given(input(params, sizes))
}

/// Bytes and kinds of parameters, from lists.
fn params(bytes: &[usize], kinds: &str) -> Vec<(usize, Kind)> {
    let kind = |k: char| if k == 'b' { "bf16" } else { "f32" };
    bytes.iter().copied().zip(kinds.chars().map(kind)).collect()
}

fn of_one_kind(bytes: &[usize]) -> Vec<(usize, Kind)> {
    bytes.iter().map(|&b| (b, "f32")).collect()
}

/// Tests the parameters of each bucket.
fn check(answer: &Lesson08, params: &[(usize, Kind)], sizes: BucketSizes, expected: &[&[usize]]) -> Verdict {
    let input = input(params, sizes);
    given(&input);
    let got = (answer.buckets)(params, sizes);
    if got
        .iter()
        .map(|b| b.params.as_slice())
        .eq(expected.iter().copied())
    {
        return Ok(());
    }
    let shown = |lists: Vec<&[usize]>| match lists.as_slice() {
        [] => "no bucket".into(),
        lists => lists.iter().map(|l| format!("{l:?} ")).collect::<String>(),
    };
    let lines = vec![
        format!("expected  {}", shown(expected.to_vec())),
        format!(
            "got       {}",
            shown(got.iter().map(|b| b.params.as_slice()).collect())
        ),
    ];
    wrong(&input, "parameters of each bucket", None, lines)
}

pub fn fills_from_the_last_parameter(answer: &Lesson08) -> Verdict {
    // Each alone, then all together.
    check(answer, &of_one_kind(&[30, 20, 40]), EQUAL, &[&[2], &[1], &[0]])?;
    check(answer, &of_one_kind(&[1, 2, 3]), EQUAL, &[&[2, 1, 0]])?;
    let size = draw().whole(20, 30);
    check(answer, &of_one_kind(&[size; 3]), SMALL, &[&[2], &[1], &[0]])
}

pub fn closes_at_the_byte_limit(answer: &Lesson08) -> Verdict {
    // Exactly full, then beyond.
    check(
        answer,
        &of_one_kind(&[2, 7, 6, 4, 6]),
        EQUAL,
        &[&[4, 3], &[2, 1], &[0]],
    )?;
    let size = draw().whole(20, 30);
    check(
        answer,
        &of_one_kind(&[8, size, size, 9, 2]),
        SMALL,
        &[&[4, 3], &[2], &[1], &[0]],
    )?;
    check(
        answer,
        &of_one_kind(&[3, 5, 5, 10]),
        EQUAL,
        &[&[3], &[2, 1], &[0]],
    )
}

pub fn keeps_the_first_bucket_small(answer: &Lesson08) -> Verdict {
    check(
        answer,
        &of_one_kind(&[2, 5, 8, 7, 6, 8]),
        SMALL,
        &[&[5, 4], &[3, 2, 1], &[0]],
    )?;
    let mut draw = draw();
    let sizes = BucketSizes {
        first: draw.whole(5, 9),
        others: draw.whole(31, 39),
    };
    let params = of_one_kind(&[10; 9]);
    check(answer, &params, sizes, &[&[8], &[7, 6, 5, 4], &[3, 2, 1, 0]])?;
    // The first may also be the greater one.
    let sizes = BucketSizes {
        first: 25,
        others: 10,
    };
    check(answer, &of_one_kind(&[10; 5]), sizes, &[&[4, 3, 2], &[1], &[0]])
}

pub fn separates_dtypes(answer: &Lesson08) -> Verdict {
    let mixed = params(&[3, 4, 5, 5, 8, 2], "ffbbfb");
    check(answer, &mixed, SMALL, &[&[5, 3, 2], &[4, 1], &[0]])?;
    let size = draw().whole(10, 19);
    let all = params(&[60, 60, 60, 60, size, size], "bfbfbf");
    check(answer, &all, SMALL, &[&[5], &[4], &[3], &[2], &[1], &[0]])?;
    let case = case(&mixed, SMALL);
    let buckets = (answer.buckets)(&mixed, SMALL);
    kinds(&case, &buckets, &["bf16", "f32", "f32"])
}

fn kinds(case: &Case, buckets: &[Bucket], expected: &[Kind]) -> Verdict {
    let got: Vec<Kind> = buckets.iter().map(|b| b.kind).collect();
    case.require(
        "kinds of the buckets",
        got == expected,
        format!("{got:?}, expected {expected:?}"),
    )
}

pub fn keeps_the_order_of_closing(answer: &Lesson08) -> Verdict {
    check(
        answer,
        &params(&[7, 8, 8, 8, 8, 4], "bbfffb"),
        SMALL,
        &[&[4, 3], &[5, 1], &[2], &[0]],
    )?;
    // The bucket that is opened first is closed last.
    let size = draw().whole(10, 19);
    check(
        answer,
        &params(&[9, size, size, 1], "bffb"),
        SMALL,
        &[&[2], &[3, 0], &[1]],
    )
}

pub fn counts_the_bytes(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let params: Vec<(usize, Kind)> = (0..6).map(|_| (draw.whole(6, 16), "f32")).collect();
    let case = case(&params, SMALL);
    let got = (answer.buckets)(&params, SMALL);
    let sum = |b: &Bucket| {
        let own = b.params.iter().filter_map(|&p| params.get(p));
        own.map(|p| p.0).sum::<usize>()
    };
    let bytes: Vec<usize> = got.iter().map(|b| b.bytes).collect();
    case.close(
        "bytes of each bucket",
        &bytes,
        &got.iter().map(sum).collect::<Vec<_>>(),
    )
}

/// Tests that the same parameters give the same buckets in each call. Six are open at the end, so that an order that is
/// left to chance, such as a hash map's, is not the same ten times.
fn steady(answer: &Lesson08) -> Verdict {
    let open = KINDS.map(|kind| (1, kind));
    let input = format!("{}, in each of ten calls", input(&open, SMALL));
    given(&input);
    let lists = || -> Vec<Vec<usize>> {
        let buckets = (answer.buckets)(&open, SMALL);
        buckets.into_iter().map(|b| b.params).collect()
    };
    let first = lists();
    for _ in 1..10 {
        let again = lists();
        if again != first {
            let said = format!("{first:?}, and then {again:?}");
            refused(&input, "parameters of each bucket", &said)?;
        }
    }
    Ok(())
}

pub fn orders_the_remaining_buckets(answer: &Lesson08) -> Verdict {
    steady(answer)?;
    check(
        answer,
        &[
            (5, "f16"),
            (5, "f32"),
            (5, "f16"),
            (4, "bf16"),
            (5, "f16"),
            (2, "f32"),
        ],
        SMALL,
        &[&[4, 2], &[3], &[5, 1], &[0]],
    )?;
    check(answer, &[], SMALL, &[])?;
    check(answer, &of_one_kind(&[12]), SMALL, &[&[0]])?;
    for round in 0..6 {
        let open: Vec<(usize, Kind)> = (0..6).map(|i| (1, KINDS[(i + round) % 6])).collect();
        check(answer, &open, SMALL, &[&[5], &[4], &[3], &[2], &[1], &[0]])?;
    }
    Ok(())
}

/// The buckets by the sentences of the contract, one after the other.
fn expected(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let (mut closed, mut open): (Vec<Bucket>, Vec<Bucket>) = (Vec::new(), Vec::new());
    for kind in KINDS {
        let (mut own, mut limit) = (Vec::new(), sizes.first);
        for index in (0..params.len()).rev().filter(|&i| params[i].1 == kind) {
            own.push(index);
            let bytes = own.iter().map(|&i: &usize| params[i].0).sum();
            if bytes >= limit {
                let params = std::mem::take(&mut own);
                closed.push(Bucket { params, bytes, kind });
                limit = sizes.others;
            }
        }
        if !own.is_empty() {
            let bytes = own.iter().map(|&i| params[i].0).sum();
            open.push(Bucket {
                params: own,
                bytes,
                kind,
            });
        }
    }
    // Both are ordered by the last parameter that was added.
    for list in [&mut closed, &mut open] {
        list.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied()));
    }
    closed.extend(open);
    closed
}

fn any_model(draw: &mut Draw, most: usize) -> Vec<(usize, Kind)> {
    let kinds = draw.whole(1, 6);
    let n = draw.whole(0, most);
    // Some have no bytes.
    let size = |draw: &mut Draw| draw.whole(0, 9).saturating_sub(1);
    (0..n)
        .map(|_| (size(draw), KINDS[draw.whole(0, kinds - 1)]))
        .collect()
}

pub fn puts_each_parameter_into_one_bucket(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let fixed = params(&[3, 0, 0, 9, 0, 10, 0], "fbfffff");
    let mut cases = vec![
        (fixed.clone(), SMALL),
        (fixed, BucketSizes { first: 0, others: 0 }),
    ];
    for _ in 0..60 {
        let sizes = BucketSizes {
            first: draw.whole(0, 12),
            others: draw.whole(0, 25),
        };
        cases.push((any_model(&mut draw, 16), sizes));
    }
    for (params, sizes) in cases {
        let all = expected(&params, sizes);
        let lists: Vec<&[usize]> = all.iter().map(|b| b.params.as_slice()).collect();
        check(answer, &params, sizes, &lists)?;
        let case = case(&params, sizes);
        let got = (answer.buckets)(&params, sizes);
        let bytes = |list: &[Bucket]| list.iter().map(|b| b.bytes).collect::<Vec<_>>();
        case.close("bytes of each bucket", &bytes(&got), &bytes(&all))?;
        kinds(&case, &got, &all.iter().map(|b| b.kind).collect::<Vec<_>>())?;
    }
    Ok(())
}
