//! What is built once for all submissions: the lessons without the student's crate, by cargo, from the course's own tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use grader::Manifest;
use serde::Deserialize;

/// A lesson that is ready to be linked with a student's crate.
pub struct Ready {
    pub manifest: Manifest,
    /// Of each exercise, its checks' full names.
    pub checks: BTreeMap<String, Vec<String>>,
    /// What a student's crate may use: crate name and library.
    pub externs: Vec<(String, PathBuf)>,
    /// The lesson's own crate, and the grader's.
    pub own: Vec<(String, PathBuf)>,
    /// All that the student's crate may read of the course, in one folder; and all that the program is linked from.
    pub for_student: PathBuf,
    pub for_program: PathBuf,
}

/// The toolchain, found once.
pub struct Toolchain {
    pub sysroot: PathBuf,
    /// A folder with its fast linker, under the name by which a C compiler looks for it, where there is one.
    pub linker: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    target: Option<Target>,
    filenames: Option<Vec<PathBuf>>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    pkg: String,
}

fn cargo(root: &Path) -> Command {
    let mut command = crate::cargo::command();
    command.current_dir(root);
    command
}

/// The toolchain that the course is built with.
pub fn toolchain(root: &Path, work: &Path) -> Result<Toolchain> {
    let out = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(root)
        .output()
        .context("rustc could not be started")?;
    ensure!(out.status.success(), "rustc does not say where it is");
    let sysroot = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
    ensure!(
        sysroot.join("bin/rustc").is_file(),
        "{} has no bin/rustc",
        sysroot.display()
    );
    // The toolchain's own way to it asks /proc, which a held program does not have.
    let lld = sysroot.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    let folder = work.join("linker");
    let linker = if cfg!(target_arch = "x86_64") && lld.is_file() {
        fs::create_dir_all(&folder)?;
        fs::copy(&lld, folder.join("ld.lld")).with_context(|| lld.display().to_string())?;
        Some(folder)
    } else {
        None
    };
    Ok(Toolchain { sysroot, linker })
}

/// Builds the lesson, or finds it built, and lays out in `work` what submissions are compiled with.
pub fn prepare(root: &Path, work: &Path, manifest: Manifest) -> Result<Ready> {
    let lesson = format!("lesson{}", manifest.lesson);
    let built = build(root, &lesson)?;
    let metadata: Metadata = {
        let out = cargo(root)
            .args(["metadata", "--format-version", "1"])
            .output()
            .context("cargo metadata")?;
        ensure!(
            out.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        serde_json::from_slice(&out.stdout).context("cargo metadata")?
    };
    let exercise = format!("exercise{}", manifest.lesson);
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|n| (&*n.id, n)).collect();
    let id = |name: &str| -> Result<&str> {
        let found = metadata.packages.iter().find(|p| p.name == name);
        Ok(&found
            .with_context(|| format!("the course has no package {name}"))?
            .id)
    };
    let exercise = nodes
        .get(id(&exercise)?)
        .context("cargo metadata lacks the exercise")?;
    let folder = |name: &str| -> Result<PathBuf> {
        let folder = work.join(name).join(&lesson);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    };
    let (for_student, for_program) = (folder("for-student")?, folder("for-program")?);
    let mut seen = BTreeSet::new();
    for d in &exercise.deps {
        lay_out(&d.pkg, &nodes, &built, &for_student, &mut seen)?;
    }
    for files in built.values() {
        files.iter().try_for_each(|f| link(f, &for_program).map(|_| ()))?;
    }
    let library = |pkg: &str, folder: &Path| -> Result<PathBuf> {
        let files = built
            .get(pkg)
            .with_context(|| format!("{pkg} is not built by {lesson}"))?;
        let file = files.iter().rfind(|f| f.extension().is_some_and(|e| e == "rlib"));
        Ok(folder.join(file.and_then(|f| f.file_name()).context("no library")?))
    };
    let externs = exercise
        .deps
        .iter()
        .map(|d| Ok((d.name.clone(), library(&d.pkg, &for_student)?)));
    let own = [&*lesson, "grader"].map(|n| Ok((n.to_owned(), library(id(n)?, &for_program)?)));
    Ok(Ready {
        externs: externs.collect::<Result<_>>()?,
        own: own.into_iter().collect::<Result<_>>()?,
        checks: BTreeMap::new(),
        manifest,
        for_student,
        for_program,
    })
}

/// What cargo has built for the lesson: of each package its libraries.
fn build(root: &Path, lesson: &str) -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let out = cargo(root)
        .args(["build", "--quiet", "--lib", "--no-default-features", "-p", lesson])
        .arg("--message-format=json-render-diagnostics")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    if !out.status.success() {
        bail!("{lesson} does not build, and nothing can be graded by it");
    }
    let mut built: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&out.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        if let (Some(id), Some(files), Some(target)) = (message.package_id, message.filenames, message.target)
            && message.reason == "compiler-artifact"
            && target.kind.iter().any(|k| k.contains("lib") || k == "proc-macro")
            && target.name != "build-script-build"
        {
            let useful = |f: &PathBuf| f.extension().is_some_and(|e| e == "rlib" || e == "so");
            built
                .entry(id)
                .or_default()
                .extend(files.into_iter().filter(useful));
        }
    }
    Ok(built)
}

/// Puts a package and all below it into `folder`.
fn lay_out<'a>(
    id: &'a str,
    nodes: &BTreeMap<&str, &'a Node>,
    built: &BTreeMap<String, Vec<PathBuf>>,
    folder: &Path,
    seen: &mut BTreeSet<&'a str>,
) -> Result<()> {
    if !seen.insert(id) {
        return Ok(());
    }
    // What is not built is for another system, or for a build script.
    for file in built.get(id).into_iter().flatten() {
        link(file, folder)?;
    }
    for d in nodes.get(id).into_iter().flat_map(|n| &n.deps) {
        lay_out(&d.pkg, nodes, built, folder, seen)?;
    }
    Ok(())
}

/// Another name of the same file, or a copy where the file system has none.
fn link(file: &Path, folder: &Path) -> Result<PathBuf> {
    let name = file.file_name().with_context(|| file.display().to_string())?;
    let to = folder.join(name);
    if !to.exists() && fs::hard_link(file, &to).is_err() {
        fs::copy(file, &to).with_context(|| format!("{} cannot be copied", file.display()))?;
    }
    Ok(to)
}
