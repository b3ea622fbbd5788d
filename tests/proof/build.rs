//! Lists the folders of `lessons`, so that no list of lessons is kept by hand in the tests. Cargo needs each lesson as a dependency in
//! `Cargo.toml`; one that is missing is a compiler error that names the lesson.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=../../lessons");
    let mut lessons = Vec::new();
    for entry in fs::read_dir("../../lessons")? {
        let entry = entry?;
        if entry.path().join("lesson.toml").is_file() {
            lessons.push(entry.file_name().display().to_string());
        }
    }
    lessons.sort();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(
        Path::new(&out).join("lessons.rs"),
        format!("of_each_lesson! {{ {} }}\n", lessons.join(" ")),
    )
}
