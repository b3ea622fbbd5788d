//! Compiles CUDA sources with the system's C++ compiler, once for each content, options and compiler.

use std::{
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Component, Path, PathBuf},
    process::{Command, Output},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    lines::{FOLDER, HEADERS},
    module::Module,
    source,
};

/// Why there is no module.
#[derive(Clone, Debug)]
pub enum Error {
    /// This machine cannot compile kernels: a test that gets it prints "not run, because" and the reason.
    NotRun(String),
    /// The source is wrong; the text says where.
    Wrong(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::NotRun(why) => write!(f, "not run, because {why}"),
            Error::Wrong(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

/// The headers and the runtime, which the library carries with it.
macro_rules! carried {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../", $name)))),*] };
}
const FILES: [(&str, &str); 20] = carried![
    "include/cuda_bf16.h",
    "include/cuda_fp16.h",
    "include/cuda_pipeline.h",
    "include/grid.h",
    "include/grid/abi.h",
    "include/grid/atomics.h",
    "include/grid/kernel.h",
    "include/grid/math.h",
    "include/grid/runtime.h",
    "include/grid/small_float.h",
    "include/grid/warp.h",
    "include/grid/words.h",
    "include/mma.h",
    "runtime/copies.cpp",
    "runtime/fiber.cpp",
    "runtime/hooks.cpp",
    "runtime/memory.cpp",
    "runtime/runtime.cpp",
    "runtime/state.h",
    "runtime/warp.cpp",
];

/// Options for both compilations.
const COMMON: [&str; 5] = [
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
];
/// A kernel is instrumented: every access, where the source has it (a read before a guard is not moved behind it), and what a GPU
/// would not do. Sums are not contracted to fused multiply-adds, and
/// signed integers wrap, as on a GPU.
const KERNEL: [&str; 12] = [
    "-O1",
    "-fno-tree-sink",
    "-g",
    "-gz=none",
    "-w",
    "-fsanitize=thread,alignment,bounds,integer-divide-by-zero",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-fno-threadsafe-statics",
    "-fwrapv",
    "-fno-omit-frame-pointer",
];

/// A CUDA source with the options of its compilation.
#[derive(Clone, Debug)]
pub struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: Option<String>,
    includes: Vec<PathBuf>,
    defines: Vec<String>,
}

impl Source {
    /// The source in a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            text: None,
            includes: Vec::new(),
            defines: Vec::new(),
        }
    }

    /// A source given as text; faults call it `name`, which may have folders.
    pub fn text(name: &str, text: impl Into<String>) -> Self {
        // Only names of folders and files: the text is written below a folder of the cache.
        let names = Path::new(name)
            .components()
            .filter(|part| matches!(part, Component::Normal(_)));
        let mut source = Self::file(names.collect::<PathBuf>());
        source.text = Some(text.into());
        source
    }

