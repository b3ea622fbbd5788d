//! `cargo course watch`: checks an exercise whenever its file is saved. Keys show hints and go to other exercises.

use std::{
    io::{IsTerminal, Write, stdin, stdout},
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitCode, Stdio},
    slice,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use crossterm::{
    cursor::MoveTo,
    event::{self, KeyCode, KeyEventKind, KeyModifiers},
    execute,
    terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode},
};
use grader::{Exercise, paths, progress::Progress, tell::Ink};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::{
    home,
    lessons::{self, Lesson},
};

/// How long the editor may take between the steps in which it saves, and how often keys are looked for.
const SETTLE: Duration = Duration::from_millis(80);

/// What to do next: check again, because of a key or a save.
const CHECK: char = 'r';
/// Show a hint.
const HINT: char = 'h';
/// Go to the next exercise that is not right, to the following one, to the one before.
const ENTER: char = '\n';
const NEXT: char = 'n';
const PREVIOUS: char = 'p';
/// Exit, because of a key or a signal.
const QUIT: char = 'q';

/// Checks until the user quits. Without a terminal it prints why, and the exit code is 2.
pub fn watch(root: &Path, lessons: &[Lesson], what: Option<&str>) -> Result<ExitCode> {
    let all: Vec<(&Lesson, &Exercise)> = lessons::exercises(lessons).collect();
    let position = |id: &str| all.iter().position(|(_, e)| e.id == id).unwrap_or(0);
    let mut at = position(&start(lessons, what)?);
    if !stdout().is_terminal() || !stdin().is_terminal() {
        eprintln!("cargo course: `watch` needs a terminal; `cargo course check` checks once");
        return Ok(ExitCode::from(2));
    }
    let (send, events) = mpsc::channel();
    let stop = send.clone();
    // Ctrl-C during a check, and signals from other processes.
    let _ = ctrlc::set_handler(move || {
        let _ = stop.send(QUIT);
        // If the terminal was closed, `event::poll` does not return.
        thread::sleep(Duration::from_secs(2));
        let _ = disable_raw_mode();
        process::exit(0);
    });
    loop {
        let (lesson, exercise) = all[at];
        let file = paths::exercises(&lesson.manifest.lesson);
        let _watcher = watcher(&root.join(&file), send.clone())
            .with_context(|| format!("{file} cannot be watched; `cargo course check` checks once"))?;
        execute!(
            stdout(),
            Clear(ClearType::All),
            Clear(ClearType::Purge),
            MoveTo(0, 0)
        )?;
        let mut next = check(exercise, &events)?;
        if next.is_none() && Progress::load().state(&exercise.id) == "to do" {
            print!("\n{}\n", home::about(lesson, exercise, Ink::auto()));
        } else if next.is_none() {
            println!("\nwatching {file}");
        }
        // A hint is printed below the verdict; everything else begins anew.
        loop {
            match next.take().map_or_else(|| ask(exercise, &events), Ok)? {
                HINT => {
                    print!("\n{}", crate::hint(lessons, &exercise.id, Ink::auto())?);
                    continue;
                }
                NEXT => at = (at + 1).min(all.len() - 1),
                PREVIOUS => at = at.saturating_sub(1),
                ENTER => at = lessons::next(lessons, &Progress::load()).map_or(at, |(_, e)| position(&e.id)),
                QUIT => return Ok(ExitCode::SUCCESS),
                _ => {}
            }
            break;
        }
    }
}

/// Where to begin: at the exercise `what` (`8.2`), at the first one of the lesson `what` (`08`) that is not right, or at
/// the next exercise.
fn start(lessons: &[Lesson], what: Option<&str>) -> Result<String> {
    let lessons = match what {
        Some(id) if id.contains('.') => return Ok(lessons::find(lessons, id)?.1.id.clone()),
        Some(number) => slice::from_ref(lessons::lesson(lessons, number)?),
        None => lessons,
    };
    let next = lessons::next(lessons, &Progress::load()).or_else(|| lessons::exercises(lessons).next());
    let (_, exercise) = next.context("there is no exercise to watch")?;
    Ok(exercise.id.clone())
}

/// Sends [`CHECK`] when a source beside `file` was written, until the watcher is dropped.
fn watcher(file: &Path, saves: Sender<char>) -> notify::Result<RecommendedWatcher> {
    // Editors write temporary files, too.
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".rs") && !name.starts_with(['.', '#'])
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let event = event.unwrap_or_default();
        if !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_source) {
            let _ = saves.send(CHECK);
        }
    })?;
    // The folder rather than the file, because a rename replaces the file.
    watcher.watch(file.parent().unwrap_or(file), RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// Runs `cargo course check` for the exercise. A save during the check ends it, and is returned.
fn check(exercise: &Exercise, events: &Receiver<char>) -> Result<Option<char>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["check", &exercise.id]).stdin(Stdio::null());
    // In a group of its own, so that cargo, the compiler and the checks end with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().context("the check could not be started")?;
    loop {
        let next = next(events, SETTLE);
        if next.is_some() {
            end(&mut child);
            child.wait()?;
            return Ok(next);
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
    }
}

fn end(child: &mut Child) {
    #[cfg(unix)]
    // SAFETY: no memory is accessed. The child leads its own process group and was not waited for yet.
    unsafe {
        libc::killpg(child.id() as libc::pid_t, libc::SIGKILL);
    }
    let _ = child.kill();
}

/// What a save or a signal within `wait` asks for.
fn next(events: &Receiver<char>, wait: Duration) -> Option<char> {
    match events.recv_timeout(wait) {
        Ok(CHECK) => {
            // Editors save in several steps.
            while let Ok(event) = events.recv_timeout(SETTLE) {
                if event == QUIT {
                    return Some(QUIT);
                }
            }
            Some(CHECK)
        }
        Err(RecvTimeoutError::Timeout) => None,
        _ => Some(QUIT),
    }
}

/// Prints the keys, and waits for one of them, a save or a signal. Meanwhile the terminal passes on single keys.
fn ask(exercise: &Exercise, events: &Receiver<char>) -> Result<char> {
    let is_right = Progress::load().state(&exercise.id) == "right";
    let enter = if is_right { "Enter next   " } else { "" };
    let keys = format!("{enter}h hint   n p other exercises   r check again   q quit\r\n");
    enable_raw_mode()?;
    print!("{}", Ink::auto().faint(&keys));
    let key = key(is_right, events);
    disable_raw_mode()?;
    key
}

fn key(is_right: bool, events: &Receiver<char>) -> Result<char> {
    stdout().flush()?;
    loop {
        if let Some(next) = next(events, Duration::ZERO) {
            return Ok(next);
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
            KeyCode::Char('c' | 'd') if is_control => return Ok(QUIT),
            KeyCode::Char(key @ (QUIT | HINT | CHECK | NEXT | PREVIOUS)) => return Ok(key),
            KeyCode::Enter if is_right => return Ok(ENTER),
            _ => {}
        }
    }
}
