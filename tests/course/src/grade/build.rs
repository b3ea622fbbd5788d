//! Builds the checks of lessons: what `cargo test` builds, with the same cargo, from a copy of the course.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{
    run,
    sandbox::{Limits, Program, Sandbox, empty_folder, environment},
    tree::Tree,
};

/// Limits of a build. The compiler and the linker map much memory that they do not use. The limit of CPU time stops
/// what compiles too slowly; the wall time is longer, because the machine may be busy with other work.
const LIMITS: Limits = Limits {
    wall: 240,
    cpu: 25,
    memory: 4 << 10,
    disk: 1 << 10,
    tasks: 512,
};

// A submission that takes for ever to compile costs a class at most this much.
const _: () = assert!(
    LIMITS.cpu <= 30,
    "seconds of CPU time for each process of a build"
);

/// The toolchain that the course is built with.
pub struct Toolchain {
    sysroot: PathBuf,
    cargo_home: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

/// A line of cargo's messages.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}

impl Toolchain {
    /// Finds the compiler and cargo.
    pub fn find(root: &Path) -> Result<Self> {
        let out = Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(root)
            .output()
            .context("rustc could not be started")?;
        let sysroot = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
        let whole = ["cargo", "rustc"]
            .iter()
            .all(|name| sysroot.join("bin").join(name).is_file());
        ensure!(
            out.status.success() && whole,
            "{} has no bin/rustc and bin/cargo",
            sysroot.display()
        );
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
        let cargo_home = home.context("neither CARGO_HOME nor HOME is set")?;
        Ok(Self { sysroot, cargo_home })
    }

