//! The HTML pages draw in a real browser, without errors and without network access.
//!
//! Needs Chromium (`apt-get install chromium`); `CANOPY_CHROMIUM` may contain the path of it or of Chrome.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../solutions/tests/made_run/mod.rs"]
mod made_run;

use std::{env, fs, io::ErrorKind, process::Command};

use canopy::report::{ViewCloud, run_page, view_page};
use made_run::{HOSTILE, run, seven, tree};

/// How the browser is started: alone, without network access or animations.
const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --mute-audio --enable-logging=stderr \
    --disable-background-networking --disable-component-update --disable-sync --force-prefers-reduced-motion \
    --virtual-time-budget=4000 --dump-dom";
/// WebGL without a GPU, and no WebGL at all.
const SOFTWARE_GL: &str = "--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader";
const NO_GL: &str = "--disable-3d-apis --disable-software-rasterizer";

/// Tests that `html` draws its first frame, writes nothing to the console and shows no hostile markup.
fn draws(name: &str, html: anyhow::Result<String>, gl: &str, ready: &str) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, html.unwrap()).unwrap();
    let (mut document, mut console) = (String::new(), String::new());
    // A headless browser may return the document before its first frame. A page that never draws never has the mark.
    for _ in 0..3 {
        let chosen = env::var_os("CANOPY_CHROMIUM");
        let mut browser = Command::new(chosen.as_deref().unwrap_or("chromium".as_ref()));
        browser.args(OPTIONS.split(' ').chain(gl.split_whitespace()));
        browser.arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ));
        let output = match browser.arg(format!("file://{}", page.display())).output() {
            Err(error) if error.kind() == ErrorKind::NotFound && chosen.is_none() => {
                return println!("not run, because there is no Chromium (apt-get install chromium)");
            }
            output => output.unwrap_or_else(|error| panic!("{browser:?}: {error}")),
        };
        document = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = String::from_utf8_lossy(&output.stderr);
        // The software GL warns about its speed.
        let is_said = |line: &&str| {
            line.contains("CONSOLE") && !line.contains("GL Driver Message (OpenGL, Performance")
        };
        console = log.lines().filter(is_said).collect();
        if document.contains(&format!("data-ready=\"{ready}\"")) {
            break;
        }
    }
    let head: String = document.chars().take(300).collect();
    let drawn = document.contains(&format!("data-ready=\"{ready}\"")) && !head.contains("data-error");
    assert!(drawn && console.is_empty(), "{name}: {head}\n{console}");
    let hostile = document.contains("<title>owned") || document.contains("<img");
    assert!(!hostile, "{name}: a name became markup");
}

#[test]
fn the_page_of_a_run_draws() {
    let mut sample = run(&seven(), 30, 17, false);
    sample.wrong[3].tree = HOSTILE.into();
    draws("run", run_page(&sample), "", "yes");
    let many: Vec<String> = (0..33).map(|i| format!("Genus number {i}")).collect();
    draws("odd", run_page(&run(&many, 40, 40, true)), "", "yes");
    draws("empty", run_page(&Default::default()), "", "yes");
}

#[test]
fn clouds_turn_in_3d_and_are_drawn_without_webgl() {
    let points: Vec<_> = (0..4).map(|i| tree(i, 20_000)).collect();
    let intensity: Vec<u16> = (0..20_000).map(|i| (i * 7 % 5_000) as u16).collect();
    let clouds = points.iter().zip(seven()).enumerate();
    let clouds = clouds.map(|(i, (points, species))| ViewCloud {
        title: if i == 3 {
            HOSTILE.into()
        } else {
            format!("plot 1, tree {i}")
        },
        species: Some(species),
        points,
        intensity: if i == 0 { &[] } else { &intensity },
    });
    let clouds: Vec<ViewCloud> = clouds.collect();
    draws("many clouds", view_page(&clouds, "species"), SOFTWARE_GL, "yes");
    draws(
        "one cloud",
        view_page(&clouds[1..2], "height"),
        SOFTWARE_GL,
        "yes",
    );
    draws("without WebGL", view_page(&clouds, "height"), NO_GL, "still");
}
