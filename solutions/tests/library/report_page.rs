//! The page of a run is well-formed and honest, whatever the run's results are.

use crate::made_run::{HOSTILE, run, seven, tree};
use canopy::{
    report::{ColorBy, ViewCloud, run_page, view_page, write},
    train::{
        ClassRow, Evaluation, RunReport, Target, metrics,
        numbers::{NumberReport, NumberRow, NumberScores},
    },
};

/// Checks that all elements are closed, in order, and returns their number.
fn balanced(html: &str) -> usize {
    const VOID: [&str; 5] = ["meta", "link", "input", "br", "img"];
    let (mut open, mut count, mut rest) = (Vec::new(), 0, html);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with("!--") {
            rest = &rest[rest.find("-->").expect("a comment ends")..];
            continue;
        }
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        if tag.starts_with('!') || VOID.contains(&name.as_str()) {
            continue;
        }
        assert!(
            !name.is_empty(),
            "a bare < before {:?}",
            &tag[..tag.len().min(60)]
        );
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name.clone()), "</{name}> closes another element");
        } else if !tag.ends_with('/') {
            count += 1;
            if name == "script" || name == "style" {
                // Their text is no markup.
                rest = &rest[rest.find(&format!("</{name}")).expect("it ends")..];
            }
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    count
}

/// Removes the namespace of SVG, which browsers do not request.
fn without_namespaces(html: &str) -> String {
    html.replace("http://www.w3.org/2000/svg", "")
}

#[test]
fn a_page_is_well_formed_and_small_and_states_the_result() {
    let page = run_page(&run(&seven(), 30, 17, false));
    assert!(balanced(&page) > 300);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    for species in seven() {
        assert!(page.matches(&species).count() >= 4, "{species}");
    }
    for said in [
        "lang=\"en\"",
        "<title>A synthetic run",
        "balanced",
        "canopy train --preset quick",
        "kind = &quot;vanilla&quot;",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains(">NaN") && !page.contains(" NaN"), "NaN is shown");
}

