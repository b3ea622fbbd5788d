//! The state of the screen: takes events and returns actions. It uses no terminal, file or process.

use std::time::{Duration, Instant};

use grader::{Exercise, progress::Progress};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::run::{End, Job};
use crate::lessons::{self, Lesson};

/// Delay from the last of several changes to the check, because editors write in several steps.
pub const SETTLE: Duration = Duration::from_millis(80);

/// An event.
#[derive(Clone, Debug)]
pub enum Event {
    Key(KeyEvent),
    /// A file of that lesson's exercises was written.
    Saved(String),
    /// A check ended, with its duration and the new progress.
    Ended(Job, End, Duration, Box<Progress>),
    /// The window was resized, or nothing happened for a while.
    Tick,
    /// A signal asks the process to exit.
    Stop,
}

/// An action for the shell around this state.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    /// Stop the running check, if any, and start this one.
    Check(Job),
    /// Record that a hint was seen.
    KeepHint(String),
    /// Restore the stub of an exercise.
    Reset(String),
    /// Read the solution of an exercise to show it.
    Solution(String),
    Quit,
}

/// The panel that covers the verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    None,
    Hint,
    List,
    Help,
    Solution(String),
    /// Asks whether to reset.
    Reset,
}

/// State of the check of the current exercise.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    Running(Instant),
    Ended(End, Duration),
}

/// State of the whole screen.
pub struct Watch {
    pub lessons: Vec<Lesson>,
    pub progress: Progress,
    /// Indices of the current lesson and exercise.
    pub at: (usize, usize),
    pub check: Check,
    /// Result of the check before the running one.
    pub before: Option<End>,
    pub panel: Panel,
    /// Lines by which the verdict, or the panel over it, is scrolled; drawing keeps it in bounds.
    pub scroll: usize,
    /// Cursor of the list: an index into all exercises.
    pub cursor: usize,
    /// Message at the bottom until the next key.
    pub note: String,
    /// The crate that is compiled now, or nothing.
    pub doing: String,
    /// Whether the other exercises of the lesson were not checked since the last change.
    pub unchecked: bool,
    jobs: u64,
    due: Option<Instant>,
}

impl Watch {
    /// Starts at the exercise `what` (`8.2`), at the first one of the lesson `what` (`08`) that is not right, or at the next
    /// exercise.
    pub fn new(lessons: Vec<Lesson>, progress: Progress, what: Option<&str>, now: Instant) -> Self {
        let first = |lesson: &Lesson| {
            let own = &lesson.manifest.exercises;
            let open = own.iter().find(|e| progress.state(&e.id) != "right");
            open.or(own.first()).map(|e| e.id.clone())
        };
        let id = match what {
            Some(id) if id.contains('.') => Some(id.to_owned()),
            Some(number) => lessons::lesson(&lessons, number).ok().and_then(first),
            None => lessons::next(&lessons, &progress).map(|(_, e)| e.id.clone()),
        };
        let indices = |(l, lesson): (usize, &Lesson)| {
            let own = &lesson.manifest.exercises;
            own.iter()
                .position(|e| Some(&e.id) == id.as_ref())
                .map(|e| (l, e))
        };
        let at = lessons.iter().enumerate().find_map(indices).unwrap_or((0, 0));
        Self {
            lessons,
            progress,
            at,
            check: Check::Running(now),
            before: None,
            panel: Panel::None,
            scroll: 0,
            cursor: 0,
            note: String::new(),
            doing: String::new(),
            unchecked: false,
            jobs: 0,
            due: None,
        }
    }

    pub fn lesson(&self) -> &Lesson {
        &self.lessons[self.at.0]
    }

    pub fn exercise(&self) -> &Exercise {
        &self.lesson().manifest.exercises[self.at.1]
    }

    /// Indices of all exercises, in order.
    pub fn all(&self) -> Vec<(usize, usize)> {
        let lessons = self.lessons.iter().enumerate();
        lessons
            .flat_map(|(l, lesson)| (0..lesson.manifest.exercises.len()).map(move |e| (l, e)))
            .collect()
    }

