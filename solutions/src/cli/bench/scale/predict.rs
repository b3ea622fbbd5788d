//! Predictions of the α–β model. Nothing here is measured.

use serde::Serialize;

use super::measure::Engine;
use crate::parallel::{Cost, ring_seconds, tree_seconds, weak_efficiency};

/// The links between ranks that chapter 08 lists, with their peak rates in one direction, in GB/s.
const LINKS: [(&str, f64); 7] = [
    ("NVLink of an H100", 450.0),
    ("PCI Express 5.0 ×16", 63.0),
    ("PCI Express 4.0 ×16", 31.5),
    ("InfiniBand NDR", 50.0),
    ("InfiniBand HDR", 25.0),
    ("Ethernet, 100 Gb/s", 12.5),
    ("Ethernet, 10 Gb/s", 1.25),
];

/// Ranks over one kind of link, each as fast as the one rank that was measured: their weak efficiency without overlap and with
/// full overlap.
#[derive(Debug, Serialize)]
pub struct Predicted {
    link: String,
    ranks_2: [f64; 2],
    ranks_8: [f64; 2],
    ranks_64: [f64; 2],
    ranks_1024: [f64; 2],
}

/// Predicts ranks with `bytes` of gradients, and the step of one rank that `engine` measured: over its link, and over [`LINKS`],
/// whose rates `cost` turns into the cost of a message.
pub fn all(bytes: f64, engine: &Engine, cost: &dyn Fn(f64) -> Cost) -> Vec<Predicted> {
    let predicted = |link: String, cost| {
        let of = |ranks| {
            let one = engine.one_ms / 1e3;
            let all_reduce = ring_seconds(ranks, bytes, cost).min(tree_seconds(ranks, bytes, cost));
            [one + all_reduce, one.max(all_reduce)].map(|step| weak_efficiency(one, step))
        };
        let [ranks_2, ranks_8, ranks_64, ranks_1024] = [2, 8, 64, 1024].map(of);
        Predicted {
            link,
            ranks_2,
            ranks_8,
            ranks_64,
            ranks_1024,
        }
    };
    let here = predicted("of this run".to_owned(), engine.cost());
    let links = LINKS
        .iter()
        .map(|(link, rate)| predicted((*link).to_owned(), cost(*rate)));
    std::iter::once(here).chain(links).collect()
}
