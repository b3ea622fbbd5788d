//! Examines the machine. Nothing here returns an error: what cannot be determined counts as missing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::Item;
use crate::lessons;

/// All items, the required ones first, and those of `canopy doctor` last.
pub fn all(root: &Path) -> Vec<Item> {
    let mut items = vec![
        rust(root),
        linker(),
        exercises(root),
        lock(root),
        disk(root),
        memory(),
        tool(
            "Chromium",
            &[
                "chromium",
                "chromium-browser",
                "google-chrome",
                "google-chrome-stable",
            ],
            "--version",
            "tests of pages in a browser",
            "apt-get install chromium",
        ),
    ];
    items.extend(machine(root));
    items
}

/// What `canopy doctor` says of the machine, if the program is built.
fn machine(root: &Path) -> Vec<Item> {
    #[derive(serde::Deserialize)]
    struct Report {
        lines: Vec<Line>,
    }
    #[derive(serde::Deserialize)]
    struct Line {
        name: String,
        state: String,
        found: String,
        #[serde(rename = "do", default)]
        advice: String,
    }
    let ask = |program: PathBuf| -> Option<Report> {
        let output = Command::new(program).args(["doctor", "--json"]).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    };
    let target = target(root);
    let program = format!("canopy{}", env::consts::EXE_SUFFIX);
    let built = ["release", "debug"].map(|profile| target.join(profile).join(&program));
    let newest = built
        .into_iter()
        .filter_map(|p| Some((p.metadata().ok()?.modified().ok()?, p)))
        .max();
    match newest.and_then(|(_, p)| ask(p)) {
        Some(report) => report
            .lines
            .into_iter()
            .map(|line| Item {
                ok: line.state == "ok",
                needed: false,
                name: line.name,
                found: line.found,
                purpose: "",
                install: line.advice,
            })
            .collect(),
        None => vec![item(
            "GPU and CPU",
            false,
            Err("not examined, because the trainer is not built yet".into()),
            "training",
            "cargo run -- doctor, which builds it first",
        )],
    }
}

fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn item(
    name: &'static str,
    needed: bool,
    found: Result<String, String>,
    purpose: &'static str,
    install: &str,
) -> Item {
    let ok = found.is_ok();
    let (Ok(found) | Err(found)) = found;
    Item {
        name: name.to_owned(),
        ok,
        needed,
        found,
        purpose,
        install: install.to_owned(),
    }
}

/// The first line that a program prints.
fn first_line(program: &Path, argument: &str) -> Option<String> {
    let output = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = if output.stdout.is_empty() {
        output.stderr
    } else {
        output.stdout
    };
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|l| !l.trim().is_empty())?;
    output.status.success().then(|| line.trim().to_owned())
}

/// Finds a program on the PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .map(|f| f.join(&name))
        .find(|p| p.is_file())
}

fn tool(name: &'static str, programs: &[&str], version: &str, purpose: &'static str, install: &str) -> Item {
    let found = match programs.iter().find_map(|p| on_path(p)) {
        Some(path) => Ok(first_line(&path, version).unwrap_or_else(|| path.display().to_string())),
        None => Err(format!("no {} on the PATH", programs.join(", "))),
    };
    item(name, false, found, purpose, install)
}

fn rust(root: &Path) -> Item {
    #[derive(serde::Deserialize)]
    struct File {
        toolchain: Toolchain,
    }
    #[derive(serde::Deserialize)]
    struct Toolchain {
        channel: String,
    }
    let pinned = fs::read_to_string(root.join("rust-toolchain.toml")).ok();
    let pinned = pinned
        .and_then(|t| toml::from_str::<File>(&t).ok())
        .map(|f| f.toolchain.channel);
    let version = on_path("rustc").and_then(|rustc| {
        let output = Command::new(rustc)
            .arg("--version")
            .current_dir(root)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|s| !s.is_empty())
    });
    let found = match (version, &pinned) {
        (Some(v), Some(p)) if v.split(' ').nth(1) != Some(p) => {
            Err(format!("{v}; rust-toolchain.toml requires {p}"))
        }
        (Some(v), _) => Ok(v),
        (None, _) => Err("rustc does not run in this folder".into()),
    };
    let install = match pinned {
        Some(p) => format!("rustup toolchain install {p}, or rustup itself from https://rustup.rs"),
        None => "rustup from https://rustup.rs".into(),
    };
    item("Rust", true, found, "everything", &install)
}

