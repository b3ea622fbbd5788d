//! The page of a run is well-formed and honest, whatever the run's results are.

use crate::{
    assert_golden,
    made_run::{HOSTILE, run, seven, tree},
};
use canopy::{
    report::{ViewCloud, run_page, view_page},
    target::Summary,
    train::{
        Evaluation, RunReport, Target, metrics,
        numbers::{NumberReport, NumberRow, NumberScores},
    },
};

/// The markup outside of scripts, styles and comments: each tag without its brackets, and the text before it.
fn tags(html: &str) -> Vec<(&str, &str)> {
    let (mut tags, mut rest) = (Vec::new(), html);
    while let Some((text, after)) = rest.split_once('<') {
        let comment = after.starts_with("!--");
        let (tag, mut after) = after
            .split_once(if comment { "-->" } else { ">" })
            .expect("a tag ends");
        for raw in ["script", "style"] {
            if tag.starts_with(raw) {
                after = &after[after.find(&format!("</{raw}>")).expect("it ends")..];
            }
        }
        if !comment {
            tags.push((text, tag));
        }
        rest = after;
    }
    tags
}

/// Checks that all elements are closed, in order, that no name became markup, that the page is small, and that a browser that
/// shows it makes no request.
fn check(html: &str) {
    let mut open = Vec::new();
    for (_, tag) in tags(html) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(
            name == "!doctype" || name.chars().all(|c| c.is_ascii_alphanumeric()),
            "a bare <: {tag:.60}"
        );
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element");
        } else if !tag.ends_with('/') && !["!doctype", "meta", "link", "input"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    assert!(
        !html.contains("<script>document") && !html.contains("<img"),
        "a name became markup"
    );
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    // Browsers do not request the namespace of SVG.
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for request in ["src=\"", "url(", "@import", "href=\"http", "href=\"/"] {
        assert!(!html.contains(request), "{request}");
    }
    assert!(html.contains("default-src 'none'") && html.contains("script-src 'sha256-"));
}

