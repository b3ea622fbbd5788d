//! Signatures: one over the statement, which every form of a certificate carries, and one over the whole page or PDF,
//! so that what a reader sees is what was signed.

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use grader::submission::sha256;
use serde::{Deserialize, Serialize};

use super::{key, statement::Statement};

/// A statement with its signature: `certificate.json`, and what page and PDF have within them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// 1.
    pub canopy_certificate: u32,
    /// [`Statement::text`].
    pub statement: String,
    /// SHA-256 of it.
    pub digest: String,
    /// The public key of who signed.
    pub key: String,
    /// Ed25519 of the statement, base64.
    pub signature: String,
}

/// How a sealed statement begins in a page or PDF.
const MARK: &[u8] = b"{\"canopy_certificate\":";
/// What goes before the bytes that are signed: a signature of one kind is none of the other.
const OF_STATEMENT: &str = "canopy certificate statement 1\n";
const OF_FILE: &str = "canopy certificate file 1\n";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Html,
    Pdf,
    Json,
}

impl Kind {
    /// By its first bytes.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            b if b.starts_with(b"%PDF") => Self::Pdf,
            b if b.trim_ascii_start().starts_with(b"<") => Self::Html,
            _ => Self::Json,
        }
    }

    /// Around the signature of a whole file, at its end.
    fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::Html => ("<!-- signature of all above: ", " -->\n"),
            _ => ("%signature of all above: ", "\n"),
        }
    }
}

impl Sealed {
    /// Signs.
    ///
    /// # Errors
    /// Those of [`Statement::text`].
    pub fn new(statement: &Statement, key: &SigningKey) -> Result<Self> {
        let text = statement.text()?;
        Ok(Self {
            canopy_certificate: 1,
            digest: sha256(text.as_bytes()),
            key: key::public(key),
            signature: signed(OF_STATEMENT, text.as_bytes(), key),
            statement: text,
        })
    }

    /// For a page or PDF: in one line, and with nothing that ends a script.
    pub fn line(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?.replace('<', "\\u003c"))
    }

    /// The one in a file.
    ///
    /// # Errors
    /// There is none, more than one, or none that can be read.
    pub fn find(bytes: &[u8], kind: Kind) -> Result<Self> {
        if kind == Kind::Json {
            return serde_json::from_slice(bytes).context("this is no certificate.json");
        }
        let starts: Vec<usize> = bytes
            .windows(MARK.len())
            .enumerate()
            .filter_map(|(at, w)| (w == MARK).then_some(at))
            .collect();
        let [at] = starts[..] else {
            bail!(
                "{} signed statements are in it where one is expected",
                starts.len()
            );
        };
        let mut read = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter();
        read.next()
            .context("its signed statement is cut off")?
            .context("its signed statement cannot be read")
    }

    /// Whether `key` signed the statement.
    pub fn require(&self, key: &VerifyingKey) -> bool {
        verified(OF_STATEMENT, self.statement.as_bytes(), &self.signature, key)
    }
}

fn signed(of: &str, bytes: &[u8], key: &SigningKey) -> String {
    STANDARD.encode(key.sign(&[of.as_bytes(), bytes].concat()).to_bytes())
}

fn verified(of: &str, bytes: &[u8], signature: &str, key: &VerifyingKey) -> bool {
    let signature = STANDARD.decode(signature).ok();
    let signature = signature.and_then(|s| Signature::from_slice(&s).ok());
    signature.is_some_and(|s| key.verify_strict(&[of.as_bytes(), bytes].concat(), &s).is_ok())
}

/// A page or PDF with the signature of all of it at its end.
pub fn closed(mut bytes: Vec<u8>, kind: Kind, key: &SigningKey) -> Vec<u8> {
    let (before, after) = kind.around();
    let signature = signed(OF_FILE, &bytes, key);
    bytes.extend(format!("{before}{signature}{after}").bytes());
    bytes
}

/// Whether `key` signed all of a page or PDF that [`closed`] made.
pub fn is_closed(bytes: &[u8], kind: Kind, key: &VerifyingKey) -> bool {
    let (before, after) = kind.around();
    let Some(head) = bytes.strip_suffix(after.as_bytes()) else {
        return false;
    };
    // 64 bytes are 88 letters of base64.
    let Some((head, signature)) = head.len().checked_sub(88).map(|at| head.split_at(at)) else {
        return false;
    };
    let Some(body) = head.strip_suffix(before.as_bytes()) else {
        return false;
    };
    std::str::from_utf8(signature).is_ok_and(|s| verified(OF_FILE, body, s, key))
}
