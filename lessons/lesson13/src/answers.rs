//! Lesson 13: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use canopy::search::{Cost, Estimate, Halving, Heir, Member, Parameter, Range, Rung, Scored, Value};
use canopy_data::Philox;

pub fn draw<const M: u8>(space: &[Parameter], seed: u64, trial: u64) -> Vec<(String, Value)> {
    let mut random = Philox::new(seed, trial);
    match M {
        1 => random = Philox::new(seed, 0),
        2 => random = Philox::new(seed.wrapping_add(trial), 0),
        _ => {}
    }
    let only = f64::from(random.clone().uniform());
    let mut drawn: Vec<(String, Value)> = Vec::new();
    let mut all = Vec::new();
    for parameter in space {
        let holds = match &parameter.only_if {
            None => true,
            Some(condition) if M == 8 => all.contains(condition),
            Some(condition) => drawn.contains(condition),
        };
        if M == 7 && !holds { continue; }
        let u = match M {
            3 => only,
            4 => random.uniform_f64(),
            _ => f64::from(random.uniform()),
        };
        let value = match &parameter.range {
            Range::Log { low, high } if M == 5 => Value::Number(low + u * (high - low)),
            Range::Choice(all) if M == 6 => all[(u * (all.len() - 1) as f64).round() as usize].clone(),
            Range::Log { low, high } => {
                Value::Number(low * (high / low).powf(u))
            }
            Range::Uniform { low, high } => {
                Value::Number(low + u * (high - low))
            }
            Range::Choice(all) => {
                all[(u * all.len() as f64) as usize].clone()
            }
        };
        if M == 8 { all.push((parameter.name.clone(), value.clone())); }
        if holds {
            drawn.push((parameter.name.clone(), value));
        }
    }
    drawn
}

pub fn rungs<const M: u8>(trials: usize, fewest: u64, most: u64, eta: u64) -> Vec<Rung> {
    let (mut all, mut epochs, mut left) = (Vec::new(), fewest, trials);
    while left > 0 || M == 7 {
        if M == 1 && epochs > most || M == 8 && left < eta as usize { break; }
        let before = if M == 6 && epochs > fewest { epochs / eta } else { 0 };
        let most = if M == 2 { epochs.max(most) } else { most };
        let rung = Rung { epochs: epochs.min(most), trials: left };
        all.push(Rung { epochs: rung.epochs - before, ..rung });
        if epochs >= most && (M != 5 || epochs > most) {
            break;
        }
        epochs *= eta;
        left = match M {
            3 => left.div_ceil(eta as usize),
            4 => (left / eta as usize).max(1),
            _ => left / eta as usize,
        };
    }
    all
}

pub fn promotion<const M: u8>(rungs: &[Vec<Scored>], eta: usize) -> Option<(usize, usize)> {
    let score = |trial: &Scored| match trial.score {
        s if s.is_nan() && M != 5 => f64::NEG_INFINITY,
        s => s,
    };
    let last = if M == 2 { rungs.len() } else { rungs.len() - 1 };
    let mut order: Vec<usize> = (0..last).rev().collect();
    if M == 1 { order.reverse(); }
    for k in order {
        let mut best: Vec<&Scored> = rungs[k].iter().collect();
        if M == 6 { best.reverse(); }
        best.sort_by(|a, b| score(b).total_cmp(&score(a)));
        if M == 3 { best.retain(|trial| !trial.promoted); }
        match M {
            4 => best.truncate(rungs[k].len().div_ceil(eta)),
            8 => best.truncate((rungs[k].len() / eta).min(1)),
            _ => best.truncate(rungs[k].len() / eta),
        }
        if let Some(next) = best.iter().find(|trial| !trial.promoted) {
            if M == 7 { return Some((k, rungs[k].iter().position(|trial| trial.trial == next.trial)?)); }
            return Some((k, next.trial));
        }
    }
    None
}

