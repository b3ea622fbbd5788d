//! Right answers that are not written as canopy's: every check must accept them.

use std::collections::HashMap;

use canopy::search::{Cost, Estimate, Heir, Range, Rung, Scored, Value};
use canopy_data::Philox;
use grader::{Right, known};

use crate::{Lesson13, REFERENCE};

/// How many are better than number `i`: those with a higher score, and the earlier ones with the same. NaN is last.
fn rank(scores: &[f64], i: usize) -> usize {
    let is_better = |j: usize| match (scores[j].is_nan(), scores[i].is_nan()) {
        (false, false) if scores[j] != scores[i] => scores[j] > scores[i],
        (a, b) if a == b => j < i,
        (is_nan, _) => !is_nan,
    };
    (0..scores.len()).filter(|&j| is_better(j)).count()
}

pub const RIGHT: &[Right<Lesson13>] = &[
    known!("13.1", "all random numbers first, logarithms, a map of what is drawn", draw: |space, seed, trial| {
        let mut random = Philox::new(seed, trial);
        let us: Vec<f64> = space.iter().map(|_| f64::from(random.uniform())).collect();
        let mut drawn: HashMap<&str, Value> = HashMap::new();
        for (parameter, u) in space.iter().zip(us) {
            let holds = |(name, value): &(String, Value)| drawn.get(name.as_str()) == Some(value);
            if parameter.only_if.as_ref().is_none_or(holds) {
                let value = match &parameter.range {
                    Range::Log { low, high } => Value::Number(((1.0 - u) * low.ln() + u * high.ln()).exp()),
                    Range::Uniform { low, high } => Value::Number((1.0 - u) * low + u * high),
                    Range::Choice(all) => {
                        let passed = (1..all.len()).filter(|&i| i as f64 <= u * all.len() as f64).count();
                        all[passed].clone()
                    }
                };
                drawn.insert(&parameter.name, value);
            }
        }
        let kept = space.iter().filter_map(|p| Some((p.name.clone(), drawn.remove(p.name.as_str())?)));
        kept.collect()
    }),
    known!("13.2", "each rung by a power, cut at the end", rungs: |trials, fewest, most, eta| {
        let all = (0..20).map(|k| Rung {
            epochs: fewest.saturating_mul(eta.pow(k)).min(most),
            trials: trials / eta.pow(k) as usize,
        });
        let mut all: Vec<Rung> = all.filter(|rung| rung.trials > 0).collect();
        all.dedup_by_key(|rung| rung.epochs);
        all
    }),
    known!("13.3", "ranks by counting", promotion: |rungs, eta| {
        for k in (0..rungs.len() - 1).rev() {
            let scores: Vec<f64> = rungs[k].iter().map(|trial| trial.score).collect();
            let place = |i: usize| rank(&scores, i);
            let free = (0..scores.len()).filter(|&i| !rungs[k][i].promoted && place(i) < scores.len() / eta);
            let next: Option<&Scored> = free.min_by_key(|&i| place(i)).map(|i| &rungs[k][i]);
            if let Some(next) = next {
                return Some((k, next.trial));
            }
        }
        None
    }),
    known!("13.4", "ranks by counting, one member after the other", exploit_and_explore: |members, space, share, random| {
        let (n, k) = (members.len(), (share * members.len() as f64).floor() as usize);
        let scores: Vec<f64> = members.iter().map(|member| member.score).collect();
        let mut heirs = Vec::new();
        for (i, member) in members.iter().enumerate() {
            let mut heir = Heir { from: i, values: member.values.clone() };
            if rank(&scores, i) + k >= n {
                let of = random.below(k);
                heir.from = (0..n).find(|&j| rank(&scores, j) == of).unwrap_or(i);
                heir.values = members[heir.from].values.clone();
                for parameter in heir.values.iter_mut() {
                    for other in space.iter().filter(|other| other.name == parameter.0) {
                        if let (Value::Number(x), Range::Log { low, high } | Range::Uniform { low, high }) = (&mut parameter.1, &other.range) {
                            let changed = if random.below(2) == 0 { *x * 0.8 } else { *x * 1.25 };
                            *x = changed.max(*low).min(*high);
                        }
                    }
                }
            }
            heirs.push(heir);
        }
        heirs
    }),
    known!("13.5", "by the rung at which trials stop; by doubling and bisecting", cost: |rungs, seconds, devices, watts| {
        let above = |k: usize| rungs.get(k + 1).map_or(0, |rung| rung.trials);
        let stopped = rungs.iter().enumerate().map(|(k, rung)| (rung.trials - above(k)) as f64 * rung.epochs as f64);
        let device_hours = stopped.sum::<f64>() * (seconds / 3600.0) * devices as f64;
        Cost { device_hours, kilowatt_hours: watts * 1e-3 * device_hours }
    }, trials_within: |hours, of, seconds, devices| {
        let hours_of = |trials: usize| {
            let rungs = (REFERENCE.rungs)(trials, of.fewest, of.most, of.eta);
            (REFERENCE.cost)(&rungs, seconds, devices, 0.0).device_hours
        };
        let (mut fits, mut above) = (0, 1);
        while hours_of(above) <= hours {
            (fits, above) = (above, 2 * above);
        }
        while above - fits > 1 {
            let middle = (fits + above) / 2;
            if hours_of(middle) <= hours { fits = middle } else { above = middle }
        }
        fits
    }),
    known!("13.6", "how often each cloud is drawn", corrected_estimate: |correct, draws, random| {
        let n = correct[0].len();
        let weighed = |trial: &[bool], times: &[usize]| -> usize { trial.iter().zip(times).map(|(&is, t)| usize::from(is) * t).sum() };
        let best_by = |times: &[usize]| {
            let scores: Vec<usize> = correct.iter().map(|trial| weighed(trial, times)).collect();
            scores.iter().position(|score| Some(score) == scores.iter().max()).unwrap_or(0)
        };
        let share = |trial: usize, times: &[usize]| weighed(&correct[trial], times) as f64 / times.iter().sum::<usize>() as f64;
        let mut accuracies = Vec::new();
        for _ in 0..draws {
            let mut times = vec![0; n];
            for _ in 0..n {
                times[random.below(n)] += 1;
            }
            let out: Vec<usize> = times.iter().map(|&t| usize::from(t == 0)).collect();
            accuracies.push(share(best_by(&times), &out));
        }
        accuracies.retain(|accuracy| !accuracy.is_nan());
        let best = best_by(&vec![1; n]);
        let apparent = share(best, &vec![1; n]);
        let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
        Estimate { best, apparent, corrected: if mean.is_nan() { apparent } else { mean } }
    }),
];
