//! Grades a whole class: finds the submissions, grades several in parallel, and prints the results.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{IsTerminal, stderr},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use grader::{
    Manifest,
    grades::{Grade, Status},
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::late::{self, Policy};

use super::{
    Options,
    build::Toolchain,
    caught::caught,
    one::Bench,
    part, printed,
    run::STOP,
    sandbox::{Limits, Sandbox},
    sources::Taken,
    submissions::{Submission, submissions},
    tree::Tree,
};
use crate::{lessons, marks, version};

pub fn grade(root: &Path, options: Options) -> Result<bool> {
    let began = Instant::now();
    let roster = options.roster.as_deref().map(marks::Roster::load).transpose()?;
    let roster = roster.unwrap_or_default();
    fs::create_dir_all(&options.out).with_context(|| options.out.display().to_string())?;
    let out = fs::canonicalize(&options.out)?;
    let lock = fs::File::create(part::own(options.part, &out, ".lock"))?;
    if lock.try_lock().is_err() {
        bail!("another run is grading into {}", out.display());
    }
    let mut skipped = BTreeSet::new();
    let all = submissions(&options.submissions, &out, &mut skipped)?;
    let all = part::of(options.part, all);
    for line in skipped {
        eprintln!("skipped: {}", marks::clean::line(&line));
    }
    // The first interrupt stops the running checks and keeps finished grades; the second exits at once.
    ctrlc::set_handler(|| {
        if STOP.swap(true, SeqCst) {
            std::process::exit(130);
        }
    })
    .context("the handler of Ctrl-C could not be installed")?;
    let mut bench = bench(root, &out, &options)?;
    bench.prepare(root, &lessons_to_build(&bench, &all, &out, &options))?;
    let jobs = options.jobs.unwrap_or_else(|| {
        let all = thread::available_parallelism().map_or(2, usize::from);
        all.div_ceil(2)
    });
    let done = run_all(&bench, &all, &out, &roster, &options.again, jobs.clamp(1, 64));
    let _ = fs::remove_dir_all(&bench.work);
    if STOP.load(SeqCst) {
        eprintln!("Stopped. Repeat the command to grade the rest.");
    }
    // Of a part, the job after the last one writes them.
    let written = options.part.map_or_else(|| marks::write_all(&out), |_| Ok(()));
    if let Err(error) = &written {
        eprintln!("not all pages and exports were written: {error:#}");
    }
    print!("{}", printed::text(&all, &done));
    println!(
        "\nseed {} · {} s · {}",
        bench.seed,
        began.elapsed().as_secs(),
        out.display()
    );
    let graded = |d: &Done| matches!(d, Ok(grade) if grade.status == Status::Graded);
    Ok(written.is_ok() && done.len() == all.len() && done.values().all(graded))
}

pub type Done = Result<Grade, String>;

/// A copy of the course for the submissions of one thread.
type Desk<'a> = LazyCell<Result<Tree>, Box<dyn FnOnce() -> Result<Tree> + 'a>>;

