//! `cargo course verify`.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use ed25519_dalek::VerifyingKey;
use grader::submission::sha256;

use super::{
    key,
    seal::{Kind, Sealed, is_closed},
    statement::Statement,
};

/// Options of `cargo course verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 valid, 1 changed, 2 wrong use, 3 signed by another key, 4 no certificate."
)]
pub struct Options {
    /// certificate.json, .html or .pdf.
    file: PathBuf,
    /// The instructor's public key, or the file that holds it.
    #[arg(long, value_name = "KEY")]
    public: String,
}

/// What a file turns out to be.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// All of it is as it was signed.
    Valid(Box<Statement>),
    /// It is not, and what differs.
    Changed(&'static str),
    /// Whole, but signed by this other key.
    OtherKey(String),
}

/// Says what the file is.
///
/// # Errors
/// The key is none.
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
            let whose = format!("It is whole, but was signed by {key},\nwhich is not the key that you gave.");
            say(&format!("other key: {name}\n{whose}\n"));
            Ok(ExitCode::from(3))
        }
        Err(error) => {
            eprintln!("cargo course: no certificate: {name}: {error:#}");
            Ok(ExitCode::from(4))
        }
    }
}

/// The exit code says it too: whoever reads only the first line is no error.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Judges the bytes of a file.
///
/// # Errors
/// There is no certificate in it.
pub fn verdict(bytes: &[u8], public: &VerifyingKey) -> Result<Verdict> {
    let kind = Kind::of(bytes);
    let sealed = Sealed::find(bytes, kind)?;
    let given = key::encoded(public);
    if sealed.digest != sha256(sealed.statement.as_bytes()) {
        return Ok(Verdict::Changed(
            "Its statement is not the one that was signed: the digest differs",
        ));
    }
    if !sealed.require(public) {
        let other = key::read_public(&sealed.key).ok().filter(|_| sealed.key != given);
        return Ok(match other {
            Some(other) if sealed.require(&other) => Verdict::OtherKey(sealed.key),
            _ => Verdict::Changed("Its signature does not belong to its statement"),
        });
    }
    if sealed.key != given || sealed.canopy_certificate != 1 {
        return Ok(Verdict::Changed(
            "The statement is signed, but not what stands beside it",
        ));
    }
    if kind != Kind::Json && !is_closed(bytes, kind, public) {
        return Ok(Verdict::Changed(
            "The statement within is signed, but what the file shows around it was changed",
        ));
    }
    let statement = Statement::parse(&sealed.statement).context("it is signed, but cannot be read")?;
    Ok(Verdict::Valid(Box::new(statement)))
}
