//! The matrix products of PointNet at its full width, and whether they pay off on tensor cores.

use canopy::precision::{BF16, Product};
use kit::table::{Table, count, fixed, json, left};
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
        table.row(json!([
            name,
            work(p) / 1e9,
            work(found.padded) / work(p),
            if found.worth { "yes" } else { "no" }
        ]));
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
