//! `grid OUT FILE.cu…` compiles kernels into the folder OUT, for a process that has `GRID_COMPILED=OUT` and no compiler.
//!
//! Faults name the files as they are given here. A file that does not compile is not an error of this program: OUT then has
//! the compiler's messages, and the process that asks for the kernel gets them.

use std::{env, fs, path::Path, process::ExitCode};

use grid::Source;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [out, files @ ..] = &arguments[..] else {
        eprintln!("usage: grid OUT FILE.cu…");
        return ExitCode::from(2);
    };
    for file in files {
        let made = fs::create_dir_all(out).and_then(|()| fs::read_to_string(file));
        let compiled = made.and_then(|text| Source::text(file, text).compile_into(Path::new(out)));
        if let Err(error) = compiled {
            eprintln!("{file} cannot be read, or {out} not be written: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
