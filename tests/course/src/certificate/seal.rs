//! A signed page: the last line signs everything before it, so that what a reader sees is what was signed.

use std::fmt;

use anyhow::{Context, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::key;

/// What a certificate states; the page contains it as JSON, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Name of the student.
    pub name: String,
    /// In the order of the command line.
    pub lessons: Vec<Won>,
    /// Date in UTC, such as `2026-11-21`.
    pub date: String,
    /// Version of the course.
    pub version: String,
    /// SHA-256 of the course's files.
    pub course: String,
    /// SHA-256 of the submission's files.
    pub submission: String,
}

/// A lesson of which the student won all points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Won {
    /// `01`.
    pub lesson: String,
    pub title: String,
    pub points: u32,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "name: {}", self.name)?;
        for l in &self.lessons {
            writeln!(f, "lesson: {} {} ({} points)", l.lesson, l.title, l.points)?;
        }
        writeln!(f, "date: {}\ncourse: {} {}", self.date, self.version, self.course)?;
        writeln!(f, "submission: {}", self.submission)
    }
}

/// Result of a verification.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// The page is as it was signed.
    Valid(Box<Statement>),
    /// The page is not as it was signed.
    Changed,
    /// The page is unchanged, but was signed with this other key.
    OtherKey(String),
}

/// Prefix of the signed bytes, so that no other signature of the key is valid for a page.
const OF_PAGE: &[u8] = b"canopy certificate page 2\n";
/// Text around the statement, and around key and signature.
pub const BEGIN: &str = "<script type=\"application/json\" id=\"certificate\">";
pub const END: &str = "</script>";
const BEFORE: &str = "<!-- signed: ";
const AFTER: &str = " -->\n";

/// Appends the line that signs the page.
pub fn sealed(page: String, key: &SigningKey) -> Vec<u8> {
    let signature = key.sign(&[OF_PAGE, page.as_bytes()].concat()).to_bytes();
    let (public, signature) = (key::public(key), STANDARD.encode(signature));
    format!("{page}{BEFORE}{public} {signature}{AFTER}").into_bytes()
}

/// Verifies the bytes of a file.
///
/// # Errors
/// Returns an error if they are not a certificate.
pub fn verdict(bytes: &[u8], public: &VerifyingKey) -> Result<Verdict> {
    let text = std::str::from_utf8(bytes).context("it is not UTF-8")?;
    let last = text.strip_suffix(AFTER).and_then(|text| text.rsplit_once(BEFORE));
    let (page, signed) = last.context("its last line is not a signature")?;
    let (by, signature) = signed
        .split_once(' ')
        .context("its last line is not a signature")?;
    let signature = STANDARD.decode(signature).ok();
    let signature = signature.and_then(|s| Signature::from_slice(&s).ok());
    let verifies = |key: &VerifyingKey| {
        let message = [OF_PAGE, page.as_bytes()].concat();
        signature.is_some_and(|s| key.verify_strict(&message, &s).is_ok())
    };
    if verifies(public) && by == key::encoded(public) {
        let statement = page.rsplit_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (statement, _) = statement.context("the page is signed, but contains no statement")?;
        return Ok(Verdict::Valid(Box::new(serde_json::from_str(statement)?)));
    }
    let other = VerifyingKey::try_from(&*STANDARD.decode(by).unwrap_or_default()).ok();
    Ok(match other.filter(|other| other != public && verifies(other)) {
        Some(_) => Verdict::OtherKey(by.to_owned()),
        None => Verdict::Changed,
    })
}
