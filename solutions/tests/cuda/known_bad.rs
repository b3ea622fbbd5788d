//! Kernels with one mistake each (`known_bad.toml`): the tests must see it, by a fault of the grid or by a wrong value.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use candle_core::{DType, Result};
use grid::Source;
use serde::Deserialize;

use crate::cases::*;
use crate::common::each_in_parallel;
use crate::emulated::{EmulatedGrid, compile, device, folder};
use crate::{filter, low_precision, optimizers};

/// How a mistake is seen.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Seen {
    /// The grid reports it.
    Fault,
    /// A value is wrong.
    Value,
}

/// What is wrong, the right text and the wrong one, and how it is seen.
#[derive(Deserialize)]
struct Mistake(String, String, String, Seen);

/// Mistakes in `file`, which is the source `source` or a header that it includes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    file: String,
    source: Option<String>,
    /// What is run: see [`run`].
    run: String,
    /// A wrong value differs by more than this times the greatest value of its tensor.
    tolerance: f64,
    mistakes: Vec<Mistake>,
}

#[derive(Deserialize)]
struct Groups {
    group: Vec<Group>,
}

/// What the kernels leave that `name` stands for.
fn run(name: &str, grid: &Arc<EmulatedGrid>) -> Values {
    // More rows than warps, then fewer warps than lanes.
    let losses = || [[33, 40], [2, 40]].map(|sizes| entropy(sizes, true));
    let cases: Vec<Case> = match name {
        "losses" => losses().into(),
        "biases and losses" => [linear_layer([33, 35])].into_iter().chain(losses()).collect(),
        "T-Nets" => vec![
            transformed(33),
            penalty([2, 33]),
            penalty([70, 3]),
            plus_identity([3, 13]),
        ],
        "padding" => vec![padding(60)],
        "dropout" => vec![dropped([1000, 3], [1, 3])],
        "many biases" => vec![linear_layer(many::LINEAR)],
        "many logits" => vec![entropy(many::LOGITS, true)],
        "many padded" => vec![padding(many::PADDED)],
        "many matrices" => vec![plus_identity(many::MATRICES)],
        "batch norm" => vec![normalised([150, 33], true, 0.0)],
        // Two groups of rows, and two tiles of inputs.
        "covariance" => vec![widest(&[5, 70], 70, 67, true)],
        "widest layer" => {
            // Two tiles of rows, two chunks of inputs, and more channels than a block has threads.
            let mut layer = widest(&[5, 40], 300, 20, true);
            // The channel of γ = 0 passes the ReLU.
            layer.inputs[3].0[150] = 1.0;
            vec![layer]
        }
        "widest layer in bf16" => {
            // Two tiles of a cloud, each of two chunks, so that a copy writes to a buffer that was read before.
            let mut layer = widest(&[33, 150], 74, 72, false);
            layer.inputs[2].0.fill(1.0);
            return layer.on(grid, DType::BF16);
        }
        // With more inputs than outputs the product is stored.
        "stored maximum" => vec![widest(&[5, 35], 35, 36, false)],
        "filter" => {
            // Rounded values, exact ones, those that need the whole bound, and more candidates than threads.
            let exact = widest(&[33, 150], 80, 72, true);
            let layers = [filter::layer(), exact, filter::tight(), filter::crowded()];
            let left = layers.iter().map(|layer| filter::outcome(layer, None, grid));
            return Ok(left.collect::<Result<Vec<_>>>()?.concat());
        }
        // More candidates than the list has room for.
        "full list" => return filter::outcome(&filter::layer(), Some(10), grid),
        "optimizers" => return optimizers::stepped(grid),
        "norms" => return optimizers::norms(grid),
        "norm of many" => return optimizers::norm_of_many(grid),
        "step in bf16" => return low_precision::step_as_autocast(grid),
        "evaluation in bf16" => return low_precision::evaluation(grid),
        _ => panic!("there is no run {name}"),
    };
    let values = cases.iter().map(|case| case.on(grid, DType::F32));
    Ok(values.collect::<Result<Vec<_>>>()?.concat())
}

/// A grid with a mistake in the source `name`, by its `file`; none where this machine cannot compile it.
fn changed(name: &str, file: &str, Mistake(_, from, to, _): &Mistake) -> Option<EmulatedGrid> {
    let read = |file: &str| std::fs::read_to_string(format!("{}/{file}", folder())).unwrap();
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
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
    let source = Source::text(&last(name), text).include(beside).include(folder());
    Some(EmulatedGrid {
        changed: Some((name.to_owned(), compile(&source)?)),
        ..EmulatedGrid::default()
    })
}

/// What is said of a mistake that is not seen as it should be.
fn missed(group: &Group, mistake: &Mistake, expected: &[Vec<f64>]) -> Option<String> {
    let (file, Mistake(what, .., seen)) = (&group.file, mistake);
    let grid = changed(group.source.as_ref().unwrap_or(file), file, mistake)?;
    let (said, found) = match run(&group.run, &Arc::new(grid)) {
        Err(fault) => (fault.to_string(), Some(Seen::Fault)),
        Ok(values) => {
            let pairs = values.iter().zip(expected);
            let error = greatest(pairs.flat_map(|(found, expected)| errors(found, expected)));
            let is_wrong = error > group.tolerance || error.is_nan();
            (format!("differs by {error:.1e}"), is_wrong.then_some(Seen::Value))
        }
    };
    println!("{file}, {what}: {said}");
    (found != Some(*seen)).then(|| format!("{file}, {what}: expected {seen:?}, found {found:?}, {said}"))
}

#[test]
fn mistakes_are_seen() {
    if !device().is_cpu() {
        println!("not run, because wrong kernels run on the emulated grid only");
        return;
    }
    let Some(right) = EmulatedGrid::new() else { return };
    let Groups { group: groups } = toml::from_str(include_str!("known_bad.toml")).unwrap();
    let expected: Vec<OnceLock<Vec<Vec<f64>>>> = groups.iter().map(|_| OnceLock::new()).collect();
    let each = groups.iter().zip(&expected);
    let each = each.flat_map(|(group, expected)| group.mistakes.iter().map(move |m| (group, m, expected)));
    let all_missed = Mutex::new(Vec::new());
    each_in_parallel(each.collect(), |(group, mistake, expected)| {
        let expected = expected.get_or_init(|| run(&group.run, &right).unwrap());
        assert!(expected.iter().flatten().all(|v| v.is_finite()), "{}", group.run);
        let missed = missed(group, mistake, expected);
        all_missed.lock().unwrap().extend(missed);
    });
    let all_missed = all_missed.into_inner().unwrap();
    assert!(all_missed.is_empty(), "{}", all_missed.join("\n"));
}
