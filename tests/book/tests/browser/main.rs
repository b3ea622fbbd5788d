//! The book in a browser: pages meet WCAG 2.2 AA, load nothing from a network and start their interactive pieces, and on paper
//! the answers of the quizzes are printed.
//!
//! Needs Chromium, whose path `CANOPY_CHROMIUM` may contain, pdftotext (`apt-get install chromium poppler-utils`), and for the
//! pieces Rust's library for WebAssembly (`rustup target add wasm32-unknown-unknown`). The rules of WCAG are those of axe-core:
//! `CANOPY_AXE` contains the path of its `axe.min.js` (`npm pack axe-core`).

mod chromium;

use std::{
    collections::BTreeSet,
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
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

/// Waits for the pieces and the quizzes, for at most 20 s, and returns how many the page has and how many of them started.
const STARTED: &str = r#"new Promise((done) => {
  const late = Date.now() + 20000;
  const look = () => {
    const all = [...document.querySelectorAll("[data-touch], .quiz")];
    const ready = all.filter((piece) => piece.dataset.ready === "yes").length;
    if (ready === all.length || Date.now() > late) done([all.length, ready]);
    else setTimeout(look, 20);
  };
  look();
})"#;

/// Chooses a theme in the menu. What the page changes slowly changes at once: each round may start further transitions.
const THEME: &str = r#"(async (theme) => {
  document.getElementById(`mdbook-theme-${theme}`).click();
  if (!document.documentElement.classList.contains(theme)) throw new Error(`the menu has no theme ${theme}`);
  for (let round = 0; round < 9; round += 1) {
    for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
  }
})"#;

/// Each violation of WCAG 2.2 AA: the rule, the element, and what to do.
const VIOLATIONS: &str = r#"axe.run({
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"], preload: false,
}).then((found) => found.violations.flatMap((rule) => rule.nodes.map((node) =>
  `${rule.id} (${rule.help}), at ${node.target.join(" ")}: ${node.failureSummary.replace(/\s+/g, " ")}`)))"#;

/// The most bytes of the first page with all files that it loads.
const FIRST_PAGE: u64 = 1_000_000;

/// Every page of the book but `print.html`, which repeats all chapters, the list of chapters for
/// browsers without scripts, and the page that only a server shows.
fn pages(book: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(book).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = entries
        .filter(|page| page.extension().is_some_and(|ending| ending == "html"))
        .filter(|page| {
            !page.ends_with("print.html") && !page.ends_with("toc.html") && !page.ends_with("404.html")
        })
        .collect();
    pages.sort();
    pages
}

/// The addresses that a page loaded, and the errors in its console.
fn requests_and_errors(events: &[Value]) -> (BTreeSet<String>, Vec<String>) {
    let (mut requests, mut errors) = (BTreeSet::new(), Vec::new());
    for event in events {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                requests.insert(params["request"]["url"].as_str().unwrap().to_owned());
            }
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                errors.push(params["args"].to_string())
            }
            "Runtime.exceptionThrown" => errors.push(params["exceptionDetails"].to_string()),
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                errors.push(params["entry"].to_string())
            }
            _ => {}
        }
    }
    (requests, errors)
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
    if cfg!(windows) {
        return println!("not run, because the pipes to Chromium need a Unix shell");
    }
    if !book.join("touch.js").exists() {
        return println!("not run, because Rust's library for wasm32-unknown-unknown is missing");
    }
    // No address of the network can be resolved.
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,900"]);
    let axe = env::var_os("CANOPY_AXE").map(|path| {
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("CANOPY_AXE: {}: {error}", path.display()))
    });
    if axe.is_none() {
        println!("axe-core is not run, because CANOPY_AXE does not contain the path of its axe.min.js");
    }
    let (mut pieces, mut wrong) = (0, Vec::new());
    let mut chromium = Chromium::start(&command).unwrap();
    let pages = pages(&book);
    let begin = Instant::now();
    for (i, page) in pages.iter().enumerate() {
        let name = page.file_name().unwrap().display();
        let mut report = |text: String| wrong.push(format!("{name}: {text}"));
        chromium.load(&address(page)).unwrap();
        let counts = chromium.evaluate(STARTED).unwrap();
        pieces += counts[0].as_u64().unwrap();
        if counts[0] != counts[1] {
            report(format!(
                "of {} pieces and quizzes only {} started",
                counts[0], counts[1]
            ));
        }
        if let Some(axe) = &axe {
            chromium.evaluate(&format!("{axe};0")).unwrap();
            for theme in ["light", "navy"] {
                let violations = chromium.evaluate(&format!("{THEME}('{theme}').then(() => {VIOLATIONS})"));
                for violation in violations.unwrap().as_array().unwrap() {
                    report(format!("theme {theme}: {violation}"));
                }
            }
        }
        let (requests, errors) = requests_and_errors(&chromium.events);
        for error in errors {
            report(format!("the console has an error: {error}"));
        }
        let is_local = |url: &&String| url.starts_with("file:") || url.starts_with("data:");
        for url in requests.iter().filter(|url| !is_local(url)) {
            report(format!("it requests {url}; copy the file into the book"));
        }
        if page.ends_with("index.html") {
            let files = requests.iter().filter_map(|url| url.strip_prefix("file://"));
            let bytes: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
            println!("the first page loads {bytes} bytes");
            if bytes >= FIRST_PAGE {
                report(format!(
                    "it loads {bytes} bytes, and may at most {FIRST_PAGE}: {requests:#?}"
                ));
            }
        }
        if i % 9 == 8 {
            println!("{} of {} pages, {:.0?}", i + 1, pages.len(), begin.elapsed());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pieces >= 6, "the book has {pieces} pieces and quizzes");
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
