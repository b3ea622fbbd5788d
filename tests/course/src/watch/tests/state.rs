//! Keys, checks and changes.

use super::*;

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
        "the last verdict is still shown\n{drawn}"
    );
    played.ends(&["right", "right"]);
    assert!(matches!(played.watch.check, Check::Ended(End::Checked { .. }, _)));
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
fn control_c_and_q_and_a_signal_quit() {
    let mut played = Played::new(1, 1);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(played.on(Event::Key(control_c)), [Do::Quit]);
    assert_eq!(played.press('q'), [Do::Quit]);
    assert_eq!(played.on(Event::Stop), [Do::Quit]);
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
    assert!(
        !played.job.clone().unwrap().whole,
        "the current exercise comes first"
    );
    played.ends(&["wrong"]);
    assert!(played.job.clone().unwrap().whole);
    played.ends(&["right"]);
    let drawn = played.drawn(80, 24);
    assert!(drawn.contains("1.1 ✓") && drawn.contains("WRONG"), "{drawn}");
}

#[test]
fn it_begins_at_the_given_lesson_or_exercise() {
    let at = |what| Watch::new(course(3, 2), Progress::default(), what, Instant::now()).at;
    assert_eq!(
        [at(None), at(Some("02")), at(Some("3.2"))],
        [(0, 0), (1, 0), (2, 1)]
    );
}
