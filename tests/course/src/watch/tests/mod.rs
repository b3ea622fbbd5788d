//! The screen without a terminal: events in, and what is drawn.

mod screen;
mod state;

use std::time::{Duration, Instant};

use grader::{
    Manifest, RunResults,
    grades::{CheckGrade, ExerciseGrade},
    progress::Progress,
};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};

use super::{
    build::Location,
    draw::{self, Theme},
    run::{End, Job},
    state::{Check, Do, Event, Panel, SETTLE, Watch},
};
use crate::lessons::Lesson;

const STUBS: &str = "/// Doubles a number.\n///\n/// It may be below zero.\npub fn double(x: f64) -> f64 {\n    todo!(\"1.1: x\")\n}\n";

fn course(lessons: usize, exercises: usize) -> Vec<Lesson> {
    let lesson = |n: usize| {
        let mut text = format!(
            "lesson = \"{n:02}\"\ntitle = \"Lesson of many words {n}\"\nminutes = 60\nchapter = \"c.md\"\n"
        );
        for e in 1..=exercises {
            text += &format!(
                "[[exercise]]\nid = \"{n}.{e}\"\ntitle = \"Exercise with a title\"\npoints = 2\nfunction = \"double\"\nsolution = \"s.rs\"\nanswer = \"double\"\nhints = [\"First hint?\", \"Second hint.\", \"Third hint.\"]\n"
            );
        }
        Lesson {
            manifest: Manifest::parse(&text).unwrap(),
            stubs: STUBS.into(),
        }
    };
    (1..=lessons).map(lesson).collect()
}

struct Played {
    watch: Watch,
    now: Instant,
    job: Option<Job>,
}

impl Played {
    fn new(lessons: usize, exercises: usize) -> Self {
        Self::of(course(lessons, exercises))
    }

    fn of(lessons: Vec<Lesson>) -> Self {
        let now = Instant::now();
        let watch = Watch::new(lessons, Progress::default(), None, now);
        let mut played = Self {
            watch,
            now,
            job: None,
        };
        let first = played.watch.begin(now);
        played.note(&first);
        played
    }

    fn note(&mut self, todo: &[Do]) {
        for one in todo {
            if let Do::Check(job) = one {
                self.job = Some(job.clone());
            }
        }
    }

    fn on(&mut self, event: Event) -> Vec<Do> {
        let todo = self.watch.on(event, self.now);
        self.note(&todo);
        todo
    }

    fn key(&mut self, code: KeyCode) -> Vec<Do> {
        self.on(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn press(&mut self, letter: char) -> Vec<Do> {
        self.key(KeyCode::Char(letter))
    }

    fn after(&mut self, time: Duration) -> Vec<Do> {
        self.now += time;
        self.on(Event::Tick)
    }

    /// Ends the running check with these states of its checks.
    fn ends(&mut self, words: &[&str]) {
        let job = self.job.clone().unwrap();
        let mut progress = self.watch.progress.clone();
        let of = progress.checks.entry(job.exercise.clone()).or_default();
        let checks = words.iter().enumerate().map(|(i, word)| {
            of.insert(format!("check_{i}"), (*word).into());
            let report = if *word == "wrong" {
                "\x1b[1m1.1 Title\x1b[0m\n  \x1b[31mfailed: check 1\x1b[0m\n    asked     Doubles a number.\n    given     x = 3\n    expected  6\n    got       9\n    likely    \x1b[33mIt is squared and that is quite another thing than doubling it\x1b[0m\n    hint      cargo course hint 1.1\n    read      c.md#exercise-1-1\n".into()
            } else {
                String::new()
            };
            CheckGrade { name: format!("check_{i}"), word: (*word).into(), report }
        });
        let exercise = ExerciseGrade {
            id: job.exercise.clone(),
            title: "t".into(),
            points: 0,
            of: 2,
            checks: checks.collect(),
            remark: None,
        };
        let results = RunResults {
            seed: 7,
            exercises: vec![exercise],
        };
        let end = End::Checked {
            results,
            printed: String::new(),
        };
        self.on(Event::Ended(
            job,
            end,
            Duration::from_millis(1234),
            Box::new(progress),
        ));
    }

    fn drawn(&mut self, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let (watch, now) = (&mut self.watch, self.now);
        terminal
            .draw(|f| draw::draw(f, watch, Theme { colour: true }, now))
            .unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>());
        rows.map(|r| r.trim_end().to_owned() + "\n").collect()
    }
}
