//! Kernels with one mistake each: the tests must see it, by a fault of the grid or by a wrong value.

mod layers;
mod maxima;
mod operators;
mod updates;

use std::path::Path;
use std::sync::Arc;

use candle_core::Result;
use grid::Source;

use self::Seen::{Fault, Value};
use crate::common::{Case, errors, greatest};
use crate::emulated::{EmulatedGrid, device};
use crate::sources::{Type, compile, folder};

/// The right kernels; none on a GPU, where wrong ones could break more than the test.
fn right() -> Option<Arc<EmulatedGrid>> {
    if !device().is_cpu() {
        println!("not run, because wrong kernels run on the emulated grid only");
        return None;
    }
    EmulatedGrid::new()
}

/// A grid with `from` replaced by `to` in a source; none where wrong kernels do not run.
pub fn changed(name: &'static str, from: &str, to: &str) -> Option<EmulatedGrid> {
    changed_in(name, name, from, to)
}

/// As [`changed`], in `file`: the source itself, or a header that it includes.
fn changed_in(name: &'static str, file: &str, from: &str, to: &str) -> Option<EmulatedGrid> {
    right()?;
    let read = |file: &str| std::fs::read_to_string(format!("{}/{file}", folder())).unwrap();
    let mut text = read(file);
    assert_eq!(text.matches(from).count(), 1, "places of `{from}` in {file}");
    text = text.replace(from, to);
    if file != name {
        let (source, end) = (read(name), format!("{}\"", last(file)));
        let is_include = |line: &&str| line.starts_with("#include") && line.ends_with(&end);
        let include = source.lines().find(is_include);
        text = source.replace(include.expect("the source includes the header"), &text);
    }
    let beside = Path::new(&folder()).join(name).parent().unwrap().to_owned();
    let source = Source::text(last(name), text).include(beside).include(folder());
    Some(EmulatedGrid {
        changed: Some((name, compile(&source)?)),
        ..EmulatedGrid::default()
    })
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How a mistake must be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// The grid reports it.
    Fault,
    /// A value is wrong.
    Value,
}

/// What is wrong, the right text and the wrong one.
type Mistake<'a> = (&'a str, &'a str, &'a str, Seen);

/// The values that kernels leave.
type Values = Result<Vec<Vec<f64>>>;

/// Each mistake in `file`, the source `name` or a header that it includes, is seen in what `run` leaves. A wrong value
/// differs by more than `tolerance` times the greatest of its tensor.
fn all_seen(
    (name, file): (&'static str, &str),
    tolerance: f64,
    run: impl Fn(&Arc<EmulatedGrid>) -> Values,
    mistakes: &[Mistake],
) {
    let Some(right) = right() else { return };
    let expected = run(&right).unwrap();
    assert!(expected.iter().flatten().all(|v| v.is_finite()), "{file}");
    let mut missed = Vec::new();
    for &(what, from, to, seen) in mistakes {
        let Some(grid) = changed_in(name, file, from, to) else {
            return;
        };
        let (said, found) = match run(&Arc::new(grid)) {
            Err(fault) => (fault.to_string(), Some(Fault)),
            Ok(values) => {
                let pairs = values.iter().zip(&expected);
                let error = greatest(pairs.flat_map(|(found, expected)| errors(found, expected)));
                let is_wrong = error > tolerance || error.is_nan();
                (format!("differs by {error:.1e}"), is_wrong.then_some(Value))
            }
        };
        println!("{file}, {what}: {said}");
        if found != Some(seen) {
            missed.push(format!("{what}: expected {seen:?}, found {found:?}, {said}"));
        }
    }
    assert!(missed.is_empty(), "{file}:\n{}", missed.join("\n"));
}

/// What a case's kernels leave in f32.
fn on(grid: &Arc<EmulatedGrid>) -> impl Fn(Case) -> Values {
    |case| case.on(grid, Type::F32)
}
