//! `cargo course watch`: checks an exercise whenever its file is saved. Keys show hints and go to other exercises.

mod files;

use std::{
    io::{self, IsTerminal, Write, stdin, stdout},
    path::Path,
    process::{self, Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use crossterm::{
    cursor::MoveTo,
    event::{self, KeyCode, KeyEventKind, KeyModifiers},
    execute,
    terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode},
};
use grader::{Exercise, paths, progress::Progress, tell::Ink};

use crate::{
    home,
    lessons::{self, Lesson},
};

/// How long the editor may take between the steps in which it saves, and how often keys are looked for.
const SETTLE: Duration = Duration::from_millis(80);

/// What happens outside of the terminal.
enum Event {
    /// A file of that lesson's exercises was written.
    Saved(String),
    /// A signal asks the process to exit.
    Stop,
}

/// What the user wants next.
enum Wish {
    Check,
    Hint,
    /// Go to another exercise.
    Go(isize),
    /// Go to the next exercise that is not right.
    Onward,
    Quit,
}

/// Checks until the user quits. Without a terminal it prints why, and the exit code is 2.
pub fn watch(root: &Path, lessons: &[Lesson], what: Option<&str>) -> Result<ExitCode> {
    let all: Vec<(&Lesson, &Exercise)> = lessons
        .iter()
        .flat_map(|l| l.manifest.exercises.iter().map(move |e| (l, e)))
        .collect();
    let mut at = start(lessons, &all, what)?;
    if !stdout().is_terminal() || !stdin().is_terminal() {
        eprintln!("cargo course: `watch` needs a terminal; `cargo course check` checks once");
        return Ok(ExitCode::from(2));
    }
    let (send, events) = mpsc::channel();
    let saved = send.clone();
    let _watcher = files::watch(root, move |lesson| {
        let _ = saved.send(Event::Saved(lesson));
    })?;
    // Ctrl-C during a check, and signals from other processes.
    let _ = ctrlc::set_handler(move || {
        let _ = send.send(Event::Stop);
        // If the terminal was closed, `event::poll` does not return.
        thread::sleep(Duration::from_secs(2));
        let _ = disable_raw_mode();
        process::exit(0);
    });
    loop {
        let (lesson, exercise) = all[at];
        execute!(
            stdout(),
            Clear(ClearType::All),
            Clear(ClearType::Purge),
            MoveTo(0, 0)
        )?;
        let mut wish = check(lesson, exercise, &events)?;
        if wish.is_none() && Progress::load().state(&exercise.id) == "to do" {
            print!("\n{}\n", home::about(lesson, exercise, Ink::auto()));
        } else if wish.is_none() {
            println!("\nwatching {}", paths::exercises(&lesson.manifest.lesson));
        }
        // A hint is printed below the verdict; everything else begins anew.
        loop {
            let next = match wish.take() {
                Some(wish) => wish,
                None => ask(lesson, exercise, &events)?,
            };
            match next {
                Wish::Quit => return Ok(ExitCode::SUCCESS),
                Wish::Hint => {
                    print!("\n{}", crate::hint(lessons, &exercise.id, Ink::auto())?);
                    continue;
                }
                Wish::Check => {}
                Wish::Go(by) => at = at.saturating_add_signed(by).min(all.len() - 1),
                Wish::Onward => at = onward(&all, at, &Progress::load()),
            }
            break;
        }
    }
}

/// Where to begin: at the exercise `what` (`8.2`), at the first one of the lesson `what` (`08`) that is not right, or at
/// the next exercise.
fn start(lessons: &[Lesson], all: &[(&Lesson, &Exercise)], what: Option<&str>) -> Result<usize> {
    if all.is_empty() {
        bail!("there is no exercise to watch");
    }
    let progress = Progress::load();
    let id = match what {
        Some(id) if id.contains('.') => Some(&lessons::find(lessons, id)?.1.id),
        Some(number) => {
            let own = &lessons::lesson(lessons, number)?.manifest.exercises;
            let open = own.iter().find(|e| progress.state(&e.id) != "right");
            open.or(own.first()).map(|e| &e.id)
        }
        None => lessons::next(lessons, &progress).map(|(_, e)| &e.id),
    };
    Ok(all.iter().position(|(_, e)| Some(&e.id) == id).unwrap_or(0))
}

/// The next exercise after `at` that is not right, beginning again at the first one.
fn onward(all: &[(&Lesson, &Exercise)], at: usize, progress: &Progress) -> usize {
    let open = |&i: &usize| progress.state(&all[i].1.id) != "right";
    (at + 1..all.len()).chain(0..at).find(open).unwrap_or(at)
}

/// Runs `cargo course check` for the exercise. A save during the check ends it, and is returned.
fn check(lesson: &Lesson, exercise: &Exercise, events: &Receiver<Event>) -> Result<Option<Wish>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["check", &exercise.id]).stdin(Stdio::null());
    // In a group of its own, so that cargo, the compiler and the checks end with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().context("the check could not be started")?;
    loop {
        let wish = wish_of(lesson, events, SETTLE);
        if wish.is_some() {
            end(&mut child);
            child.wait()?;
            return Ok(wish);
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
    }
}

