//! The run's page holds whatever a run may leave, and stays one well-formed file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod made_run;

use canopy::report::{ColorBy, Evaluation, RunReport, ViewCloud, run_page, view_page, write};
use made_run::{HOSTILE, run, seven, tree};

/// Holds that every element that is opened is closed, in order, and gives the number of elements.
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

/// Addresses that only name a vocabulary or a source in a comment; the browser asks for none of them.
fn without_names(html: &str) -> String {
    html.replace("http://www.w3.org/2000/svg", "")
}

#[test]
fn a_page_is_well_formed_small_and_says_what_counts() {
    let page = run_page(&run(&seven(), 30, 17, false));
    assert!(balanced(&page) > 300);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    for species in seven() {
        assert!(page.matches(&species).count() >= 4, "{species}");
    }
    for said in [
        "lang=\"en\"",
        "<title>A made-up run",
        "balanced",
        "canopy train --preset quick",
        "kind = &quot;vanilla&quot;",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(
        !page.contains(">NaN") && !page.contains(" NaN"),
        "a value slipped through unsaid"
    );
}

#[test]
fn a_page_asks_the_network_for_nothing() {
    let page = run_page(&run(&seven(), 3, 2, false));
    let view = view_page(&[cloud(&tree(1, 100))], ColorBy::Height).unwrap();
    for html in [page, view] {
        let html = without_names(&html);
        for asked in ["src=\"", "url(", "@import", "href=\"http", "href=\"/"] {
            assert!(!html.contains(asked), "{asked}");
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
fn hostile_names_stay_text_everywhere() {
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
    hostile.evaluation.part = HOSTILE.into();
    hostile.facts = vec![(HOSTILE.into(), HOSTILE.into())];
    hostile.wrong[0].tree = HOSTILE.into();
    let view = view_page(&[cloud(&tree(2, 50))], ColorBy::Species).unwrap();
    for html in [run_page(&hostile), view] {
        assert!(
            !html.contains("<script>document") && !html.contains("<img"),
            "markup came through"
        );
        balanced(&html);
    }
}

#[test]
fn the_sizes_of_a_run_do_not_matter() {
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
fn tables_that_do_not_fit_each_other_do_not_panic() {
    let mut odd = run(&seven(), 3, 3, true);
    odd.evaluation.confusion.pop();
    odd.evaluation.confusion[0].truncate(2);
    odd.evaluation.confusion[1].extend([5; 9]);
    odd.evaluation.classes[2].recall = None;
    odd.evaluation.classes[3].precision = None;
    odd.wrong[0].points = vec![[f32::NAN; 3]; 4];
    odd.wrong[1].points.clear();
    odd.wrong[2].probability = f32::NAN;
    odd.critical.as_mut().unwrap().critical.push(usize::MAX);
    let page = run_page(&odd);
    balanced(&page);
    assert!(page.contains("–: undefined"));
    balanced(&run_page(&RunReport {
        evaluation: Evaluation {
            confusion: vec![vec![1]],
            ..Default::default()
        },
        ..odd
    }));
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
fn writing_replaces_the_page_as_a_whole_or_not_at_all() {
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
        "nothing else is left"
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
