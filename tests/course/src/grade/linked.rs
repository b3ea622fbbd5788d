//! What a student's code may not add to the program of the checks: functions that replace those of the system's
//! libraries, and code that runs before `main`. Both could change verdicts. No source without `unsafe` can add them, as
//! far as is known; this is a second lock.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, anyhow};
use object::{File, Object, ObjectSection, ObjectSymbol};

/// Beginnings of the names of sections with code, or addresses of functions, that run before `main`.
const EARLY: [&str; 3] = [".preinit_array", ".init", ".ctors"];

/// The functions of a program by which it and its libraries are joined.
pub struct Linked {
    /// Those that it has itself and did not get from a Rust crate: their names are not mangled.
    own: BTreeSet<String>,
    /// Those that its libraries find in it, so that they call these instead of their own.
    exported: BTreeSet<String>,
    /// Those that it calls in its libraries.
    imported: BTreeSet<String>,
    /// Size of the sections `EARLY`, in bytes.
    early: u64,
}

impl Linked {
    /// Reads a program.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is no program of this machine.
    pub fn read(program: &Path) -> Result<Self> {
        let name = || program.display().to_string();
        let bytes = fs::read(program).with_context(name)?;
        let file = File::parse(&*bytes).map_err(|e| anyhow!("{}: {e}", name()))?;
        let (exported, imported) = file
            .dynamic_symbols()
            .partition::<Vec<_>, _>(|s| s.is_definition());
        let early = |s: &object::Section| {
            let name = s.name().unwrap_or_default();
            EARLY.iter().any(|early| name.starts_with(early))
        };
        Ok(Self {
            own: names(file.symbols().filter(|s| s.is_definition()))
                .filter(|name| !name.starts_with("_ZN") && !name.starts_with("_R"))
                .collect(),
            exported: names(exported).collect(),
            imported: names(imported).collect(),
            early: file.sections().filter(early).map(|s| s.size()).sum(),
        })
    }

    /// Why the program of a student is refused: what it has, and that with the stubs has not.
    pub fn beyond(&self, stubs: &Self) -> Option<String> {
        let mut replaced: BTreeSet<&str> = self
            .own
            .intersection(&stubs.imported)
            .map(String::as_str)
            .collect();
        replaced.extend(self.exported.difference(&stubs.exported).map(String::as_str));
        let what = if !replaced.is_empty() {
            let names = Vec::from_iter(replaced).join(", ");
            format!("replaces functions of the system's libraries: {names}")
        } else if self.early > stubs.early {
            "has code that runs before `main`".to_owned()
        } else {
            return None;
        };
        Some(format!(
            "it {what}. This could change verdicts, so nothing was run"
        ))
    }
}

fn names<'a>(symbols: impl IntoIterator<Item = impl ObjectSymbol<'a>>) -> impl Iterator<Item = String> {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    symbols
        .into_iter()
        .map(move |s| name(s.name_bytes().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A program that is linked with a library of `items`, as the checks are with an exercise.
    fn linked(items: &str, level: &str) -> Linked {
        let folder = tempfile::tempdir().unwrap();
        let main = "fn main() { exercise::f(); println!(\"{:?}\", std::fs::read(\"a\")) }";
        fs::write(
            folder.path().join("exercise.rs"),
            format!("pub fn f() {{}}\n{items}"),
        )
        .unwrap();
        fs::write(folder.path().join("main.rs"), main).unwrap();
        for arguments in [
            "--crate-type=rlib exercise.rs",
            "--extern=exercise=libexercise.rlib main.rs",
        ] {
            let built = Command::new("rustc")
                .args(["--edition=2024", "--forbid=unsafe_code", "-C", level])
                .args(arguments.split(' '))
                .current_dir(&folder)
                .status()
                .unwrap();
            assert!(built.success(), "{items}");
        }
        Linked::read(&folder.path().join("main")).unwrap()
    }

    /// The attributes are on a method of a trait, where the lint does not see them.
    #[test]
    fn a_program_that_replaces_or_runs_early_is_refused() {
        // The symbols are global in one of these programs and local in the other.
        for level in ["opt-level=0", "opt-level=3"] {
            let honest = linked("", level);
            assert_eq!(linked("pub fn open64() {}", level).beyond(&honest), None);
            for (attribute, expected) in [
                ("export_name = \"open64\"", "system's libraries: open64."),
                ("link_section = \".init_array\"", "before `main`"),
            ] {
                let items = format!(
                    "trait Own {{ #[unsafe({attribute})] extern \"C\" fn own() -> i32 {{ 3 }} }}\n\
                     impl Own for u8 {{}}\n#[used] static KEPT: extern \"C\" fn() -> i32 = u8::own;"
                );
                let why = linked(&items, level).beyond(&honest).unwrap();
                assert!(why.contains(expected), "{level}: {why}");
            }
        }
    }
}