/// Reads the lessons and tests the sandbox.
fn bench(root: &Path, out: &Path, options: &Options) -> Result<Bench> {
    let lessons = lessons::all(root)?.into_iter().map(|l| l.manifest);
    let manifests: BTreeMap<String, Manifest> = lessons.map(|m| (m.lesson.clone(), m)).collect();
    for wanted in &options.lesson {
        ensure!(
            manifests.contains_key(wanted),
            "there is no lesson {wanted}; the lessons are {}",
            manifests.keys().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    let work = part::own(options.part, out, ".work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work)?;
    let sandbox = Sandbox::new(&work, options.inside_container)?;
    for name in &options.require {
        if !sandbox.report.active.contains(name) {
            let why = sandbox
                .report
                .missing
                .iter()
                .find(|m| m.starts_with(&format!("{name}:")));
            let why = why.map_or("it is unknown", String::as_str);
            bail!("{name} is required, but is not provided here: {why}");
        }
    }
    Ok(Bench {
        course: version::course(root)?,
        toolchain: Toolchain::find(root)?,
        sandbox,
        tree: Tree::empty(work.join("stubs"))?,
        manifests,
        lessons: BTreeMap::new(),
        refuse_solution_calls: options.refuse_solution_calls,
        wanted: options.lesson.clone(),
        due: options.due,
        late: options.late.map(|policy| Policy {
            grace: options.grace,
            ..policy
        }),
        clock: options.clock,
        seed: part::kept_seed(out, options.seed)?,
        limits: Limits {
            wall: options.seconds,
            cpu: options.seconds,
            memory: options.memory,
            disk: 16,
            tasks: 64,
        },
        work,
    })
}

/// The lessons of the submissions that have no grade yet; nothing is built for the others.
fn lessons_to_build(bench: &Bench, all: &[Submission], out: &Path, options: &Options) -> BTreeSet<String> {
    let mut lessons = BTreeSet::new();
    for one in all {
        let (grade, taken) = bench.begin(one);
        if let Some(taken) = taken
            && kept(bench, &grade, &taken, &out.join(&one.name), &options.again).is_none()
        {
            lessons.extend(bench.lessons_of(&taken));
        }
    }
    lessons
}

/// The saved grade of a submission, if nothing has changed and it is not to be graded again. Of its lessons, those that are graded
/// now: another run may have graded more.
fn kept(bench: &Bench, grade: &Grade, taken: &Taken, folder: &Path, again: &[String]) -> Option<Grade> {
    let again = again.iter().any(|a| *a == grade.submission || a == "all");
    let mut kept = Grade::load(&folder.join("grade.json")).ok().filter(|_| !again)?;
    let same = (&kept.digest, &kept.course, kept.seed) == (&grade.digest, &grade.course, grade.seed);
    let lessons = bench.lessons_of(taken);
    kept.lessons.retain(|l| lessons.contains(&l.lesson));
    (same && kept.lessons.len() == lessons.len() && kept.status == Status::Graded).then_some(kept)
}

fn run_all(
    bench: &Bench,
    all: &[Submission],
    out: &Path,
    roster: &marks::Roster,
    again: &[String],
    jobs: usize,
) -> BTreeMap<String, Done> {
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} · {elapsed} · {wide_msg}");
    let bar = ProgressBar::new(all.len() as u64).with_style(style.unwrap_or(ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for desk in 0..jobs.min(all.len()) {
            let (bar, next, done) = (&bar, &next, &done);
            scope.spawn(move || {
                let tree = Desk::new(Box::new(move || {
                    Tree::of_tree(bench.work.join(format!("desk-{desk}")), &bench.tree)
                }));
                while let Some(one) = all.get(next.fetch_add(1, SeqCst)) {
                    bar.set_message(one.name.clone());
                    let grade = caught(|| graded(bench, one, out, roster, again, &tree))
                        .or_else(|why| caught(|| not_graded(bench, one, out, roster, &why)))
                        .map_err(|e| format!("{e:#}"));
                    let failed = grade.as_ref().map_or(true, |g| g.status == Status::NotGraded);
                    if failed && STOP.load(SeqCst) {
                        continue;
                    }
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(one.name.clone(), grade);
                    bar.inc(1);
                    if !stderr().is_terminal() {
                        eprintln!(
                            "{} of {} · {} s · {}",
                            bar.position(),
                            all.len(),
                            bar.elapsed().as_secs(),
                            one.name
                        );
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Grades a submission and saves the grade in its folder. If nothing has changed, returns the saved grade.
fn graded(
    bench: &Bench,
    one: &Submission,
    out: &Path,
    roster: &marks::Roster,
    again: &[String],
    tree: &Desk,
) -> Result<Grade> {
    ensure!(!STOP.load(SeqCst), "stopped");
    let folder = out.join(&one.name);
    let (grade, taken) = begun(bench, one, roster);
    let saved_grade = taken
        .as_ref()
        .and_then(|taken| kept(bench, &grade, taken, &folder, again));
    if let Some(mut kept) = saved_grade {
        kept.lessons
            .iter_mut()
            .flat_map(|l| &mut l.exercises)
            .for_each(|e| bench.count(e));
        // The penalty for lateness may change without running the checks again.
        (kept.submitted, kept.late, kept.origin) = (grade.submitted, grade.late, grade.origin);
        return saved(kept, &folder);
    }
    let grade = match taken {
        Some(taken) => {
            let tree = tree.as_ref().map_err(|e| anyhow!("{e:#}"))?;
            bench.grade(grade, &taken, tree)?
        }
        None => grade,
    };
    saved(grade, &folder)
}

/// Saves why a submission could not be graded, so that every table has a row for it. The next run grades it again.
fn not_graded(
    bench: &Bench,
    one: &Submission,
    out: &Path,
    roster: &marks::Roster,
    why: &anyhow::Error,
) -> Result<Grade> {
    let folder = out.join(&one.name);
    let (mut grade, taken) = begun(bench, one, roster);
    if let Some(taken) = taken {
        let mut reason = format!("{why:#}");
        if STOP.load(SeqCst) {
            // An interrupt does not cost the grade of an earlier run.
            if let Some(kept) = kept(bench, &grade, &taken, &folder, &[]) {
                return Ok(kept);
            }
            reason = "grading was interrupted; the next run grades it".into();
        }
        (grade.status, grade.reason) = (Status::NotGraded, Some(reason));
    }
    saved(grade, &folder)
}

/// The grade of a submission as far as it is known without running anything, with its student and its time.
fn begun(bench: &Bench, one: &Submission, roster: &marks::Roster) -> (Grade, Option<Taken>) {
    let (mut grade, taken) = bench.begin(one);
    let dated = taken.as_ref().and_then(|t| t.dated(bench.clock));
    one.sign(&mut grade, dated);
    roster.sign(&mut grade);
    late::settle(&mut grade, bench.late.as_ref().zip(bench.due));
    (grade, taken)
}

fn saved(grade: Grade, folder: &Path) -> Result<Grade> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    grade.save(&folder.join("grade.json"))?;
    Ok(grade)
}
