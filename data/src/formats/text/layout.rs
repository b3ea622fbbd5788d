//! The layout of a text file, from its first lines: separator, decimal sign, meaning of the columns.

use std::{fs::File, io::Read, path::Path};

use super::super::names::Role;

/// What separates two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// Spaces and tabs, any number.
    Blank,
    /// One comma or semicolon; two in a row have an empty field between them.
    One(u8),
    /// Any number of spaces, tabs, commas and semicolons.
    Any,
}

/// How lines are parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub separator: Separator,
    /// Whether the decimal sign is a comma.
    pub decimal_comma: bool,
    /// Columns of x, y and z.
    pub axes: [usize; 3],
    /// Other columns that are known.
    pub others: Vec<(usize, Role)>,
    /// Columns that a line must have.
    pub width: usize,
}

impl Layout {
    /// The layout of a file whose first line of numbers is `line`, after the line `header`, if there is one. `None` if
    /// the columns for x, y and z of `line` are not numbers.
    pub fn new(line: &[u8], header: Option<&[u8]>) -> Option<Self> {
        let (usual, decimal_comma) = separator(line);
        // "1,,2,,3", "1, 2 3": several signs may be one separator, unless a header names a column that is empty.
        let named = header.is_some_and(|h| has_axes(&roles(&split(strip_comment_sign(h), usual))));
        let candidates = if named {
            &[usual][..]
        } else {
            &[usual, Separator::Any]
        };
        candidates.iter().find_map(|&separator| {
            let mut layout = Self {
                separator,
                decimal_comma: decimal_comma && separator == usual,
                axes: [0, 1, 2],
                others: Vec::new(),
                width: 3,
            };
            if let Some(header) = header {
                layout.name_columns(header);
            }
            let fields = layout.fields(line);
            let numeric = |&column: &usize| fields.get(column).is_some_and(|f| layout.number(f).is_some());
            layout.axes.iter().all(numeric).then_some(layout)
        })
    }

    fn name_columns(&mut self, header: &[u8]) {
        let header = strip_comment_sign(header);
        let usual = roles(&split(header, self.separator));
        // "X Y Z" may be the header of "1,2,3".
        let columns = if has_axes(&usual) {
            usual
        } else {
            roles(&split(header, Separator::Any))
        };
        if !has_axes(&columns) {
            return;
        }
        self.others.clear();
        for (i, role) in columns.into_iter().enumerate() {
            match role {
                Some(Role::Axis(a)) => self.axes[a] = i,
                Some(role) if self.others.iter().all(|o| o.1 != role) => self.others.push((i, role)),
                _ => {}
            }
        }
        let last = self.others.iter().map(|o| o.0).chain(self.axes).max();
        self.width = last.unwrap_or(2) + 1;
    }

    /// The fields of `line` before a comment.
    pub fn fields<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        split(line, self.separator)
    }

    /// The number in `field`.
    pub fn number(&self, field: &[u8]) -> Option<f64> {
        number(field, self.decimal_comma)
    }
}

/// Whether `names` has x, y and z once each.
fn has_axes(names: &[Option<Role>]) -> bool {
    (0..3).all(|a| names.iter().filter(|r| **r == Some(Role::Axis(a))).count() == 1)
}

fn roles(names: &[&[u8]]) -> Vec<Option<Role>> {
    names
        .iter()
        .map(|n| Role::of(&String::from_utf8_lossy(n)))
        .collect()
}

/// Whether `line` names columns x, y and z.
pub fn names_axes(line: &[u8]) -> bool {
    let line = strip_comment_sign(line);
    [Separator::One(b','), Separator::One(b';'), Separator::Any]
        .iter()
        .any(|&s| has_axes(&roles(&split(line, s))))
}

