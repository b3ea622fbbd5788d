//! Strong and weak scaling: the training on 1, 2 and 4 ranks.

use anyhow::Result;
use canopy::train::ranks::measure::{ShortRun, Start};
use kit::table::{Table, fixed, json, left, percent, scientific};

use crate::training::{Training, difference};

/// The numbers of ranks that are tried.
pub const RANKS: [usize; 3] = [1, 2, 4];
/// Clouds of a batch that all ranks share.
pub const SHARED: usize = 32;
/// Clouds of each rank if the batch grows with the ranks.
pub const EACH: usize = 16;

fn name(ranks: usize) -> String {
    format!("{ranks} rank{}", if ranks > 1 { "s" } else { "" })
}

/// Returns the run of one rank, and the times of all, the MB that a step sends, and how far the parameters are from
/// those of one rank.
pub fn strong(training: &Training) -> Result<(ShortRun, Table)> {
    let run = |ranks, overlap, start| training.run((ranks, SHARED), overlap, start);
    // The first run warms up.
    run(2, true, Start::Threads)?;
    let one = run(1, true, Start::Threads)?;
    let mut table = Table::new([
        left("ranks"),
        fixed("a step", 1).unit("ms"),
        percent("efficiency", 0),
        fixed("gradients", 3).unit("MB"),
        fixed("batch norm", 3).unit("MB"),
        scientific("off by"),
    ]);
    let mut row = |name: &str, run: &ShortRun| {
        let mb = |bytes| bytes as f64 / run.stats.steps.max(1) as f64 / 1e6;
        table.row(json!([
            name,
            1e3 * run.step,
            (training.answer.strong_efficiency)(one.step, run.step, run.ranks),
            mb(run.stats.gradients.bytes),
            mb(run.stats.others.bytes),
            difference(run, &one)
        ]));
    };
    row(&name(1), &one);
    for ranks in &RANKS[1..] {
        row(&name(*ranks), &run(*ranks, true, Start::Threads)?);
    }
    row("2 ranks, no overlap", &run(2, false, Start::Threads)?);
    row("1 rank, other bits", &run(1, true, Start::OtherBits)?);
    Ok((one, table))
}

/// Returns the seconds of a step of one rank, and the times of all: of a step, of its all-reduces, and of waiting for
/// them.
pub fn weak(training: &Training) -> Result<(f64, Table)> {
    let mut table = Table::new([
        left("ranks"),
        fixed("a step", 1).unit("ms"),
        percent("efficiency", 0),
        fixed("all-reduce", 2).unit("ms"),
        fixed("waited for", 2).unit("ms"),
    ]);
    let mut one = None;
    for ranks in RANKS {
        let run = training.run((ranks, EACH * ranks), true, Start::Threads)?;
        let one = *one.get_or_insert(run.step);
        let of_step = |seconds| 1e3 * seconds / run.stats.steps.max(1) as f64;
        table.row(json!([
            format!("{}, batch {}", name(ranks), EACH * ranks),
            1e3 * run.step,
            (training.answer.weak_efficiency)(one, run.step),
            of_step(run.stats.communicating),
            of_step(run.stats.waited)
        ]));
    }
    Ok((one.unwrap_or(f64::NAN), table))
}
