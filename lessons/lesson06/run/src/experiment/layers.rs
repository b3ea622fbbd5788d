//! The matrix products of PointNet at its full width: their bytes, and whether they pay off on tensor cores.

use anyhow::Result;
use candle_core::{DType, Device};
use canopy::{
    model::{Kind, PointNet, PointNetConfig},
    precision::{BF16, FP16, FP32, Format, Product, TF32},
};
use grader::{
    cells,
    experiment::json,
    table::{Table, count, fixed, left},
};
use lesson06::Lesson06;

/// Clouds of a batch and points of a cloud, as `canopy train` has them.
const CLOUDS: usize = 32;
const POINTS: usize = 1024;

/// Name and product of each layer of the vanilla PointNet for seven species.
fn products() -> Vec<(&'static str, Product)> {
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
fn parameters() -> Result<usize> {
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
pub fn tensor_cores(answer: &Lesson06) -> Table {
    let mut table = Table::new([
        left("layer, bf16"),
        fixed("GMAC", 4),
        fixed("padded", 2).unit("×"),
        count("worth it"),
    ]);
    for (name, p) in products() {
        let found = (answer.tensor_cores)(p, BF16);
        table.row(cells![
            name,
            work(p) / 1e9,
            work(found.padded) / work(p),
            if found.worth { "yes" } else { "no" }
        ]);
        let padded = [found.padded.m, found.padded.n, found.padded.k];
        table.only_json("m_n_k", json!([p.m, p.n, p.k]));
        table.only_json("padded_m_n_k", json!(padded));
    }
    table
}

/// The share of the arithmetic in layers that pay off on tensor cores.
pub fn worth_share(answer: &Lesson06) -> f64 {
    let all: f64 = products().iter().map(|p| work(p.1)).sum();
    let worth = products()
        .into_iter()
        .filter(|p| (answer.tensor_cores)(p.1, BF16).worth);
    worth.map(|p| work(p.1)).sum::<f64>() / all
}

const FORMATS: [Format; 4] = [FP32, TF32, BF16, FP16];

/// The table of exercise 6.6, with Adam.
pub fn bytes(answer: &Lesson06) -> Result<Table> {
    let parameters = parameters()?;
    let mut table = Table::new([
        left("bytes, Adam"),
        count("weight"),
        count("gradient"),
        count("master"),
        count("optimizer"),
        count("all"),
        fixed("MB", 1),
        fixed("activations, MB", 0),
    ]);
    for format in FORMATS {
        let b = (answer.bytes_per_parameter)(format, 2);
        let all = b.weight + b.gradient + b.master + b.optimizer;
        table.row(cells![
            format.name,
            b.weight,
            b.gradient,
            b.master,
            b.optimizer,
            all,
            f64::from(all) * parameters as f64 / 1e6,
            activations(answer, format) / 1e6
        ]);
    }
    Ok(table)
}

/// Bytes of the products' inputs and outputs, which the backward pass needs.
fn activations(answer: &Lesson06, format: Format) -> f64 {
    let stored = f64::from((answer.bytes_per_parameter)(format, 0).weight);
    products()
        .iter()
        .map(|(_, p)| stored * (p.m * (p.k + p.n)) as f64)
        .sum()
}
