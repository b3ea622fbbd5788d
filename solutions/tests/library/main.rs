//! The library: models, optimizers, schedules, precision and collectives against their references, and the run's page.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod accumulate;
mod categories;
mod goldens;
#[path = "../made_run/mod.rs"]
mod made_run;
mod masked;
mod mixed_precision;
mod model;
mod optim;
mod plots;
mod precision;
mod report_page;
mod schedules;
mod target;
mod tiny_models;
mod weights;

use std::{collections::HashMap, path::Path};

use candle_core::{DType, Device, Tensor};

/// Checks that `text` contains all of `parts`.
#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Returns the error with its chain of causes, as the program prints it.
#[track_caller]
fn error(result: anyhow::Result<impl Sized>) -> String {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(e) => format!("{e:#}"),
    }
}

/// The values of a tensor of any dtype.
fn values(tensor: &Tensor) -> Vec<f64> {
    let flat = tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap();
    flat.to_vec1().unwrap()
}

/// Greatest difference over greatest value. NaN is an infinite error.
fn relative(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let greatest = |m: f64, v: f64| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) };
    let difference = got.iter().zip(expected).map(|(g, e)| g - e).fold(0.0, greatest);
    if difference == 0.0 {
        return 0.0;
    }
    difference / expected.iter().copied().fold(0.0, greatest)
}

/// Compares a text with the file of this name in this folder, which is written anew if `CANOPY_GOLDENS` is set.
#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/library")
        .join(name);
    if std::env::var_os("CANOPY_GOLDENS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (i, (line, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            line,
            expected,
            "{name}, line {}: is the change wanted? Then set CANOPY_GOLDENS",
            i + 1
        );
    }
    assert_eq!(text.len(), expected.len(), "{name}: the number of lines");
}

/// A golden file of `tests/goldens`.
fn golden(name: &str) -> HashMap<String, Tensor> {
    let path = goldens::folder().join(format!("{name}.golden.safetensors"));
    candle_core::safetensors::load(path, &Device::Cpu).unwrap()
}
