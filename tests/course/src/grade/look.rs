//! Looks into what the compiler made of a student's crate: whether an answer leads into canopy's own code, and whether
//! anything is referred to that safe Rust does not refer to.
//!
//! The source says little of this (an alias, a macro, a function pointer, a re-export all hide it); the object file
//! names every function that is called or pointed to. It is compiled unoptimised, so that none is inlined away.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex,
    read::{File, archive::ArchiveFile},
};

/// Traits of the standard library that a type of canopy's may be used by.
const TRAITS: [&str; 12] = [
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Display",
    "Drop",
    "Eq",
    "Hash",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Error",
];

/// A section of an object: the compiler gives each function and each constant one of its own.
type Place = (usize, usize);

/// Who refers to whom, by sections and by names.
#[derive(Default)]
struct Graph {
    /// Of a name that is defined, where.
    defined: BTreeMap<String, Place>,
    /// The names defined there.
    names: BTreeMap<Place, Vec<String>>,
    /// What a section refers to.
    to: BTreeMap<Place, Vec<Goal>>,
}

enum Goal {
    Here(Place),
    Name(String),
}

fn plain(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

impl Graph {
    fn add(&mut self, number: usize, data: &[u8]) -> Result<()> {
        let file = File::parse(data)?;
        for symbol in file.symbols() {
            let (Some(section), Ok(name)) = (symbol.section_index(), symbol.name()) else {
                continue;
            };
            if !name.is_empty() {
                let place = (number, section.0);
                self.names.entry(place).or_default().push(name.to_owned());
                if !symbol.is_local() {
                    self.defined.insert(name.to_owned(), place);
                }
            }
        }
        for section in file.sections() {
            let SectionIndex(from) = section.index();
            for (_, relocation) in section.relocations() {
                let goal = match relocation.target() {
                    RelocationTarget::Section(SectionIndex(to)) => Goal::Here((number, to)),
                    RelocationTarget::Symbol(index) => {
                        let symbol = file.symbol_by_index(index)?;
                        match symbol.section_index() {
                            Some(SectionIndex(to)) => Goal::Here((number, to)),
                            None => Goal::Name(symbol.name()?.to_owned()),
                        }
                    }
                    _ => continue,
                };
                self.to.entry((number, from)).or_default().push(goal);
            }
        }
        Ok(())
    }

    /// The first name, on some way from `start`, that `forbidden` says.
    fn leads_to(&self, start: Place, forbidden: impl Fn(&str) -> bool) -> Option<String> {
        let (mut seen, mut next) = (BTreeSet::from([start]), vec![start]);
        while let Some(place) = next.pop() {
            for goal in self.to.get(&place).into_iter().flatten() {
                let to = match goal {
                    Goal::Here(to) => Some(*to),
                    Goal::Name(name) => {
                        if forbidden(&plain(name)) {
                            return Some(plain(name));
                        }
                        self.defined.get(name).copied()
                    }
                };
                if let Some(to) = to.filter(|t| seen.insert(*t)) {
                    let mut names = self.names.get(&to).into_iter().flatten().map(|n| plain(n));
                    if let Some(name) = names.find(|n| forbidden(n)) {
                        return Some(name);
                    }
                    next.push(to);
                }
            }
        }
        None
    }
}

/// Of each of `count` answers, the function of canopy's that it leads to, where it does. `sees` may be seen.
pub fn taken(objects: &[&Path], count: usize, sees: &[String]) -> Result<Vec<Option<String>>> {
    let mut graph = Graph::default();
    for (number, path) in objects.iter().enumerate() {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        graph
            .add(number, &data)
            .with_context(|| format!("{} is not an object file", path.display()))?;
    }
    let of = |i: usize| {
        let name = format!("look::answer_{i}");
        let mut places = graph.defined.iter();
        let found = places.find(|(n, _)| plain(n) == name);
        let (_, &start) = found.with_context(|| format!("{name} is not in the object file"))?;
        Ok(graph.leads_to(start, |name| is_canopys(name, sees)))
    };
    (0..count).map(of).collect()
}

/// Whether a function, by its name, is of canopy's code, and none that comes with a type: `canopy::optim::sgd_step`,
/// `<canopy::optim::Adam as canopy::optim::Optimizer>::step`.
fn is_canopys(name: &str, sees: &[String]) -> bool {
    if sees
        .iter()
        .any(|s| name.trim_start_matches('<').starts_with(s.as_str()))
    {
        return false;
    }
    let ours = |path: &str| path.starts_with("canopy::") || path.starts_with("canopy_data::");
    let Some(rest) = name.strip_prefix('<') else {
        return ours(name);
    };
    // `<TYPE as TRAIT>::function`, or `<TYPE>::function`; a type may hold brackets of its own.
    let (kind, of_trait) = match split_as(rest) {
        Some((kind, of_trait)) => (kind, Some(of_trait)),
        None => (rest, None),
    };
    let kind = kind
        .trim_start_matches(['&', '*', '[', '('])
        .trim_start_matches("mut ");
    match of_trait {
        Some(path) if ours(path) => true,
        Some(path) => {
            let standard = ["core::", "std::", "alloc::"].iter().any(|c| path.starts_with(c));
            let last = path.split(['<', '>']).next().unwrap_or(path);
            let last = last.rsplit("::").next().unwrap_or(last);
            ours(kind) && !(standard && TRAITS.contains(&last))
        }
        None => ours(kind),
    }
}

/// The two sides of the outermost ` as `.
fn split_as(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' if depth == 0 => return None,
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 && text[at..].starts_with(" as ") => {
                return Some((&text[..at], &text[at + 4..]));
            }
            _ => {}
        }
    }
    None
}

