//! `cargo course watch`: checks an exercise whenever its file is saved, on a screen.

mod ansi;
mod build;
mod draw;
mod files;
mod pages;
mod panels;
mod run;
mod state;
#[cfg(test)]
mod tests;

use std::{
    io::{IsTerminal, stdin, stdout},
    path::Path,
    process::ExitCode,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use grader::{
    progress::{self, Progress},
    tell::Ink,
};
use ratatui::{DefaultTerminal, crossterm::event};

use crate::{
    lessons::{self, Lesson},
    reset, solution,
};
use draw::Theme;
use run::Running;
use state::{Do, Event, Watch};

/// Shows the screen until the user quits. Without a terminal it prints why, and the exit code is 2.
pub fn watch(root: &Path, lessons: Vec<Lesson>, what: Option<&str>) -> Result<ExitCode> {
    // An error before the screen is drawn.
    match what {
        Some(id) if id.contains('.') => drop(lessons::find(&lessons, id)?),
        Some(number) => drop(lessons::lesson(&lessons, number)?),
        None => {}
    }
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    if !stdout().is_terminal() || !stdin().is_terminal() || dumb {
        eprintln!(
            "cargo course: `watch` needs a terminal; `cargo course check` checks once, without a screen"
        );
        return Ok(ExitCode::from(2));
    }
    if lessons.iter().all(|l| l.manifest.exercises.is_empty()) {
        bail!("there is no exercise to watch");
    }
    let (send, receive) = mpsc::channel();
    let saved = send.clone();
    let watcher = files::watch(root, move |lesson| {
        let _ = saved.send(Event::Saved(lesson));
    })?;
    let stop = send.clone();
    // Ctrl-C arrives as a key; this handles signals from other processes. A process can set only one handler.
    let _ = ctrlc::set_handler(move || {
        let _ = stop.send(Event::Stop);
    });
    let mut shell = Shell {
        root,
        watch: Watch::new(lessons, Progress::load(), what, Instant::now()),
        theme: Theme {
            colour: std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        },
        send,
        running: None,
    };
    // From here on, a panic restores the terminal too.
    let mut terminal = ratatui::try_init().context("the screen cannot be drawn on this terminal")?;
    read_keys(shell.send.clone());
    let result = shell.go(&mut terminal, &receive);
    ratatui::restore();
    drop((shell, watcher));
    result.map(|()| ExitCode::SUCCESS)
}

/// Sends key events until the process exits.
fn read_keys(send: Sender<Event>) {
    thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Event::Key(key),
                Ok(_) => Event::Tick,
                // The terminal was closed.
                Err(_) => Event::Stop,
            };
            let stops = matches!(event, Event::Stop);
            if send.send(event).is_err() || stops {
                return;
            }
        }
    });
}

/// Executes the actions that the state requests.
struct Shell<'a> {
    root: &'a Path,
    watch: Watch,
    theme: Theme,
    send: Sender<Event>,
    running: Option<Running>,
}

impl Shell<'_> {
    fn go(&mut self, terminal: &mut DefaultTerminal, receive: &mpsc::Receiver<Event>) -> Result<()> {
        let mut todo = self.watch.begin(Instant::now());
        loop {
            for one in todo.drain(..) {
                if one == Do::Quit {
                    return Ok(());
                }
                self.act(one);
            }
            self.watch.doing = self.running.as_ref().map(Running::doing).unwrap_or_default();
            let (watch, theme) = (&mut self.watch, self.theme);
            terminal
                .draw(|frame| draw::draw(frame, watch, theme, Instant::now()))
                .context("the screen cannot be drawn on this terminal")?;
            let event = match receive.recv_timeout(self.watch.wait(Instant::now())) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => Event::Tick,
                Err(RecvTimeoutError::Disconnected) => Event::Stop,
            };
            todo = self.watch.on(event, Instant::now());
            // All events of a held key or of a burst of changes are handled before the next drawing.
            while let (true, Ok(more)) = (todo.is_empty(), receive.try_recv()) {
                todo = self.watch.on(more, Instant::now());
            }
        }
    }

    fn act(&mut self, one: Do) {
        let done = match one {
            Do::Check(job) => {
                // Stop the last check before the next begins, because two builds would block each other.
                self.running = None;
                let send = self.send.clone();
                self.running = Some(run::start(self.root, job, move |job, end, took| {
                    let _ = send.send(Event::Ended(job, end, took, Box::new(Progress::load())));
                }));
                Ok(())
            }
            Do::KeepHint(id) => {
                let seen = self.watch.hints();
                progress::change(|p| p.hints.insert(id, seen))
                    .map(drop)
                    .context("the hint could not be recorded")
            }
            Do::Reset(id) => self.reset(&id),
            Do::Solution(id) => self.solution(&id),
            Do::Quit => Ok(()),
        };
        if let Err(error) = done {
            self.watch.note = format!("{error:#}");
        }
    }

    fn reset(&mut self, id: &str) -> Result<()> {
        let (lesson, exercise) = lessons::find(&self.watch.lessons, id)?;
        let kept = reset::reset(self.root, lesson, exercise)?;
        self.watch.note = format!("The function is empty again. A copy of your file: {kept}");
        Ok(())
    }

    fn solution(&mut self, id: &str) -> Result<()> {
        let (_, exercise) = lessons::find(&self.watch.lessons, id)?;
        let ink = Ink {
            colour: self.theme.colour,
        };
        let text = solution::text(self.root, exercise, ink)?;
        // The frame of the panel shows the title already.
        let text = text.split_once('\n').map_or("", |(_, rest)| rest);
        self.watch.show_solution(text.to_owned());
        Ok(())
    }
}