    /// Number of hints seen for the exercise.
    pub fn hints(&self) -> usize {
        self.progress.hints.get(&self.exercise().id).copied().unwrap_or(0)
    }

    pub fn is_right(&self) -> bool {
        self.progress.state(&self.exercise().id) == "right"
    }

    /// The next exercise that is not right, starting over at the first one.
    pub fn next_open(&self) -> Option<(usize, usize)> {
        let all = self.all();
        let here = all.iter().position(|at| *at == self.at).unwrap_or(0);
        let open = |at: &&(usize, usize)| {
            let id = &self.lessons[at.0].manifest.exercises[at.1].id;
            **at != self.at && self.progress.state(id) != "right"
        };
        all[here..].iter().chain(&all[..here]).find(open).copied()
    }

    /// Time after which `on` must be called again even without an event.
    pub fn wait(&self, now: Instant) -> Duration {
        let running = matches!(self.check, Check::Running(_));
        let usual = Duration::from_millis(if running { 100 } else { 1000 });
        self.due
            .map_or(usual, |due| due.saturating_duration_since(now).min(usual))
    }

    pub fn begin(&mut self, now: Instant) -> Vec<Do> {
        self.jobs += 1;
        if let Check::Ended(end, _) = std::mem::replace(&mut self.check, Check::Running(now)) {
            self.before = Some(end);
        }
        self.due = None;
        self.job(false)
    }

    fn job(&self, whole: bool) -> Vec<Do> {
        vec![Do::Check(Job {
            number: self.jobs,
            lesson: self.lesson().manifest.lesson.clone(),
            exercise: self.exercise().id.clone(),
            whole,
        })]
    }