fn linker() -> Item {
    let found = if cfg!(windows) {
        Ok("found by Rust itself".into())
    } else {
        let cc = on_path("cc")
            .or_else(|| on_path("clang"))
            .or_else(|| on_path("gcc"));
        let cc = cc.and_then(|cc| first_line(&cc, "--version"));
        cc.ok_or_else(|| "no cc, clang or gcc on the PATH".to_owned())
    };
    item(
        "C compiler",
        true,
        found,
        "linking, and dependencies written in C",
        "apt-get install build-essential; on macOS xcode-select --install",
    )
}

fn exercises(root: &Path) -> Item {
    let lessons = lessons::all(root).map_err(|e| format!("{e:#}"));
    let found = lessons.and_then(|lessons| {
        let has = |l: &&lessons::Lesson| root.join(grader::paths::exercises(&l.manifest.lesson)).is_file();
        let missing: Vec<String> = lessons
            .iter()
            .filter(|l| !has(l))
            .map(|l| grader::paths::exercises(&l.manifest.lesson))
            .collect();
        match (lessons.len(), missing.is_empty()) {
            (0, _) => Err("there is no lesson in the folder lessons".into()),
            (_, false) => Err(format!("missing: {}", missing.join(", "))),
            (1, true) => Ok("1 lesson with its exercises".into()),
            (n, true) => Ok(format!("{n} lessons with their exercises")),
        }
    });
    item(
        "Exercises",
        true,
        found,
        "the course itself",
        "git checkout exercises lessons, or unpack the course again; copy your own files first",
    )
}

fn lock(root: &Path) -> Item {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .stderr(Stdio::null())
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let found = if !root.join("Cargo.lock").is_file() {
        Err("missing: dependencies may have other versions than those tested with the course".into())
    } else {
        match git(&["status", "--porcelain", "--", "Cargo.lock"]) {
            Some(changed) if !changed.is_empty() => Err("Cargo.lock was changed".into()),
            Some(_) => Ok("unchanged".into()),
            None => Ok("found; without git it is unknown whether it was changed".into()),
        }
    };
    item(
        "Cargo.lock",
        false,
        found,
        "the versions of dependencies that the course was tested with",
        "git checkout Cargo.lock",
    )
}

/// A build of everything takes about 4 GiB.
const DISK: f64 = 5.0;

fn disk(root: &Path) -> Item {
    let target = target(root);
    let built = target.join("debug/deps").is_dir();
    let (build, temp) = (free(&target), free(&env::temp_dir()));
    let gib = |free: Option<f64>| free.map_or("unknown".into(), |f| format!("{f:.1} GiB"));
    let text = format!(
        "free: {} for builds, {} for temporary files",
        gib(build),
        gib(temp)
    );
    let needs = if built { 0.5 } else { DISK };
    let enough = build.is_none_or(|f| f >= needs) && temp.is_none_or(|f| f >= 0.2);
    let found = if enough { Ok(text) } else { Err(text) };
    item(
        "Disk",
        true,
        found,
        "the first build, about 5 GiB",
        "run cargo clean in old projects, or set CARGO_TARGET_DIR and TMPDIR to another disk",
    )
}

/// Free space in GiB on the file system of `path`, which may not exist yet.
#[cfg(unix)]
fn free(path: &Path) -> Option<f64> {
    use std::os::unix::ffi::OsStrExt;
    let existing = path.ancestors().find(|p| p.exists())?;
    let name = std::ffi::CString::new(existing.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name is null-terminated, and `stat` is large enough for what is written.
    unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        let done = libc::statvfs(name.as_ptr(), &mut stat) == 0;
        #[allow(clippy::unnecessary_cast, reason = "their types differ by system")]
        done.then(|| stat.f_bavail as f64 * stat.f_frsize as f64 / (1u64 << 30) as f64)
    }
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<f64> {
    None
}

fn memory() -> Item {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key))?;
        let kib: f64 = line
            .trim_start_matches(':')
            .trim()
            .split(' ')
            .next()?
            .parse()
            .ok()?;
        Some(kib / (1u64 << 20) as f64)
    };
    let found = match (of("MemTotal"), of("MemAvailable")) {
        (Some(all), Some(free)) if free < 2.0 => {
            Err(format!("{all:.1} GiB, {free:.1} GiB free: builds may fail"))
        }
        (Some(all), Some(free)) => Ok(format!("{all:.1} GiB, {free:.1} GiB free")),
        _ => Ok("unknown on this system".into()),
    };
    item(
        "Memory",
        false,
        found,
        "building with several compilers at once",
        "close other programs, or build with `cargo test -j 1`",
    )
}
