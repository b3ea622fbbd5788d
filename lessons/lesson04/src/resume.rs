//! 4.7: an exact resume.

use std::collections::HashMap;

use anyhow::Result;
use candle_core::{DType, Error, Tensor};
use canopy::{model::Kind, optim::OptimConfig, train::Saved};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{
    Lesson04, REFERENCE, answers,
    networks::{after, network, tensors},
};

/// A run that was saved.
#[derive(Clone, Debug)]
struct Run {
    records: Vec<usize>,
    seed: u64,
    epoch: usize,
    batches_done: usize,
    /// The part of the checkpoint that lacks a tensor.
    lacking: &'static str,
}

/// Six full batches and a rest. The records are not their positions, and not sorted.
fn drawn(d: &mut Draw, batches_done: usize) -> Run {
    Run {
        records: (0..26).map(|i| 100 + 3 * (i * 7 % 26)).collect(),
        seed: d.whole(1, 10_000) as u64,
        epoch: d.whole(2, 5),
        batches_done,
        lacking: "",
    }
}

/// All tensors, with other numbers.
fn more(tensors: impl IntoIterator<Item = (String, Tensor)>) -> Result<HashMap<String, Tensor>> {
    let of = |(name, tensor): (String, Tensor)| Ok((name, (&tensor + tensor.ones_like()?)?));
    tensors.into_iter().map(of).collect()
}

fn resume(answer: &Lesson04, run: &Run) -> Result<Facts> {
    let model = network(Kind::Vanilla, DType::F32, 1, 0.3)?;
    let mut optimizer = OptimConfig::adam().build(model.params())?;
    let mut saved = Saved {
        model: more(model.to_map()?)?,
        optimizer: more(optimizer.state()?)?,
        seed: run.seed,
        epoch: run.epoch,
        batch: run.batches_done,
    };
    match run.lacking {
        "model" => saved.model.retain(|name, _| !name.contains("mlp.0")),
        "optimizer" => saved.optimizer.retain(|name, _| !name.contains("mlp.0")),
        _ => {}
    }
    let result = (answer.resume_batches)(&saved, &model, &mut *optimizer, &run.records, 4);
    let all = model.to_map()?.into_iter().chain(optimizer.state()?);
    let restored = after(Facts::default(), tensors(all)?);
    Ok(Facts::of(result, |left| {
        restored
            .items("sizes of the batches", left.iter().map(Vec::len))
            .cause("Divide the whole epoch by `batches(&order, size, true)`, and skip `saved.batch` of them.")
            .asked("the remaining batches")
            .items("remaining batches", left)
            .cause("Look up the records in the order of `epoch_order`, by `saved.seed` and `saved.epoch`.")
            .asked("the remaining batches")
    }))
}

fn resumed(answer: &Lesson04, run: Run) -> Verdict {
    let run_as_text = format!("{run:?}").replace(", lacking: \"\"", "");
    let case = given(format!(
        "a narrow PointNet with Adam, batches of 4; {run_as_text}"
    ));
    let seen = |answer| resume(answer, &run).map_err(|e| Error::Msg(e.to_string()));
    case.same(seen(answer)?, seen(&REFERENCE)?)
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.7";
    by resumed {
        restores_all_and_returns_the_rest: "Restores the model",
            "Load all of `saved.model` (`from_map`) and `saved.optimizer` (`load_state`), at any `saved.batch`." => |d| {
            let mut all = [2, 0, 5, 6, 3].map(|done| drawn(d, done)).to_vec();
            all[4].epoch = 0;
            all
        };
        returns_errors_of_other_tensors: "Restores the model",
            "Return the errors of `from_map` and of `load_state` with `?`." =>
            |d| ["model", "optimizer"].map(|lacking| Run { lacking, ..drawn(d, 2) }).to_vec();
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.7" resume_batches;
    1 "Running means and variances are not restored: they are not parameters, but belong to the run.";
    2 "The optimizer's step count restarts at 0, so that Adam's bias correction is wrong: restore all of its state.";
    3 "These are positions in the list of records, not the records.";
    4 "The records that are done were left out too early: `batches` keeps an incomplete batch if it is the only one.";
};
