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

/// Presses buttons and moves sliders of the PointNet, and keeps what it says.
const CHANGES: &str = r#"<script>
const wait = setInterval(() => {
  const piece = document.querySelector('[data-touch="pointnet"][data-ready] .touch');
  if (piece === null) return;
  clearInterval(wait);
  const said = [];
  const note = () => {
    const percents = [...piece.querySelectorAll("tbody td:last-child")].map((cell) => cell.textContent);
    said.push([piece.querySelector('[role="status"]').textContent, ...percents]);
  };
  const control = (label, tag) => [...piece.querySelectorAll("label")].find((l) => l.textContent.startsWith(label)).querySelector(tag);
  const set = (label, tag, value, event) => {
    const element = control(label, tag);
    element.value = value;
    element.dispatchEvent(new Event(event));
    note();
  };
  note();
  [...piece.querySelectorAll("button")].find((button) => button.textContent === "shuffle").click();
  note();
  set("Input", "select", "1", "change");
  set("Input", "select", "", "change");
  set("Noise", "input", "1", "input");
  piece.querySelector("canvas").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown" }));
  note();
  document.body.dataset.said = JSON.stringify(said);
}, 50);
</script></body>"#;

#[test]
fn only_changes_that_the_network_sees_move_its_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book");
    book::build(root(), &book).unwrap();
    if !book.join("touch.js").exists() {
        return println!("not run, because Rust's library for wasm32-unknown-unknown is missing");
    }
    let page = book.join("02-pointnet.html");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, text.replace("</body>", CHANGES)).unwrap();
    let Some(document) = printed(
        browser(folder.path())
            .args(["--virtual-time-budget=8000", "--dump-dom"])
            .arg(address(&page)),
    ) else {
        return;
    };
    let said = document
        .split(" data-said=\"")
        .nth(1)
        .expect("the script has run");
    let said = said.split('"').next().unwrap_or_default().replace("&quot;", "\"");
    let said: Vec<Vec<String>> = serde_json::from_str(&said).unwrap();
    let [first, shuffled, critical, all, noise, tilted] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(first.len(), 8, "a text and seven probabilities: {first:?}");
    for same in [shuffled, critical, all] {
        assert!(same[0].contains("bit-identical"), "{same:?}");
        assert_eq!(same[1..], first[1..]);
    }
    assert!(
        noise[0].contains("Noise of 1.00 m") && noise[1..] != first[1..],
        "{noise:?}"
    );
    assert!(
        tilted[0].contains("Tilted by 5°") && tilted[1..] != noise[1..],
        "{tilted:?}"
    );
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
