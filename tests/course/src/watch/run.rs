//! One check in the background: builds the lesson's tests, runs them and returns the result. It can be stopped.

use std::{
    fs,
    io::{BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use grader::{RESULTS_FILE, RunResults};

use super::build::{Location, build};

/// A check to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Sequence number, by which the end of an old check is recognised.
    pub number: u64,
    /// `01`.
    pub lesson: String,
    /// `1.2`.
    pub exercise: String,
    /// All exercises of the lesson, for the progress alone.
    pub whole: bool,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The exercise does not compile.
    Broken {
        /// The first error as the compiler prints it, in colour.
        first: String,
        /// The first lines of the other errors.
        others: Vec<String>,
        /// Where it is.
        location: Location,
    },
    /// The checks ran.
    Checked {
        /// Their results.
        results: RunResults,
        /// The end of what the student's code printed.
        printed: String,
    },
    /// Neither: cargo did not start, or the student's code exited the process.
    Failed(String),
}

/// A running check.
pub struct Running(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    child: Option<Child>,
    stopped: bool,
    /// The crate that cargo compiles now.
    doing: String,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a check and calls `done` at its end, unless it was stopped.
pub fn start(root: &Path, job: Job, done: impl FnOnce(Job, End, Duration) + Send + 'static) -> Running {
    let (state, root) = (Arc::new(Mutex::new(State::default())), root.to_owned());
    let theirs = state.clone();
    thread::spawn(move || {
        let began = Instant::now();
        let end = check(&root, &job, &theirs).unwrap_or_else(|error| End::Failed(format!("{error:#}")));
        if !lock(&theirs).stopped {
            done(job, end, began.elapsed());
        }
    });
    Running(state)
}

impl Running {
    /// The crate that is compiled now, or nothing.
    pub fn doing(&self) -> String {
        lock(&self.0).doing.clone()
    }

    /// Stops the check with all processes that it started: cargo, the compiler, the tests.
    pub fn stop(&self) {
        let mut state = lock(&self.0);
        state.stopped = true;
        if let Some(child) = &mut state.child {
            kill_all(child);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(unix)]
fn kill_all(child: &mut Child) {
    // SAFETY: no memory is accessed. The child leads its own process group and was not waited for yet.
    unsafe {
        libc::killpg(child.id() as libc::pid_t, libc::SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_all(child: &mut Child) {
    let _ = child.kill();
}

fn check(root: &Path, job: &Job, state: &Mutex<State>) -> Result<End> {
    let program = match build(root, &job.lesson, state)? {
        Ok(program) => program,
        Err(broken) => return Ok(broken),
    };
    let left = std::env::temp_dir().join(format!(
        "course-results-{}-{}.json",
        std::process::id(),
        job.number
    ));
    let mut tests = Command::new(program);
    if !job.whole {
        tests.arg(format!("{}::", job.exercise));
    }
    tests.arg("--color=always");
    tests
        .current_dir(root.join(format!("lessons/lesson{}", job.lesson)))
        .env(RESULTS_FILE, &left);
    let ended = run(tests, state);
    let results = RunResults::load(&left);
    let _ = fs::remove_file(&left);
    let ended = ended?;
    Ok(match results {
        Some(results) => End::Checked {
            results,
            printed: student_output(&ended.out, &ended.error),
        },
        None => End::Failed(format!(
            "The process ended ({}) before its checks did. Does your code call `exit` or `abort`, overflow the \
             stack, or run out of memory?\n{}",
            ended.status, ended.error
        )),
    })
}

/// The output before the grader's own text, which begins with a line `Lesson NN · …`.
fn student_output(out: &str, error: &str) -> String {
    let plain = |line: &str| line.replace("\x1b[1m", "");
    let own = out.lines().take_while(|l| !plain(l).starts_with("Lesson "));
    let lines: Vec<&str> = own.chain(error.lines()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

pub struct Ended {
    pub success: bool,
    status: String,
    pub out: String,
    pub error: String,
}

/// Bytes kept of the output of a process; earlier ones are dropped, so that endless output cannot use up the memory.
const KEPT: usize = 4 << 20;

pub fn run(mut command: Command, state: &Mutex<State>) -> Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let (out, error) = {
        let mut state = lock(state);
        if state.stopped {
            bail!("stopped");
        }
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let pipes = (child.stdout.take(), child.stderr.take());
        state.child = Some(child);
        pipes
    };
    let out = thread::spawn(move || out.map(|out| end_of(out, |_| {})).unwrap_or_default());
    let compiling = |line: &str| {
        let name = line.trim_start().strip_prefix("Compiling ");
        if let Some(name) = name.and_then(|name| name.split(' ').next()) {
            lock(state).doing = name.to_owned();
        }
    };
    let error = error.map(|error| end_of(error, compiling)).unwrap_or_default();
    let out = out.join().unwrap_or_default();
    lock(state).doing.clear();
    // Its pipes are closed, so it has exited or is about to.
    let status = loop {
        let mut state = lock(state);
        let Some(child) = &mut state.child else {
            bail!("stopped")
        };
        if let Some(status) = child.try_wait()? {
            state.child = None;
            break status;
        }
        drop(state);
        thread::sleep(Duration::from_millis(2));
    };
    Ok(Ended {
        success: status.success(),
        status: status.to_string(),
        out,
        error,
    })
}

/// Returns the end of what a pipe delivers, and calls `line` with the last line of each part.
fn end_of(pipe: impl Read, line: impl Fn(&str)) -> String {
    let (mut pipe, mut kept, mut part) = (BufReader::new(pipe), Vec::new(), [0; 8192]);
    while let Ok(n @ 1..) = pipe.read(&mut part) {
        kept.extend_from_slice(&part[..n]);
        if let Some(last) = String::from_utf8_lossy(&part[..n]).lines().last() {
            line(last);
        }
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_output_is_separated_from_the_graders() {
        let out = "mine 1\nmine 2\n\n\x1b[1mLesson 01 · Gradient\x1b[0m  seed 3\n\n  1.1 right\n";
        assert_eq!(
            student_output(out, "and an error\n"),
            "mine 1\nmine 2\n\nand an error"
        );
        assert_eq!(student_output("\nLesson 01 · x\n", ""), "");
    }

    #[test]
    #[cfg(unix)]
    fn stopping_a_run_kills_all_its_processes() {
        let state = Arc::new(Mutex::new(State::default()));
        let theirs = state.clone();
        let waiting = thread::spawn(move || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "sleep 60 & echo $!; wait"]);
            run(shell, &theirs).map(|e| e.out)
        });
        while lock(&state).child.is_none() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(200));
        Running(state.clone()).stop();
        let out = waiting.join().unwrap().unwrap();
        let sleeper: i32 = out.trim().parse().unwrap();
        let gone = || unsafe { libc::kill(sleeper, 0) } != 0 || is_zombie(sleeper);
        assert!((0..200).any(|_| {
            thread::sleep(Duration::from_millis(10));
            gone()
        }));
        assert!(
            run(Command::new("true"), &state).is_err(),
            "a stopped check starts no process"
        );
    }

    /// Whether a process has exited, but was not waited for: in a container the first process may not wait.
    #[cfg(unix)]
    fn is_zombie(process: i32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim().starts_with('Z'))
    }
}
