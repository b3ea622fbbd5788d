//! The products of PointNet at its full width, and what tensor cores make of them.

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::{
    model::{Kind, PointNet, PointNetConfig},
    precision::{BF16, FP16, FP32, Format, Product, TF32},
};
use lesson06::Lesson06;
use serde_json::{Value, json};

/// Clouds of a batch and points of a cloud, as `canopy train` has them.
const CLOUDS: usize = 32;
const POINTS: usize = 1024;

/// Name and product of each layer of the vanilla PointNet for seven species.
pub fn products() -> Vec<(&'static str, Product)> {
    let rows = CLOUDS * POINTS;
    [
        ("points, 3 → 64", rows, 3, 64),
        ("points, 64 → 64", rows, 64, 64),
        ("points, 64 → 64", rows, 64, 64),
        ("points, 64 → 128", rows, 64, 128),
        ("points, 128 → 1024", rows, 128, 1024),
        ("clouds, 1024 → 512", CLOUDS, 1024, 512),
        ("clouds, 512 → 256", CLOUDS, 512, 256),
        ("clouds, 256 → 7", CLOUDS, 256, 7),
    ]
    .into_iter()
    .map(|(name, m, k, n)| (name, Product { m, n, k }))
    .collect()
}

/// Parameters of that network.
pub fn parameters() -> Result<usize> {
    let config = PointNetConfig {
        kind: Kind::Vanilla,
        classes: 7,
        ..PointNetConfig::default()
    };
    Ok(PointNet::new(&config, &Device::Cpu, DType::F32, 1)?.param_count())
}

fn work(p: Product) -> f64 {
    p.m as f64 * p.n as f64 * p.k as f64
}

/// The table of exercise 6.8.
pub fn cores_table(answer: &Lesson06) -> String {
    let mut out = format!(
        "{:<22}{:>12}{:>16}{:>16}\n",
        "layer, bf16", "GMAC", "padded, ×", "worth it"
    );
    for (name, product) in products() {
        let found = (answer.tensor_cores)(product, BF16);
        out += &format!(
            "  {name:<20}{:>12.4}{:>16.2}{:>16}\n",
            work(product) / 1e9,
            work(found.padded) / work(product),
            if found.worth { "yes" } else { "no" }
        );
    }
    out
}

/// The share of all arithmetic that is in layers worth it.
pub fn worth_share(answer: &Lesson06) -> f64 {
    let all: f64 = products().iter().map(|p| work(p.1)).sum();
    let worth = products()
        .into_iter()
        .filter(|p| (answer.tensor_cores)(p.1, BF16).worth);
    worth.map(|p| work(p.1)).sum::<f64>() / all
}

const FORMATS: [Format; 4] = [FP32, TF32, BF16, FP16];

/// The table of exercise 6.6, for `parameters` with Adam.
pub fn bytes_table(answer: &Lesson06, parameters: usize) -> String {
    let mut out = format!(
        "{:<14}{:>8}{:>10}{:>8}{:>11}{:>5}{:>7}{:>17}\n",
        "bytes, Adam", "weight", "gradient", "master", "optimizer", "all", "MB", "activations, MB"
    );
    for format in FORMATS {
        let b = (answer.bytes_per_parameter)(format, 2);
        let all = b.weight + b.gradient + b.master + b.optimizer;
        out += &format!(
            "  {:<12}{:>8}{:>10}{:>8}{:>11}{all:>5}{:>7.1}{:>17.0}\n",
            format.name,
            b.weight,
            b.gradient,
            b.master,
            b.optimizer,
            f64::from(all) * parameters as f64 / 1e6,
            activations(answer, format) / 1e6,
        );
    }
    out
}

/// Bytes of what the products take and give, kept from the forward pass for the backward one.
fn activations(answer: &Lesson06, format: Format) -> f64 {
    let stored = f64::from((answer.bytes_per_parameter)(format, 0).weight);
    products()
        .iter()
        .map(|(_, p)| stored * (p.m * (p.k + p.n)) as f64)
        .sum()
}

pub fn json(answer: &Lesson06) -> Value {
    let rows = products().into_iter().map(|(name, p)| {
        let found = (answer.tensor_cores)(p, BF16);
        json!({ "layer": name, "m": p.m, "n": p.n, "k": p.k, "worth": found.worth,
            "padded": [found.padded.m, found.padded.n, found.padded.k] })
    });
    json!({ "layers": rows.collect::<Vec<_>>(), "worth_share": worth_share(answer) })
}
