//! The HTML pages draw in a real browser, without errors and without network access.
//!
//! Needs Chromium or Chrome (`apt-get install chromium`); `CANOPY_CHROMIUM` may contain its path. With
//! `CANOPY_PAGES` set to a folder, the pages and screenshots of them are written there.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../solutions/tests/made_run/mod.rs"]
mod made_run;

use std::path::{Path, PathBuf};
use std::process::Command;

use canopy::report::{ViewCloud, run_page, view_page};
use made_run::{HOSTILE, run, seven, tree};

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CANOPY_CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    names
        .iter()
        .flat_map(|n| folders.iter().map(move |f| f.join(n)))
        .find(|p| p.is_file())
}

/// Opens `page` and returns the document after its scripts ran, and the output of the console.
fn open(browser: &Path, page: &Path, extra: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir().expect("a folder for the browser");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--mute-audio",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--force-prefers-reduced-motion",
            "--virtual-time-budget=4000",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(extra)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let log = String::from_utf8_lossy(&output.stderr);
    // The software GL warns about its speed when the browser takes a screenshot.
    let said = log
        .lines()
        .filter(|l| l.contains("CONSOLE") && !l.contains("GL Driver Message (OpenGL, Performance"));
    let console = said.collect::<Vec<_>>().join("\n");
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// Tests that `html` draws its first frame, writes nothing to the console and shows no hostile markup.
fn draws(name: &str, html: &str, gl: &[&str], ready: &str) {
    let Some(browser) = browser() else {
        println!("not run, because no Chromium or Chrome is on the PATH (apt-get install chromium)");
        return;
    };
    let kept = std::env::var_os("CANOPY_PAGES").map(PathBuf::from);
    let temporary = tempfile::tempdir().expect("a folder");
    let dir = kept.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(dir).expect("the folder for pages");
    let page = dir.join(format!("{name}.html"));
    std::fs::write(&page, html).expect("the page is written");
    let mark = format!("data-ready=\"{ready}\"");
    // A headless browser may return the document before its first frame. A page that never draws never has the mark.
    let (mut dom, mut console) = open(&browser, &page, &[gl, &["--dump-dom"]].concat());
    for _ in 0..2 {
        if !dom.contains(&mark) {
            (dom, console) = open(&browser, &page, &[gl, &["--dump-dom"]].concat());
        }
    }
    let head: String = dom.chars().take(300).collect();
    assert!(dom.contains(&mark), "{name} drew nothing: {head}\n{console}");
    assert!(
        !head.contains("data-error") && console.is_empty(),
        "{name}: {head}\n{console}"
    );
    assert!(
        !dom.contains("<title>owned") && !dom.contains("<img"),
        "{name}: a name became markup"
    );
    if kept.is_some() {
        let height = if name.starts_with("view") { 800 } else { 4200 };
        for (theme, scheme) in [("light", 1), ("dark", 0)] {
            let picture = format!(
                "--screenshot={}",
                dir.join(format!("{name}-{theme}.png")).display()
            );
            let size = format!("--window-size=1280,{height}");
            let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
            open(&browser, &page, &[gl, &[&picture, &size, &scheme]].concat());
        }
    }
}

/// WebGL without a GPU.
const SOFTWARE_GL: [&str; 3] = [
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
];
const NO_GL: [&str; 2] = ["--disable-3d-apis", "--disable-software-rasterizer"];

#[test]
fn the_page_of_a_run_draws() {
    let mut sample = run(&seven(), 30, 17, false);
    sample.wrong[3].tree = HOSTILE.into();
    draws("run", &run_page(&sample).expect("a page"), &[], "yes");
}

#[test]
fn the_page_of_an_odd_run_draws() {
    let many: Vec<String> = (0..33).map(|i| format!("Genus number {i}")).collect();
    draws(
        "odd",
        &run_page(&run(&many, 40, 40, true)).expect("a page"),
        &[],
        "yes",
    );
    draws(
        "empty",
        &run_page(&Default::default()).expect("a page"),
        &[],
        "yes",
    );
}

#[test]
fn clouds_turn_in_3d_and_stand_still_without_webgl() {
    let points: Vec<_> = (0..4).map(|i| tree(i, 20_000)).collect();
    let intensity: Vec<u16> = (0..20_000).map(|i| (i * 7 % 5_000) as u16).collect();
    let clouds: Vec<ViewCloud> = points
        .iter()
        .zip(seven())
        .enumerate()
        .map(|(i, (points, species))| ViewCloud {
            title: if i == 3 {
                HOSTILE.into()
            } else {
                format!("plot 1, tree {i}")
            },
            species: Some(species),
            points,
            intensity: if i == 0 { &[] } else { &intensity },
        })
        .collect();
    draws(
        "view-many",
        &view_page(&clouds, "species").expect("a page"),
        &SOFTWARE_GL,
        "yes",
    );
    draws(
        "view-one",
        &view_page(&clouds[1..2], "height").expect("a page"),
        &SOFTWARE_GL,
        "yes",
    );
    draws(
        "view-still",
        &view_page(&clouds, "height").expect("a page"),
        &NO_GL,
        "still",
    );
}
