//! Signatures: one over the statement, which the JSON file and the page contain, and one over the whole page, so that what
//! a reader sees is what was signed.

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::{key, statement::Statement};
use crate::submission::sha256;

/// A statement with its signature: the content of `certificate.json`, which the page contains too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// Version of this format: 1.
    pub canopy_certificate: u32,
    /// [`Statement::text`].
    pub statement: String,
    /// SHA-256 of the statement.
    pub digest: String,
    /// Public key of the signer.
    pub key: String,
    /// Ed25519 signature of the statement, base64.
    pub signature: String,
}

/// First bytes of a sealed statement within a page.
const MARK: &[u8] = b"{\"canopy_certificate\":";
/// Prefixes of the signed bytes, so that a signature of one kind is not valid for the other.
const OF_STATEMENT: &str = "canopy certificate statement 1\n";
const OF_PAGE: &str = "canopy certificate file 1\n";
/// Text around the signature of a page, at its end.
const BEFORE: &str = "<!-- signature of all above: ";
const AFTER: &str = " -->\n";

/// Whether a file is a page rather than JSON.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<")
}

impl Sealed {
    /// Signs a statement.
    ///
    /// # Errors
    /// Returns the errors of [`Statement::text`].
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

    /// Returns one line of JSON that cannot end a script element of a page.
    pub fn line(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?.replace('<', "\\u003c"))
    }

    /// Reads the sealed statement of a page or of a JSON file.
    ///
    /// # Errors
    /// Returns an error if the file contains no statement, more than one, or one that cannot be read.
    pub fn find(bytes: &[u8]) -> Result<Self> {
        if !is_page(bytes) {
            return serde_json::from_slice(bytes).context("this is neither a certificate.json nor a page");
        }
        let starts: Vec<usize> = bytes
            .windows(MARK.len())
            .enumerate()
            .filter_map(|(at, w)| (w == MARK).then_some(at))
            .collect();
        let [at] = starts[..] else {
            bail!("it contains {} signed statements, expected 1", starts.len());
        };
        let mut read = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter();
        read.next()
            .context("its signed statement is truncated")?
            .context("its signed statement cannot be read")
    }

    /// Whether `key` signed the statement.
    pub fn holds(&self, key: &VerifyingKey) -> bool {
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

/// Appends the signature of the whole page.
pub fn closed(mut page: Vec<u8>, key: &SigningKey) -> Vec<u8> {
    let signature = signed(OF_PAGE, &page, key);
    page.extend(format!("{BEFORE}{signature}{AFTER}").bytes());
    page
}

/// Whether `key` signed the whole page that [`closed`] wrote.
pub fn is_closed(bytes: &[u8], key: &VerifyingKey) -> bool {
    let parts = || {
        let head = bytes.strip_suffix(AFTER.as_bytes())?;
        // 64 bytes are 88 characters of base64.
        let (head, signature) = head.split_at_checked(head.len().checked_sub(88)?)?;
        Some((
            head.strip_suffix(BEFORE.as_bytes())?,
            std::str::from_utf8(signature).ok()?,
        ))
    };
    parts().is_some_and(|(page, signature)| verified(OF_PAGE, page, signature, key))
}
