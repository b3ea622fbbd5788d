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
    ]
    .iter();
    let mut programs = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.find(|program| program.is_file())
}

/// How the browser is started: alone, without network access or animations.
const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --mute-audio --enable-logging=stderr \
    --disable-background-networking --disable-component-update --disable-sync --force-prefers-reduced-motion \
    --virtual-time-budget=4000";
/// WebGL without a GPU, and no WebGL at all.
const SOFTWARE_GL: &str = "--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader";
const NO_GL: &str = "--disable-3d-apis --disable-software-rasterizer";

/// Opens `page` and returns the document after its scripts ran, and the output of the console.
fn open(browser: &Path, page: &Path, gl: &str, extra: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir().expect("a folder for the browser");
    let output = Command::new(browser)
        .args(
            OPTIONS
                .split(' ')
                .chain(gl.split(' ').filter(|option| !option.is_empty())),
        )
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(extra)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let log = String::from_utf8_lossy(&output.stderr);
    // The software GL warns about its speed when the browser takes a screenshot.
    let is_said =
        |line: &&str| line.contains("CONSOLE") && !line.contains("GL Driver Message (OpenGL, Performance");
    let console: Vec<&str> = log.lines().filter(is_said).collect();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        console.join("\n"),
    )
}

/// Tests that `html` draws its first frame, writes nothing to the console and shows no hostile markup.
fn draws(name: &str, html: anyhow::Result<String>, gl: &str, ready: &str) {
    let Some(browser) = browser() else {
        return println!("not run, because no Chromium or Chrome is on the PATH (apt-get install chromium)");
    };
    let kept = std::env::var_os("CANOPY_PAGES").map(PathBuf::from);
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = kept.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).expect("the folder for pages");
    let page = folder.join(format!("{name}.html"));
    std::fs::write(&page, html.expect("a page")).expect("the page is written");
    let mark = format!("data-ready=\"{ready}\"");
    // A headless browser may return the document before its first frame. A page that never draws never has the mark.
    let mut tries = (0..3).map(|_| open(&browser, &page, gl, &["--dump-dom"]));
    let drawn = tries.find(|(document, _)| document.contains(&mark));
    let (document, console) =
        drawn.unwrap_or_else(|| panic!("{name} drew nothing: {}", open(&browser, &page, gl, &[]).1));
    let head: String = document.chars().take(300).collect();
    assert!(
        !head.contains("data-error") && console.is_empty(),
        "{name}: {head}\n{console}"
    );
    assert!(
        !document.contains("<title>owned") && !document.contains("<img"),
        "{name}: a name became markup"
    );
    if kept.is_some() {
        let height = if name.starts_with("view") { 800 } else { 4200 };
        for (theme, scheme) in [("light", 1), ("dark", 0)] {
            let picture = format!(
                "--screenshot={}",
                folder.join(format!("{name}-{theme}.png")).display()
            );
            let size = format!("--window-size=1280,{height}");
            let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
            open(&browser, &page, gl, &[&picture, &size, &scheme]);
        }
    }
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
    draws("view-many", view_page(&clouds, "species"), SOFTWARE_GL, "yes");
    draws("view-one", view_page(&clouds[1..2], "height"), SOFTWARE_GL, "yes");
    draws("view-still", view_page(&clouds, "height"), NO_GL, "still");
}
