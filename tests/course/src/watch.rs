//! `cargo course watch`: checks an exercise whenever its file is saved. Keys show hints and go to other exercises.

use std::{
    io::{IsTerminal, Write, stdin, stdout},
    path::{Path, PathBuf},
    process::{Command, Stdio, exit},
    slice,
    sync::{
        Mutex,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use crossterm::{
    cursor::MoveTo,
    event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
    execute,
    terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode},
};
use grader::{Exercise, paths, progress::Progress};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::{
    home,
    lessons::{self, Lesson},
};

/// How long the editor may take between the steps in which it saves, and how often saves are looked for.
const SETTLE: Duration = Duration::from_millis(80);

/// Locked forever when a signal ends this program, so that the terminal does not pass on single keys again.
static ENDING: Mutex<()> = Mutex::new(());

/// Checks until the user quits.
pub fn watch(root: &Path, lessons: &[Lesson], what: Option<&str>) -> Result<()> {
    let (mut lesson, mut exercise) = start(lessons, what)?;
    ensure!(
        stdout().is_terminal() && stdin().is_terminal(),
        "`watch` needs a terminal; `cargo course check` checks once"
    );
    let end = || {
        let _ending = ENDING.lock();
        let _ = disable_raw_mode();
        exit(130);
    };
    ctrlc::set_handler(end).context("the handler of signals could not be installed")?;
    loop {
        let file = paths::exercises(&lesson.manifest.lesson, &exercise.file);
        let (_watcher, saves) = watcher(&root.join(&file))
            .with_context(|| format!("{file} cannot be watched; `cargo course check` checks once"))?;
        execute!(
            stdout(),
            Clear(ClearType::All),
            Clear(ClearType::Purge),
            MoveTo(0, 0)
        )?;
        let mut check = Command::new(std::env::current_exe()?);
        let check = check.args(["check", &exercise.id]).stdin(Stdio::null());
        check.status().context("the check could not be started")?;
        if Progress::load().state(&exercise.id) == "to do" {
            print!("\n{}\n", home::about(lesson, exercise));
        } else {
            println!("\nwatching {file}");
        }
        loop {
            match key(&saves)? {
                // A hint is printed below the verdict; everything else begins anew.
                'h' => print!("\n{}", crate::hint(lessons, &exercise.id)?),
                'n' => {
                    (lesson, exercise) = following(lessons, exercise);
                    break;
                }
                'q' => return Ok(()),
                _ => break,
            }
        }
    }
}

/// Where to begin: at the exercise `what` (`8.2`), at the first one of the lesson `what` (`08`) that is not right, or at
/// the next exercise.
fn start<'a>(lessons: &'a [Lesson], what: Option<&str>) -> Result<(&'a Lesson, &'a Exercise)> {
    let lessons = match what.map(|what| lessons::named(lessons, what)).transpose()? {
        Some((lesson, Some(exercise))) => return Ok((lesson, exercise)),
        Some((lesson, None)) => slice::from_ref(lesson),
        None => lessons,
    };
    let next = lessons::next(lessons, &Progress::load()).or_else(|| lessons::exercises(lessons).next());
    next.context("there is no exercise to watch")
}

/// The exercise after `exercise`. The first follows the last.
fn following<'a>(lessons: &'a [Lesson], exercise: &Exercise) -> (&'a Lesson, &'a Exercise) {
    let all = Vec::from_iter(lessons::exercises(lessons));
    let at = all.iter().position(|(_, e)| e.id == exercise.id);
    all[at.map_or(0, |at| at + 1) % all.len()]
}

/// Reports when a source beside `file` was written, until the watcher is dropped.
fn watcher(file: &Path) -> notify::Result<(RecommendedWatcher, Receiver<()>)> {
    // Editors write temporary files, too.
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        [".rs", ".cu"].iter().any(|ending| name.ends_with(ending)) && !name.starts_with(['.', '#'])
    };
    let (send, saves) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let event = event.unwrap_or_default();
        if !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_source) {
            let _ = send.send(());
        }
    })?;
    // The folder rather than the file, because a rename replaces the file.
    watcher.watch(file.parent().unwrap_or(file), RecursiveMode::Recursive)?;
    Ok((watcher, saves))
}

/// Prints the keys, and waits for one of them; a save is the key `r`. Only meanwhile does the terminal pass on single keys,
/// so that Ctrl-C during a check ends the check and this program.
fn key(saves: &Receiver<()>) -> Result<char> {
    let keys = "h hint   n next exercise   r check again   q quit\r\n";
    let running = ENDING.lock();
    enable_raw_mode()?;
    drop(running);
    print!("{}", console::style(keys).dim());
    let key = stdout().flush().map_err(Into::into).and_then(|()| wait(saves));
    disable_raw_mode()?;
    key
}

fn wait(saves: &Receiver<()>) -> Result<char> {
    while saves.try_recv().is_err() {
        if !event::poll(SETTLE)? {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('c' | 'd') if is_control => return Ok('q'),
            KeyCode::Char(key @ ('h' | 'n' | 'r' | 'q')) => return Ok(key),
            _ => {}
        }
    }
    // Editors save in several steps.
    thread::sleep(SETTLE);
    Ok('r')
}
