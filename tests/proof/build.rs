//! Lists the folders of `lessons` for `tests/lessons.rs`, so that no list of lessons is kept by hand there.
//!
//! Cargo needs each lesson as a dependency in `Cargo.toml`; one that is missing is an error that names the line to add.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../../lessons");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let manifest = fs::read_to_string("Cargo.toml")?;
    let mut lessons = Vec::new();
    for entry in fs::read_dir("../../lessons")? {
        let entry = entry?;
        if entry.path().join("lesson.toml").is_file() {
            lessons.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    lessons.sort();
    for lesson in &lessons {
        if !manifest
            .lines()
            .any(|line| line.starts_with(&format!("{lesson} = ")))
        {
            return Err(format!(
                "lessons/{lesson} is not a dependency of the proof: add to [dev-dependencies] in tests/proof/Cargo.toml\n\
                 {lesson} = {{ package = \"{lesson}-checks\", path = \"../../lessons/{lesson}\" }}"
            )
            .into());
        }
    }
    let list = format!("of_each_lesson! {{ {} }}\n", lessons.join(" "));
    fs::write(Path::new(&env::var("OUT_DIR")?).join("lessons.rs"), list)?;
    Ok(())
}
