//! `cargo course verify`.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};

use super::{
    key,
    seal::{Verdict, verdict},
};

/// Options of `cargo course verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo course verify certificates/anna/certificate.html --public instructor.key.pub\n\n\
    Exit codes: 0 valid, 1 changed, 2 wrong arguments, 3 signed by another key, 4 not a certificate."
)]
pub struct Options {
    /// certificate.html, as it was written
    file: PathBuf,
    /// Instructor's public key, or the file that contains it
    #[arg(long, value_name = "KEY")]
    public: String,
}

/// Verifies a file and prints the result.
///
/// # Errors
/// Returns an error if the public key cannot be read.
pub fn run(options: &Options) -> Result<ExitCode> {
    let public = key::read_public(&options.public)?;
    let name = options.file.display();
    let read = fs::read(&options.file).with_context(|| format!("{name} cannot be read"));
    let (code, text) = match read.and_then(|bytes| verdict(&bytes, &public)) {
        Ok(Verdict::Valid(statement)) => (0, format!("valid: {name}\n\n{statement}")),
        Ok(Verdict::Changed) => {
            let why = "It is not as it was signed. Nothing in it can be trusted.";
            (1, format!("changed: {name}\n{why}\n"))
        }
        Ok(Verdict::OtherKey(key)) => {
            let whose = format!(
                "It is unchanged, but was signed with the key {key},\nnot with the key that you gave."
            );
            (3, format!("other key: {name}\n{whose}\n"))
        }
        Err(error) => {
            eprintln!("cargo course: not a certificate: {name}: {error:#}");
            (4, String::new())
        }
    };
    // A closed pipe is not an error, because the exit code has the result too.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(code))
}