#[test]
fn a_page_makes_no_requests() {
    let page = run_page(&run(&seven(), 3, 2, false));
    let view = view_page(&[cloud(&tree(1, 100))], ColorBy::Height).unwrap();
    for html in [page, view] {
        let html = without_namespaces(&html);
        for request in ["src=\"", "url(", "@import", "href=\"http", "href=\"/"] {
            assert!(!html.contains(request), "{request}");
        }
        assert!(html.contains("default-src 'none'") && html.contains("script-src 'sha256-"));
    }
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
fn hostile_names_are_escaped_everywhere() {
    let names: Vec<String> = (0..3).map(|i| format!("{HOSTILE}{i}")).collect();
    let mut hostile = run(&names, 4, 5, false);
    for field in [
        &mut hostile.title,
        &mut hostile.command,
        &mut hostile.version,
        &mut hostile.started,
        &mut hostile.config,
    ] {
        *field = HOSTILE.into();
    }
    hostile.evaluation.as_mut().unwrap().part = HOSTILE.into();
    hostile.facts = vec![(HOSTILE.into(), HOSTILE.into())];
    hostile.wrong[0].tree = HOSTILE.into();
    let view = view_page(&[cloud(&tree(2, 50))], ColorBy::Species).unwrap();
    for html in [run_page(&hostile), view] {
        assert!(
            !html.contains("<script>document") && !html.contains("<img"),
            "a name became markup"
        );
        balanced(&html);
    }
}

#[test]
fn runs_of_any_size_are_drawn() {
    let many: Vec<String> = (0..33).map(|i| format!("Genus number {i}")).collect();
    for (names, epochs, wrong) in [
        (&seven()[..], 0, 0),
        (&seven()[..1], 1, 1),
        (&many[..], 250, 400),
        (&[][..], 2, 0),
    ] {
        let page = run_page(&run(names, epochs, wrong, true));
        balanced(&page);
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        assert!(names.iter().all(|n| page.contains(n.as_str())));
        assert!(wrong < 400 || page.contains("376 more are not shown"));
    }
    balanced(&run_page(&RunReport::default()));
}

#[test]
fn inconsistent_tables_do_not_panic() {
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
    odd.critical.as_mut().unwrap().critical.push(usize::MAX);
    let page = run_page(&odd);
    balanced(&page);
    assert!(page.contains("–: undefined"));
    balanced(&run_page(&RunReport {
        evaluation: Some(Evaluation {
            confusion: vec![vec![1]],
            ..Default::default()
        }),
        ..odd
    }));
}

/// A run over `truth` and `predicted` labels of three species.
fn scored(truth: &[u32], predicted: &[u32]) -> RunReport {
    let mut scored = run(&seven()[..3], 8, 0, false);
    let names = &seven()[..3];
    let scores = metrics::scores(truth, predicted, 3);
    scored.evaluation = Some(Evaluation {
        part: "test".into(),
        accuracy: scores.accuracy,
        balanced_accuracy: scores.balanced_accuracy,
        classes: metrics::class_rows(&scores.confusion, names),
        confusion: scores.confusion,
        ..Evaluation::default()
    });
    scored
}

#[test]
fn the_page_of_a_number_shows_its_scores_and_survives_odd_values() {
    let row = |truth: f64| NumberRow {
        tree: HOSTILE.into(),
        truth,
        median: truth + 1.0,
        lower: truth - 2.0,
        upper: truth + 3.0,
        ..NumberRow::default()
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
    let mut page = RunReport {
        target: Target::Height,
        evaluation: None,
        number: Some(NumberReport {
            scores,
            rows: [12.0, 20.0, 31.0].map(row).into(),
        }),
        ..run(&seven(), 8, 0, false)
    };
    let text = run_page(&page);
    balanced(&text);
    for part in [
        "1.250\u{a0}m",
        "0.875\u{a0}m",
        "3.500\u{a0}m",
        "the height, on plots that the model never saw",
    ] {
        assert!(text.contains(part), "no {part}");
    }
    assert!(!text.contains("balanced accuracy") && !text.contains("There is no test set"));
    let number = page.number.as_mut().unwrap();
    number.scores.mae = f64::NAN;
    number.scores.nll = f64::INFINITY;
    number.scores.calibration.clear();
    number.rows[0].upper = f64::NAN;
    let text = run_page(&page);
    balanced(&text);
    assert!(text.contains("not finite") && !text.contains("NaN"));
    page.number.as_mut().unwrap().rows.clear();
    balanced(&run_page(&page));
}

#[test]
fn few_trees_are_shown_as_a_count_with_a_wide_interval() {
    // One of the three species has one tree, which is classified correctly.
    let page = run_page(&scored(
        &[0, 1, 1, 1, 1, 2, 2, 2, 2],
        &[0, 1, 1, 0, 2, 2, 2, 1, 0],
    ));
    assert!(
        page.contains("<p class=\"big\">5 of 9</p>"),
        "the count is the headline"
    );
    assert!(!page.contains("Standard error"));
    let e = scored(&[0, 1, 1, 1, 1, 2, 2, 2, 2], &[0, 1, 1, 0, 2, 2, 2, 1, 0])
        .evaluation
        .unwrap();
    let (low, high) = metrics::balanced_interval(&e.classes).unwrap();
    assert!(low < 0.4 && high > 0.8, "{low} to {high}");
    let said = format!("interval {:.0} to {:.0}\u{a0}%", 100.0 * low, 100.0 * high);
    assert!(page.contains(&said), "{said}");
    // The interval of the species of one tree.
    assert!(page.contains("<td>21 to 100\u{a0}%</td>"));
}

#[test]
fn a_run_without_a_test_set_says_so() {
    let mut all = run(&seven(), 4, 0, false);
    all.evaluation = None;
    all.epochs
        .iter_mut()
        .for_each(|r| (r.val_loss, r.val_accuracy, r.val_balanced) = (None, None, None));
    let page = run_page(&all);
    balanced(&page);
    assert!(page.contains("There is no test set, so this run has no scores."));
    assert!(page.contains("<dt>Best epoch</dt><dd>4, the last one</dd>"));
    assert!(!page.contains("class=\"big\"") && !page.contains("Confusion matrix"));
    let validated = Evaluation {
        part: "validation".into(),
        classes: vec![ClassRow {
            support: 40,
            recall: Some(0.9),
            ..ClassRow::default()
        }],
        ..Evaluation::default()
    };
    all.evaluation = Some(validated);
    assert!(run_page(&all).contains("There is no test set: these plots also chose the epoch"));
}

#[test]
fn the_epoch_that_is_marked_is_the_one_that_was_kept() {
    // Of the tied epochs 2 and 6 the run kept the later one.
    let mut tied = run(&seven(), 8, 0, false);
    for row in &mut tied.epochs {
        row.val_balanced = Some(if row.epoch % 4 == 2 { 0.8 } else { 0.5 });
    }
    tied.best_epoch = Some(6);
    let page = run_page(&tied);
    assert!(page.contains("80.0\u{a0}% at epoch 6") && !page.contains("at epoch 2<"));
    assert!(page.contains("<dt>Best epoch</dt><dd>6</dd>"));
}

#[test]
fn a_large_critical_cloud_is_thinned_but_keeps_its_critical_points() {
    let mut large = run(&seven(), 1, 0, false);
    let critical = large.critical.as_mut().unwrap();
    critical.points = tree(4, 50_000);
    critical.critical = (0..300).map(|i| 150 * i + 7).collect();
    let page = run_page(&large);
    assert!(page.contains("<b class=\"ink\">300 critical points</b> of 50,000"));
    let flags = page
        .split("data-flags=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert_eq!(flags.matches('1').count(), 300);
    assert!(flags.len() <= 4096);
}

#[test]
fn a_page_is_replaced_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path(), &run(&seven(), 1, 0, false)).unwrap();
    let second = write(dir.path(), &run(&seven(), 2, 1, false)).unwrap();
    assert_eq!(first, second);
    assert_eq!(
        std::fs::read_to_string(&second).unwrap(),
        run_page(&run(&seven(), 2, 1, false))
    );
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "a temporary file is left"
    );
    let error = write(&dir.path().join("absent"), &RunReport::default()).unwrap_err();
    assert!(format!("{error:#}").contains("report.html"), "{error:#}");
}

#[test]
fn a_million_points_fit_a_page() {
    let points = tree(8, 1_000_000);
    let intensity: Vec<u16> = (0..points.len()).map(|i| (i % 997) as u16).collect();
    let clouds = [ViewCloud {
        title: "large".into(),
        species: None,
        points: &points,
        intensity: &intensity,
    }];
    let page = view_page(&clouds, ColorBy::Intensity).unwrap();
    assert!(page.len() < 12_000_000, "{} bytes", page.len());
    assert!(page.contains("\"shown\":1000000"));
}
