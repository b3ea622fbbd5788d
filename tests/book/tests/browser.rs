//! The book in a browser: the interactive pieces start, and on paper the answers of the quizzes are printed.
//!
//! Needs Chromium, whose path `CANOPY_CHROMIUM` may contain, pdftotext (`apt-get install chromium poppler-utils`), and for the
//! pieces Rust's library for WebAssembly (`rustup target add wasm32-unknown-unknown`).

use std::{env, fs, io::ErrorKind, path::Path, process::Command};

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

#[test]
fn each_interactive_piece_and_quiz_starts() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    book::build(root(), &book).unwrap();
    if !book.join("touch.js").exists() {
        return println!("not run, because Rust's library for wasm32-unknown-unknown is missing");
    }
    let mut pieces = 0;
    for entry in fs::read_dir(&book).unwrap() {
        let page = entry.unwrap().path();
        let is_page =
            page.extension().is_some_and(|ending| ending == "html") && !page.ends_with("print.html");
        let text = if is_page {
            fs::read_to_string(&page).unwrap()
        } else {
            String::new()
        };
        let count = text.matches("data-touch=").count() + text.matches("class=\"quiz\"").count();
        if count == 0 {
            continue;
        }
        let mut chromium = browser(folder.path());
        chromium
            .args(["--virtual-time-budget=8000", "--dump-dom"])
            .arg(address(&page));
        let Some(document) = printed(&mut chromium) else {
            return;
        };
        let ready = document.matches("data-ready=\"yes\"").count();
        assert_eq!(ready, count, "{}: pieces that started", page.display());
        pieces += count;
    }
    assert!(pieces >= 6, "the book has {pieces} pieces");
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
