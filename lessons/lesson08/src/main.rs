//! The experiment of lesson 08: the same training on 1, 2 and 4 ranks, threads of this machine; what messages between them
//! cost; and what that says of up to 4,096 ranks.
//!
//! `cargo run -p lesson08` prints tables and writes two plots to `runs/lesson08`. `-- --reference` takes canopy's
//! functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{fs, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use experiment::{found::Found, messages, pieces::take, runs::Forest};
use grader::experiment::{Options, Piece};
use lesson08::{LESSON, STUDENT};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lesson08: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = Options::of("lesson08")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference, take)?;
    let say = |text: String| {
        if !options.json {
            println!("{text}");
        }
    };
    say("The pieces of this run\n".into());
    for Piece { id, title, whose } in pieces {
        say(format!("  {id}  {title:<40}{whose}"));
    }
    let place = (answer.place_from)(&|name| std::env::var(name).ok())?;
    let device = (answer.device_for)(&place, 0)?;
    say(format!(
        "\nThis process is rank {} of {}, local rank {} (launcher: {}), on the {device}.\n",
        place.rank, place.world_size, place.local_rank, place.launcher
    ));
    let began = Instant::now();
    let forest = Forest::open(options.seed)?;
    let runs = forest.all(&answer)?;
    let found = Found {
        seed: options.seed,
        clouds: forest.records.len(),
        messages: messages::measured(&answer, runs.shared[0].params.len())?,
        runs,
        answer,
        seconds: began.elapsed().as_secs_f64(),
    };
    let mut written = Vec::new();
    for (name, plot) in found.plots() {
        let path = options.out.join(name);
        fs::write(&path, plot.svg()).with_context(|| path.display().to_string())?;
        written.push(path);
    }
    if options.json {
        println!("{:#}", found.json());
        return Ok(());
    }
    print!("{}", found.tables());
    for path in written {
        println!("\nwritten: {}", path.display());
    }
    Ok(())
}
