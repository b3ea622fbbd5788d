//! A PLY file's header.

use std::io::{BufRead, Read};

use anyhow::{Context, Result, bail, ensure};

/// A longer header is no header.
const LONGEST: u64 = 1 << 20;

/// How values stand in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Ascii,
    Little,
    Big,
}

/// A number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes a number.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number in the first bytes of `b`.
    pub fn value(self, b: &[u8], big: bool) -> f64 {
        fn take<const N: usize>(b: &[u8], big: bool) -> [u8; N] {
            let mut v = [0; N];
            v.copy_from_slice(&b[..N]);
            if big {
                v.reverse();
            }
            v
        }
        match self {
            Self::I8 => f64::from(b[0] as i8),
            Self::U8 => f64::from(b[0]),
            Self::I16 => f64::from(i16::from_le_bytes(take(b, big))),
            Self::U16 => f64::from(u16::from_le_bytes(take(b, big))),
            Self::I32 => f64::from(i32::from_le_bytes(take(b, big))),
            Self::U32 => f64::from(u32::from_le_bytes(take(b, big))),
            Self::F32 => f64::from(f32::from_le_bytes(take(b, big))),
            Self::F64 => f64::from_le_bytes(take(b, big)),
        }
    }
}

/// A property: one number, or a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    pub name: String,
    /// The type of its length, where it is a list.
    pub list: Option<Type>,
    /// The type of its number or numbers.
    pub of: Type,
}

/// A run of alike things: vertices, faces.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    pub name: String,
    pub count: u64,
    pub properties: Vec<Property>,
}

impl Element {
    /// Bytes that each takes in a binary file; none where it has lists.
    pub fn stride(&self) -> Option<usize> {
        self.properties
            .iter()
            .map(|p| p.list.is_none().then(|| p.of.size()))
            .sum()
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Its length in bytes: where values begin.
    pub bytes: u64,
    /// Its length in lines.
    pub lines: u64,
}

impl Header {
    /// Reads the header; `from` is left at the first value.
    ///
    /// # Errors
    /// Names the line, what was expected and what came.
    pub fn read(from: &mut impl BufRead) -> Result<Self> {
        let mut from = from.take(LONGEST);
        let mut header = Self {
            encoding: Encoding::Ascii,
            elements: Vec::new(),
            bytes: 0,
            lines: 0,
        };
        let mut encoding = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            let n = from.read_until(b'\n', &mut line)?;
            ensure!(
                n > 0,
                "line {}: expected more of the header, found the end of the file, or 1 MiB without end_header",
                header.lines + 1
            );
            header.bytes += n as u64;
            header.lines += 1;
            let text = String::from_utf8_lossy(&line);
            let mut words = text.split_ascii_whitespace();
            match words.next() {
                Some("end_header") => break,
                Some("format") => {
                    encoding = Some(self::encoding(words.next()).with_context(|| header.at(&text))?)
                }
                Some("element") => header.element(words).with_context(|| header.at(&text))?,
                Some("property") => header.property(words).with_context(|| header.at(&text))?,
                Some("ply") if header.lines == 1 => {}
                Some("comment" | "obj_info") | None => {}
                Some(other) => bail!(
                    "line {}: expected format, element, property or end_header, found {other:?}",
                    header.lines
                ),
            }
        }
        header.encoding = encoding.context("the header has no line `format`")?;
        Ok(header)
    }

    fn at(&self, line: &str) -> String {
        format!(
            "line {}: {:?}",
            self.lines,
            line.trim_end().chars().take(60).collect::<String>()
        )
    }

    fn element<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) -> Result<()> {
        let name = words.next().context("expected the element's name")?;
        let count = words.next().and_then(|n| n.parse().ok());
        self.elements.push(Element {
            name: name.to_owned(),
            count: count.context("expected how many there are")?,
            properties: Vec::new(),
        });
        Ok(())
    }

    fn property<'a>(&mut self, mut words: impl Iterator<Item = &'a str>) -> Result<()> {
        let element = self
            .elements
            .last_mut()
            .context("a property before any element")?;
        let mut number = || {
            let word = words.next().unwrap_or_default();
            if word == "list" {
                return Ok((None, words.next().unwrap_or_default()));
            }
            let t = Type::parse(word)
                .with_context(|| format!("expected a type such as float or uchar, found {word:?}"))?;
            Ok::<_, anyhow::Error>((Some(t), ""))
        };
        let (of, length) = number()?;
        let property = match of {
            Some(of) => Property {
                list: None,
                of,
                name: words.next().context("expected the property's name")?.to_owned(),
            },
            None => {
                let list = Type::parse(length)
                    .with_context(|| format!("expected the type of the list's length, found {length:?}"))?;
                ensure!(
                    !matches!(list, Type::F32 | Type::F64),
                    "a list's length cannot be of type {length}"
                );
                let of = words.next().unwrap_or_default();
                Property {
                    list: Some(list),
                    of: Type::parse(of)
                        .with_context(|| format!("expected the type of the list's numbers, found {of:?}"))?,
                    name: words.next().context("expected the property's name")?.to_owned(),
                }
            }
        };
        element.properties.push(property);
        Ok(())
    }
}

fn encoding(word: Option<&str>) -> Result<Encoding> {
    match word {
        Some("ascii") => Ok(Encoding::Ascii),
        Some("binary_little_endian") => Ok(Encoding::Little),
        Some("binary_big_endian") => Ok(Encoding::Big),
        other => bail!(
            "expected ascii, binary_little_endian or binary_big_endian, found {:?}",
            other.unwrap_or_default()
        ),
    }
}
