//! Builds the checks of lessons: what `cargo test` builds, with the same cargo, from a copy of the course.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::{
    run,
    sandbox::{Limits, Program, Sandbox, empty_folder, environment},
    tree::{Tree, hash},
};

/// Limits of a build. The compiler and the linker map much memory that they do not use. The limit of CPU time stops
/// what compiles too slowly, so that it costs a class little; the wall time is longer, because the machine may be busy
/// with other work.
const LIMITS: Limits = Limits {
    wall: 240,
    cpu: 25,
    memory: 4 << 10,
    disk: 1 << 10,
    tasks: 512,
};

/// The toolchain that the course is built with.
pub struct Toolchain {
    sysroot: PathBuf,
    cargo_home: PathBuf,
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
        let programs = ["cargo", "rustc"].map(|name| sysroot.join("bin").join(name));
        ensure!(
            programs.iter().all(|program| program.is_file()),
            "{} has no bin/rustc and bin/cargo",
            sysroot.display()
        );
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
        Ok(Self {
            sysroot,
            cargo_home: cargo_home.context("neither CARGO_HOME nor HOME is set")?,
        })
    }

    /// Builds the checks of `lessons`, without students' code, in the course's own target folder, from which they are
    /// copied: the next call finds them. Returns the folder `target/debug`, and the hashes in the names of what is
    /// needed there. If this fails, there are none: then the copy is built.
    pub fn build_checks(root: &Path, lessons: &[&str]) -> Result<(PathBuf, BTreeSet<String>)> {
        let out = crate::cargo::command()
            .args([
                "build",
                "--quiet",
                "--offline",
                "--locked",
                "--message-format=json",
            ])
            .args(lessons.iter().map(|l| format!("--package=lesson{l}-checks")))
            .current_dir(root)
            .stderr(Stdio::null())
            .output()
            .context("cargo could not be started")?;
        let (mut debug, mut hashes) = (PathBuf::new(), BTreeSet::new());
        for message in messages(&out.stdout) {
            let files = message["filenames"].as_array().into_iter().flatten();
            for path in files
                .chain([&message["out_dir"]])
                .filter_map(|path| path.as_str())
            {
                hashes.extend(path.split('/').filter_map(hash).map(str::to_owned));
                let is_debug = |folder: &&Path| folder.ends_with("debug");
                debug = Path::new(path)
                    .ancestors()
                    .find(is_debug)
                    .map_or(debug, Path::to_owned);
            }
        }
        Ok((debug, hashes))
    }

    fn cargo(&self, lessons: &[&str]) -> Vec<String> {
        let mut command = vec![self.sysroot.join("bin/cargo").display().to_string()];
        command.extend(
            [
                "test",
                "--no-run",
                "--offline",
                "--locked",
                "--color=never",
                "--quiet",
            ]
            .map(str::to_owned),
        );
        for lesson in lessons {
            command.extend([
                format!("--package=lesson{lesson}"),
                format!("--bin=grade{lesson}"),
            ]);
        }
        command
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

    /// Builds the stubs of `lessons`, outside of the sandbox: they contain no student's code. Returns the program of
    /// the checks of each lesson, relative to the target folder.
    pub fn build_stubs(&self, tree: &Tree, lessons: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
        empty_folder(&tree.scratch())?;
        let command = self.cargo(lessons);
        let out = Command::new(&command[0])
            .args(&command[1..])
            .arg("--message-format=json-render-diagnostics")
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
        let mut programs = BTreeMap::new();
        for message in messages(&out.stdout) {
            let lesson = message["target"]["name"]
                .as_str()
                .and_then(|name| name.strip_prefix("grade"));
            let program = message["executable"].as_str().map(Path::new);
            if let (Some(lesson), Some(program)) = (lesson, program) {
                programs.insert(lesson.to_owned(), program.strip_prefix(tree.target())?.to_owned());
            }
        }
        Ok(programs)
    }

    /// Builds the checks of `lesson` with the student's sources, in the sandbox. Returns what the compiler says if it
    /// fails.
    pub fn build(&self, sandbox: &Sandbox, tree: &Tree, lesson: &str) -> Result<Result<(), String>> {
        let scratch = empty_folder(&tree.scratch())?;
        // Not the whole folder: it may contain tokens of registries.
        let cargo_home = ["registry", "git", "config.toml"].map(|name| self.cargo_home.join(name));
        let mut read = vec![tree.course(), self.sysroot.clone()];
        read.extend(cargo_home);
        let program = Program {
            command: self.cargo(&[lesson]),
            env: self.environment(tree),
            read,
            write: vec![tree.target()],
            folder: &tree.course(),
            scratch: &scratch,
            limits: LIMITS,
            answer: false,
        };
        let ended = run::run(sandbox.command(&program), LIMITS.wall, "", |_| {})?;
        let message = explain(&ended.errors, &tree.course());
        let how = ended.how(LIMITS.wall);
        match ended.code {
            Some(0) => Ok(Ok(())),
            Some(101) if message.contains("error") => Ok(Err(message)),
            None => Ok(Err(format!("the compiler: {how}\n{message}"))),
            // Cargo itself failed, which is not the student's mistake.
            Some(_) => Err(anyhow::anyhow!("cargo {how}: {}", ended.errors.trim())),
        }
    }
}

/// What cargo reports in JSON.
fn messages(stdout: &[u8]) -> impl Iterator<Item = serde_json::Value> {
    stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
}

/// The compiler's message, shortened, without the names of this machine's folders and without its command line.
fn explain(errors: &str, course: &Path) -> String {
    let text = errors.replace(&format!("{}/", course.display()), "");
    let shown = |line: &str| match line.split_once("process didn't exit successfully: ") {
        Some((before, command)) => {
            let how = command.rfind('(').map_or("", |at| &command[at..]);
            format!("{before}the compiler was stopped, perhaps at its limit of CPU time or memory {how}")
        }
        None => line.to_owned(),
    };
    let text = text.lines().map(shown).collect::<Vec<_>>().join("\n");
    let letters: Vec<char> = text.trim_end().chars().collect();
    match letters.len().checked_sub(1_500) {
        Some(end @ 1_500..) => format!(
            "{}\n[…]\n{}",
            letters[..1_500].iter().collect::<String>(),
            letters[end..].iter().collect::<String>()
        ),
        _ => letters.iter().collect(),
    }
}