#[cfg(unix)]
fn end(child: &mut Child) {
    // SAFETY: no memory is accessed. The child leads its own process group and was not waited for yet.
    unsafe {
        libc::killpg(child.id() as libc::pid_t, libc::SIGKILL);
    }
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    let _ = child.kill();
}

/// What a save or a signal within `wait` asks for.
fn wish_of(lesson: &Lesson, events: &Receiver<Event>, wait: Duration) -> Option<Wish> {
    match events.recv_timeout(wait) {
        Ok(Event::Saved(of)) if of == lesson.manifest.lesson => {
            // Editors save in several steps.
            while let Ok(event) = events.recv_timeout(SETTLE) {
                if matches!(event, Event::Stop) {
                    return Some(Wish::Quit);
                }
            }
            Some(Wish::Check)
        }
        Ok(Event::Saved(_)) | Err(RecvTimeoutError::Timeout) => None,
        Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => Some(Wish::Quit),
    }
}

/// Prints the keys, and waits for one of them, a save or a signal.
fn ask(lesson: &Lesson, exercise: &Exercise, events: &Receiver<Event>) -> Result<Wish> {
    let is_right = Progress::load().state(&exercise.id) == "right";
    let _keys = Keys::read()?;
    let onward = if is_right { "Enter next   " } else { "" };
    print!(
        "{}",
        Ink::auto().faint(&format!(
            "{onward}h hint   n p other exercises   r check again   q quit\r\n"
        ))
    );
    stdout().flush()?;
    loop {
        if let Some(wish) = wish_of(lesson, events, Duration::ZERO) {
            return Ok(wish);
        }
        if !event::poll(SETTLE)? {
            continue;
        }
        let event::Event::Key(key) = event::read()? else {
            continue;
        };
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('c' | 'd') if is_control => return Ok(Wish::Quit),
            KeyCode::Char('q') => return Ok(Wish::Quit),
            KeyCode::Char('h') => return Ok(Wish::Hint),
            KeyCode::Char('r') => return Ok(Wish::Check),
            KeyCode::Char('n') => return Ok(Wish::Go(1)),
            KeyCode::Char('p') => return Ok(Wish::Go(-1)),
            KeyCode::Enter if is_right => return Ok(Wish::Onward),
            _ => {}
        }
    }
}

/// The terminal passes on single keys until this is dropped.
struct Keys;

impl Keys {
    fn read() -> io::Result<Self> {
        enable_raw_mode()?;
        Ok(Self)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_to_the_next_exercise_that_is_not_right() {
        let toml = "lesson = \"01\"\ntitle = \"A lesson\"\nminutes = 1\nchapter = \"c.md\"\n".to_owned();
        let exercises: String = (1..=4)
            .map(|e| {
                format!(
                    "[[exercise]]\nid = \"1.{e}\"\ntitle = \"t\"\npoints = 1\nfunction = \"f\"\nsolution = \"s\"\n\
                     answer = \"a\"\nhints = [\"a\", \"b\", \"c\"]\n"
                )
            })
            .collect();
        let manifest = grader::Manifest::parse(&(toml + &exercises)).unwrap();
        let lessons = [Lesson {
            manifest,
            stubs: String::new(),
        }];
        let all: Vec<_> = lessons[0]
            .manifest
            .exercises
            .iter()
            .map(|e| (&lessons[0], e))
            .collect();
        let mut progress = Progress::default();
        for (id, word) in [("1.1", "wrong"), ("1.2", "right"), ("1.3", "right")] {
            let checks = progress.checks.entry(id.into()).or_default();
            checks.insert("c".into(), word.into());
        }
        let next = [0, 1, 2, 3].map(|at| onward(&all, at, &progress));
        assert_eq!(next, [3, 3, 3, 0]);
        let checks = progress.checks.entry("1.4".into()).or_default();
        checks.insert("c".into(), "right".into());
        assert_eq!(onward(&all, 0, &progress), 0, "no other one is left");
    }
}