pub fn exploit_and_explore<const M: u8>(
    members: &[Member], space: &[Parameter], share: f64, random: &mut Philox,
) -> Vec<Heir> {
    let n = members.len();
    let k = (share * n as f64) as usize;
    let k = if M == 1 { k.max(1) } else { k };
    let score = |i: usize| match members[i].score {
        s if s.is_nan() && M != 2 => f64::NEG_INFINITY,
        s => s,
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    let (best, worst) = (&order[..k], &order[n - k..]);
    let mut heir = |i: usize| {
        if !worst.contains(&i) {
            return Heir { from: i, values: members[i].values.clone() };
        }
        let from = best[random.below(k)];
        let mut values = members[if M == 4 { i } else { from }].values.clone();
        let only = if M == 5 { random.below(2) } else { 0 };
        for (at, (name, value)) in values.iter_mut().enumerate() {
            let parameter = space.iter().find(|p| p.name == *name);
            let parameter = if M == 6 { space.get(at) } else { parameter };
            let (low, high) = match parameter.map(|p| &p.range) {
                Some(Range::Log { low, high }) => (*low, *high),
                Some(Range::Uniform { low, high }) => (*low, *high),
                _ if M == 7 => (f64::NEG_INFINITY, f64::INFINITY),
                _ => continue,
            };
            let (low, high) = if M == 8 { (f64::NEG_INFINITY, f64::INFINITY) } else { (low, high) };
            if let Value::Number(x) = value {
                let factor = [0.8, 1.25][if M == 5 { only } else { random.below(2) }];
                *x = (*x * factor).clamp(low, high);
            }
        }
        Heir { from, values }
    };
    if M == 3 {
        let mut all: Vec<(usize, Heir)> = order.iter().rev().map(|&i| (i, heir(i))).collect();
        all.sort_by_key(|(i, _)| *i);
        return all.into_iter().map(|(_, heir)| heir).collect();
    }
    (0..n).map(heir).collect()
}

pub fn cost<const M: u8>(rungs: &[Rung], seconds: f64, devices: usize, watts: f64) -> Cost {
    let (mut epochs, mut before) = (0, 0);
    for rung in rungs {
        epochs += rung.trials as u64 * (rung.epochs - before);
        before = if M == 4 { 0 } else { rung.epochs };
    }
    let device_seconds = epochs as f64 * seconds * devices as f64;
    let device_hours = match M {
        1 => device_seconds / devices as f64 / 3600.0,
        _ => device_seconds / 3600.0,
    };
    Cost {
        device_hours,
        kilowatt_hours: match M {
            2 => device_hours * watts,
            3 => device_hours * devices as f64 * watts / 1000.0,
            _ => device_hours * watts / 1000.0,
        },
    }
}

pub fn trials_within<const M: u8>(hours: f64, of: &Halving, seconds: f64, devices: usize) -> usize {
    let fits = |trials: usize| {
        let rungs = match M {
            5 => vec![Rung { epochs: of.most, trials }],
            6 => vec![Rung { epochs: of.fewest, trials }],
            _ => rungs::<0>(trials, of.fewest, of.most, of.eta),
        };
        let cost = cost::<M>(&rungs, seconds, devices, 0.0);
        cost.device_hours <= hours && (M != 7 || cost.device_hours < hours)
    };
    let mut trials = usize::from(M == 8);
    while fits(trials + 1) {
        trials += 1;
    }
    trials
}

pub fn corrected_estimate<const M: u8>(correct: &[Vec<bool>], draws: usize, random: &mut Philox) -> Estimate {
    let n = correct[0].len();
    let hits = |t: usize, clouds: &[usize]| {
        clouds.iter().filter(|&&i| correct[t][i]).count()
    };
    let best_on = |clouds: &[usize]| {
        let mut best = 0;
        for t in 1..correct.len() {
            let (now, before) = (hits(t, clouds), hits(best, clouds));
            if now > before || M == 1 && now == before {
                best = t;
            }
        }
        best
    };
    let all: Vec<usize> = (0..n).collect();
    let best = best_on(&all);
    let apparent = hits(best, &all) as f64 / n as f64;
    let (mut sum, mut count) = (0.0, 0);
    for _ in 0..draws {
        let mut drawn: Vec<usize> = (0..n).map(|_| random.below(n)).collect();
        let mut out = all.clone();
        out.retain(|i| !drawn.contains(i));
        if M == 5 { drawn.sort_unstable(); drawn.dedup(); }
        if !out.is_empty() {
            let selected = if M == 2 { best } else { best_on(&drawn) };
            match M {
                3 => out.clone_from(&drawn),
                4 => out.clone_from(&all),
                _ => {}
            }
            if M == 7 { (sum, count) = (sum + hits(selected, &out) as f64, count + out.len()); continue; }
            sum += hits(selected, &out) as f64 / out.len() as f64;
            count += 1;
        }
    }
    let count = if M == 6 { draws } else { count };
    let corrected = if count == 0 && M != 8 {
        apparent
    } else {
        sum / count as f64
    };
    Estimate { best, apparent, corrected }
}
