//! `cargo course verify`.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use ed25519_dalek::VerifyingKey;

use super::{
    key,
    seal::{Sealed, is_closed, is_page},
    statement::Statement,
};
use crate::submission::sha256;

/// Options of `cargo course verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo course verify certificates/anna/certificate.html --public instructor.key.pub\n\n\
    Exit codes: 0 valid, 1 changed, 2 wrong arguments, 3 signed by another key, 4 not a certificate."
)]
pub struct Options {
    /// certificate.html or certificate.json, as it was written
    file: PathBuf,
    /// Instructor's public key, or the file that contains it
    #[arg(long, value_name = "KEY")]
    public: String,
}

/// Result of a verification.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// The file is as it was signed.
    Valid(Box<Statement>),
    /// The file is not as it was signed; the text says what differs.
    Changed(&'static str),
    /// The file is unchanged, but was signed with this other key.
    OtherKey(String),
}

/// Verifies a file and prints the result.
///
/// # Errors
/// Returns an error if the public key cannot be read.
pub fn run(options: &Options) -> Result<ExitCode> {
    let public = key::read_public(&options.public)?;
    let name = options.file.display();
    let read = fs::read(&options.file).with_context(|| format!("{name} cannot be read"));
    match read.and_then(|bytes| verdict(&bytes, &public)) {
        Ok(Verdict::Valid(statement)) => {
            say(&format!("valid: {name}\n\n{}", statement.text()?));
            Ok(ExitCode::SUCCESS)
        }
        Ok(Verdict::Changed(what)) => {
            say(&format!(
                "changed: {name}\n{what}.\nNothing in it can be trusted.\n"
            ));
            Ok(ExitCode::from(1))
        }
        Ok(Verdict::OtherKey(key)) => {
            let whose = format!(
                "It is unchanged, but was signed with the key {key},\nnot with the key that you gave."
            );
            say(&format!("other key: {name}\n{whose}\n"));
            Ok(ExitCode::from(3))
        }
        Err(error) => {
            eprintln!("cargo course: not a certificate: {name}: {error:#}");
            Ok(ExitCode::from(4))
        }
    }
}

/// Prints `text`. A closed pipe is not an error, because the exit code has the result too.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Verifies the bytes of a file.
///
/// # Errors
/// Returns an error if they contain no certificate.
pub fn verdict(bytes: &[u8], public: &VerifyingKey) -> Result<Verdict> {
    let sealed = Sealed::find(bytes)?;
    let given = key::encoded(public);
    if sealed.digest != sha256(sealed.statement.as_bytes()) {
        return Ok(Verdict::Changed(
            "Its statement is not the one that was signed: the digest differs",
        ));
    }
    if !sealed.holds(public) {
        let other = key::read_public(&sealed.key).ok().filter(|_| sealed.key != given);
        return Ok(match other {
            Some(other) if sealed.holds(&other) => Verdict::OtherKey(sealed.key),
            _ => Verdict::Changed("Its signature does not belong to its statement"),
        });
    }
    if sealed.key != given || sealed.canopy_certificate != 1 {
        return Ok(Verdict::Changed(
            "The statement is signed, but the fields beside it were changed",
        ));
    }
    if is_page(bytes) && !is_closed(bytes, public) {
        return Ok(Verdict::Changed(
            "Its statement is signed, but the page around it was changed",
        ));
    }
    let statement =
        Statement::parse(&sealed.statement).context("the statement is signed, but cannot be read")?;
    Ok(Verdict::Valid(Box::new(statement)))
}
