//! Libraries and programs beside the driver: cuBLAS and NVRTC for CUDA, NCCL and MPI for ranks.

use std::process::{Command, Stdio};

use libloading::Library;

use super::Line;
use crate::parallel::nccl;

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
    lines.extend(nccl(needed));
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

fn nccl(needed: bool) -> Option<Line> {
    const NAME: &str = "NCCL";
    let built = cfg!(feature = "nccl");
    match nccl::Library::open() {
        Ok(library) if built => Some(Line::ok(
            NAME,
            format!("{}; this program is built with NCCL", library.name()),
        )),
        Ok(library) => Some(Line::ok(
            NAME,
            format!(
                "{}; this program is built without `--features nccl`: gradients of several GPUs go over MPI",
                library.name()
            ),
        )),
        Err(why) if built && needed => Some(Line::warning(
            NAME,
            why,
            "one GPU does not need it; several train without it with `--collective mpi`",
        )),
        Err(_) if needed => Some(Line::ok(NAME, "not found; only ranks on several GPUs can use it")),
        Err(_) => None,
    }
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
