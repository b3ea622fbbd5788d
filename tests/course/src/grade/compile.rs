//! From a student's files to a program that judges them: the student's crate alone is compiled by what they wrote, all
//! else is the course's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{
    hold::{
        Bind, Limits, Report, Spec,
        outside::{self, Ended},
    },
    prepare::{Ready, Toolchain},
};

/// Bounds of each run of the compiler. Its threads and the linker's map much that they do not use.
const LIMITS: Limits = Limits {
    wall: 90,
    cpu: 60,
    memory: 3 << 10,
    disk: 256,
    tasks: 256,
};

/// The folders of one submission while it is graded.
pub struct Desk {
    folder: PathBuf,
}

impl Desk {
    /// An empty one.
    pub fn new(folder: PathBuf) -> Result<Self> {
        let desk = Self { folder };
        desk.clear();
        for name in ["in", "ours", "look", "out", "root"] {
            fs::create_dir_all(desk.at(name)).with_context(|| desk.at(name).display().to_string())?;
        }
        for name in ["look", "out"] {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(desk.at(name), fs::Permissions::from_mode(0o777))?;
        }
        Ok(desk)
    }

    /// A part of it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Takes it away.
    pub fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub struct Compiler<'a> {
    pub ready: &'a Ready,
    pub toolchain: &'a Toolchain,
    pub desk: &'a Desk,
}

impl Compiler<'_> {
    fn lesson(&self) -> &str {
        &self.ready.manifest.lesson
    }

    fn crate_name(&self) -> String {
        format!("exercise{}", self.lesson())
    }

    /// Compiles the student's crate as it will run. Gives the compiler's words where it refuses.
    pub fn student(&self, out: &str, optimised: bool) -> Result<Result<Report, String>> {
        let source = format!("exercises/lesson{}/src/lib.rs", self.lesson());
        let mut args = self.rustc(&self.crate_name(), "lib");
        args.extend(["-F", "unsafe_code", "-A", "unused", "-A", "warnings"].map(str::to_owned));
        args.extend(level(optimised));
        for (name, file) in &self.ready.externs {
            args.push("--extern".into());
            args.push(format!("{name}=@deps/{}", name_of(file)));
        }
        args.extend(["-L".into(), "dependency=@deps/".into()]);
        args.push("--emit=link,obj".into());
        args.push("--out-dir=@made/".into());
        args.push(source);
        let binds = vec![
            Bind::read("in", self.desk.at("in")),
            Bind::read("deps", &self.ready.for_student),
        ];
        self.compile(args, binds, out)
    }

    /// Compiles a crate of ours against the student's: `look.rs` to look into, or `main.rs` to run.
    pub fn ours(&self, name: &str, text: &str, out: &str, linked: bool) -> Result<Result<Report, String>> {
        fs::write(self.desk.at("ours").join(format!("{name}.rs")), text)?;
        let kind = if linked { "bin" } else { "lib" };
        let mut args = self.rustc(name, kind);
        args.extend(["-A", "warnings"].map(str::to_owned));
        // Nothing in it takes time: the student's crate and the checks are compiled elsewhere.
        args.extend(level(false));
        for (name, file) in &self.ready.own {
            args.push("--extern".into());
            args.push(format!("{name}=@deps/{}", name_of(file)));
        }
        let student = self.crate_name();
        args.push("--extern".into());
        args.push(format!("{student}=@made/lib{student}.rlib"));
        args.extend(["-L".into(), "dependency=@deps/".into()]);
        args.push(format!("--emit={}", if linked { "link" } else { "obj" }));
        args.push("--out-dir=@made/".into());
        args.push(format!("{name}.rs"));
        let mut binds = vec![
            Bind::read("in", self.desk.at("ours")),
            Bind::read("deps", &self.ready.for_program),
        ];
        if let (true, Some(linker)) = (linked, &self.toolchain.linker) {
            let own = [
                "-Clinker-features=-lld",
                "-Clink-arg=-fuse-ld=lld",
                "-Clink-arg=-B@linker/",
            ];
            args.extend(own.map(str::to_owned));
            binds.push(Bind::read("linker", linker));
        }
        self.compile(args, binds, out)
    }

    fn rustc(&self, name: &str, kind: &str) -> Vec<String> {
        let args = [
            "@toolchain/bin/rustc",
            "--sysroot",
            "@toolchain",
            "--edition=2024",
            "--crate-name",
            name,
            "--crate-type",
            kind,
            "--color=never",
            "--diagnostic-width=76",
            "--error-format=human",
            "-Ccodegen-units=1",
            "-Cdebug-assertions=on",
            "-Coverflow-checks=on",
        ];
        args.map(str::to_owned).to_vec()
    }

    fn compile(&self, args: Vec<String>, mut binds: Vec<Bind>, out: &str) -> Result<Result<Report, String>> {
        binds.push(Bind::read("toolchain", &self.toolchain.sysroot));
        // By one name wherever it is: what is looked into and what is run must be compiled alike, and the environment
        // is something that source can ask for.
        binds.push(Bind::write("made", self.desk.at(out)));
        let mut env = environment("@made");
        // The loader finds a program's own folder by /proc, which is not there.
        env.push(("LD_LIBRARY_PATH".into(), "@toolchain/lib".into()));
        let spec = Spec {
            binds,
            root: self.desk.at("root"),
            args,
            start_in: "@in".into(),
            env,
            spawns: true,
            speaks: false,
            limits: LIMITS,
            user: Spec::someone(),
        };
        let ended = outside::run(&spec, "", |_| {})?;
        Ok(match ended.code {
            Some(0) => Ok(ended.report),
            _ => Err(self.why(&ended)),
        })
    }

    /// What the compiler said, or how it ended; without the names of the inside.
    fn why(&self, ended: &Ended) -> String {
        let said = shortened(&ended.errors, 1_500);
        let said = said.replace("/course/in/", "").replace("/course/", "");
        if ended.code == Some(1) && !said.trim().is_empty() {
            return said.trim_end().to_owned();
        }
        format!("the compiler: {}\n{}", ended.how(LIMITS.wall), said.trim_end())
            .trim_end()
            .to_owned()
    }
}

