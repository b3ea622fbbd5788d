//! 9.2: a step of stage 1.

use anyhow::Result;
use grader::{Check, Draw, Facts, Mistake, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers, ranks::*};

/// Steps by SGD with momentum: v ← 0.5·v + g, then w ← w − 0.25·v.
#[derive(Clone, Debug)]
struct MomentumSteps {
    params: Vec<f32>,
    /// Of each step.
    gradients_by_rank: Vec<Vec<Vec<f32>>>,
}

fn steps(d: &mut Draw, (world, length): (usize, usize), count: usize) -> MomentumSteps {
    let gradients_by_rank = (0..world).map(|_| lists(d, count, length)).collect();
    let params = d.list(length, -1.0, 1.0);
    MomentumSteps {
        params,
        gradients_by_rank,
    }
}

impl OnRanks for MomentumSteps {
    fn world(&self) -> usize {
        self.gradients_by_rank.len()
    }

    fn run(&self, answer: &Lesson09, end: &End, fails: &str) -> Result<Facts> {
        let (mut params, mut gradients, mut velocity) = (self.params.clone(), Vec::new(), Vec::new());
        let mut lengths = Vec::new();
        for step in &self.gradients_by_rank[end.rank()] {
            gradients = step.clone();
            (answer.stage1_step)(end, &mut params, &mut gradients, &mut |w, g| {
                lengths.push(w.len());
                velocity.resize(g.len(), 0.0);
                for ((v, w), g) in velocity.iter_mut().zip(w).zip(g) {
                    *v = 0.5 * *v + g;
                    *w -= 0.25 * *v;
                }
                well(fails, "update")
            })?;
        }
        // Without parameters, `update` may be left out.
        lengths.retain(|&length| length > 0);
        Ok(Facts::default()
            .items("number of parameters in each call of update", lengths)
            .values("params", &params)
            .values("gradients", &gradients)
            .cause("`params` are right, but `gradients` must also become the mean: all of it, not only the own chunk."))
    }
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.2";
    by results {
        steps_by_the_mean_gradient: "averages `gradients`",
            "Average all gradients, call `update` once with the own chunk of both lists, and gather what it changed." =>
            |d| [(1, 3), (2, 4), (3, 6), (4, 8)].map(|shape| steps(d, shape, 1)).into();
        keeps_optimizer_state_by_part: "this rank's `chunk` of both lists",
            "`update` keeps state for its parameters: it gets the same chunk in every step, and nothing else." =>
            |d| [(1, 3), (2, 6), (4, 8)].map(|shape| steps(d, shape, 3)).into();
        accepts_uneven_and_empty_parts: "this rank's `chunk`",
            "The own part is `chunk(length, rank, p)`, also an empty one; every rank makes the same calls." =>
            |d| [(1, 5), (2, 5), (3, 7), (4, 10), (4, 3), (3, 1), (2, 0), (4, 11)].map(|shape| steps(d, shape, 3)).into();
    }
    by errors {
        passes_on_errors: "any error at once",
            "Pass on the error of each call with `?`: of both collectives and of `update`." =>
            |d| [(2, ""), (1, "update"), (2, "update")].map(|(world, fails)| (steps(d, (world, 4), 1), fails)).into();
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.2" stage1_step;
    1 "The gradients are summed over the ranks, but not divided by their number.";
    2 "Each rank steps by its own gradients: the all-reduce is missing, or comes after `update`.";
    3 "The new parameters are not gathered: each rank has only its own part of them.";
    4 "Every rank updates all parameters: the optimizer keeps all of its state on each, as without ZeRO.";
    5 "A rank with an empty part returns before the all-gather: every rank makes the same calls.";
};