    /// A folder for `#include "…"`; the folder of a file is searched anyway.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.includes.push(std::path::absolute(&folder).unwrap_or(folder));
        self
    }

    /// Defines a macro: `NAME=VALUE`.
    pub fn define(mut self, macro_: &str) -> Self {
        self.defines.push(macro_.to_owned());
        self
    }

    /// Compiles the source, or takes the module that an earlier run compiled, and loads it. If the environment has
    /// `GRID_COMPILED`, takes what [`Self::compile_into`] left in that folder, and starts no program.
    pub fn compile(&self) -> Result<Module, Error> {
        let (module, text) = match std::env::var_os("GRID_COMPILED") {
            Some(folder) => self.compiled_in(Path::new(&folder))?,
            None => self.build()?,
        };
        let (_, kernels) = self.rewritten(&text)?;
        Module::load(&module, self, kernels).map_err(Error::Wrong)
    }

    /// Compiles the source into `folder`, or writes there why it cannot be compiled.
    pub fn compile_into(&self, folder: &Path) -> io::Result<()> {
        let file = self.file_in(folder);
        let (extension, text) = match self.build() {
            Ok((module, text)) => {
                fs::copy(module, file.with_extension("so"))?;
                ("ii", text)
            }
            Err(Error::Wrong(what)) => ("wrong", what),
            Err(Error::NotRun(why)) => ("not_run", why),
        };
        fs::write(file.with_extension(extension), text)
    }

    fn compiled_in(&self, folder: &Path) -> Result<(PathBuf, String), Error> {
        let file = self.file_in(folder);
        let read = |extension| fs::read_to_string(file.with_extension(extension)).ok();
        let unknown = "is not there: in grading, only the .cu files are compiled";
        match (read("ii"), read("not_run"), read("wrong")) {
            (Some(text), ..) => Ok((file.with_extension("so"), text)),
            (_, Some(why), _) => Err(Error::NotRun(why)),
            (.., Some(what)) => Err(Error::Wrong(what)),
            _ => Err(Error::Wrong(format!("{} {unknown}", self.path.display()))),
        }
    }

    /// The file in `folder` for this text, without its extension.
    fn file_in(&self, folder: &Path) -> PathBuf {
        let text = self.text.clone().or_else(|| fs::read_to_string(&self.path).ok());
        folder.join(format!("{:016x}", hash((text, &self.defines))))
    }

    fn rewritten(&self, text: &str) -> Result<(String, Vec<source::Declared>), Error> {
        source::rewrite(text).map_err(|e| Error::Wrong(format!("{}: {e}", self.path.display())))
    }

    /// Compiles the source unless an earlier run did; the module, and the source after the preprocessor.
    fn build(&self) -> Result<(PathBuf, String), Error> {
        let compiler = compiler()?;
        let home = compiler
            .home()
            .map_err(io_error("the emulated grid's own files"))?;
        let folder = self.folder(&home)?;
        let text = self.preprocessed(compiler, &home, &folder)?;
        let (rewritten, _) = self.rewritten(&text)?;
        let compiled = home.join(format!("{:016x}", hash(&text)));
        let module = compiled.join("kernel.so");
        if !module.is_file() {
            // In a folder of this call, then moved: another thread or process may compile the same.
            let own = home.join(format!("{:016x}-{}", hash(&text), own_name()));
            let map = |from: &Path, to| format!("-fdebug-prefix-map={}={to}", from.display());
            let build = || -> io::Result<Output> {
                fs::create_dir_all(&own)?;
                fs::write(own.join("kernel.ii"), &rewritten)?;
                let mut command = compiler.command_in(&folder);
                command
                    .args(COMMON)
                    .args(KERNEL)
                    .args([map(&folder, FOLDER), map(&home.join("include"), HEADERS)])
                    .args(["-x", "c++-cpp-output", "-c"]);
                command
                    .arg(own.join("kernel.ii"))
                    .arg("-o")
                    .arg(own.join("kernel.o"));
                let output = command.output()?;
                if !output.status.success() {
                    return Ok(output);
                }
                let mut command = compiler.command_in(&folder);
                command.args(["-shared", "-o"]).arg(own.join("kernel.so"));
                command
                    .arg(own.join("kernel.o"))
                    .arg(home.join("runtime.o"))
                    .output()
            };
            let output = build().map_err(io_error("the compiled kernel"))?;
            let built = succeeded(&self.path, &output);
            if built.is_ok() && fs::rename(&own, &compiled).is_ok() {
                // Line numbers are in the module itself.
                let _ = fs::remove_file(compiled.join("kernel.o"));
            }
            let _ = fs::remove_dir_all(&own);
            built?;
        }
        Ok((module, text))
    }

    /// The folder in which the compiler runs: for a text one with only a file of it, so that messages and lines have its name.
    fn folder(&self, home: &Path) -> Result<PathBuf, Error> {
        let Some(text) = &self.text else {
            return std::env::current_dir().map_err(io_error("the working directory"));
        };
        let folder = home.join(format!("text-{:016x}", hash((&self.path, text))));
        let path = folder.join(&self.path);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(&folder)).and_then(|()| write_if_new(&path, text));
        written.map_err(io_error(&path.display().to_string()))?;
        Ok(folder)
    }

    /// The source after the preprocessor.
    fn preprocessed(&self, compiler: &Compiler, home: &Path, folder: &Path) -> Result<String, Error> {
        let mut command = compiler.command_in(folder);
        command
            .args(["-std=c++17", "-E", "-x", "c++", "-include", "grid.h", "-I"])
            .arg(home.join("include"));
        command.args(self.includes.iter().flat_map(|i| [Path::new("-I"), i]));
        command
            .args(self.defines.iter().map(|d| format!("-D{d}")))
            .arg(&self.path);
        let output = command.output().map_err(io_error("the preprocessor"))?;
        succeeded(&self.path, &output)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn io_error(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::NotRun(format!("{what} cannot be written or run: {error}"))
}

/// What the compiler says of a source that does not compile.
fn succeeded(path: &Path, output: &Output) -> Result<(), Error> {
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = errors.lines().take(30).collect();
    Err(Error::Wrong(format!(
        "{} does not compile:\n{}",
        path.display(),
        first.join("\n")
    )))
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A name that no other thread or process uses.
fn own_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn write_if_new(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    // Moved into place, because another process may read it.
    let own = path.with_extension(own_name());
    fs::write(&own, text)?;
    fs::rename(own, path)
}

/// The system's C++ compiler.
struct Compiler {
    program: String,
    version: String,
    home: OnceLock<PathBuf>,
}

/// `$CXX`, or else the first of g++, c++ and clang++ that starts: g++ also checks the alignment of vectors that are read.
fn compiler() -> Result<&'static Compiler, Error> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    if !cfg!(target_os = "linux") {
        return Err(Error::NotRun("the emulated grid needs Linux".into()));
    }
    let found = FOUND.get_or_init(|| {
        let named = std::env::var("CXX").ok();
        let programs = named
            .into_iter()
            .chain(["g++", "c++", "clang++"].map(str::to_owned));
        programs.into_iter().find_map(|program| {
            let output = Command::new(&program).arg("--version").output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).into_owned();
            output.status.success().then(|| Compiler {
                program,
                version,
                home: OnceLock::new(),
            })
        })
    });
    found
        .as_ref()
        .ok_or_else(|| Error::NotRun("there is no C++ compiler (apt-get install g++)".into()))
}

