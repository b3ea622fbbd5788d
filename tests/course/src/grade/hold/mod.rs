//! Holds a program in: what it may read, write and use, and that nothing of it outlives its time.
//!
//! The grader starts itself again as `course hold SPEC`. That process, alone and with one thread, leaves for namespaces
//! of its own ([`spaces`]), gives up every right ([`rights`]) and becomes the program. [`outside`] is the grader's end.

pub mod inside;
pub mod outside;
mod rights;
mod spaces;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use serde::{Deserialize, Serialize};

/// What is to run, and within which bounds. In `args`, `@NAME/` is the folder of the bind of that name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// What it sees besides the system's libraries.
    pub binds: Vec<Bind>,
    /// Where the namespace's own root is put together: an empty folder.
    pub root: PathBuf,
    /// Program, arguments, and the folder it starts in.
    pub args: Vec<String>,
    pub start_in: String,
    pub env: Vec<(String, String)>,
    /// Whether it may start other programs: a compiler its linker.
    pub spawns: bool,
    /// Whether it speaks to the grader.
    pub speaks: bool,
    pub limits: Limits,
    /// Who it is, where the grader is root: a user that nobody is, another each time, for limits count by user.
    pub user: u32,
}

impl Spec {
    /// A user far above those of a machine.
    pub fn someone() -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        0x7000_0000 + ((std::process::id() & 0xffff) << 12) + (NEXT.fetch_add(1, SeqCst) & 0xfff)
    }
}

/// A file or folder that is seen inside as `/course/NAME`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bind {
    pub name: String,
    pub from: PathBuf,
    pub write: bool,
}

impl Bind {
    pub fn read(name: &str, from: impl Into<PathBuf>) -> Self {
        let (name, from) = (name.to_owned(), from.into());
        Self {
            name,
            from,
            write: false,
        }
    }

    pub fn write(name: &str, from: impl Into<PathBuf>) -> Self {
        Self {
            write: true,
            ..Self::read(name, from)
        }
    }
}

/// How much of the machine it may use.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// By the clock, in seconds: the grader ends it then.
    pub wall: u64,
    /// Of a processor, in seconds.
    pub cpu: u64,
    /// MiB of addresses a process.
    pub memory: u64,
    /// MiB a file, and MiB of its folder for scratch.
    pub disk: u64,
    /// Processes and threads.
    pub tasks: u64,
}

/// What held, as the inside says before it becomes the program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Short names, for `--require`: `landlock`, `network`.
    pub held: Vec<String>,
    /// `landlock: the kernel does not have it`.
    pub missing: Vec<String>,
    /// Why it could not start at all.
    pub failed: Option<String>,
}

impl Report {
    /// Notes how it went to get `name`.
    pub fn note<T, E: std::fmt::Display>(&mut self, name: &str, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => {
                self.held.push(name.to_owned());
                Some(value)
            }
            Err(error) => {
                self.missing.push(format!("{name}: {error}"));
                None
            }
        }
    }
}
