//! What the screen shows and how it goes on: events in, things to do out. It knows no terminal, file or process.

use std::time::{Duration, Instant};

use grader::{Exercise, progress::Progress};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::run::{End, Job};
use crate::lessons::{self, Lesson};

/// So long after the last of several changes a check begins: editors write in several steps.
pub const SETTLE: Duration = Duration::from_millis(80);

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
    Key(KeyEvent),
    /// A file of that lesson's exercises was written.
    Saved(String),
    /// A check ended, after so long; what is now known of all exercises.
    Ended(Job, End, Duration, Box<Progress>),
    /// The window has another size, or nothing happened for a while.
    Tick,
    /// The process is asked to end.
    Stop,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    /// Stops the check under way, if one is, and begins this one.
    Check(Job),
    /// Keeps that a hint was seen.
    KeepHint(String),
    /// Puts the stub of an exercise back.
    Reset(String),
    /// Reads the solution of an exercise, to be shown.
    Solution(String),
    Quit,
}

/// What lies over the verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    None,
    Hint,
    List,
    Help,
    Solution(String),
    /// Whether to reset, yes or no.
    Reset,
}

/// Of the check of the exercise shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    Running(Instant),
    Ended(End, Duration),
}

/// All that is shown.
pub struct Watch {
    pub lessons: Vec<Lesson>,
    pub progress: Progress,
    /// Lesson and exercise shown, as indices.
    pub at: (usize, usize),
    pub check: Check,
    /// While the exercise shown is checked again: how it ended before.
    pub before: Option<End>,
    pub panel: Panel,
    /// Lines that the verdict, or the panel over it, is moved up by; the drawing keeps it in bounds.
    pub scroll: usize,
    /// Where the list's cursor is: an index of all exercises.
    pub cursor: usize,
    /// What is said at the foot until the next key.
    pub note: String,
    jobs: u64,
    due: Option<Instant>,
}

impl Watch {
    /// At the first exercise that is not right: of `lesson`, if one is named, else of all.
    pub fn new(lessons: Vec<Lesson>, progress: Progress, lesson: Option<&str>, now: Instant) -> Self {
        let ids = lessons.iter().enumerate().flat_map(|(l, lesson)| {
            let own = lesson.manifest.exercises.iter().enumerate();
            own.map(move |(e, exercise)| ((l, e), &lesson.manifest.lesson, &exercise.id))
        });
        let wanted: Vec<_> = ids
            .filter(|(_, of, _)| lesson.is_none_or(|l| l == of.as_str()))
            .collect();
        let open = wanted.iter().find(|(_, _, id)| progress.state(id) != "right");
        let at = open.or(wanted.first()).map_or((0, 0), |(at, ..)| *at);
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

    /// All exercises, in order, as indices.
    pub fn all(&self) -> Vec<(usize, usize)> {
        let lessons = self.lessons.iter().enumerate();
        lessons
            .flat_map(|(l, lesson)| (0..lesson.manifest.exercises.len()).map(move |e| (l, e)))
            .collect()
    }

    /// How many hints of the exercise were seen.
    pub fn hints(&self) -> usize {
        self.progress.hints.get(&self.exercise().id).copied().unwrap_or(0)
    }

    pub fn is_right(&self) -> bool {
        self.progress.state(&self.exercise().id) == "right"
    }

    /// The first exercise after this one that is not right; where all those are, the first of all that is not.
    pub fn next_open(&self) -> Option<(usize, usize)> {
        let all = self.all();
        let here = all.iter().position(|at| *at == self.at).unwrap_or(0);
        let open = |at: &&(usize, usize)| {
            let id = &self.lessons[at.0].manifest.exercises[at.1].id;
            **at != self.at && self.progress.state(id) != "right"
        };
        all[here..].iter().chain(&all[..here]).find(open).copied()
    }

    /// When `on` wants to be called again at the latest, if nothing happens.
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
        vec![Do::Check(Job {
            number: self.jobs,
            lesson: self.lesson().manifest.lesson.clone(),
            exercise: self.exercise().id.clone(),
        })]
    }

    pub fn on(&mut self, event: Event, now: Instant) -> Vec<Do> {
        match event {
            Event::Stop => return vec![Do::Quit],
            Event::Saved(lesson) if lesson == self.lesson().manifest.lesson => self.due = Some(now + SETTLE),
            Event::Ended(job, end, took, progress) if job.number == self.jobs => {
                self.progress = *progress;
                self.check = Check::Ended(end, took);
                self.scroll = if self.panel == Panel::None { 0 } else { self.scroll };
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
            KeyCode::Char('n') if self.is_right() => return self.onward(now),
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

    /// Opens the hints; with each further press one more.
    fn hint(&mut self) -> Vec<Do> {
        let (id, of) = (self.exercise().id.clone(), self.exercise().hints.len());
        let seen = self.hints();
        let opens = self.panel != Panel::Hint;
        if opens {
            self.open(Panel::Hint);
        }
        if seen >= of || opens && seen > 0 {
            return Vec::new();
        }
        self.progress.hints.insert(id.clone(), seen + 1);
        // To the end, where the new one stands.
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
            "After a pass. Or give up: cargo course solution {id} --give-up"
        ))
    }

    /// Shows a solution that was read.
    pub fn show_solution(&mut self, text: String) {
        self.open(Panel::Solution(text));
    }

    /// From an exercise that is right to the next that is not.
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
                "This is the last exercise."
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

    /// The lesson's points won, and all.
    pub fn points(&self) -> (u32, u32) {
        lessons::points(&self.lesson().manifest, &self.progress)
    }
}
