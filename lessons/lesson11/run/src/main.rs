//! The experiment of lesson 11: your kernels in the forward pass of a small network, on the emulated grid, with the bytes that
//! they move; other kernels for the same tasks; a chain of operators as three kernels and as one.
//!
//! `cargo run -p lesson11` prints tables, and writes drawings to `runs/lesson11`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON. With
//! `--features cuda`, the same kernels run on an NVIDIA GPU, too, and are timed.

#[macro_use]
extern crate lesson11;

mod launches;

use std::process::ExitCode;

use anyhow::Result;
use canopy::profile::{Counted, Machine, Operator};
use kit::{
    experiment::Report,
    table::{Table, fixed, json, left, scientific},
};
use launches::{
    COMPARED,
    counted::{self, Counts, table},
    network::{CHANNELS, chain, forward, of_channels, off, others},
};
use lesson11::{
    LESSON, Lesson11,
    launch::{Launch, compiled},
};

/// Trees, and points of each, on the grid.
const SMALL: (usize, usize) = (4, 50);
/// Points and channels of a large layer, whose times are predicted.
const LARGE: (usize, usize) = (64 * 1024, 1024);
/// Operations and bytes a second of two cores of a Xeon, as lesson 05 measured them, and of an H100, by its data sheet.
const MACHINES: [(&str, [f64; 2]); 2] = [("two CPU cores", [284e9, 24.9e9]), ("an H100", [67e12, 3.35e12])];

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson11, report: &mut Report) -> Result<()> {
    match compiled("compared", COMPARED) {
        Err(grid::Error::NotRun(why)) => report.say(format!("\nOn the grid: not run, because {why}")),
        _ => on_the_grid(answer, report)?,
    }
    #[cfg(feature = "cuda")]
    launches::gpu::report(answer, report)?;
    #[cfg(not(feature = "cuda"))]
    report.say("\nOn a GPU: not run, because this program was built without `--features cuda`.");
    Ok(())
}

fn on_the_grid(answer: &Lesson11, report: &mut Report) -> Result<()> {
    let bar = canopy::train::bar(18, "launches");
    let mut launches: Vec<Counts> = Vec::new();
    let mut run = |launch: &Launch| {
        let (values, counts) = counted::run(launch)?;
        bar.inc(1);
        launches.push(counts);
        Ok(values)
    };
    let (hidden, most) = forward(answer, SMALL, report.seed(), |launch, _| run(launch))?;
    others(answer, &hidden, &mut run)?;
    let [three, one] = chain(&hidden, &mut run)?;
    bar.finish_and_clear();
    let (of_network, rest) = launches.split_at(9);
    let (of_others, of_chain) = rest.split_at(5);
    let title = format!(
        "{} trees of {} points: a layer of {} channels, one of {}, and the maximum over the points of a tree. Global memory in \
         KiB: asked, by the threads; moved, the sectors that the requests of their warps touch; fewest, the same if the values of \
         each request were neighbours; once, each list once. Passes: of shared memory, per request.",
        SMALL.0, SMALL.1, CHANNELS[0], CHANNELS[1]
    );
    report.table("network", &title, &table(of_network));
    report.say(format!(
        "\nThe results differ from candle's by at most {most:.1e}."
    ));
    let title = "Other kernels for the same tasks, beside the exercises' own";
    report.table("others", title, &table(of_others));
    for (name, page) in of_others.iter().filter_map(|launch| launch.page.as_ref()) {
        report.file(name, page.clone())?;
    }
    let title = "Bias, batch norm and ReLU: three kernels, and one";
    report.table("chain", title, &table(of_chain));

    let [bias, scale, shift] = of_channels();
    let mut on_cpu = Counted::new(hidden.clone());
    (answer.bias_norm_relu)(&mut on_cpu, &bias, &scale, &shift);
    let (by_cpu, bytes) = on_cpu.finish();
    let kib = |name| fixed(name, 1).unit("KiB");
    let times = MACHINES.map(|(name, _)| fixed(name, 2).unit("ms"));
    let first = [
        left("chain"),
        kib("counted"),
        kib("by 11.8"),
        scientific("results differ"),
    ];
    let mut table = Table::new(first.into_iter().chain(times));
    let cost = |fused, (rows, channels), [flops, bytes]: [f64; 2]| {
        let operators = [(1, channels), (2, 2 * channels), (1, 0)];
        let operators = operators.map(|(flops, parameters)| Operator { flops, parameters });
        (answer.chain_cost)(&operators, rows * channels, fused, &Machine { flops, bytes })
    };
    let moved = of_chain[..3].iter().map(|launch| launch.moved).sum();
    for (name, bytes, fused, values) in [
        ("three kernels", moved, false, &three),
        ("one kernel", of_chain[3].moved, true, &one),
        ("11.7, in Rust", bytes[0] + bytes[1], true, &by_cpu),
    ] {
        let small = cost(fused, (SMALL.0 * SMALL.1, CHANNELS[0]), MACHINES[0].1);
        let [cpu, gpu] = MACHINES.map(|(_, machine)| 1e3 * cost(fused, LARGE, machine).seconds);
        let (counted, by) = (bytes as f64 / 1024.0, small.bytes / 1024.0);
        table.row(json!([name, counted, by, off(&three, values), cpu, gpu]));
    }
    let title = format!(
        "Bytes, counted and by 11.8. The times are predicted by 11.8 and not measured, for {} points and {} channels.",
        LARGE.0, LARGE.1
    );
    report.table("fused", &title, &table);
    Ok(())
}
