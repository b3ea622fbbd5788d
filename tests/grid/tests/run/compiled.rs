//! Kernels that the program `grid` compiled run, and report their faults, without a compiler.

use std::{env, fs, process::Command};

use grid::{Arg, Error, Memory, Source};

use crate::compiled;

const NAME: &str = "exercises/lesson11/src/fill.cu";
const FILL: &str =
    "// Up to n.\nextern \"C\" __global__ void fill(float* y, int n) {\n    y[threadIdx.x] = n;\n}\n";
const BROKEN: &str = "extern \"C\" __global__ void broken(float* y) {\n    y[0] = z;\n}\n";

/// Whether the fault of `fill` names its line; false if the kernel cannot be compiled here.
fn names_its_line(source: &Source, file: &str) -> bool {
    let Some(module) = compiled(source) else {
        return false;
    };
    let mut memory = Memory::new();
    let y = memory.zeros::<f32>(31);
    let arguments = [Arg::write(y), Arg::value(31i32)];
    let fault = module
        .launch("fill", 1, 32, 0, &mut memory, &arguments)
        .unwrap_err();
    let line = format!("at {file}:3: y[threadIdx.x] = n;");
    assert!(fault.message.contains(&line), "{fault}");
    true
}

#[test]
fn a_fault_names_the_file_as_it_was_given() {
    names_its_line(&Source::text(NAME, FILL), NAME);
    let numbered = format!("#define M 1\n#line 1 \"fill.cu\"\n{FILL}");
    names_its_line(&Source::text("answers.cu", numbered), "fill.cu");
    // A name that would leave the cache's folder.
    names_its_line(
        &Source::text("/../fill.cu", FILL.replace("Up to n", "All")),
        "fill.cu",
    );
}

#[test]
fn compiled_kernels_run_without_a_compiler() {
    if env::var_os("GRID_COMPILED").is_some() {
        return without_a_compiler();
    }
    let folder = env::temp_dir().join(format!("grid-test-{}", std::process::id()));
    for (name, text) in [(NAME, FILL), ("broken.cu", BROKEN)] {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), text).unwrap();
    }
    let mut grid = Command::new(env!("CARGO_BIN_EXE_grid"));
    grid.current_dir(&folder).args(["out", NAME, "broken.cu"]);
    assert!(grid.status().unwrap().success());
    if names_its_line(&Source::text(NAME, FILL), NAME) {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "compiled::compiled_kernels_run_without_a_compiler"]);
        child
            .env("GRID_COMPILED", folder.join("out"))
            .env("PATH", "")
            .env("CXX", "false");
        let output = child.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    fs::remove_dir_all(folder).unwrap();
}

fn without_a_compiler() {
    assert!(names_its_line(&Source::text(NAME, FILL), NAME));
    for (source, says) in [
        (Source::text("broken.cu", BROKEN), "broken.cu:2:"),
        (
            Source::text(NAME, FILL).define("N=1"),
            "in grading, only the .cu files are compiled",
        ),
    ] {
        let wrong = source.compile().err().unwrap();
        assert!(
            matches!(&wrong, Error::Wrong(why) if why.contains(says)),
            "{wrong}"
        );
    }
}
