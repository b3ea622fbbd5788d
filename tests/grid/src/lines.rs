//! From addresses in a compiled kernel to lines of its source.

use std::{
    ffi::{CStr, c_char},
    fs,
    path::{Path, PathBuf},
};

use addr2line::{
    Context,
    gimli::{Dwarf, EndianSlice, NativeEndian, SectionId},
};
use object::{Object, ObjectSection};

use crate::{abi::Place, compile::Source};

/// In place of the folder in which the compiler ran, and of that with our own headers: a module does not depend on them.
pub const FOLDER: &str = "/grid";
pub const HEADERS: &str = "/grid-include";

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub file: PathBuf,
    pub number: usize,
}

/// A compiled module while it is loaded.
pub struct Image<'a> {
    context: Option<Context<EndianSlice<'a, NativeEndian>>>,
    start: u64,
    source: &'a Source,
}

impl<'a> Image<'a> {
    /// The module with these bytes, loaded at the address `start`.
    pub fn new(module: &'a [u8], start: u64, source: &'a Source) -> Self {
        let context = || {
            let object = object::File::parse(module).ok()?;
            let section = |id: SectionId| {
                let section = object.section_by_name(id.name());
                let bytes = section.and_then(|section| section.data().ok());
                Ok::<_, addr2line::gimli::Error>(EndianSlice::new(bytes.unwrap_or(&[]), NativeEndian))
            };
            Context::from_dwarf(Dwarf::load(section).ok()?).ok()
        };
        Self {
            context: context(),
            start,
            source,
        }
    }

    /// The line of `place`; functions of our own headers count for the line that calls them.
    pub fn line_of(&self, place: &Place) -> Option<Line> {
        if !place.file.is_null() {
            let file = PathBuf::from(text(place.file));
            return Some(Line {
                file,
                number: place.line as usize,
            });
        }
        self.line_at(place.pc)
    }

    /// The line of the call that returns to `address`.
    pub fn line_at(&self, address: u64) -> Option<Line> {
        let offset = address.checked_sub(self.start + 1)?;
        // The innermost function first, then those into which it is inlined.
        let mut frames = self.context.as_ref()?.find_frames(offset).skip_all_loads().ok()?;
        while let Some(frame) = frames.next().ok()? {
            let Some((Some(file), Some(number))) = frame.location.map(|l| (l.file, l.line)) else {
                continue;
            };
            if !file.starts_with(HEADERS) {
                let file = file
                    .strip_prefix(FOLDER)
                    .map_or(file, |f| f.trim_start_matches('/'));
                return Some(Line {
                    file: file.into(),
                    number: number as usize,
                });
            }
        }
        None
    }

    /// `src/file.cu:12: the line's text`; of an absolute path only the file's name.
    pub fn shown(&self, line: &Line) -> String {
        let file = fs::read_to_string(&line.file).unwrap_or_default();
        let text = self
            .line_of_text(line)
            .or_else(|| file.lines().nth(line.number.wrapping_sub(1)));
        let name = match line.file.file_name() {
            Some(name) if line.file.is_absolute() => name.to_string_lossy(),
            _ => line.file.to_string_lossy(),
        };
        format!("{name}:{}: {}", line.number, text.unwrap_or("").trim())
    }

    /// The line, if it is in the text that was compiled, which may have `#line 1 "file.cu"`.
    fn line_of_text(&self, line: &Line) -> Option<&str> {
        let mut at = (self.source.path.as_path(), 1);
        for text in self.source.text.as_ref()?.lines() {
            if at == (&line.file, line.number) {
                return Some(text);
            }
            at.1 += 1;
            if let Some(("#line", rest)) = text.trim().split_once(' ') {
                let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
                let name = Path::new(name.trim_matches('"'));
                at = (if name == "" { at.0 } else { name }, number.parse().ok()?);
            }
        }
        None
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