impl Compiler {
    fn command_in(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // The compiler believes `PWD` if it is another name of the folder.
        command.current_dir(folder).env("PWD", folder);
        command
    }

    /// The folder with the headers and the compiled runtime, of this compiler and this version of the library.
    fn home(&self) -> io::Result<PathBuf> {
        if let Some(home) = self.home.get() {
            return Ok(home.clone());
        }
        let home = cache().join(format!(
            "{:016x}",
            hash((FILES, COMMON, KERNEL, &self.program, &self.version))
        ));
        for (name, text) in FILES {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&home))?;
            write_if_new(&path, text)?;
        }
        let object = home.join("runtime.o");
        if !object.is_file() {
            let own = home.join(format!("runtime-{}.o", own_name()));
            let mut command = self.command_in(&home);
            command.args(COMMON).args(["-O2", "-c", "-o"]).arg(&own);
            let output = command.arg(home.join("runtime/runtime.cpp")).output()?;
            if !output.status.success() {
                return Err(io::Error::other(
                    String::from_utf8_lossy(&output.stderr).into_owned(),
                ));
            }
            fs::rename(own, object)?;
        }
        Ok(self.home.get_or_init(|| home).clone())
    }
}

/// `grid` in cargo's target folder, or in the system's temporary folder if that cannot be written.
fn cache() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let folder = target.join("grid");
    let probe = folder.join(own_name());
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&probe, ""));
    match written.and_then(|()| fs::remove_file(probe)) {
        Ok(()) => fs::canonicalize(&folder).unwrap_or(folder),
        Err(_) => std::env::temp_dir().join("canopy-grid"),
    }
}
