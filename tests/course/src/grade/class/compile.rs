//! Compiles a submission with rustc: the exercise, then the program that links it with the checks; and its kernels with the
//! emulated grid's program. The compilers run in the sandbox, and see what cargo built of the course, and no other file of it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use grader::{
    paths::{self, LIBRARY},
    source::refuse_unsafe,
};
use serde_json::Value;
use toml::Table;

use super::sandbox::{Limits, Program, Sandbox, empty_folder};
use crate::{cargo, marks::clean};

/// Limits of the compiler. It and the linker map much memory that they do not use. The limit of CPU time stops what
/// compiles too slowly, so that it costs a class little; the wall time is longer, because the machine may be busy with
/// other work.
const LIMITS: Limits = Limits {
    wall: 240,
    cpu: 25,
    memory: 4 << 10,
    disk: 1 << 10,
    tasks: 512,
};

/// The folder of the compiled kernels, beside the program of the checks.
pub const KERNELS: &str = "kernels";

/// Maximum number of characters of the compiler's messages that are kept.
const MESSAGE: usize = 3_000;

/// The compiler, and what it needs for some lessons.
pub struct Compiler {
    sysroot: PathBuf,
    libraries: PathBuf,
    lessons: BTreeMap<String, Lesson>,
}

/// How the program of a lesson's checks is compiled.
struct Lesson {
    /// The text of its `grade.rs`.
    program: String,
    /// The arguments of rustc for the exercise, and for `grade.rs`.
    steps: [Vec<String>; 2],
}

/// What cargo says about a library that it has built, and our link to the file.
type Built = (Value, PathBuf);

impl Compiler {
    /// Builds the checks of `lessons`, without students' code, in the course's own target folder. The new folder
    /// `libraries` gets a hard link to each library, because cargo replaces its own when the course is built again. It also
    /// gets the `program`: `grid` for lessons with kernels, `canopy` for the race.
    pub fn new(root: &Path, libraries: PathBuf, lessons: &[&str], program: Option<&str>) -> Result<Self> {
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
        let out = rustc.args(["--print", "sysroot"]).current_dir(root).output();
        let out = out.context("rustc could not be started")?;
        let errors = String::from_utf8_lossy(&out.stderr);
        ensure!(out.status.success(), "rustc --print sysroot: {errors}");
        let built = build(root, &libraries, lessons, program)?;
        let lesson = |number: &&str| Ok((number.to_string(), Lesson::new(root, number, &built)?));
        Ok(Self {
            sysroot: String::from_utf8_lossy(&out.stdout).trim().into(),
            libraries,
            lessons: lessons.iter().map(lesson).collect::<Result<_>>()?,
        })
    }