/// What a reader sees without styles and plots: a line for each element with text, cells side by side.
fn text(html: &str) -> String {
    let (mut lines, mut drawing) = (vec![String::new()], false);
    for (text, tag) in tags(html) {
        let name = tag.split(' ').next().unwrap();
        let line = lines.last_mut().unwrap();
        if !drawing {
            line.push_str(text.trim_matches('\n'));
        }
        drawing = name == "svg" || (drawing && name != "/svg");
        match name {
            "/td" | "/th" | "/dt" if !line.is_empty() => line.push_str(" | "),
            "/b" | "b" | "/span" | "span" | "small" | "/small" | "code" | "/code" => {}
            _ if !line.ends_with(" | ") || name == "/tr" || name == "/div" => lines.push(String::new()),
            _ => {}
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
        .iter()
        .map(|line| line.trim_end_matches(" | ").to_owned() + "\n")
        .collect()
}

/// A run whose few trees of three species got these labels.
fn few() -> RunReport {
    let names = &seven()[..3];
    // One of the three species has one tree, which is classified correctly.
    let scores = metrics::scores(&[0, 1, 1, 1, 1, 2, 2, 2, 2], &[0, 1, 1, 0, 2, 2, 2, 1, 0], 3);
    RunReport {
        evaluation: Some(Evaluation::new("validation", scores, 0.0, names)),
        ..run(names, 1, 0, false)
    }
}

/// A run without validation and test set.
fn unscored() -> RunReport {
    let mut all = run(&seven(), 4, 0, false);
    for r in &mut all.epochs {
        (r.val_loss, r.val_accuracy, r.val_balanced) = (None, None, None);
    }
    all.evaluation = None;
    all
}

/// A run that predicts heights.
fn heights() -> RunReport {
    let row = |truth: f64| NumberRow {
        truth,
        forecast: Summary {
            mean: truth,
            median: truth + 1.0,
            lower: truth - 2.0,
            upper: truth + 3.0,
        },
    };
    let scores = NumberScores {
        part: "test".into(),
        target: Target::Height,
        unit: "m".into(),
        clouds: 3,
        mae: 1.25,
        crps: 0.875,
        guess_crps: Some(3.5),
        calibration: vec![(0.5, 0.25), (0.9, 1.0)],
        ..NumberScores::default()
    };
    let rows = [12.0, 20.0, 31.0].map(row).into();
    RunReport {
        target: Target::Height,
        number: Some(NumberReport { scores, rows }),
        ..run(&[], 2, 0, false)
    }
}

#[test]
fn pages_say_what_a_run_resulted_in() {
    let mut all = String::new();
    let usual = run(&seven(), 2, 2, false);
    for (title, run) in [
        ("SPECIES", usual),
        ("FEW TREES, NO TEST SET", few()),
        ("NOTHING HELD OUT", unscored()),
        ("HEIGHTS", heights()),
        ("NOTHING YET", RunReport::default()),
    ] {
        let page = run_page(&run).unwrap();
        check(&page);
        all += &format!("== {title}\n{}\n", text(&page));
    }
    assert_golden("pages.golden.txt", &all);
}

fn cloud(points: &[[f32; 3]]) -> ViewCloud<'_> {
    ViewCloud {
        title: HOSTILE.into(),
        species: Some(HOSTILE.into()),
        points,
        intensity: &[],
    }
}

#[test]
fn names_are_escaped_everywhere() {
    let names: Vec<String> = (0..3).map(|i| format!("{HOSTILE}{i}")).collect();
    let mut hostile = run(&names, 4, 5, false);
    hostile.evaluation.as_mut().unwrap().part = HOSTILE.into();
    hostile.wrong[0].tree = HOSTILE.into();
    let hostile = RunReport {
        title: HOSTILE.into(),
        command: HOSTILE.into(),
        version: HOSTILE.into(),
        started: HOSTILE.into(),
        config: HOSTILE.into(),
        facts: vec![(HOSTILE.into(), HOSTILE.into())],
        ..hostile
    };
    check(&run_page(&hostile).unwrap());
    check(&view_page(&[cloud(&tree(1, 100))], "height").unwrap());
}

#[test]
fn runs_of_any_size_and_with_any_values_are_drawn() {
    let many: Vec<String> = (0..33).map(|i| format!("Genus number {i}")).collect();
    for (names, epochs, wrong) in [
        (&seven()[..], 0, 0),
        (&seven()[..1], 1, 1),
        (&many[..], 600, 24),
        (&[][..], 2, 0),
    ] {
        let page = run_page(&run(names, epochs, wrong, true)).unwrap();
        check(&page);
        assert!(names.iter().all(|n| page.contains(n.as_str())));
        assert!(epochs < 600 || page.contains("The first 100 are in metrics.jsonl"));
    }
    let mut odd = run(&seven(), 3, 3, true);
    let evaluation = odd.evaluation.as_mut().unwrap();
    evaluation.confusion.pop();
    evaluation.confusion[0].truncate(2);
    evaluation.confusion[1].extend([5; 9]);
    evaluation.classes[2].recall = None;
    evaluation.classes[3].precision = None;
    odd.wrong[0].points = vec![[f32::NAN; 3]; 4];
    odd.wrong[1].points.clear();
    odd.wrong[2].probability = f32::NAN;
    let page = run_page(&odd).unwrap();
    check(&page);
    assert!(page.contains("–: undefined"));
    odd.evaluation.as_mut().unwrap().classes.clear();
    check(&run_page(&odd).unwrap());
    let mut number = heights();
    let scored = number.number.as_mut().unwrap();
    scored.scores.mae = f64::NAN;
    scored.scores.nll = f64::INFINITY;
    scored.scores.calibration.clear();
    scored.rows[0].forecast.upper = f64::NAN;
    let page = run_page(&number).unwrap();
    check(&page);
    assert!(page.contains("not finite") && !page.contains("NaN"));
    number.number.as_mut().unwrap().rows.clear();
    check(&run_page(&number).unwrap());
}

#[test]
fn the_epoch_that_is_marked_is_the_one_that_was_kept() {
    // Of the tied epochs 2 and 6 the run kept the later one.
    let mut tied = run(&seven(), 8, 0, false);
    for row in &mut tied.epochs {
        row.val_balanced = Some(if row.epoch % 4 == 2 { 0.8 } else { 0.5 });
    }
    tied.best_epoch = Some(6);
    let page = run_page(&tied).unwrap();
    assert!(page.contains("80.0\u{a0}% at epoch 6") && !page.contains("at epoch 2<"));
}
