//! The key with which an instructor signs certificates.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{SigningKey, VerifyingKey};

/// Subcommands of `cargo course key`.
#[derive(clap::Subcommand)]
pub enum Task {
    /// Create a secret key in FILE and its public key in FILE.pub
    New {
        /// File of the secret key. An existing file is never overwritten
        file: PathBuf,
    },
    /// Print the public key of the secret key in FILE
    Public {
        /// A key that `key new` created
        file: PathBuf,
    },
}

const HEAD: &str = "canopy instructor's key, keep it secret";

/// Creates a key or prints its public key.
///
/// # Errors
/// Returns an error if a new file exists already, or a file cannot be written or read.
pub fn run(task: &Task) -> Result<()> {
    match task {
        Task::New { file } => {
            let key = new(file)?;
            println!(
                "{}: the secret key. Show it to nobody, and keep a copy.",
                file.display()
            );
            println!(
                "{}: the public key, for everyone who verifies:\n",
                public_path(file).display()
            );
            println!("{}", public(&key));
        }
        Task::Public { file } => println!("{}", public(&load(file)?)),
    }
    Ok(())
}

fn public_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn new(file: &Path) -> Result<SigningKey> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).context("the operating system provides no random numbers")?;
    let key = SigningKey::from_bytes(&seed);
    let public_file = public_path(file);
    ensure!(!public_file.exists(), "{} exists already", public_file.display());
    create(file, true, &format!("{HEAD}\n{}\n", STANDARD.encode(seed)))?;
    create(&public_file, false, &format!("{}\n", public(&key)))?;
    Ok(key)
}

/// Writes a file that must not exist yet; only the owner may read a secret one.
fn create(file: &Path, secret: bool, text: &str) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let _ = secret;
    let mut open = options.open(file).with_context(|| match file.exists() {
        true => format!(
            "{} exists already, and a key is never overwritten",
            file.display()
        ),
        false => format!("{} cannot be created", file.display()),
    })?;
    open.write_all(text.as_bytes())
        .and_then(|()| open.sync_all())
        .with_context(|| format!("{} cannot be written", file.display()))
}

/// Reads a secret key that [`new`] wrote.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a key, or can be read by other users.
pub fn load(file: &Path) -> Result<SigningKey> {
    let text = fs::read_to_string(file).with_context(|| {
        format!(
            "the key {} cannot be read; `cargo course key new FILE` creates one",
            file.display()
        )
    })?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file)?.permissions());
        ensure!(
            mode & 0o077 == 0,
            "other users may read the key {0}; correct this with: chmod 600 {0}",
            file.display()
        );
    }
    let seed = text.strip_prefix(HEAD).and_then(|rest| decode(rest.trim()));
    let seed = seed.with_context(|| format!("{} is not a key of `cargo course key new`", file.display()))?;
    Ok(SigningKey::from_bytes(&seed))
}

fn decode(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// The public key of a secret key, in base64.
pub fn public(key: &SigningKey) -> String {
    encoded(&key.verifying_key())
}

/// A public key in base64.
pub fn encoded(key: &VerifyingKey) -> String {
    STANDARD.encode(key.to_bytes())
}

/// Reads a public key, given itself or as the name of a file.
///
/// # Errors
/// Returns an error if the text is not a public key.
pub fn read_public(text: &str) -> Result<VerifyingKey> {
    let encoded = match fs::read_to_string(text) {
        Ok(encoded) => encoded.trim().to_owned(),
        Err(_) => text.trim().to_owned(),
    };
    let expected = || {
        format!(
            "{text} is not a public key; expected the 44 characters that `cargo course key new` prints, or a file with them"
        )
    };
    let bytes = decode(&encoded).with_context(expected)?;
    let key = VerifyingKey::from_bytes(&bytes).with_context(expected)?;
    ensure!(!key.is_weak(), "{text} is a weak key: anyone could sign for it");
    Ok(key)
}
