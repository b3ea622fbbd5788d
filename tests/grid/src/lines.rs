//! From addresses in a compiled kernel to lines of its source.

use std::{
    ffi::{CStr, c_char},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::abi::Place;

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub file: PathBuf,
    pub number: usize,
}

impl Line {
    /// `file.cu:12: the line's text`.
    pub fn shown(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let text = text.lines().nth(self.number.wrapping_sub(1)).unwrap_or("").trim();
        format!("{name}:{}: {text}", self.number)
    }
}

/// A compiled module while it is loaded: its file, the address at which it lies, and the folder of our own headers.
pub struct Image<'a> {
    pub module: &'a Path,
    pub start: u64,
    pub headers: &'a Path,
}

impl Image<'_> {
    /// The line of `place`; functions of our own headers count for the line that calls them. None without the program
    /// `addr2line`, which comes with g++.
    pub fn line_of(&self, place: &Place) -> Option<Line> {
        if !place.file.is_null() {
            let file = PathBuf::from(text(place.file));
            return Some(Line {
                file,
                number: place.line as usize,
            });
        }
        // The address before: a return address belongs to the next line.
        let offset = place.pc.checked_sub(self.start + 1)?;
        let mut command = Command::new("addr2line");
        command
            .arg("-i")
            .arg("-e")
            .arg(self.module)
            .arg(format!("{offset:#x}"));
        let output = command.output().ok()?;
        // The innermost function first, then those into which it is inlined: `FILE:12 (discriminator 4)`.
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = lines.lines().filter_map(|line| {
            let (file, rest) = line.rsplit_once(':')?;
            let number = rest.split(' ').next()?.parse().ok()?;
            Some(Line {
                file: file.into(),
                number,
            })
        });
        lines.find(|line| !line.file.starts_with(self.headers))
    }
}

/// A C string of the runtime.
pub fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the runtime gives strings that end with 0 and live as long as the module is loaded.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