/// The usual separator of a line like this one, and whether its numbers have decimal commas.
fn separator(line: &[u8]) -> (Separator, bool) {
    if line.contains(&b';') {
        return (Separator::One(b';'), !line.contains(&b'.'));
    }
    if !line.contains(&b',') {
        return (Separator::Blank, false);
    }
    // "1,5 2,5 3,5": one comma within each number, and blanks between them.
    let blank = split(line, Separator::Blank);
    let decimal = |f: &&[u8]| f.contains(&b',') && !f.contains(&b'.') && number(f, true).is_some();
    if blank.len() >= 3 && blank[..3].iter().all(decimal) {
        (Separator::Blank, true)
    } else {
        (Separator::One(b','), false)
    }
}

fn split(line: &[u8], separator: Separator) -> Vec<&[u8]> {
    let mut fields: Vec<&[u8]> = match separator {
        Separator::Blank => line
            .split(u8::is_ascii_whitespace)
            .filter(|f| !f.is_empty())
            .collect(),
        Separator::One(sign) => line.split(|&b| b == sign).map(<[u8]>::trim_ascii).collect(),
        Separator::Any => line
            .split(|b| b.is_ascii_whitespace() || *b == b',' || *b == b';')
            .filter(|f| !f.is_empty())
            .collect(),
    };
    if let Some(comment) = fields
        .iter()
        .skip(1)
        .position(|f| f.starts_with(b"#") || f.starts_with(b"//"))
    {
        fields.truncate(comment + 1);
    }
    fields
}

/// The number in `field`, without quotes. `nan` and `inf` are numbers here; the reader handles them.
fn number(field: &[u8], decimal_comma: bool) -> Option<f64> {
    let mut field = field;
    if let [b'"', inner @ .., b'"'] = field {
        field = inner.trim_ascii();
    }
    let text = std::str::from_utf8(field).ok()?;
    if decimal_comma && text.contains(',') {
        text.replacen(',', ".", 1).parse().ok()
    } else {
        text.parse().ok()
    }
}

/// Whether `line` is a comment.
pub fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.starts_with(b"//") || line.starts_with(b"%")
}

fn strip_comment_sign(line: &[u8]) -> &[u8] {
    let sign = line
        .iter()
        .take_while(|b| matches!(b, b'#' | b'/' | b'%'))
        .count();
    line[sign..].trim_ascii()
}

/// The column, 2 or 3, of the only value that is not a number among the first three of `line`.
pub fn bad_column(line: &[u8]) -> Option<usize> {
    let (separator, decimal_comma) = separator(line);
    let fields = split(line, separator);
    let bad = |i: &usize| number(fields[*i], decimal_comma).is_none();
    let mut columns = (0..3.min(fields.len())).filter(bad);
    let first = columns.next().filter(|&c| c > 0 && fields.len() >= 3)?;
    columns.next().is_none().then_some(first + 1)
}

/// The number in a line that has nothing else: the number of points in a PTS file.
pub fn count_line(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

/// Whether `head`, the first bytes of a file, looks like lines of x y z.
pub fn looks_numeric(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    head.split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|l| !l.is_empty() && !is_comment(l))
        .take(8)
        .any(|l| Layout::new(l, None).is_some())
}

/// Whether the text file at `path` begins like prose: no line has x y z, or begins with a number. A file that cannot be read
/// or is empty is not prose.
pub fn is_prose(path: &Path) -> bool {
    let mut head = Vec::new();
    let mut read = || File::open(path)?.take(1 << 12).read_to_end(&mut head);
    let text = ["txt", "csv", "asc"]
        .iter()
        .any(|e| path.extension().is_some_and(|p| p.eq_ignore_ascii_case(e)));
    if !text || read().is_err() || head.contains(&0) || looks_numeric(&head) {
        return false;
    }
    let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let starts_with_number = |line: &[u8]| {
        split(line, Separator::Any)
            .first()
            .is_some_and(|f| number(f, true).is_some())
    };
    !head.is_empty() && !lines.any(starts_with_number)
}
