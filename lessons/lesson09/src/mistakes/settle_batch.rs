//! Known wrong answers to exercise 9.6.

use anyhow::{bail, ensure};

use super::*;

/// Fills in what is missing, without any test; divisions round down.
fn filled(w: BatchWanted, p: usize) -> Result<BatchSizes> {
    let one = |n: Option<usize>| n.unwrap_or(1);
    let (train, micro, accumulation) = match (w.train, w.micro, w.accumulation) {
        (Some(t), Some(m), Some(a)) => (t, m, a),
        (Some(t), Some(m), None) => (t, m, t.checked_div(m * p).unwrap_or(0)),
        (Some(t), None, a) => (t, t.checked_div(one(a) * p).unwrap_or(0), one(a)),
        (None, Some(m), a) => (m * one(a) * p, m, one(a)),
        (None, None, _) => bail!("train or micro is missing"),
    };
    Ok(BatchSizes {
        train,
        micro,
        accumulation,
    })
}

/// The error of sizes that do not agree.
fn disagree(w: BatchWanted, p: usize) -> anyhow::Error {
    anyhow::anyhow!("{w:?} on {p} ranks")
}

/// Whether a size or the number of ranks is 0.
fn has_zero(w: BatchWanted, p: usize) -> bool {
    [w.train, w.micro, w.accumulation, Some(p)].contains(&Some(0))
}

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.6", fills_in_the_third_size, "The number of ranks is missing: train is the batch of all ranks together.",
    settle_batch: |w, p| {
        ensure!(!has_zero(w, p), "a size is 0");
        let sizes = filled(w, 1)?;
        ensure!(sizes.train == sizes.micro * sizes.accumulation, disagree(w, p));
        Ok(sizes)
    }),
    wrong!("9.6", fills_in_the_third_size, "The number of ranks is missing where train follows: train = micro × accumulation × ranks.",
    settle_batch: |w, p| {
        let train = w.micro.map(|m| m * w.accumulation.unwrap_or(1));
        (REFERENCE.settle_batch)(BatchWanted { train: w.train.or(train), ..w }, p)
    }),
    wrong!("9.6", fills_in_the_third_size, "Accumulation is 1 unless it is given; if train and micro are given, it follows from them.",
    settle_batch: |w, p| {
        let guess = BatchWanted { accumulation: w.accumulation.or(Some(1)), ..w };
        let default = if w.train.is_some() { guess } else { w };
        (REFERENCE.settle_batch)(default, p)
    }),
    wrong!("9.6", fills_in_the_third_size, "All three sizes together are an error here; they are right if they agree.",
    settle_batch: |w, p| {
        ensure!(w.train.is_none() || w.micro.is_none() || w.accumulation.is_none(), "too many sizes");
        (REFERENCE.settle_batch)(w, p)
    }),
    wrong!("9.6", accumulates_nothing_by_default, "With train alone, micro is 1 here and accumulation follows; accumulation is 1 and micro follows.",
    settle_batch: |w, p| match w {
        BatchWanted { train: Some(_), micro: None, accumulation: None } => {
            let guess = BatchWanted { micro: Some(1), ..w };
            (REFERENCE.settle_batch)(guess, p)
        }
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", accumulates_nothing_by_default, "train or micro alone is an error here; accumulation is 1 then.",
    settle_batch: |w, p| {
        ensure!([w.train, w.micro, w.accumulation].iter().flatten().count() > 1, "two sizes are needed");
        (REFERENCE.settle_batch)(w, p)
    }),
    wrong!("9.6", rejects_contradictions, "Sizes that contradict each other are accepted: test that train = micro × accumulation × ranks.",
    settle_batch: |w, p| {
        if !has_zero(w, p) && w.train.is_some() && w.micro.is_some() && w.accumulation.is_some() {
            return filled(w, p);
        }
        (REFERENCE.settle_batch)(w, p)
    }),
    wrong!("9.6", rejects_contradictions, "train is computed anew from micro and accumulation, although another one was given.",
    settle_batch: |w, p| match (w.micro, w.accumulation) {
        (Some(_), Some(_)) => (REFERENCE.settle_batch)(BatchWanted { train: None, ..w }, p),
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", rejects_remainders, "Divisions are rounded down: samples of the batch are lost.",
    settle_batch: |w, p| {
        ensure!(!has_zero(w, p), "a size is 0");
        let sizes = filled(w, p)?;
        let three = w.train.is_some() && w.micro.is_some() && w.accumulation.is_some();
        ensure!(!three || sizes.train == sizes.micro * sizes.accumulation * p, disagree(w, p));
        Ok(sizes)
    }),
    wrong!("9.6", rejects_remainders, "If the division has a remainder, train is made smaller; the user asked for another one.",
    settle_batch: |w, p| {
        ensure!(!has_zero(w, p), "a size is 0");
        let mut sizes = filled(w, p)?;
        let product = sizes.micro * sizes.accumulation * p;
        let three = w.train.is_some() && w.micro.is_some() && w.accumulation.is_some();
        ensure!(!three || sizes.train == product, disagree(w, p));
        sizes.train = product;
        Ok(sizes)
    }),
    wrong!("9.6", names_the_sizes, "The error does not say which sizes do not agree; a user must see the numbers.",
        settle_batch: |w, p| (REFERENCE.settle_batch)(w, p).or_else(|_| bail!("the batch sizes do not agree"))),
    wrong!("9.6", rejects_what_is_missing_or_zero, "A size of 0 is accepted.",
    settle_batch: |w, p| {
        let sizes = filled(w, p)?;
        ensure!(sizes.train == sizes.micro * sizes.accumulation * p, disagree(w, p));
        Ok(sizes)
    }),
    wrong!("9.6", rejects_what_is_missing_or_zero, "Accumulation alone, or nothing, is accepted: without train and micro the batch is unknown.",
    settle_batch: |w, p| {
        let micro = w.micro.or(if w.train.is_none() { Some(1) } else { None });
        (REFERENCE.settle_batch)(BatchWanted { micro, ..w }, p)
    }),
    wrong!("9.6", rejects_contradictions, "Accumulation is computed anew from train and micro, although another one was given.",
    settle_batch: |w, p| match (w.train, w.micro) {
        (Some(_), Some(_)) if !has_zero(w, p) => (REFERENCE.settle_batch)(BatchWanted { accumulation: None, ..w }, p),
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", rejects_what_is_missing_or_zero, "Accumulation alone is accepted: without train and micro the batch is unknown.",
    settle_batch: |w, p| {
        let alone = w.train.is_none() && w.micro.is_none() && w.accumulation.is_some();
        (REFERENCE.settle_batch)(if alone { BatchWanted { micro: Some(1), ..w } } else { w }, p)
    }),
    wrong!("9.6", accumulates_nothing_by_default, "With micro alone, train is micro here, that of one rank; train is the batch of all ranks together.",
    settle_batch: |w, p| match w {
        BatchWanted { train: None, micro: Some(m), accumulation: None } if !has_zero(w, p) => {
            Ok(BatchSizes { train: m, micro: m, accumulation: 1 })
        }
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", fills_in_the_third_size, "Accumulation is taken as 1 although it is given, because micro is missing.",
    settle_batch: |w, p| match w.micro {
        None if !has_zero(w, p) => (REFERENCE.settle_batch)(BatchWanted { accumulation: w.train.map(|_| 1), ..w }, p),
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", rejects_remainders, "With train alone, micro is rounded down and train made smaller; the user asked for another one.",
    settle_batch: |w, p| match w {
        BatchWanted { train: Some(t), micro: None, accumulation: None } if !has_zero(w, p) && t >= p => {
            (REFERENCE.settle_batch)(BatchWanted { train: Some(t / p * p), ..w }, p)
        }
        _ => (REFERENCE.settle_batch)(w, p),
    }),
    wrong!("9.6", rejects_what_is_missing_or_zero, "A size is 0, and something is divided by it: test for zeros first.",
    settle_batch: |w, p| {
        let (micro, accumulation) = (w.micro.unwrap_or(1), w.accumulation.unwrap_or(1));
        if let (Some(train), true) = (w.train, w.micro.is_none() || w.accumulation.is_none()) {
            let _ = train / (micro * accumulation * p);
        }
        (REFERENCE.settle_batch)(w, p)
    }),
    wrong!("9.6", rejects_what_is_missing_or_zero, "The number of ranks is 0, and something is divided by it: test for zeros first.",
    settle_batch: |w, p| {
        if let (Some(train), false) = (w.train, has_zero(w, 1)) {
            let _ = train / p;
        }
        (REFERENCE.settle_batch)(w, p)
    }),
];
