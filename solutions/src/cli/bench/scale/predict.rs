//! Predictions of the α–β model. Nothing here is measured.

use serde::Serialize;

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

/// Ranks over one kind of link, each as fast as the one rank that was measured.
#[derive(Debug, Serialize)]
pub struct Predicted {
    pub link: String,
    pub cost: Cost,
    /// Whether the cost was measured, rather than taken from data sheets and `--latency`.
    pub measured_cost: bool,
    pub ranks: Vec<Scaled>,
}

/// Times of an all-reduce of the gradients, and weak efficiency without overlap and with full overlap.
#[derive(Debug, Serialize)]
pub struct Scaled {
    pub ranks: usize,
    pub ring_ms: f64,
    pub tree_ms: f64,
    pub efficiency: f64,
    pub efficiency_overlapped: f64,
}

/// Predicts 2 to 4,096 ranks whose step takes `of_one` seconds alone: over the links of this machine, which are `here`, and over
/// [`LINKS`] with a latency in µs.
pub fn all(of_one: f64, bytes: f64, here: &[(String, Cost)], latency: f64) -> Vec<Predicted> {
    let ranks = |cost: Cost| (1..=12).map(|i| scaled(1 << i, of_one, bytes, cost)).collect();
    let here = here.iter().map(|(name, cost)| Predicted {
        link: format!("{name}, α and β of this run"),
        cost: *cost,
        measured_cost: true,
        ranks: ranks(*cost),
    });
    let links = LINKS.iter().map(|(link, rate)| {
        let cost = Cost {
            alpha: latency * 1e-6,
            beta: 1e-9 / rate,
        };
        Predicted {
            link: (*link).to_owned(),
            cost,
            measured_cost: false,
            ranks: ranks(cost),
        }
    });
    here.chain(links).collect()
}

fn scaled(ranks: usize, of_one: f64, bytes: f64, cost: Cost) -> Scaled {
    let ring = ring_seconds(ranks, bytes, cost);
    let tree = tree_seconds(ranks, bytes, cost);
    let all_reduce = ring.min(tree);
    Scaled {
        ranks,
        ring_ms: 1e3 * ring,
        tree_ms: 1e3 * tree,
        efficiency: weak_efficiency(of_one, of_one + all_reduce),
        efficiency_overlapped: weak_efficiency(of_one, of_one.max(all_reduce)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_falls_with_the_ranks_and_rises_with_the_rate_of_the_link() {
        let all = all(0.01, 1e6, &[], 5.0);
        for link in &all {
            assert!(
                link.ranks
                    .windows(2)
                    .all(|two| two[1].efficiency <= two[0].efficiency)
            );
            assert!(link.ranks.iter().all(|r| r.efficiency < r.efficiency_overlapped));
        }
        let of = |name: &str| all.iter().find(|p| p.link.starts_with(name)).unwrap();
        let [fast, slow] = ["NVLink", "Ethernet, 10 "].map(|name| &of(name).ranks[0]);
        // Two messages of half of 1 MB: 10 µs + 1 MB/(1.25 GB/s).
        assert!((slow.ring_ms - 0.81).abs() < 1e-9, "{}", slow.ring_ms);
        assert!(fast.ring_ms < slow.ring_ms);
    }
}
