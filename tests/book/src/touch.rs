//! The interactive pieces: `book/touch` compiled to WebAssembly, in one script that also works from a file.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// Writes `touch.js` into `out`: the arithmetic, what the pieces share, and the pieces.
///
/// Without Rust's library for WebAssembly, it is not written, and the pages keep their still pictures.
pub fn build(root: &Path, out: &Path) -> Result<()> {
    if !target_is_installed()? {
        eprintln!(
            "The interactive pieces are not built, because Rust's library for {TARGET} is missing. \
            Install it with: rustup target add {TARGET}"
        );
        return Ok(());
    }
    let folder = root.join("book/touch");
    let wasm = compile(root, &folder)?;
    let mut bound = Bindgen::new()
        .input_path(wasm)
        .no_modules(true)?
        .typescript(false)
        .generate_output()?;
    let bytes = bound.wasm_mut().emit_wasm();
    let page = folder.join("page");
    let mut script = format!(
        "{}\nconst WASM = \"{}\";\n{}",
        bound.js(),
        BASE64_STANDARD.encode(bytes),
        fs::read_to_string(page.join("touch.js"))?
    );
    let mut pieces: Vec<PathBuf> = fs::read_dir(&page)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    pieces.retain(|path| path.extension().is_some_and(|ending| ending == "js"));
    pieces.retain(|path| !path.ends_with("touch.js") && !path.ends_with("load.js"));
    pieces.sort();
    for piece in pieces {
        script += &fs::read_to_string(piece)?;
    }
    let accesses = fs::read_to_string(root.join("book/src/recorded/11-accesses.json"))?;
    script += &format!("touch.accesses = {accesses};\ntouch.start();\n");
    fs::write(out.join("touch.js"), script).context("touch.js could not be written")
}

fn target_is_installed() -> Result<bool> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", TARGET]);
    let output = command.output().context("rustc could not be started")?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).is_dir())
}

/// Compiles the crate, and returns the path of its WebAssembly.
fn compile(root: &Path, folder: &Path) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--locked", "--release", "--target", TARGET]);
    command.arg("--manifest-path").arg(folder.join("Cargo.toml"));
    let status = command.arg("--target-dir").arg(&target).status();
    ensure!(
        status.context("cargo could not be started")?.success(),
        "the interactive pieces in {} do not compile",
        folder.display()
    );
    Ok(target.join(TARGET).join("release/touch.wasm"))
}
