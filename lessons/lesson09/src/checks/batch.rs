use canopy::shard::{BatchSizes, BatchWanted};
use grader::{Verdict, draw, given};
use kit::{ok, refused, said, wrong};

use crate::Lesson09;

/// Train, micro, accumulation; 0: not given.
type Sizes = [usize; 3];

fn wanted(given: Sizes) -> BatchWanted {
    let [train, micro, accumulation] = given.map(|n| (n > 0).then_some(n));
    BatchWanted {
        train,
        micro,
        accumulation,
    }
}

fn input(given: BatchWanted, ranks: usize) -> String {
    let shown = |name: &str, n: Option<usize>| match n {
        Some(n) => format!("{name} {n}"),
        None => format!("{name} None"),
    };
    let sizes = [
        shown("train", given.train),
        shown("micro", given.micro),
        shown("accumulation", given.accumulation),
    ];
    format!("{}, {}", sizes.join(", "), super::ranks(ranks))
}

fn check(answer: &Lesson09, sizes: Sizes, ranks: usize, expected: Sizes) -> Verdict {
    let input = input(wanted(sizes), ranks);
    let case = given(&input);
    let got = ok(&input, "result", (answer.settle_batch)(wanted(sizes), ranks))?;
    let BatchSizes {
        train,
        micro,
        accumulation,
    } = got;
    case.close(
        "train, micro, accumulation",
        &vec![train, micro, accumulation],
        &expected.to_vec(),
    )
}

/// Tests that the answer is an error that contains the sizes, if `names`.
fn rejects(answer: &Lesson09, wanted: BatchWanted, ranks: usize, names: bool) -> Verdict {
    let input = input(wanted, ranks);
    given(&input);
    match (answer.settle_batch)(wanted, ranks) {
        Ok(got) => {
            let BatchSizes {
                train,
                micro,
                accumulation,
            } = got;
            let lines = vec![
                "expected  an error".to_owned(),
                format!("got       train {train}, micro {micro}, accumulation {accumulation}"),
            ];
            let got = vec![train, micro, accumulation];
            wrong(&input, "result", Some((&got).into()), lines)
        }
        Err(error) if names => {
            let text = said(&error);
            let numbers: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
            let given = [wanted.train, wanted.micro, wanted.accumulation, Some(ranks)];
            for number in given.into_iter().flatten() {
                if !numbers.contains(&number.to_string().as_str()) {
                    let said = format!("{text:?}, without the number {number}");
                    refused(&input, "the error", &said)?;
                }
            }
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

pub fn fills_in_the_third_size(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    let (micro, accumulation, ranks) = (draw.whole(5, 9), draw.whole(2, 4), draw.whole(2, 9));
    let train = micro * accumulation * ranks;
    let all = [train, micro, accumulation];
    check(answer, [48, 4, 0], 4, [48, 4, 3])?;
    check(answer, [48, 0, 3], 4, [48, 4, 3])?;
    check(answer, [0, 4, 3], 4, [48, 4, 3])?;
    check(answer, [train, micro, 0], ranks, all)?;
    check(answer, [train, 0, accumulation], ranks, all)?;
    check(answer, [0, micro, accumulation], ranks, all)?;
    check(answer, all, ranks, all)
}

pub fn accumulates_nothing_by_default(answer: &Lesson09) -> Verdict {
    check(answer, [48, 0, 0], 4, [48, 12, 1])?;
    check(answer, [0, 4, 0], 4, [16, 4, 1])?;
    let mut draw = draw();
    let (micro, ranks) = (draw.whole(2, 99), draw.whole(2, 64));
    check(answer, [micro * ranks, 0, 0], ranks, [micro * ranks, micro, 1])?;
    check(answer, [0, micro, 0], ranks, [micro * ranks, micro, 1])?;
    check(answer, [micro, 0, 0], 1, [micro, micro, 1])
}

pub fn rejects_contradictions(answer: &Lesson09) -> Verdict {
    for sizes in [[48, 4, 2], [48, 4, 6], [48, 2, 3], [12, 4, 3], [49, 4, 3]] {
        rejects(answer, wanted(sizes), 4, false)?;
    }
    Ok(())
}

pub fn rejects_remainders(answer: &Lesson09) -> Verdict {
    rejects(answer, wanted([50, 4, 0]), 4, false)?;
    rejects(answer, wanted([50, 0, 3]), 4, false)?;
    rejects(answer, wanted([50, 0, 0]), 4, false)?;
    let mut draw = draw();
    let ranks = draw.whole(3, 9);
    let train = ranks * draw.whole(3, 9) + draw.whole(1, ranks - 1);
    rejects(answer, wanted([train, 0, 0]), ranks, false)?;
    // Fewer samples than ranks, and than a micro-batch on each rank.
    rejects(answer, wanted([3, 0, 0]), 4, false)?;
    rejects(answer, wanted([8, 4, 0]), 4, false)
}

pub fn names_the_sizes(answer: &Lesson09) -> Verdict {
    rejects(answer, wanted([48, 5, 2]), 4, true)?;
    rejects(answer, wanted([50, 7, 0]), 4, true)?;
    rejects(answer, wanted([50, 0, 3]), 4, true)?;
    let ranks = draw().whole(5, 9);
    rejects(answer, wanted([ranks * 20 + 3, 0, 0]), ranks, true)
}

pub fn rejects_what_is_missing_or_zero(answer: &Lesson09) -> Verdict {
    rejects(answer, BatchWanted::default(), 4, false)?;
    rejects(answer, wanted([0, 0, 3]), 4, false)?;
    let full = wanted([48, 4, 3]);
    let zeros = [
        BatchWanted {
            train: Some(0),
            ..BatchWanted::default()
        },
        BatchWanted {
            micro: Some(0),
            ..BatchWanted::default()
        },
        BatchWanted {
            micro: Some(0),
            ..full
        },
        BatchWanted {
            accumulation: Some(0),
            ..wanted([48, 0, 0])
        },
        BatchWanted {
            accumulation: Some(0),
            ..wanted([0, 4, 0])
        },
        BatchWanted {
            train: Some(0),
            accumulation: Some(0),
            ..full
        },
    ];
    for sizes in zeros {
        rejects(answer, sizes, 4, false)?;
    }
    rejects(answer, wanted([48, 0, 0]), 0, false)
}