/// A name in a student's library that safe Rust does not make: a function that stands for one of C's, or one that is
/// called before `main`. The compiler forbids both already.
pub fn stray(library: &Path) -> Result<Option<String>> {
    let data = fs::read(library).with_context(|| library.display().to_string())?;
    let archive = ArchiveFile::parse(&*data).with_context(|| library.display().to_string())?;
    for member in archive.members() {
        let Ok(file) = File::parse(member?.data(&*data)?) else {
            continue;
        };
        for section in file.sections() {
            let name = section.name().unwrap_or_default();
            if [".init", ".ctors", ".preinit"]
                .iter()
                .any(|e| name.starts_with(e))
            {
                return Ok(Some(name.to_owned()));
            }
        }
        let defined = file.symbols().filter(|s| s.is_global() && s.is_definition());
        for name in defined.filter_map(|s| s.name().ok()) {
            if !is_rusts(name) {
                return Ok(Some(name.to_owned()));
            }
        }
    }
    Ok(None)
}

/// Mangled names, and those that the compiler makes for itself.
fn is_rusts(name: &str) -> bool {
    ["_R", "_ZN", "__rust", "DW.ref.", ".L", "anon."]
        .iter()
        .any(|s| name.starts_with(s))
        || name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canopys_functions_are_told_from_what_comes_with_its_types() {
        for name in [
            "canopy::optim::sgd::sgd_step",
            "canopy::kernels::neuron::<f32>",
            "<canopy::optim::adam::Adam as canopy::optim::Optimizer>::step",
            "<canopy::optim::adam::Adam>::new",
            "<canopy::loader::order::Order as core::iter::Iterator>::next",
            "<canopy::kernels::loss::Loss as candle_core::custom_op::CustomOp1>::cpu_fwd",
            "<&canopy::A as core::ops::function::Fn<(f32,)>>::call",
            "canopy_data::grow",
            "<canopy::optim::adam::AdamState>::zeros_like::<core::slice::iter::Iter<Var>>",
        ] {
            assert!(is_canopys(name, &[]), "{name}");
        }
        for name in [
            "exercise01::sgd_step",
            "core::ptr::drop_in_place::<canopy::optim::adam::AdamState>",
            "<canopy::optim::adam::AdamConfig as core::clone::Clone>::clone",
            "<canopy::optim::adam::AdamConfig as core::default::Default>::default",
            "<alloc::vec::Vec<canopy::optim::X> as core::ops::drop::Drop>::drop",
            "<candle_core::tensor::Tensor>::sum_all",
            "exercise01::canopy::own",
        ] {
            assert!(!is_canopys(name, &[]), "{name}");
        }
        let sees = ["canopy::optim::adam::AdamState".to_owned()];
        assert!(!is_canopys("<canopy::optim::adam::AdamState>::zeros_like", &sees));
    }

    #[test]
    fn a_name_of_cs_is_told_from_one_of_rusts() {
        for name in [
            "_ZN4core9panicking",
            "_RNvC10exercise016neuron",
            "DW.ref.rust_eh_personality",
        ] {
            assert!(is_rusts(name), "{name}");
        }
        for name in ["write", "memcmp", "main", "_exit", "_start"] {
            assert!(!is_rusts(name), "{name}");
        }
    }
}
