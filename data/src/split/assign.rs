//! Assigns groups to parts by local search from random starts, which the seed determines.

use super::groups::{Group, Groups};
use crate::{Philox, Purpose};

/// A missing species costs more than any deviation from the shares, and most in the training part.
const LACKING: f64 = 100.0;
const LACKING_IN_TRAINING: f64 = 1_000.0;
/// With more groups than this, pairs are too many to try, and moves alone are close enough.
const MOST_FOR_SWAPS: usize = 128;
const MOST_STARTS: u64 = 32;
/// A change must lower the cost by this much, so that rounding errors do not go round in circles.
const ENOUGH: f64 = 1e-12;

struct State<'a> {
    groups: &'a [Group],
    shares: &'a [f64],
    training: Option<usize>,
    /// Records of each species; records in all.
    totals: Vec<f64>,
    all: f64,
    /// `held[part][species]`, and the sum over species.
    held: Vec<Vec<f64>>,
    size: Vec<f64>,
    part_of: Vec<usize>,
}

/// The part of each group. `shares` add up to 1; `training` is the part that matters most.
pub fn assign(groups: &Groups, shares: &[f64], training: Option<usize>, seed: u64) -> Vec<usize> {
    let unavoidable = fewest_lacking(groups, shares.len());
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in 0..MOST_STARTS {
        let mut state = State::random(groups, shares, training, &mut Purpose::Split.stream(seed, start));
        state.climb();
        let cost = state.cost();
        let done = state.lacking() <= unavoidable;
        if best.as_ref().is_none_or(|(c, _)| cost < *c) {
            best = Some((cost, state.part_of));
        }
        if done {
            break;
        }
    }
    best.unwrap_or_default().1
}

/// A species in g groups is missing in at least parts − g parts.
fn fewest_lacking(groups: &Groups, parts: usize) -> usize {
    let mut homes = vec![0; groups.species];
    for group in &groups.list {
        for &(s, _) in &group.counts {
            homes[s] += 1;
        }
    }
    let grown = homes.iter().filter(|&&h| h > 0);
    grown.map(|&h| parts.saturating_sub(h)).sum()
}

impl<'a> State<'a> {
    fn random(groups: &'a Groups, shares: &'a [f64], training: Option<usize>, rng: &mut Philox) -> Self {
        let mut totals = vec![0.0; groups.species];
        for g in &groups.list {
            for &(s, n) in &g.counts {
                totals[s] += n as f64;
            }
        }
        let mut state = Self {
            groups: &groups.list,
            shares,
            training,
            all: totals.iter().sum(),
            held: vec![vec![0.0; totals.len()]; shares.len()],
            size: vec![0.0; shares.len()],
            part_of: Vec::new(),
            totals,
        };
        for g in 0..groups.list.len() {
            let mut left = rng.uniform_f64();
            let part = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            let part = part.unwrap_or(shares.len() - 1);
            state.part_of.push(part);
            state.add(g, part, 1.0);
        }
        state
    }

    fn add(&mut self, group: usize, part: usize, sign: f64) {
        for &(s, n) in &self.groups[group].counts {
            self.held[part][s] += sign * n as f64;
            self.size[part] += sign * n as f64;
        }
    }

    fn shift(&mut self, group: usize, to: usize) {
        let from = self.part_of[group];
        self.add(group, from, -1.0);
        self.add(group, to, 1.0);
        self.part_of[group] = to;
    }

    /// Deviation of one species in one part from its share.
    fn cell(&self, part: usize, s: usize) -> f64 {
        let held = self.held[part][s];
        let off = held / self.totals[s] - self.shares[part];
        let lacking = match (held > 0.0, self.training == Some(part)) {
            (true, _) => 0.0,
            (false, true) => LACKING_IN_TRAINING,
            (false, false) => LACKING,
        };
        off * off + lacking
    }

    fn room(&self, part: usize) -> f64 {
        let off = self.size[part] / self.all - self.shares[part];
        off * off * self.totals.len() as f64
    }

    fn cost(&self) -> f64 {
        (0..self.shares.len())
            .map(|p| {
                let species = (0..self.totals.len()).filter(|&s| self.totals[s] > 0.0);
                self.room(p) + species.map(|s| self.cell(p, s)).sum::<f64>()
            })
            .sum()
    }

    /// The cost of the species of the groups of `changes` in parts `a` and `b`.
    fn local(&self, changes: &[(usize, usize)], a: usize, b: usize) -> f64 {
        let counts = changes.iter().flat_map(|&(g, _)| &self.groups[g].counts);
        let mut touched: Vec<usize> = counts.map(|c| c.0).collect();
        touched.sort_unstable();
        touched.dedup();
        let cells: f64 = touched.iter().map(|&s| self.cell(a, s) + self.cell(b, s)).sum();
        cells + self.room(a) + self.room(b)
    }

    /// Moves one group, or swaps two, as long as that lowers the cost.
    fn climb(&mut self) {
        loop {
            let mut better = false;
            for g in 0..self.groups.len() {
                for to in 0..self.shares.len() {
                    better |= to != self.part_of[g] && self.improves(&[(g, to)]);
                }
            }
            if !better && self.groups.len() <= MOST_FOR_SWAPS {
                better = self.swap_once();
            }
            if !better {
                return;
            }
        }
    }

    fn swap_once(&mut self) -> bool {
        for g in 0..self.groups.len() {
            for h in g + 1..self.groups.len() {
                let (a, b) = (self.part_of[g], self.part_of[h]);
                if a != b && self.improves(&[(g, b), (h, a)]) {
                    return true;
                }
            }
        }
        false
    }

    /// Puts each group of `changes` into its part, all of them from one to another or back, if that lowers the cost.
    fn improves(&mut self, changes: &[(usize, usize)]) -> bool {
        let (a, b) = (self.part_of[changes[0].0], changes[0].1);
        let before = self.local(changes, a, b);
        for &(g, to) in changes {
            self.shift(g, to);
        }
        let better = self.local(changes, a, b) < before - ENOUGH;
        if !better {
            for &(g, to) in changes {
                self.shift(g, if to == a { b } else { a });
            }
        }
        better
    }

    fn lacking(&self) -> usize {
        (0..self.totals.len())
            .filter(|&s| self.totals[s] > 0.0)
            .map(|s| self.held.iter().filter(|part| part[s] <= 0.0).count())
            .sum()
    }
}