/// Its beginning and its end, of so many letters each.
fn shortened(text: &str, each: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= 2 * each {
        return text.to_owned();
    }
    let (head, tail) = (&letters[..each], &letters[letters.len() - each..]);
    head.iter()
        .chain("\n[…]\n".chars().collect::<Vec<_>>().iter())
        .chain(tail)
        .collect()
}

fn name_of(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn level(optimised: bool) -> Vec<String> {
    let args: &[&str] = if optimised {
        &["-Copt-level=3", "-Cdebuginfo=0"]
    } else {
        &["-Copt-level=0", "-Cdebuginfo=0", "-Csymbol-mangling-version=v0"]
    };
    args.iter().map(|a| (*a).to_owned()).collect()
}

/// All that a held program finds in its environment.
pub fn environment(temporary: &str) -> Vec<(String, String)> {
    [
        ("PATH", "/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", temporary),
        ("RAYON_NUM_THREADS", "2"),
        ("MALLOC_ARENA_MAX", "2"),
    ]
    .map(|(k, v)| (k.to_owned(), v.to_owned()))
    .to_vec()
}

/// Each exercise's function put into the contract, a function of our own each: where they lead is what is looked at.
pub fn look_text(ready: &Ready) -> String {
    let n = &ready.manifest.lesson;
    let mut text = String::new();
    for (i, e) in ready.manifest.exercises.iter().enumerate() {
        text.push_str(&format!(
            "pub fn answer_{i}(to: &mut lesson{n}::Lesson{n}) {{ to.{0} = exercise{n}::{0}; }}\n",
            e.function
        ));
    }
    text
}

/// The program that judges them.
pub fn main_text(ready: &Ready) -> String {
    let n = &ready.manifest.lesson;
    let fields = ready.manifest.exercises.iter();
    let fields: Vec<String> = fields
        .map(|e| format!("{0}: exercise{n}::{0}", e.function))
        .collect();
    format!(
        "fn main() -> std::process::ExitCode {{\n    grader::judge(&lesson{n}::LESSON, lesson{n}::Lesson{n} {{ {} }})\n}}\n",
        fields.join(", ")
    )
}