    /// Compiles `files`, the sources of a lesson's exercise, in `folder`. Returns the program, or why there is none: files
    /// that are missing or refused, or what the compiler says.
    pub fn compile(
        &self,
        sandbox: &Sandbox,
        folder: &Path,
        number: &str,
        files: &BTreeMap<&str, &str>,
    ) -> Result<Result<PathBuf, String>> {
        if files.is_empty() {
            return Ok(Err("it was not handed in".into()));
        }
        if !files.contains_key("lib.rs") {
            return Ok(Err("src/lib.rs was not handed in, or was left out".into()));
        }
        // Before the compiler's message, because this one says what to do.
        let mut sources = files.iter().filter(|(path, _)| !path.ends_with(".toml"));
        let refused = sources.find_map(|(path, text)| refuse_unsafe(&format!("src/{path}"), text).err());
        if let Some(refused) = refused.clone().filter(|refused| refused.is_certain) {
            return Ok(Err(refused.why));
        }
        let lesson = self.lessons.get(number).context("the lesson was not built")?;
        // Only the grader writes there, so that what is compiled is what was read.
        let sources = empty_folder(&folder.join("sources"))?;
        let built = empty_folder(&folder.join("built"))?;
        fs::create_dir(built.join(KERNELS))?;
        // The emulated grid keeps its compiled runtime there, from one submission to the next.
        let cache = folder.join("cache");
        fs::create_dir_all(&cache)?;
        // Under the paths that a student knows, because messages have them.
        let library = sources.join(paths::exercises(number, LIBRARY));
        let kernels = files.keys().filter(|path| path.ends_with(".cu"));
        let kernels: Vec<String> = kernels.map(|path| paths::exercises(number, path)).collect();
        let files = files
            .iter()
            .map(|(path, text)| (library.with_file_name(path), *text));
        for (path, text) in files.chain([(sources.join(program(number)), &*lesson.program)]) {
            fs::create_dir_all(path.parent().unwrap_or(&sources))?;
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        let rustc = |step: &Vec<String>| {
            let program = self.sysroot.join("bin/rustc").display().to_string();
            let libraries = format!("-Ldependency={}", self.libraries.display());
            [vec![program, libraries], step.clone()].concat()
        };
        let grid = [self.libraries.join("grid"), built.join(KERNELS)];
        let grid = grid.map(|path| path.display().to_string()).to_vec();
        // Only a lesson with kernels has it.
        let grid = (!kernels.is_empty() && Path::new(&grid[0]).exists()).then(|| [grid, kernels].concat());
        for command in lesson.steps.iter().map(rustc).chain(grid) {
            // The variables that cargo sets for the exercise.
            let names = ["PKG", "CRATE"].map(|what| format!("CARGO_{what}_NAME=exercise{number}"));
            let version = format!("CARGO_PKG_VERSION={}", env!("CARGO_PKG_VERSION"));
            let target = format!("CARGO_TARGET_DIR={}", cache.display());
            let program = Program {
                command,
                variables: [&names[..], &[version, target]].concat(),
                read: vec![&self.sysroot, &self.libraries, &sources],
                write: vec![&built, &cache],
                folder: &sources,
                scratch: &folder.join("scratch"),
                limits: LIMITS,
                answer: false,
            };
            let ended = sandbox.run(&program, "", |_| {})?;
            let (how, message) = (ended.how(LIMITS.wall), clean::short(ended.errors.trim(), MESSAGE));
            let failed = |message: &str| Ok(Err(format!("it does not compile:\n{message}")));
            let is_error = || ended.errors.lines().any(|line| line.starts_with("error"));
            match ended.code {
                Some(0) => {}
                Some(1 | 101) if is_error() => return failed(&message),
                // Something else than the compiler failed, which is not the student's mistake.
                Some(..=128) => bail!("{}: {how}: {message}", program.command[0]),
                _ => return failed(&format!("the compiler: {how}\n{message}")),
            }
        }
        Ok(match refused {
            Some(refused) => Err(refused.why),
            None => Ok(built.join("grade")),
        })
    }
}

impl Lesson {
    fn new(root: &Path, number: &str, built: &[Built]) -> Result<Self> {
        let read = |path: String| {
            let path = root.join(path);
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let checks = paths::folder(number);
        let of = |name: &str| {
            let found = built.iter().find(|(about, _)| about["target"]["name"] == *name);
            found.with_context(|| format!("cargo built no library {name}"))
        };
        let (about, library) = of(&checks)?;
        let profile = &about["profile"];
        // The checks are compiled with less optimisation than the exercises, which have canopy's.
        let level = &of("canopy")?.0["profile"]["opt_level"];
        let setting = |option, value: &Value| format!("{option}={}", value.to_string().replace('"', ""));
        let settings = [
            setting("--edition", &about["target"]["edition"]),
            setting("-Copt-level", level),
            setting("-Cdebuginfo", &profile["debuginfo"]),
            setting("-Cdebug-assertions", &profile["debug_assertions"]),
            setting("-Coverflow-checks", &profile["overflow_checks"]),
            // Warnings are for the student at home.
            "-Awarnings".into(),
            "--out-dir=../built".into(),
        ];
        let exercise = format!("exercise{number}");
        let mut steps = [vec![paths::exercises(number, LIBRARY)], vec![program(number)]];
        steps
            .iter_mut()
            .for_each(|step| step.extend_from_slice(&settings));
        steps[0].extend([format!("--crate-name={exercise}"), "--crate-type=lib".into()]);
        steps[1].push(format!("--extern={exercise}=../built/lib{exercise}.rlib"));
        steps[1].push(format!("--extern={checks}={}", library.display()));
        let path = format!("exercises/{checks}/Cargo.toml");
        let manifest: Table = read(path.clone())?.parse()?;
        let lints = manifest.get("lints").and_then(|lints| lints.get("rust"));
        let lints = lints.and_then(|lints| lints.as_table());
        for (lint, level) in lints.into_iter().flatten() {
            let level = level.get("level").unwrap_or(level).as_str();
            steps[0].push(format!("--{}={lint}", level.context("a lint without a level")?));
        }
        ensure!(
            steps[0].contains(&"--forbid=unsafe_code".into()),
            "{path}: expected unsafe_code = \"forbid\" in [lints.rust]: grading relies on it"
        );
        let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
        for name in dependencies.into_iter().flat_map(Table::keys) {
            let name = name.replace('-', "_");
            // Cargo may have built it a second time, with another profile, for a macro or a build script.
            let found = built.iter().find(|(about, _)| {
                let is_right = about["profile"]["opt_level"] == *level;
                about["target"]["name"] == *name && (is_right || about["target"]["kind"][0] == "proc-macro")
            });
            let (_, library) =
                found.with_context(|| format!("cargo built no library {name} for {exercise}"))?;
            steps[0].push(format!("--extern={name}={}", library.display()));
        }
        Ok(Self {
            program: read(program(number))?,
            steps,
        })
    }
}

/// Builds the checks of `lessons` and `program`, and links all libraries that they need, and the program, into `libraries`.
fn build(root: &Path, libraries: &Path, lessons: &[&str], program: Option<&str>) -> Result<Vec<Built>> {
    let mut arguments = "build --offline --locked".to_owned();
    let checks = lessons.iter().map(|lesson| paths::folder(lesson) + "-checks");
    arguments.extend(
        checks
            .chain(program.map(str::to_owned))
            .map(|name| format!(" --package={name}")),
    );
    let all = cargo::build(root, &arguments)?;
    fs::create_dir_all(libraries)?;
    let mut built = Vec::new();
    for about in all.context("the lessons do not build, so nothing can be graded")? {
        let files = about["filenames"].as_array().into_iter().flatten();
        let mut files = files.filter_map(|file| Some(Path::new(file.as_str()?)));
        let library = files.find(|file| file.extension().is_some_and(|e| e == "rlib" || e == "so"));
        let file = library.or(about["executable"].as_str().map(Path::new));
        if let Some((file, name)) = file.and_then(|file| Some((file, file.file_name()?))) {
            let link = libraries.join(name);
            // A copy would be written into the file of the course, if the link existed.
            let _ = fs::remove_file(&link);
            // Hard links do not work across file systems, and some have none.
            let linked = fs::hard_link(file, &link).or_else(|_| fs::copy(file, &link).map(drop));
            linked.with_context(|| format!("{} cannot be copied", file.display()))?;
            built.push((about, link));
        }
    }
    Ok(built)
}

/// The file of the program that links the exercise.
fn program(number: &str) -> String {
    format!("lessons/{}/run/src/grade.rs", paths::folder(number))
}
