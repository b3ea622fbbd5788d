//! Known wrong answers to exercise 7.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.3", decays_every_size_steps, "The rate decays at every step; use integer division.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(t as f64 / (*size).max(1) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "The rate decays one step late: after `size` steps it has already decayed.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t.saturating_sub(1) / (*size).max(1)) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "gamma is multiplied by the number of decays; raise it to that power.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * (g * (t / (*size).max(1)) as f64),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_every_size_steps, "The rate is multiplied by 1 − gamma; multiply it by gamma.",
        decayed: |d, t, g, b| (REFERENCE.decayed)(d, t, 1.0 - g, b)),
    wrong!("7.3", decays_at_a_milestone, "At the milestone itself the rate is still the old one; it has already decayed there.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().filter(|&&m| t > m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", decays_at_a_milestone, "The rate decays only at the first milestone; it should decay at each.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(f64::from(u8::from(list.iter().any(|&m| t >= m)))),
        _ => None,
    })),
    wrong!("7.3", accepts_milestones_in_any_order, "The list is in any order: count all milestones that are reached. Do not stop at the first that is not, and do not search it as if it were sorted.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(list.iter().take_while(|&&m| t >= m).count() as f64),
        _ => None,
    })),
    wrong!("7.3", decays_at_each_step, "The rate has already decayed at step 0; there it is the base rate.",
        decayed: |d, t, g, b| falling(d, t, g, b, |d, t| matches!(d, Decay::Exponential).then_some(t as f64 + 1.0))),
    wrong!("7.3", decays_at_each_step, "This is exp(−gamma·step); the rate is base·gamma^step.",
    decayed: |d, t, g, b| match d {
        Decay::Exponential => b * (-g * t as f64).exp(),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", accepts_a_size_of_0, "The step is divided by a size of 0; treat it as 1.",
    decayed: |d, t, g, b| match d {
        Decay::Step(size) => b * g.powi((t / size) as i32),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_every_size_steps, "The numbers are rounded to f32: compute in f64.",
        decayed: |d, t, g, b| f64::from((REFERENCE.decayed)(d, t, f64::from(g as f32), f64::from(b as f32)) as f32)),
    wrong!("7.3", decays_every_size_steps, "The rate has already decayed before the first `size` steps are done: k is step/size, rounded down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(((t + 1) / (*size).max(1)) as f64),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "step/size is rounded to the nearest number; round it down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t as f64 / (*size).max(1) as f64).round()),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "step/size is rounded up; round it down.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some((t as f64 / (*size).max(1) as f64).ceil()),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "The rate decays only in the steps that are multiples of `size`, and goes back after them: it should stay low.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Step(size) => Some(f64::from(u8::from(t > 0 && t % (*size).max(1) == 0))),
        _ => None,
    })),
    wrong!("7.3", decays_every_size_steps, "Each decay subtracts the same amount; it should multiply the rate by gamma.",
    decayed: |d, t, g, b| {
        let k = match d {
            Decay::Step(size) => t / (*size).max(1),
            Decay::Milestones(list) => list.iter().filter(|&&m| m <= t).count() as u64,
            Decay::Exponential => t,
        };
        b * (1.0 - (1.0 - g) * k as f64)
    }),
    wrong!("7.3", decays_at_a_milestone, "The milestones are taken for lengths of phases, one after the other; they are steps.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => {
            let sums = list.iter().scan(0, |sum, m| { *sum += m; Some(*sum) });
            Some(sums.filter(|&m| t >= m).count() as f64)
        }
        _ => None,
    })),
    wrong!("7.3", counts_each_milestone, "A milestone that is twice in the list counts once; it should count twice.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => {
            let all: std::collections::BTreeSet<u64> = list.iter().copied().filter(|&m| m <= t).collect();
            Some(all.len() as f64)
        }
        _ => None,
    })),
    wrong!("7.3", accepts_no_milestones, "The list of milestones may be empty, so that it has no first or last.",
    decayed: |d, t, g, b| match d {
        Decay::Milestones(list) => if t >= *list.iter().max().unwrap() {
            b * g.powi(list.len() as i32)
        } else {
            (REFERENCE.decayed)(d, t, g, b)
        },
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", accepts_no_milestones, "The list of milestones may be empty, so that it has no first or last.",
    decayed: |d, t, g, b| match d {
        Decay::Milestones(list) => if t < list[0] { b } else { (REFERENCE.decayed)(d, t, g, b) },
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_at_each_step, "The number of decays is cut to 8 bits: step 300 counts as 44.",
        decayed: |d, t, g, b| falling(d, t, g, b, |d, t| matches!(d, Decay::Exponential).then_some((t as u8).into()))),
    wrong!("7.3", accepts_a_size_of_0, "With a size of 0 the rate never decays; 0 counts as 1.",
    decayed: |d, t, g, b| match d {
        Decay::Step(0) => b,
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_every_size_steps, "The numbers are rounded to f32: compute in f64.",
    decayed: |d, t, g, b| falling_by(d, t, |k| b * f64::from((g as f32).powf(k as f32)))),
    wrong!("7.3", decays_every_size_steps, "The numbers are rounded to f32: compute in f64.",
    decayed: |d, t, g, b| falling_by(d, t, |k| b * f64::from((g as f32).powi(k as i32)))),
    wrong!("7.3", decays_every_size_steps, "base is raised to the power as well; only gamma should be.",
        decayed: |d, t, g, b| falling_by(d, t, |k| (b * g).powi(k as i32))),
    wrong!("7.3", decays_every_size_steps, "base is raised to the power as well; only gamma should be.",
        decayed: |d, t, g, b| falling_by(d, t, |k| if k == 0 { b } else { (b * g).powi(k as i32) })),
    wrong!("7.3", decays_every_size_steps, "gamma is multiplied by the number of decays; raise it to that power.",
        decayed: |d, t, g, b| falling_by(d, t, |k| if k == 0 { b } else { b * g * k as f64 })),
    wrong!("7.3", decays_at_each_step, "This is exp((gamma − 1)·step), which is only near gamma^step: raise gamma to the power.",
    decayed: |d, t, g, b| match d {
        Decay::Exponential => b * ((g - 1.0) * t as f64).exp(),
        _ => (REFERENCE.decayed)(d, t, g, b),
    }),
    wrong!("7.3", decays_at_a_milestone, "The rate is lower only at the milestone itself; after it, it should stay low.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) => Some(f64::from(u8::from(list.contains(&t)))),
        _ => None,
    })),
    wrong!("7.3", decays_at_a_milestone, "After the last milestone the rate is the base rate again; it should stay low.",
    decayed: |d, t, g, b| falling(d, t, g, b, |d, t| match d {
        Decay::Milestones(list) if list.iter().all(|&m| t >= m) => Some(0.0),
        Decay::Milestones(list) => Some(list.iter().filter(|&&m| t >= m).count() as f64),
        _ => None,
    })),
];
