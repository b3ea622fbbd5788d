//! Libraries and programs beside the driver: cuBLAS and NVRTC for CUDA, NCCL and MPI for ranks.

use std::process::{Command, Stdio};

use libloading::Library;

use super::Line;

/// `needed`: this program holds CUDA code, and there is a card to run it on.
pub fn lines(needed: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, files, purpose) in [
        (
            "cuBLAS",
            ["libcublas.so.13", "libcublas.so.12"],
            "matrix products",
        ),
        (
            "NVRTC",
            ["libnvrtc.so.13", "libnvrtc.so.12"],
            "compiling kernels for the card",
        ),
    ] {
        match loaded(&files) {
            Some(file) => lines.push(Line::ok(name, file)),
            None if needed => lines.push(Line::wrong(
                name,
                format!(
                    "neither {} nor {} loads; it is needed for {purpose}",
                    files[0], files[1]
                ),
                "install the CUDA toolkit's run-time libraries, and name their folder in LD_LIBRARY_PATH",
            )),
            None => {}
        }
    }
    if let Some(file) = loaded(&["libnccl.so.2"]) {
        lines.push(Line::ok("NCCL", file));
    } else if needed {
        lines.push(Line::ok(
            "NCCL",
            "not found; canopy does not need it, because its ranks communicate through MPI",
        ));
    }
    let mpi = first_line("mpirun", "--version").or_else(|| first_line("mpiexec", "--version"));
    let built = match cfg!(feature = "mpi") {
        true => "this program is built with MPI",
        false => "this program is built without `--features mpi`: its ranks are threads",
    };
    lines.push(match mpi {
        Some(version) => Line::ok("MPI", format!("{version}; {built}")),
        None if cfg!(feature = "mpi") => Line::warning(
            "MPI",
            format!("no mpirun on the PATH, but {built}"),
            "load your site's MPI module, or start the ranks with srun (Debian: apt-get install openmpi-bin)",
        ),
        None => Line::ok(
            "MPI",
            "not found; only ranks as processes need it (Debian: apt-get install openmpi-bin)",
        ),
    });
    lines
}

/// The first of `files` that the loader finds.
fn loaded<'a>(files: &[&'a str]) -> Option<&'a str> {
    // SAFETY: loading a library of NVIDIA's runs its initialisers, as each CUDA program does.
    files.iter().find(|f| unsafe { Library::new(f) }.is_ok()).copied()
}

/// The first line that a program prints.
fn first_line(program: &str, argument: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null());
    let output = command.output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().find(|l| !l.trim().is_empty())?.trim().to_owned())
}
