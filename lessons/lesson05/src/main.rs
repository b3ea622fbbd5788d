//! The experiment of lesson 05: four trainers, each sick in one way. Your functions find out which, each is cured, and
//! profiled again.
//!
//! `cargo run -p lesson05` prints tables and writes plots, traces and a kernel table to `runs/lesson05`. `-- --reference`
//! takes canopy's functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json`
//! prints JSON.

mod experiment;

use std::{fs, path::Path, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use canopy::{
    profile::{chrome, speedscope},
    report::profiled::{flame_plot, roofline_plot},
};
use experiment::{
    draw::{part, side_by_side},
    forest::{Forest, TREES},
    found::{Case, Found, csv, few_spans, kernel_table, see},
    sick::{self, Trainer},
    under,
};
use grader::experiment::{Options, program};
use lesson05::{LESSON, Lesson05, STUDENT};

fn main() -> ExitCode {
    program("lesson05", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson05")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let forest = Forest::open(options.seed)?;
    options.say(&format!(
        "\nSmall PointNets learn {TREES} trees. The device is a thread that takes work\nfrom a queue.\n"
    ));
    let began = Instant::now();
    let cases = Trainer::ALL
        .into_iter()
        .map(|trainer| case(&answer, trainer, &forest))
        .collect::<Result<Vec<_>>>()?;
    let timed = sick::timed(&answer, &forest)?;
    let (machine, layers) = under::layers(&answer)?;
    let found = Found {
        seed: options.seed,
        cases,
        timed,
        machine,
        layers,
        seconds: began.elapsed().as_secs_f64(),
    };
    write(&options.out, &found, &answer)?;
    if options.json {
        println!("{:#}", found.json());
    } else {
        print!("{}", found.tables());
        println!(
            "\nwritten: pictures, traces and a kernel table in {}",
            options.out.display()
        );
    }
    Ok(())
}

fn case(answer: &Lesson05, trainer: Trainer, forest: &Forest) -> Result<Case> {
    let sick = sick::run(trainer, false, forest)?;
    let cured = sick::run(trainer, true, forest)?;
    eprintln!("{}: {}; {}", trainer.letter(), trainer.sickness(), trainer.cure());
    Ok(Case {
        trainer,
        before: see(answer, &sick),
        after: see(answer, &cured),
        sick,
        cured,
    })
}

fn write(out: &Path, found: &Found, answer: &Lesson05) -> Result<()> {
    let sick: Vec<_> = found.cases.iter().map(|c| (c.trainer, &c.sick)).collect();
    let cured: Vec<_> = found.cases.iter().map(|c| (c.trainer, &c.cured)).collect();
    let mut files = vec![
        (
            "05-sick.svg".to_owned(),
            side_by_side("Two steps of each, sick", &sick).svg(),
        ),
        (
            "05-cured.svg".to_owned(),
            side_by_side("Two steps of each, cured", &cured).svg(),
        ),
        (
            "05-roofline.svg".to_owned(),
            roofline_plot(&found.machine, &found.layers).svg(),
        ),
    ];
    for case in &found.cases {
        let letter = case.trainer.letter();
        // Enough to look at; all of it would be tens of megabytes.
        let (from, to) = part(&case.sick, 8);
        let timeline = &case.sick.timeline.window(from, to);
        files.push((format!("{letter}.trace.json"), chrome(timeline).to_string()));
        files.push((
            format!("{letter}.speedscope.json"),
            speedscope(timeline, &format!("trainer {letter}")).to_string(),
        ));
        files.push((
            format!("{letter}.kernels.csv"),
            csv(&kernel_table(answer, &few_spans(&case.sick))),
        ));
        if case.trainer == Trainer::Synchronisation {
            let title = format!("Where trainer {letter}'s host spends its time");
            files.push((
                "05-flame.svg".to_owned(),
                flame_plot(&case.sick.timeline, &title).svg(),
            ));
        }
    }
    for (name, text) in files {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
