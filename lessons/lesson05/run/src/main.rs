//! The experiment of lesson 05: four trainers, each with one bottleneck. Your functions find it, it is cured, and the trainer
//! is profiled again.
//!
//! `cargo run -p lesson05` prints tables and writes plots, traces and kernel tables to `runs/lesson05`. `-- --reference`
//! uses canopy's functions instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json`
//! prints JSON.

#[macro_use]
extern crate lesson05;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::profile::chrome;
use experiment::{
    bottlenecks::{self, Trainer},
    plots::{amdahl_plot, part, roofline_plot, side_by_side},
    results::{Case, csv, cures, few_spans, kernel_table, look, ms, profiles},
    roofline,
    sources::{Sources, TREES},
};
use grader::experiment::Report;
use lesson05::{LESSON, Lesson05};

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson05, report: &mut Report) -> Result<()> {
    let sources = Sources::open(report.seed())?;
    report.say(format!(
        "\nSmall PointNets are trained on {TREES} trees. The device is a thread that takes\nwork from a queue."
    ));
    let mut cases = Vec::new();
    for trainer in Trainer::ALL {
        let slow = bottlenecks::run(trainer, false, &sources)?;
        let fixed = bottlenecks::run(trainer, true, &sources)?;
        eprintln!(
            "{}: {}; {}",
            trainer.letter(),
            trainer.bottleneck(),
            trainer.cure()
        );
        cases.push(Case {
            before: look(answer, &slow),
            after: look(answer, &fixed),
            trainer,
            slow,
            fixed,
        });
    }
    let before = profiles(cases.iter().map(|c| (c.trainer, &c.slow, &c.before)));
    report.table("before", "Four trainers as they are", &before);
    let after = profiles(cases.iter().map(|c| (c.trainer, &c.fixed, &c.after)));
    report.table("after", "Each after its cure", &after);
    report.table("cures", "What the cure brought", &cures(&cases));
    let (blind, waited) = bottlenecks::timed(answer, &sources)?;
    report.say(format!(
        "\nForward and backward of A, cured, by the host's clock:\n\
         {} without a wait, {} with the waits in the right places.",
        ms(blind),
        ms(waited)
    ));
    report.json("forward_and_backward_ns", vec![blind, waited]);
    let (machine, layers) = roofline::layers(answer)?;
    let title = format!(
        "The roofline: {:.0} GFLOP/s, {:.1} GB/s, ridge at {:.1} FLOP/byte",
        machine.flops / 1e9,
        machine.bytes / 1e9,
        machine.flops / machine.bytes
    );
    report.table("layers", &title, &roofline::table(&layers));
    report.file("05-roofline.svg", roofline_plot(&machine, &layers).svg());
    files(report, &cases, answer);
    Ok(())
}

fn files(report: &mut Report, cases: &[Case], answer: &Lesson05) {
    let slow: Vec<_> = cases.iter().map(|c| (c.trainer, &c.slow)).collect();
    let fixed: Vec<_> = cases.iter().map(|c| (c.trainer, &c.fixed)).collect();
    let guess = side_by_side("Two steps of each trainer", &slow, false);
    let before = side_by_side("Two steps of each trainer, with names", &slow, true);
    let after = side_by_side("Two steps of each trainer, cured", &fixed, true);
    report.file("05-guess.svg", guess.svg());
    report.file("05-bottlenecks.svg", before.svg());
    report.file("05-cured.svg", after.svg());
    report.file("05-amdahl.svg", amdahl_plot(answer).svg());
    for case in cases {
        let letter = case.trainer.letter();
        // Enough to look at; the whole run would be tens of megabytes.
        let (from, to) = part(&case.slow, 8);
        let timeline = &case.slow.timeline.window(from, to);
        report.file(format!("{letter}.trace.json"), chrome(timeline).to_string());
        let kernels = kernel_table(answer, &few_spans(&case.slow));
        report.file(format!("{letter}.kernels.csv"), csv(&kernels));
    }
}
