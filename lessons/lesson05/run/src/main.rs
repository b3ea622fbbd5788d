//! The experiment of lesson 05: four trainers, each with one bottleneck. Your functions find it, it is cured, and the
//! trainer is profiled again.
//!
//! `cargo run -p lesson05` prints tables. `-- --reference` uses canopy's functions instead of yours, `-- --seed N`
//! another seed, `-- --json` prints JSON.

#[macro_use]
extern crate lesson05;

mod device;
mod roofline;
mod trainers;

use std::process::ExitCode;

use anyhow::Result;
use canopy::{
    profile::{Activity, KernelRow, Kind, Span, Timeline, Total, parents},
    train::short::{Forest, small},
};
use kit::{
    experiment::Report,
    table::{Table, count, fixed, json, left, percent},
};
use lesson05::{LESSON, Lesson05};
use trainers::{STEPS, TRAINERS, run, timed};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson05, report: &mut Report) -> Result<()> {
    let mut forest = Forest::open(small(256, report.seed()))?;
    report.say("\nSmall PointNets are trained. The device is a thread that takes work from a queue.");
    let shares = ["kernel", "launch", "wait", "load"].map(|kind| percent(kind, 0));
    let columns = [left(""), fixed("ms a step", 2)].into_iter().chain(shares);
    let mut profiles = Table::new(columns.chain([percent("copies", 1), left("bound by")]));
    let mut cures = Table::new([
        left(""),
        left("cure"),
        fixed("faster", 1).unit("×"),
        fixed("Amdahl", 1).unit("×"),
        count("waits"),
    ]);
    for (letter, trainer, cure) in TRAINERS {
        let slow = run(trainer, false, &mut forest)?;
        let cured = run(trainer, true, &mut forest)?;
        report.done(&format!("{letter}, as it is and cured"));
        profile(answer, &mut profiles, format!("{letter}"), &slow);
        profile(answer, &mut profiles, format!("{letter}, cured"), &cured);
        cures.row(json!([
            letter,
            cure,
            step(&slow) / step(&cured),
            (answer.amdahl)(1.0 - slow.shares().kernel, 1.0).limit,
            format!("{}→{}", waits(&slow), waits(&cured))
        ]));
    }
    report.table("profiles", "Where the time of each trainer goes", &profiles);
    report.table("cures", "What the cure brought", &cures);
    let [blind, waited] = timed(answer, &mut forest)?.map(|ns| ns as f64 / 1e6);
    report.say(format!(
        "\nA step of A, cured, by the host's clock:\n\
         {blind:.3} ms without a wait, {waited:.3} ms with the waits in the right places."
    ));
    let machine = roofline::machine(answer)?;
    let title = format!(
        "The roofline: {:.0} GFLOP/s, {:.1} GB/s",
        machine.flops / 1e9,
        machine.bytes / 1e9
    );
    report.table("layers", &title, &roofline::layers(answer, &machine)?);
    Ok(())
}

/// Adds a row: where the time of a run goes.
fn profile(answer: &Lesson05, table: &mut Table, name: String, run: &Timeline) {
    let shares = run.shares();
    let pattern = (answer.name_pattern)(&run.flat(), run.wall);
    table.row(json!([
        name,
        step(run) / 1e6,
        shares.kernel,
        shares.launch,
        shares.wait,
        shares.load,
        copies(answer, run),
        pattern.map_or("nothing".into(), |pattern| format!("{pattern:?}"))
    ]));
}

/// The share of copies in the device's busy time.
fn copies(answer: &Lesson05, run: &Timeline) -> Option<f64> {
    let device = run.spans.iter().filter(|span| run.lanes[span.lane].device);
    let device: Vec<Span> = device.cloned().collect();
    let row = |total: Total| KernelRow {
        activity: Activity::of(&total.name),
        name: total.name,
        calls: total.calls as u64,
        ns: total.own as f64,
    };
    let totals = (answer.totals)(&device, &parents(&device));
    (answer.copy_share)(&totals.into_iter().map(row).collect::<Vec<_>>())
}

/// Nanoseconds a step.
fn step(run: &Timeline) -> f64 {
    run.wall as f64 / STEPS as f64
}

/// How often a step waits.
fn waits(run: &Timeline) -> usize {
    run.spans.iter().filter(|span| span.kind == Kind::Wait).count() / STEPS
}
