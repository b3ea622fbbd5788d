//! An instructor's key.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{SigningKey, VerifyingKey};

/// What `cargo course key` does.
#[derive(clap::Subcommand)]
pub enum Task {
    /// Make a key in FILE, and FILE.pub with its public half, which is printed too.
    New {
        /// Where it is kept. It is never overwritten.
        file: PathBuf,
    },
    /// Print the public half of the key in FILE.
    Public {
        /// A key that `new` made.
        file: PathBuf,
    },
}

const HEAD: &str = "canopy instructor's key, keep it secret";

/// Makes or shows a key.
///
/// # Errors
/// The file is there already, or cannot be written or read.
pub fn run(task: &Task) -> Result<()> {
    match task {
        Task::New { file } => {
            let key = new(file)?;
            println!("{}: the key. Keep it secret, and keep a copy.", file.display());
            println!(
                "{}: its public half, for those who verify:\n",
                beside(file).display()
            );
            println!("{}", public(&key));
        }
        Task::Public { file } => println!("{}", public(&load(file)?)),
    }
    Ok(())
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn new(file: &Path) -> Result<SigningKey> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).context("the system gives no random numbers")?;
    let key = SigningKey::from_bytes(&seed);
    let public_file = beside(file);
    ensure!(
        !public_file.exists(),
        "{} is there already",
        public_file.display()
    );
    create(file, true, &format!("{HEAD}\n{}\n", STANDARD.encode(seed)))?;
    create(&public_file, false, &format!("{}\n", public(&key)))?;
    Ok(key)
}

/// Writes a file that must not be there yet; a secret one for its owner alone.
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
            "{} is there already, and a key is never overwritten",
            file.display()
        ),
        false => format!("{} cannot be made", file.display()),
    })?;
    open.write_all(text.as_bytes())
        .and_then(|()| open.sync_all())
        .with_context(|| format!("{} cannot be written", file.display()))
}

/// Reads a key that [`new`] wrote.
///
/// # Errors
/// It cannot be read, is none, or others may read it.
pub fn load(file: &Path) -> Result<SigningKey> {
    let text = fs::read_to_string(file).with_context(|| {
        format!(
            "the key {} cannot be read; `cargo course key new FILE` makes one",
            file.display()
        )
    })?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file)?.permissions());
        ensure!(
            mode & 0o077 == 0,
            "others may read the key {0}; mend it with: chmod 600 {0}",
            file.display()
        );
    }
    let seed = text.strip_prefix(HEAD).and_then(|rest| decode(rest.trim()));
    let seed =
        seed.with_context(|| format!("{} is no key that `cargo course key new` made", file.display()))?;
    Ok(SigningKey::from_bytes(&seed))
}

fn decode(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// The public half, as it is given to those who verify.
pub fn public(key: &SigningKey) -> String {
    encoded(&key.verifying_key())
}

/// A public key in letters.
pub fn encoded(key: &VerifyingKey) -> String {
    STANDARD.encode(key.to_bytes())
}

/// Reads a public key: itself, or the file that holds it.
///
/// # Errors
/// It is none.
pub fn read_public(text: &str) -> Result<VerifyingKey> {
    let held = match fs::read_to_string(text) {
        Ok(held) => held.trim().to_owned(),
        Err(_) => text.trim().to_owned(),
    };
    let asked = || {
        format!(
            "{text} is no public key: neither 44 letters as `cargo course key new` prints them, nor a file of them"
        )
    };
    let bytes = decode(&held).with_context(asked)?;
    let key = VerifyingKey::from_bytes(&bytes).with_context(asked)?;
    ensure!(!key.is_weak(), "{text} is a key that anyone could sign for");
    Ok(key)
}