    pub fn on(&mut self, event: Event, now: Instant) -> Vec<Do> {
        match event {
            Event::Stop => return vec![Do::Quit],
            Event::Saved(lesson) if lesson == self.lesson().manifest.lesson => {
                self.due = Some(now + SETTLE);
                self.unchecked = true;
            }
            Event::Ended(job, end, took, progress) if job.number == self.jobs => {
                self.progress = *progress;
                let ran = matches!(end, End::Checked { .. });
                if job.whole {
                    self.unchecked = !ran;
                    return Vec::new();
                }
                self.check = Check::Ended(end, took);
                self.scroll = if self.panel == Panel::None { 0 } else { self.scroll };
                // What was saved may have changed the other exercises, too.
                if ran && self.unchecked {
                    return self.job(true);
                }
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => return self.key(key, now),
            _ => {}
        }
        if self.due.is_some_and(|due| due <= now) {
            return self.begin(now);
        }
        Vec::new()
    }

    fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Do> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') | KeyCode::Char('d') => vec![Do::Quit],
                _ => Vec::new(),
            };
        }
        self.note.clear();
        if self.panel == Panel::Reset {
            self.panel = Panel::None;
            return match key.code {
                KeyCode::Char('y') | KeyCode::Char('Y') => vec![Do::Reset(self.exercise().id.clone())],
                _ => self.say("Nothing was changed."),
            };
        }
        if self.panel == Panel::List
            && let Some(done) = self.key_in_list(key.code, now)
        {
            return done;
        }
        match key.code {
            KeyCode::Char('q') => return vec![Do::Quit],
            KeyCode::Esc => self.open(Panel::None),
            KeyCode::Char('?') => self.toggle(Panel::Help),
            KeyCode::Char('l') => {
                self.cursor = self.all().iter().position(|at| *at == self.at).unwrap_or(0);
                self.toggle(Panel::List);
            }
            KeyCode::Char('h') => return self.hint(),
            KeyCode::Char('c') => return self.begin(now),
            KeyCode::Char('r') => self.open(Panel::Reset),
            KeyCode::Char('o') => return self.solution(),
            KeyCode::Enter if self.panel != Panel::None => self.open(Panel::None),
            KeyCode::Enter if self.is_right() => return self.onward(now),
            KeyCode::Char('n') => return self.step(1, now),
            KeyCode::Char('p') => return self.step(-1, now),
            code => self.scroll_by(code),
        }
        Vec::new()
    }

    fn scroll_by(&mut self, code: KeyCode) {
        self.scroll = match code {
            KeyCode::Down | KeyCode::Char('j') => self.scroll + 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll + 10,
            KeyCode::PageUp => self.scroll.saturating_sub(10),
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX / 2,
            _ => self.scroll,
        };
    }

    fn key_in_list(&mut self, code: KeyCode, now: Instant) -> Option<Vec<Do>> {
        let all = self.all();
        let last = all.len().saturating_sub(1);
        self.cursor = match code {
            KeyCode::Down | KeyCode::Char('j') => self.cursor + 1,
            KeyCode::Up | KeyCode::Char('k') => self.cursor.saturating_sub(1),
            KeyCode::PageDown => self.cursor + 10,
            KeyCode::PageUp => self.cursor.saturating_sub(10),
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Enter => return Some(self.go(all[self.cursor.min(last)], now)),
            _ => return None,
        }
        .min(last);
        Some(Vec::new())
    }

    fn open(&mut self, panel: Panel) {
        self.panel = panel;
        self.scroll = 0;
    }

    fn toggle(&mut self, panel: Panel) {
        let other = if self.panel == panel { Panel::None } else { panel };
        self.open(other);
    }

    fn say(&mut self, note: &str) -> Vec<Do> {
        self.note = note.to_owned();
        Vec::new()
    }

    /// Opens the hints; each further key press shows one more.
    fn hint(&mut self) -> Vec<Do> {
        let (id, of) = (self.exercise().id.clone(), self.exercise().hints.len());
        let seen = self.hints();
        let opens = self.panel != Panel::Hint;
        if opens {
            self.open(Panel::Hint);
        }
        if seen >= of && !opens {
            return self.say(&crate::no_more_hints(self.exercise()));
        }
        if seen >= of || opens && seen > 0 {
            return Vec::new();
        }
        self.progress.hints.insert(id.clone(), seen + 1);
        // Scroll to the end, where the new hint is.
        self.scroll = usize::MAX / 2;
        vec![Do::KeepHint(id)]
    }

    fn solution(&mut self) -> Vec<Do> {
        if matches!(self.panel, Panel::Solution(_)) {
            self.open(Panel::None);
            return Vec::new();
        }
        let id = self.exercise().id.clone();
        if self.is_right() || self.progress.given_up.contains(&id) {
            return vec![Do::Solution(id)];
        }
        self.say(&format!(
            "Solve it first, or give up: cargo course solution {id} --give-up"
        ))
    }

    /// Shows the text of a solution.
    pub fn show_solution(&mut self, text: String) {
        self.open(Panel::Solution(text));
    }

    /// Moves to the next exercise that is not right.
    fn onward(&mut self, now: Instant) -> Vec<Do> {
        match self.next_open() {
            Some(at) => self.go(at, now),
            None => self.say("All exercises are right."),
        }
    }

    fn step(&mut self, by: isize, now: Instant) -> Vec<Do> {
        let all = self.all();
        let here = all.iter().position(|at| *at == self.at).unwrap_or(0);
        match here.checked_add_signed(by).and_then(|at| all.get(at)) {
            Some(&at) => self.go(at, now),
            None => self.say(if by > 0 {
                "This is the last exercise; p goes back."
            } else {
                "This is the first exercise."
            }),
        }
    }

    fn go(&mut self, at: (usize, usize), now: Instant) -> Vec<Do> {
        self.at = at;
        self.open(Panel::None);
        let todo = self.begin(now);
        self.before = None;
        todo
    }

    /// Points won in the lesson, and points that it has.
    pub fn points(&self) -> (u32, u32) {
        lessons::points(&self.lesson().manifest, &self.progress)
    }
}
