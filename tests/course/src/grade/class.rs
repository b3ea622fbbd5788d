//! Grades a whole class: finds the submissions, grades several in parallel, and prints the results.

mod checks;
mod compile;
mod entries;
mod examiner;
mod printed;
pub mod race;
mod run;
mod sandbox;
mod seccomp;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use entries::entries;
use examiner::{Examiner, caught};
use grader::grades::Status;
use rayon::prelude::*;
use run::STOP;
use sandbox::empty_folder;

use super::Options;
use crate::marks;

pub fn grade(root: &Path, options: Options) -> Result<bool> {
    let began = Instant::now();
    fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    let out = fs::canonicalize(&options.out)?;
    let [lock, work] = [".lock", ".work"].map(|name| out.join(name));
    let lock = File::create(lock)?;
    if lock.try_lock().is_err() {
        bail!("another run is grading into {}", out.display());
    }
    let (all, skipped) = entries(&options.submissions, &out)?;
    for line in skipped {
        eprintln!("skipped: {}", marks::clean::line(&line));
    }
    // With 0 threads, rayon starts one for each core.
    let jobs = options.jobs.unwrap_or(0);
    // The first interrupt during the checks stops them and keeps finished grades; any other ends the program.
    static RUNNING: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if !RUNNING.load(SeqCst) || STOP.swap(true, SeqCst) {
            std::process::exit(130);
        }
    })
    .context("the handler of Ctrl-C could not be installed")?;
    empty_folder(&work)?;
    let seed = kept_seed(&out, options.seed)?;
    let examiner = Examiner::new(root, out.clone(), work.clone(), seed, options)?;
    let (mut grades, mut tasks) = (Vec::new(), Vec::new());
    for entry in all {
        let (grade, submission) = examiner.begin(&entry)?;
        tasks.extend(submission.map(|submission| (grades.len(), submission)));
        grades.push(grade);
    }
    if !tasks.is_empty() {
        let lessons = tasks.iter().flat_map(|(_, one)| examiner.lessons_of(one));
        let lessons: BTreeSet<String> = lessons.collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let ready = pool.install(|| examiner.prepare(root, &lessons))?;
        RUNNING.store(true, SeqCst);
        let (began, done) = (Instant::now(), AtomicUsize::new(0));
        let graded = |(index, submission): &(usize, _)| {
            if STOP.load(SeqCst) {
                return None;
            }
            let begun = &grades[*index];
            let mut grade = begun.clone();
            let result = caught(|| examiner.grade(begun.clone(), submission, &ready));
            if STOP.load(SeqCst) {
                return None;
            }
            let saved = result.and_then(|graded| {
                grade = graded;
                examiner.save(&mut grade)
            });
            if let Err(why) = saved {
                (grade.status, grade.reason) = (Status::NotGraded, Some(format!("{why:#}")));
                let _ = examiner.save(&mut grade);
            }
            let (count, seconds) = (done.fetch_add(1, SeqCst) + 1, began.elapsed().as_secs());
            eprintln!("{count} of {} · {seconds} s · {}", tasks.len(), grade.submission);
            Some((*index, grade))
        };
        // One at a time, so that no thread waits while another has several left.
        let graded = pool.install(|| {
            tasks
                .par_iter()
                .with_max_len(1)
                .filter_map(graded)
                .collect::<Vec<_>>()
        });
        for (index, grade) in graded {
            grades[index] = grade;
        }
    }
    if STOP.load(SeqCst) {
        eprintln!("Stopped. Repeat the command to grade the rest.");
    }
    let written = marks::write_all(&out);
    if let Err(error) = &written {
        eprintln!("not all pages and exports were written: {error:#}");
    }
    print!("{}", printed::text(&grades));
    println!(
        "\nseed {} · {} s · {}",
        seed,
        began.elapsed().as_secs(),
        out.display()
    );
    let _ = fs::remove_dir_all(&work);
    Ok(written.is_ok() && grades.iter().all(|grade| grade.status == Status::Graded))
}

/// The seed of all submissions in a folder of grades: a later run uses it again.
fn kept_seed(out: &Path, given: Option<u64>) -> Result<u64> {
    let path = out.join(".seed");
    if given.is_none() && path.exists() {
        let seed = fs::read_to_string(&path)?.trim().parse();
        return seed.with_context(|| format!("{} contains no seed: delete it", path.display()));
    }
    let seed = given.unwrap_or_else(grader::seed);
    fs::write(&path, seed.to_string())?;
    Ok(seed)
}