    /// The target folder of the course in `root`.
    pub fn target(root: &Path) -> Result<PathBuf> {
        let out = crate::cargo::command()
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(root)
            .output()
            .context("cargo could not be started")?;
        ensure!(
            out.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        let metadata: Metadata = serde_json::from_slice(&out.stdout).context("cargo metadata")?;
        Ok(metadata.target_directory)
    }

    /// Builds the checks of `lessons`, without students' code, in the course's own target folder, from which they are copied: the
    /// next call finds them. A folder in which nothing can be written is left as it is; then the copy is built.
    pub fn build_checks(root: &Path, lessons: &[&str]) -> Result<()> {
        let packages = lessons.iter().map(|l| format!("--package=lesson{l}-checks"));
        let built = crate::cargo::command()
            .args(["build", "--quiet", "--offline", "--locked"])
            .args(packages)
            .current_dir(root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        built.map(drop).context("cargo could not be started")
    }

    fn cargo(&self, lessons: &[&str]) -> Vec<String> {
        let cargo = self.sysroot.join("bin/cargo").display().to_string();
        let options = ["test", "--no-run", "--offline", "--locked", "--color=never"];
        let each = |lesson: &&str| {
            [
                format!("--package=lesson{lesson}"),
                format!("--bin=grade{lesson}"),
            ]
        };
        [cargo]
            .into_iter()
            .chain(options.map(str::to_owned))
            .chain(lessons.iter().flat_map(each))
            .collect()
    }

    /// The environment of a build: the same for all, because build scripts run again if it changes.
    fn environment(&self, tree: &Tree) -> Vec<(&'static str, String)> {
        let mut env = environment(&tree.scratch());
        let mut add = |name, path: PathBuf| env.push((name, path.display().to_string()));
        add("HOME", tree.scratch());
        add("CARGO_HOME", self.cargo_home.clone());
        add("CARGO_TARGET_DIR", tree.target());
        add("RUSTC", self.sysroot.join("bin/rustc"));
        env
    }

    /// Builds the stubs of `lessons`, outside of the sandbox: they contain no student's code. Returns the file name of
    /// the checks of each lesson.
    pub fn build_stubs(&self, tree: &Tree, lessons: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
        empty_folder(&tree.scratch())?;
        let command = self.cargo(lessons);
        let out = Command::new(&command[0])
            .args(&command[1..])
            .args(["--quiet", "--message-format=json-render-diagnostics"])
            .current_dir(tree.course())
            .env_clear()
            .envs(self.environment(tree))
            .stderr(Stdio::inherit())
            .output()
            .context("cargo could not be started")?;
        ensure!(
            out.status.success(),
            "the lessons do not build, so nothing can be graded"
        );
        let mut built = BTreeMap::new();
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let message: Option<Message> = serde_json::from_str(line).ok();
            let program = message.and_then(|message| message.executable);
            let Some(name) = program.as_deref().and_then(Path::file_name) else {
                continue;
            };
            let is_of = |lesson: &&&str| name.to_string_lossy().starts_with(&format!("grade{lesson}-"));
            let lesson = lessons.iter().find(is_of);
            built.extend(lesson.map(|l| ((*l).to_owned(), PathBuf::from(name))));
        }
        if let Some(lesson) = lessons.iter().find(|l| !built.contains_key(**l)) {
            bail!("cargo built no checks of lesson {lesson}");
        }
        Ok(built)
    }

    /// Builds the checks of `lesson` with the student's sources, in the sandbox. Returns what the compiler says if it
    /// fails.
    pub fn build(&self, sandbox: &Sandbox, tree: &Tree, lesson: &str) -> Result<Result<(), String>> {
        let scratch = empty_folder(&tree.scratch())?;
        let mut command = self.cargo(&[lesson]);
        command.push("--quiet".into());
        // Not the whole folder: it may contain tokens of registries.
        let cargo_home = ["registry", "git", "config.toml"].map(|name| self.cargo_home.join(name));
        let mut read = vec![tree.course(), self.sysroot.clone()];
        read.extend(cargo_home);
        let program = Program {
            command,
            env: self.environment(tree),
            read,
            write: vec![tree.target()],
            folder: &tree.course(),
            scratch: &scratch,
            limits: LIMITS,
            answer: false,
        };
        let ended = run::run(sandbox.command(&program), LIMITS.wall, "", |_| {})?;
        if ended.code == Some(0) {
            return Ok(Ok(()));
        }
        let message = explain(&ended.errors, &tree.course());
        if ended.code == Some(101) && message.contains("error") {
            return Ok(Err(message));
        }
        // Cargo itself failed, which is not the student's mistake.
        ensure!(
            ended.code.is_none(),
            "cargo {}: {}",
            ended.how(LIMITS.wall),
            ended.errors.trim()
        );
        Ok(Err(format!(
            "the compiler: {}\n{message}",
            ended.how(LIMITS.wall)
        )
        .trim_end()
        .to_owned()))
    }
}

/// The compiler's message, shortened, without the names of this machine's folders and without its command line.
fn explain(errors: &str, course: &Path) -> String {
    let text = errors.replace(&format!("{}/", course.display()), "");
    // What follows is a backtrace of the compiler.
    let text = match text.split_once("error: rustc interrupted by SIGSEGV") {
        Some((before, _)) => format!("{before}error: the code is nested too deeply for the compiler"),
        None => text,
    };
    let lines = text.lines().map(
        |line| match line.split_once("process didn't exit successfully: ") {
            Some((before, after)) => {
                let how = after.rfind('(').map_or("", |at| &after[at..]);
                let limits = if how.contains("SIGKILL") {
                    ", its limit of CPU time or memory"
                } else {
                    ""
                };
                format!("{before}the compiler was killed {how}{limits}\n")
            }
            None => format!("{line}\n"),
        },
    );
    let text: String = lines.collect();
    shortened(text.trim_end(), 1_500)
}

/// The beginning and the end of `text`, each of at most `each` characters.
fn shortened(text: &str, each: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= 2 * each {
        return text.to_owned();
    }
    let (head, tail) = (&letters[..each], &letters[letters.len() - each..]);
    format!(
        "{}\n[…]\n{}",
        head.iter().collect::<String>(),
        tail.iter().collect::<String>()
    )
}
