//! What is drawn.

use std::{fs, path::Path};

use super::*;

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

/// Without empty rows one below the other. `CANOPY_RECORD=1 cargo test -p course the_book_shows` writes the file.
#[test]
fn the_book_shows_the_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut played = Played::of(crate::lessons::all(root).unwrap());
    played.ends(&["to do"; 4]);
    let mut screen = played.drawn(80, 24);
    while screen.contains("\n\n\n") {
        screen = screen.replace("\n\n\n", "\n\n");
    }
    let shown = root.join("book/src/recorded/guides/watch.txt");
    if std::env::var_os("CANOPY_RECORD").is_some() {
        fs::write(&shown, &screen).unwrap();
    }
    assert_eq!(screen, fs::read_to_string(&shown).unwrap(), "{}", shown.display());
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
        location: Location::Elsewhere,
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
        location: Location::Function("double".into()),
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
fn the_crate_being_compiled_is_shown() {
    let mut played = Played::new(1, 1);
    played.watch.doing = "candle-core".into();
    assert!(played.drawn(80, 24).contains("compiling candle-core"));
}
