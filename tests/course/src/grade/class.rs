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
    thread,
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
    // Hidden files of a run, which the other parts do not use.
    let part = options.part;
    let suffix = part.map_or_else(String::new, |(index, _)| format!("-{index}"));
    let [lock, work] = [".lock", ".work"].map(|name| out.join(format!("{name}{suffix}")));
    let lock = File::create(lock)?;
    if lock.try_lock().is_err() {
        bail!("another run is grading into {}", out.display());
    }
    let (mut all, skipped) = entries(&options.submissions, &out)?;
    for line in skipped {
        eprintln!("skipped: {}", marks::clean::line(&line));
    }
    if let Some((index, count)) = part {
        // The names are those of the whole class, in which two submissions may have one name.
        all = all.into_iter().skip(index - 1).step_by(count).collect();
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // More threads would have nothing to do. The lessons are prepared in parallel, too.
    let jobs = options.jobs.unwrap_or(cores).clamp(1, all.len().max(cores));
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
    // Of a part, the job after the last one writes them.
    let written = if part.is_some() {
        Ok(())
    } else {
        marks::write_all(&out)
    };
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

/// The seed of all submissions in a folder of grades: a later run uses it again, and so do parts that start together.
fn kept_seed(out: &Path, given: Option<u64>) -> Result<u64> {
    let path = out.join(".seed");
    if let Some(seed) = given {
        fs::write(&path, seed.to_string())?;
        return Ok(seed);
    }
    // The first part wins: the file appears with its whole content, and is not replaced.
    let new = tempfile::NamedTempFile::new_in(out)?;
    fs::write(new.path(), grader::seed().to_string())?;
    let _ = new.persist_noclobber(&path);
    let seed = fs::read_to_string(&path).ok();
    let seed = seed.and_then(|text| text.trim().parse().ok());
    seed.with_context(|| {
        format!(
            "{} contains no seed: delete it, and grade all again",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_start_together_have_one_seed() {
        let folder = tempfile::tempdir().unwrap();
        let seeds: BTreeSet<u64> = std::thread::scope(|scope| {
            let each = || kept_seed(folder.path(), None).unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(seeds.len(), 1, "{seeds:?}");
        assert_eq!(kept_seed(folder.path(), Some(7)).unwrap(), 7);
        assert_eq!(kept_seed(folder.path(), None).unwrap(), 7);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
