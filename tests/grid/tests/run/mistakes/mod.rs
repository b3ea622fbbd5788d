//! Known-bad variants of the kernels: a replacement in the text, and what must be seen.

pub mod block;
pub mod warp;

use grid::Kind;

/// How a mistake is seen.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    Fault(Kind),
    /// By wrong results only.
    Values,
}

/// A kernel with `from` replaced by `to`.
pub struct Mistake {
    pub file: &'static str,
    pub what: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub seen: Seen,
    /// A part of the message.
    pub says: &'static str,
    /// A part of a line, in the right kernel, that the fault must name.
    pub line: &'static str,
}

const fn mistake(
    file: &'static str,
    what: &'static str,
    [from, to]: [&'static str; 2],
    kind: Kind,
    [says, line]: [&'static str; 2],
) -> Mistake {
    Mistake {
        file,
        what,
        from,
        to,
        seen: Seen::Fault(kind),
        says,
        line,
    }
}

const fn wrong_values(file: &'static str, what: &'static str, [from, to]: [&'static str; 2]) -> Mistake {
    Mistake {
        file,
        what,
        from,
        to,
        seen: Seen::Values,
        says: "",
        line: "",
    }
}
