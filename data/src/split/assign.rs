//! Which group goes to which part: local search from random starts, all by seed.

use super::groups::{Group, Groups};
use crate::{Philox, Purpose};

/// A species that a part lacks outweighs any unevenness; one that training lacks, still more.
const LACKING: f64 = 100.0;
const LACKING_IN_TRAINING: f64 = 1_000.0;
/// Above this many groups, moves alone come close enough, and pairs would be too many to try.
const MOST_FOR_SWAPS: usize = 128;
const MOST_STARTS: u64 = 32;

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
    best.map(|(_, part_of)| part_of).unwrap_or_default()
}

/// A species on g groups must be lacking in at least parts − g parts.
fn fewest_lacking(groups: &Groups, parts: usize) -> usize {
    let mut homes = vec![0; groups.species];
    for group in &groups.list {
        for &(s, _) in &group.counts {
            homes[s] += 1;
        }
    }
    homes
        .iter()
        .filter(|&&h| h > 0)
        .map(|&h| parts.saturating_sub(h))
        .sum()
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

    /// How far one species, in one part, is from its share.
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

    /// The cost of what `groups` touch in parts `a` and `b`.
    fn local(&self, groups: &[usize], a: usize, b: usize) -> f64 {
        let mut touched: Vec<usize> = groups
            .iter()
            .flat_map(|&g| self.groups[g].counts.iter().map(|c| c.0))
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let cells: f64 = touched.iter().map(|&s| self.cell(a, s) + self.cell(b, s)).sum();
        cells + self.room(a) + self.room(b)
    }

    /// Moves one group, or swaps two, as long as that lowers the cost.
    fn climb(&mut self) {
        const ENOUGH: f64 = 1e-12;
        loop {
            let mut better = false;
            for g in 0..self.groups.len() {
                for to in 0..self.shares.len() {
                    let from = self.part_of[g];
                    if to == from {
                        continue;
                    }
                    let before = self.local(&[g], from, to);
                    self.shift(g, to);
                    if self.local(&[g], from, to) < before - ENOUGH {
                        better = true;
                    } else {
                        self.shift(g, from);
                    }
                }
            }
            if !better && self.groups.len() <= MOST_FOR_SWAPS {
                better = self.swap_once(ENOUGH);
            }
            if !better {
                return;
            }
        }
    }

    fn swap_once(&mut self, enough: f64) -> bool {
        for g in 0..self.groups.len() {
            for h in g + 1..self.groups.len() {
                let (a, b) = (self.part_of[g], self.part_of[h]);
                if a == b {
                    continue;
                }
                let before = self.local(&[g, h], a, b);
                self.shift(g, b);
                self.shift(h, a);
                if self.local(&[g, h], a, b) < before - enough {
                    return true;
                }
                self.shift(g, a);
                self.shift(h, b);
            }
        }
        false
    }

    fn lacking(&self) -> usize {
        (0..self.totals.len())
            .filter(|&s| self.totals[s] > 0.0)
            .map(|s| self.held.iter().filter(|part| part[s] <= 0.0).count())
            .sum()
    }
}
