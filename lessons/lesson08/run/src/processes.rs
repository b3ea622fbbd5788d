//! The last part of the lesson: ranks that are processes, started by mpirun, beside ranks that are threads.

use std::env;

use anyhow::Result;
use canopy::{
    parallel::{Collective, Place, Processes, connect, place_from, tree_all_reduce},
    train::ranks::measure::Start,
};
use kit::{
    experiment::Report,
    table::{Table, fixed, json, left, scientific},
};
use lesson08::Lesson08;

use crate::{
    all_reduce::{Computed, timed},
    introduce,
    scaling::SHARED,
    training::{Training, difference, ring},
};

/// The place of this process among several that mpirun started. The variables are read by canopy's function, because a
/// wrong one of a student must not decide which experiment runs.
pub fn started() -> Option<Place> {
    let place = place_from(&|name| env::var(name).ok()).ok()?;
    let by_mpirun = ["Open MPI", "PMI"].contains(&place.launcher);
    (by_mpirun && place.world_size > 1).then_some(place)
}

/// Every process calls this; only rank 0 has a report that prints.
pub fn experiment(answer: &Lesson08, report: &mut Report) -> Result<()> {
    let place = introduce(answer, report)?;
    let processes = connect(&place)?;
    let links = processes.links()?;
    let training = Training::open(answer, report.seed())?;
    let run = |start| training.run((place.world_size, SHARED), true, start);
    // Rank 0 alone trains with threads; the others wait at the barrier.
    let threads = (place.rank == 0).then(|| run(Start::Threads)).transpose()?;
    links.barrier()?;
    let mpi = run(Start::Processes(&*processes))?;
    let sums = all_reduces(answer, &*processes, &*links)?;
    drop(links);
    processes.finish(None);
    let Some(threads) = threads else {
        return Ok(());
    };
    let mut table = Table::new([
        left("ranks"),
        fixed("a step", 1).unit("ms"),
        fixed("all-reduce", 2).unit("ms"),
        scientific("off by"),
    ]);
    for (name, run) in [("threads, ring", &threads), ("processes, MPI's all-reduce", &mpi)] {
        table.row(json!([
            format!("{} {name}", run.ranks),
            1e3 * run.step,
            1e3 * run.stats.communicating / run.stats.steps.max(1) as f64,
            difference(run, &threads)
        ]));
    }
    let title = format!("The same training, {} steps", threads.steps);
    report.table("trainings", &title, &table);
    let title = format!("All-reduces over {} processes", place.world_size);
    report.table("all_reduces", &title, &sums);
    Ok(())
}

/// The time of all-reduces from 4 bytes to 16 MiB: by the ring of exercise 8.2 and by canopy's tree over MPI's
/// messages, and by MPI, as training calls it and directly.
fn all_reduces(answer: &Lesson08, processes: &dyn Processes, links: &dyn Collective) -> Result<Table> {
    let ring = ring(answer);
    let ways: [Computed; 4] = [
        &|data| ring(links, data),
        &|data| tree_all_reduce(links, data),
        &|data| links.all_reduce(data),
        &|data| processes.all_reduce_directly(data),
    ];
    let mut table = Table::new([
        left("data"),
        fixed("ring", 1).unit("µs"),
        fixed("tree", 1).unit("µs"),
        fixed("MPI, by canopy", 1).unit("µs"),
        fixed("MPI, directly", 1).unit("µs"),
    ]);
    for power in (2..=24).step_by(2) {
        let bytes: usize = 1 << power;
        let seconds = timed(links, bytes / size_of::<f32>(), ways)?;
        let [ring, tree, engine, direct] = seconds.map(|seconds| 1e6 * seconds);
        table.row(json!([format!("{bytes} bytes"), ring, tree, engine, direct]));
    }
    Ok(table)
}
