//! `cargo course watch`: checks an exercise whenever its file is saved, on a screen.

mod ansi;
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

/// Shows the screen until it is quit. Where there is no terminal it says so; the exit code is then 2.
pub fn watch(root: &Path, lessons: Vec<Lesson>, lesson: Option<String>) -> Result<ExitCode> {
    let lesson = lesson.map(|l| format!("{l:0>2}"));
    if let Some(wanted) = &lesson
        && !lessons.iter().any(|l| l.manifest.lesson == *wanted)
    {
        bail!("there is no lesson {wanted}; `cargo course` lists them");
    }
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    if !stdout().is_terminal() || !stdin().is_terminal() || dumb {
        eprintln!("cargo course: `watch` needs a terminal; `cargo course check` does the same once");
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
    // Keys reach us as events; this is for a signal from elsewhere. A second handler in a process is refused.
    let _ = ctrlc::set_handler(move || {
        let _ = stop.send(Event::Stop);
    });
    let mut shell = Shell {
        root,
        watch: Watch::new(lessons, Progress::load(), lesson.as_deref(), Instant::now()),
        theme: Theme {
            colour: std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        },
        send,
        running: None,
    };
    // From here on a panic, too, gives the terminal back as it was.
    let mut terminal = ratatui::try_init().context("the terminal cannot be drawn on")?;
    read_keys(shell.send.clone());
    let result = shell.go(&mut terminal, &receive);
    ratatui::restore();
    drop((shell, watcher));
    result.map(|()| ExitCode::SUCCESS)
}

/// Until the process ends.
fn read_keys(send: Sender<Event>) {
    thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Event::Key(key),
                Ok(_) => Event::Tick,
                // The terminal is gone.
                Err(_) => Event::Stop,
            };
            let stops = matches!(event, Event::Stop);
            if send.send(event).is_err() || stops {
                return;
            }
        }
    });
}

/// Does what the state says is to be done.
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
            let (watch, theme) = (&mut self.watch, self.theme);
            terminal
                .draw(|frame| draw::draw(frame, watch, theme, Instant::now()))
                .context("the terminal cannot be drawn on")?;
            let event = match receive.recv_timeout(self.watch.wait(Instant::now())) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => Event::Tick,
                Err(RecvTimeoutError::Disconnected) => Event::Stop,
            };
            todo = self.watch.on(event, Instant::now());
            // A held key or a burst of changes is worked off before it is drawn.
            while let (true, Ok(more)) = (todo.is_empty(), receive.try_recv()) {
                todo = self.watch.on(more, Instant::now());
            }
        }
    }

    fn act(&mut self, one: Do) {
        let done = match one {
            Do::Check(job) => {
                // Before the next begins: two would wait for each other's build.
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
                    .context("the hint was not noted")
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
        self.watch.note = format!("As handed out. Your file is kept: {kept}");
        Ok(())
    }

    fn solution(&mut self, id: &str) -> Result<()> {
        let (_, exercise) = lessons::find(&self.watch.lessons, id)?;
        let ink = Ink {
            colour: self.theme.colour,
        };
        let text = solution::text(self.root, exercise, ink)?;
        // The panel's frame has the title.
        let text = text.split_once('\n').map_or("", |(_, rest)| rest);
        self.watch.show_solution(text.to_owned());
        Ok(())
    }
}
