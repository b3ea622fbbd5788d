//! The screen without a terminal: events in, and what is drawn.

use std::time::{Duration, Instant};

use grader::{
    Manifest, Seen,
    grades::{CheckGrade, ExerciseGrade},
    progress::Progress,
};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};

use super::{
    draw::{self, Theme},
    run::{End, Job, Place},
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
        let now = Instant::now();
        let watch = Watch::new(course(lessons, exercises), Progress::default(), None, now);
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
            let told = if *word == "wrong" {
                "\x1b[1m1.1 Title\x1b[0m\n  \x1b[31mfailed: check 1\x1b[0m\n    asked     Doubles a number.\n    given     x = 3\n    expected  6\n    got       9\n    likely    \x1b[33mIt is squared and that is quite another thing than doubling it\x1b[0m\n    hint      cargo course hint 1.1\n    read      c.md#exercise-1-1\n".into()
            } else {
                String::new()
            };
            CheckGrade { name: format!("check_{i}"), word: (*word).into(), told }
        });
        let exercise = ExerciseGrade {
            id: job.exercise.clone(),
            title: "t".into(),
            points: 0,
            of: 2,
            checks: checks.collect(),
            remark: None,
        };
        let seen = Seen {
            seed: 7,
            exercises: vec![exercise],
        };
        let end = End::Seen {
            seen,
            said: String::new(),
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

#[test]
fn several_writes_of_an_editor_start_one_check() {
    let mut played = Played::new(1, 3);
    played.ends(&["to do"]);
    for _ in 0..3 {
        assert_eq!(played.on(Event::Saved("01".into())), []);
        assert_eq!(played.after(SETTLE / 2), []);
    }
    assert!(played.watch.wait(played.now) <= SETTLE);
    assert!(matches!(
        played.after(SETTLE)[..],
        [Do::Check(Job { number: 2, .. })]
    ));
    assert_eq!(played.after(SETTLE * 9), []);
    played.on(Event::Saved("02".into()));
    assert_eq!(played.after(SETTLE * 2), [], "that is another lesson");
}

#[test]
fn the_end_of_an_outdated_check_is_ignored() {
    let mut played = Played::new(1, 3);
    let old = played.job.clone().unwrap();
    played.on(Event::Saved("01".into()));
    played.after(SETTLE);
    let late = Event::Ended(old, End::Failed("old".into()), SETTLE, Box::default());
    played.on(late);
    assert!(matches!(played.watch.check, Check::Running(_)));
    played.ends(&["wrong"]);
    played.press('c');
    let drawn = played.drawn(80, 24);
    assert!(
        drawn.contains("checking") && drawn.contains("got       9"),
        "the last verdict stays meanwhile\n{drawn}"
    );
    played.ends(&["right", "right"]);
    assert!(matches!(played.watch.check, Check::Ended(End::Seen { .. }, _)));
}

#[test]
fn enter_leads_to_the_next_exercise_that_is_not_right() {
    let mut played = Played::new(2, 2);
    played.key(KeyCode::Enter);
    assert_eq!(played.watch.at, (0, 0), "not before it is right");
    played.ends(&["right"]);
    assert!(played.drawn(80, 24).contains("Enter  go on to 1.2"));
    assert!(matches!(&played.key(KeyCode::Enter)[..], [Do::Check(job)] if job.exercise == "1.2"));
    played.press('n');
    assert_eq!(played.watch.at, (1, 0), "n goes past one that is not right");
    played.ends(&["right"]);
    played.press('n');
    assert_eq!(played.watch.at, (1, 1));
    played.ends(&["right"]);
    assert!(played.drawn(80, 24).contains("Lesson 02 is done"));
    assert_eq!(played.press('n'), [], "it is the last one");
    assert!(played.drawn(80, 24).contains("p goes back"));
    played.key(KeyCode::Enter);
    assert_eq!(played.watch.at, (0, 1), "the one that was left out");
    played.ends(&["right"]);
    assert!(played.drawn(80, 24).contains("all exercises are right"));
    assert_eq!(played.key(KeyCode::Enter), []);
    played.press('p');
    assert_eq!(played.watch.at, (0, 0));
    played.press('p');
    assert!(played.drawn(80, 24).contains("first exercise"));
}

#[test]
fn hints_are_shown_one_by_one_and_recorded() {
    let mut played = Played::new(1, 2);
    assert_eq!(played.press('h'), [Do::KeepHint("1.1".into())]);
    let drawn = played.drawn(80, 24);
    assert!(
        drawn.contains("First hint?") && !drawn.contains("Second hint"),
        "{drawn}"
    );
    played.key(KeyCode::Esc);
    assert_eq!(played.press('h'), [], "what was seen is shown again at no cost");
    assert_eq!(played.press('h'), [Do::KeepHint("1.1".into())]);
    played.press('h');
    assert_eq!(played.press('h'), [], "there are three");
    assert_eq!(played.watch.hints(), 3);
    assert!(
        played.drawn(40, 12).contains("This was the last hint"),
        "{}",
        played.drawn(40, 12)
    );
}

#[test]
fn a_reset_asks_first() {
    let mut played = Played::new(1, 2);
    played.press('r');
    assert!(played.drawn(80, 24).contains("A copy of yours is kept"));
    assert!(played.drawn(40, 12).contains("Restore the empty"));
    assert_eq!(played.press('n'), []);
    assert_eq!(played.watch.panel, Panel::None);
    played.press('r');
    assert_eq!(played.press('y'), [Do::Reset("1.1".into())]);
}

#[test]
fn the_solution_is_shown_after_a_pass_only() {
    let mut played = Played::new(1, 2);
    played.ends(&["right", "wrong"]);
    assert_eq!(played.press('o'), []);
    assert!(played.drawn(80, 24).contains("--give-up"));
    played.press('c');
    played.ends(&["right", "right"]);
    assert_eq!(played.press('o'), [Do::Solution("1.1".into())]);
    played.watch.show_solution("fn double()".into());
    assert!(played.drawn(80, 24).contains("canopy's own"));
    played.press('o');
    assert_eq!(played.watch.panel, Panel::None);
    played.watch.progress.given_up.insert("1.2".into());
    played.press('n');
    assert_eq!(played.press('o'), [Do::Solution("1.2".into())]);
}

#[test]
fn the_list_chooses_by_arrows_and_scrolls() {
    let mut played = Played::new(13, 6);
    played.press('l');
    for _ in 0..500 {
        played.key(KeyCode::Down);
    }
    assert!(played.drawn(80, 24).contains("13.6"));
    assert!(played.drawn(40, 12).contains("13.6"));
    played.key(KeyCode::Up);
    assert!(matches!(&played.key(KeyCode::Enter)[..], [Do::Check(job)] if job.exercise == "13.5"));
    assert_eq!(played.watch.panel, Panel::None);
}

#[test]
fn control_c_and_q_and_a_signal_quit() {
    let mut played = Played::new(1, 1);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(played.on(Event::Key(control_c)), [Do::Quit]);
    assert_eq!(played.press('q'), [Do::Quit]);
    assert_eq!(played.on(Event::Stop), [Do::Quit]);
}

#[test]
fn a_wrong_answer_is_shown_in_wide_and_small_windows() {
    let mut played = Played::new(1, 6);
    played.ends(&["right", "wrong", "to do"]);
    let wide = played.drawn(80, 24);
    for part in [
        "0 of 12 points",
        "WRONG   1.2 s",
        "✓ check 0",
        "✗ check 1",
        "expected  6",
        "got       9",
        "likely",
        "seed 7",
        "q quit",
    ] {
        assert!(wide.contains(part), "{part}\n{wide}");
    }
    assert!(
        !wide.contains("cargo course hint"),
        "a key does that here\n{wide}"
    );
    let small = played.drawn(40, 12);
    for part in ["0/12", "WRONG", "✓ ✗ ·", "expected  6", "h hint"] {
        assert!(small.contains(part), "{part}\n{small}");
    }
    played.key(KeyCode::End);
    let end = played.drawn(40, 12);
    assert!(end.contains("seed 7") && !end.contains("more"), "{end}");
}

#[test]
fn any_size_is_drawn() {
    let mut played = Played::new(13, 9);
    played.ends(&["right", "wrong"]);
    for panel in ['h', 'l', '?', 'r', ' '] {
        played.press(panel);
        for (width, height) in [
            (1, 1),
            (20, 6),
            (21, 7),
            (40, 12),
            (79, 15),
            (80, 24),
            (119, 30),
            (200, 60),
        ] {
            played.drawn(width, height);
        }
        played.key(KeyCode::Esc);
    }
}

#[test]
fn compile_errors_are_shown_with_their_position() {
    let mut played = Played::new(1, 2);
    let end = End::Broken {
        first:
            "\x1b[1m\x1b[38;5;9merror[E0308]\x1b[0m: mismatched types\n --> exercises/lesson01/src/lib.rs:3:5"
                .into(),
        others: vec!["line 9: unknown name `y`".into()],
        place: Place::Elsewhere,
    };
    let job = played.job.clone().unwrap();
    played.on(Event::Ended(job, end, SETTLE, Box::default()));
    let drawn = played.drawn(80, 24);
    for part in [
        "DOES NOT COMPILE",
        "error[E0308]: mismatched",
        "lib.rs:3:5",
        "and 1 more",
        "line 9",
        "r restores it",
    ] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
}

#[test]
fn an_error_in_another_exercise_is_not_called_an_error_of_this_one() {
    let mut played = Played::new(1, 2);
    played.watch.at = (0, 1);
    let end = End::Broken {
        first: "error: x".into(),
        others: Vec::new(),
        place: Place::Function("double".into()),
    };
    let job = played.job.clone().unwrap();
    played.on(Event::Ended(job, end, SETTLE, Box::default()));
    let drawn = played.drawn(80, 24);
    assert!(
        drawn.contains("NOT CHECKED") && drawn.contains("1.1 Exercise with a title does not compile"),
        "{drawn}"
    );
}

#[test]
fn after_a_change_the_other_exercises_of_the_lesson_are_checked_too() {
    let mut played = Played::new(1, 3);
    played.ends(&["right"]);
    played.press('n');
    played.ends(&["right"]);
    played.on(Event::Saved("01".into()));
    played.after(SETTLE);
    assert!(
        played.drawn(80, 24).contains("1.1 ?"),
        "not checked since the change"
    );
    assert!(!played.job.clone().unwrap().whole, "the one at work comes first");
    played.ends(&["wrong"]);
    assert!(played.job.clone().unwrap().whole);
    played.ends(&["right"]);
    let drawn = played.drawn(80, 24);
    assert!(drawn.contains("1.1 ✓") && drawn.contains("WRONG"), "{drawn}");
}

#[test]
fn it_begins_where_it_is_told() {
    let at = |what| Watch::new(course(3, 2), Progress::default(), what, Instant::now()).at;
    assert_eq!(
        [at(None), at(Some("02")), at(Some("3.2"))],
        [(0, 0), (1, 0), (2, 1)]
    );
}

#[test]
fn what_is_compiled_is_shown_while_it_takes_its_time() {
    let mut played = Played::new(1, 1);
    played.watch.doing = "candle-core".into();
    assert!(played.drawn(80, 24).contains("compiling candle-core"));
}
