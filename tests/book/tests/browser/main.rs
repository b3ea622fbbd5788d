//! The book in a browser: pages meet WCAG 2.2 AA, load nothing from a network and start their interactive pieces, and on paper
//! the answers of the quizzes are printed.
//!
//! Needs Chromium, whose path `CANOPY_CHROMIUM` may contain, pdftotext (`apt-get install chromium poppler-utils`), and for the
//! pieces Rust's library for WebAssembly (`rustup target add wasm32-unknown-unknown`). The rules of WCAG are those of axe-core:
//! `CANOPY_AXE` contains the path of its `axe.min.js` (`npm pack axe-core`).

mod chromium;
mod pointnet;

use std::{
    collections::BTreeSet,
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use chromium::Chromium;

const CHAPTER: &str = "01-gradient-descent-by-hand";

/// What a program prints; nothing if it does not exist.
fn printed(command: &mut Command) -> Option<String> {
    let out = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("not run, because there is no {}", command.get_program().display());
            return None;
        }
        out => out.unwrap(),
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Chromium without a window or network access, with a profile in `folder`.
fn browser(folder: &Path) -> Command {
    let mut browser = Command::new(env::var_os("CANOPY_CHROMIUM").unwrap_or("chromium".into()));
    browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()));
    browser
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

const CHECK: &str = include_str!("page.js");

/// The most bytes of the first page with all files that it loads.
const FIRST_PAGE: u64 = 1_000_000;

/// Every page of the book but `print.html`, which repeats all chapters, the list of chapters for
/// browsers without scripts, and the page that only a server shows.
fn pages(book: &Path) -> Vec<PathBuf> {
    let mut pages: Vec<_> = fs::read_dir(book)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let others = ["print.html", "toc.html", "404.html"];
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "html"));
    pages.retain(|page| !others.iter().any(|name| page.ends_with(name)));
    pages.sort();
    pages
}

fn is_error(event: &Value) -> bool {
    let (method, params) = (&event["method"], &event["params"]);
    let is_written = method == "Runtime.consoleAPICalled" && params["type"] == "error";
    is_written || method == "Runtime.exceptionThrown" || params["entry"]["level"] == "error"
}

#[test]
fn each_page_is_accessible_fetches_nothing_and_starts_its_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    book::build(root(), &book).unwrap();
    let mut command = browser(folder.path());
    if printed(Command::new(command.get_program()).arg("--version")).is_none() {
        return;
    }
    if cfg!(windows) || !book.join("touch.js").exists() {
        return println!(
            "not run, because a Unix shell or Rust's library for wasm32-unknown-unknown is missing"
        );
    }
    let axe = env::var("CANOPY_AXE")
        .map(|path| fs::read_to_string(&path).unwrap_or_else(|error| panic!("CANOPY_AXE: {path}: {error}")));
    if axe.is_err() {
        println!("axe-core is not run, because CANOPY_AXE does not contain the path of its axe.min.js");
    }
    let script = axe.unwrap_or_default() + "\n" + CHECK;
    // No address of the network can be resolved.
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,900"]);
    let mut chromium = Chromium::start(&command);
    let (pages, mut pieces, mut wrong) = (pages(&book), 0, Vec::new());
    for (i, page) in pages.iter().enumerate() {
        chromium.load(&address(page));
        let checked = chromium.evaluate(&script);
        pieces += checked["pieces"].as_u64().unwrap();
        let name = page.file_name().unwrap().display();
        println!("{} of {}: {name}", i + 1, pages.len());
        let mut report = |text: String| wrong.push(format!("{name}: {text}"));
        for text in checked["wrong"].as_array().unwrap() {
            report(text.to_string());
        }
        for error in chromium.events.iter().filter(|event| is_error(event)) {
            report(format!("the console has an error: {error}"));
        }
        let requests = chromium
            .events
            .iter()
            .filter_map(|event| event["params"]["request"]["url"].as_str());
        let (local, remote): (BTreeSet<_>, BTreeSet<_>) =
            requests.partition(|url| url.starts_with("file:") || url.starts_with("data:"));
        if !remote.is_empty() {
            report(format!("it requests {remote:?}; copy these files into the book"));
        }
        if page.ends_with("index.html") {
            let files = local.iter().filter_map(|url| url.strip_prefix("file://"));
            let bytes: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
            println!("the first page loads {bytes} bytes");
            if bytes >= FIRST_PAGE {
                report(format!(
                    "it loads {bytes} bytes, and may at most {FIRST_PAGE}: {local:#?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pieces >= 6, "the book has {pieces} pieces and quizzes");
    pointnet::check(&mut chromium, &book);
}

#[test]
fn answers_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    book::build(root(), &at("book")).unwrap();
    let mut chromium = browser(folder.path());
    chromium.arg(format!("--print-to-pdf={}", at("chapter.pdf").display()));
    let pdf = printed(chromium.arg(address(&at("book").join(format!("{CHAPTER}.html")))));
    let text =
        pdf.and_then(|_| printed(Command::new("pdftotext").args([&at("chapter.pdf"), Path::new("-")])));
    let Some(text) = text else { return };
    let text = words(&text);

    let chapter = fs::read_to_string(root().join(format!("book/src/{CHAPTER}.md"))).unwrap();
    let quizzes = chapter.split("class=\"quiz\"").skip(1);
    let lines = quizzes.flat_map(|quiz| quiz.split("</div>").next().unwrap_or_default().lines());
    // The first words of an explanation, which have no Markdown in them.
    let answers: Vec<String> = lines
        .filter_map(|line| line.strip_prefix("  - "))
        .map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(answers.len() >= 9, "{answers:?}");
    for answer in answers {
        assert!(text.contains(&answer), "not on paper: {answer} …");
    }
}
