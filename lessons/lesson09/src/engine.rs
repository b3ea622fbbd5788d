//! 9.7: the engine's backward and step.

use anyhow::{Result, ensure};
use canopy::{precision::LossScale, shard::*};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers, ranks::*};

/// A loss scale whose value shows how often it was updated, and with what. It may fail.
struct Scale(f64, bool);

impl LossScale for Scale {
    fn scale(&self) -> f64 {
        self.0
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        ensure!(!self.1, "the scale's error");
        self.0 *= if found_inf { 0.125 } else { 2.0 };
        Ok(())
    }
}

/// A rank ends before it: the reduce-scatter still succeeds.
const ALL_REDUCE: &str = "the all-reduce of the norm";

/// A training by SGD with a learning rate of 0.25.
#[derive(Clone, Debug)]
struct Training {
    accumulation: usize,
    scale: f64,
    clip: f64,
    params: Vec<f32>,
    /// Of each micro-batch, unscaled. Before an empty one, `engine_backward` is not called.
    gradients_by_rank: Vec<Vec<Vec<f32>>>,
}

/// A training of so many steps of so many micro-batches, in which nothing is clipped.
fn run(d: &mut Draw, world: usize, length: usize, [steps, accumulation]: [usize; 2]) -> Training {
    let gradients_by_rank = (0..world)
        .map(|_| lists(d, steps * accumulation, length))
        .collect();
    let (scale, clip, params) = (8.0, 1e9, d.list(length, -1.0, 1.0));
    Training {
        accumulation,
        scale,
        clip,
        params,
        gradients_by_rank,
    }
}

impl Training {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl OnRanks for Training {
    fn world(&self) -> usize {
        self.gradients_by_rank.len()
    }

    fn run(&self, answer: &Lesson09, end: &End, fails: &str) -> Result<Facts> {
        let (mut params, mut updates) = (self.params.clone(), 0);
        let scale = Scale(self.scale, fails == "scaler.update");
        let mut state = EngineState::new(self.accumulation, Box::new(scale), self.clip)?;
        let (mut outcomes, mut norms, mut stepped) = (Vec::new(), Vec::new(), Vec::new());
        let (mut scales, mut left) = (Vec::new(), Vec::new());
        for gradients in &self.gradients_by_rank[end.rank()] {
            let scale = state.scaler.scale() as f32;
            let scaled: Vec<f32> = gradients.iter().map(|g| g * scale).collect();
            if fails == ALL_REDUCE {
                (REFERENCE.reduce_gradients)(end, scaled.clone())?;
                well(fails, ALL_REDUCE)?;
            }
            if !scaled.is_empty() {
                (answer.engine_backward)(&mut state, &scaled)?;
            }
            let outcome = (answer.engine_step)(&mut state, end, &mut params, &mut |w, g| {
                updates += 1;
                w.iter_mut().zip(g).for_each(|(w, g)| *w -= 0.25 * g);
                well(fails, "update")
            })?;
            let (name, norm) = match outcome {
                Outcome::Accumulating => ("Accumulating", 0.0),
                Outcome::Skipped => ("Skipped", 0.0),
                Outcome::Taken { norm } => ("Taken", norm),
            };
            outcomes.push((name, updates));
            // The sum of the squares may be one of f32 numbers.
            norms.push(norm as f32);
            stepped.extend_from_slice(&params);
            scales.push(state.scaler.scale());
            left.extend([state.gradients.len(), state.micro_batches]);
        }
        // Each is a list over the calls of `engine_step`.
        Ok(Facts::default()
            .items("outcomes, and calls of update so far", &outcomes)
            .cause(
                "Accumulate until there are `accumulation` micro-batches. Then take a step; or, if the norm² of all ranks is infinite \
                 or NaN, all ranks skip it.",
            )
            .values("gradients and micro-batches left in the state", &left)
            .cause("After a step, `state.gradients` is an empty list and `state.micro_batches` is 0.")
            .asked("The sum and its count restart")
            .values("loss scales", &scales)
            .cause("Call `state.scaler.update(found_inf)` once at the end of each step, and not while it accumulates.")
            .asked("once")
            .values("params", &stepped)
            .values("norms", &norms)
            .cause("The norm is the root of the sum of squares of all ranks' mean gradients, unscaled and not yet clipped.")
            .asked("sums `norm² = Σg²`"))
    }
}

/// Accumulation, and the gradients of each micro-batch.
fn added(answer: &Lesson09, (accumulation, micro): (usize, Vec<Vec<f32>>)) -> Verdict {
    let facts = |answer: &Lesson09| {
        let state = EngineState::new(accumulation, Box::new(Scale(8.0, false)), 0.0);
        let mut state = state.expect("a step has micro-batches");
        let mut call = |gradients| (answer.engine_backward)(&mut state, gradients).map_err(drop);
        let results: Vec<Result<(), ()>> = micro.iter().map(|gradients| call(gradients)).collect();
        let facts = Facts::default().items("result of each call", &results);
        // After an error the state may be anything.
        if results.contains(&Err(())) {
            return facts;
        }
        let facts = facts.values("state.gradients", &state.gradients);
        facts.values("state.micro_batches", state.micro_batches)
    };
    let case = given(format!(
        "accumulation {accumulation}, scale 8, micro-batches {micro:?}"
    ));
    case.at_scale(1.0).same(facts(answer), facts(&REFERENCE))
}

/// Trainings without clipping, on ranks with even, uneven and empty chunks, and before any micro-batch.
fn unclipped(d: &mut Draw) -> Vec<Training> {
    let shapes = [(1, 3), (2, 4), (3, 7), (4, 10), (4, 3)];
    let mut runs: Vec<Training> = shapes.map(|(world, length)| run(d, world, length, [1, 1])).into();
    runs.extend(shapes.map(|(world, length)| run(d, world, length, [2, 3]).with(|r| r.scale = 65536.0)));
    runs.extend([1, 2].map(|world| run(d, world, 0, [1, 1])));
    // A micro-batch is missing: nothing is sent.
    runs.push(run(d, 2, 4, [1, 2]).with(|r| r.accumulation = 3));
    runs
}

/// Trainings that are clipped at 0.25, and others at 100 or 0, which clips nothing.
fn clipped(d: &mut Draw) -> Vec<Training> {
    let mut runs = Vec::new();
    for (world, length) in [(1, 4), (2, 6), (3, 7), (4, 12)] {
        // Nearly all of the first norm is on the last rank.
        let run = run(d, world, length, [2, 1]).with(|r| r.gradients_by_rank[0][0][length - 1] = 9.0);
        runs.extend([0.25, 100.0, 0.0].map(|clip| run.clone().with(|r| r.clip = clip)));
    }
    // The limit is between the norm and its square: norm 0.36, and norm 3.
    for (gradients, clip) in [([0.2, 0.3], 0.25), ([1.8, 2.4], 4.0)] {
        let equal = vec![vec![gradients.to_vec()]; 2];
        runs.push(run(d, 2, 2, [1, 1]).with(|r| (r.clip, r.gradients_by_rank) = (clip, equal)));
    }
    runs
}

/// Trainings whose second step overflows: on one rank, on two with both signs, and in the sum over the ranks.
fn overflowing(d: &mut Draw) -> Vec<Training> {
    let mut runs = Vec::new();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for (world, value) in [(1, inf), (2, nan), (3, -inf), (2, inf), (3, nan), (1, nan)] {
        let (rank, index) = (d.whole(0, world - 1), d.whole(0, 3 * world - 1));
        runs.push(run(d, world, 3 * world, [3, 1]).with(|r| r.gradients_by_rank[rank][1][index] = value));
    }
    for (one, other) in [(inf, -inf), (3e38, 3e38)] {
        let mut run = run(d, 2, 4, [2, 1]);
        // The scale is 1 in the second step.
        run.scale = 0.5;
        run.gradients_by_rank[0][1][1] = one;
        run.gradients_by_rank[1][1][1] = other;
        runs.push(run);
    }
    runs
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.7";
    by added {
        averages_over_the_step: "divided by `state.accumulation`",
            "Divide each micro-batch by `state.accumulation` and nothing else, add it to `state.gradients`, and count it." =>
            |d| [(1, 1), (3, 3), (3, 2), (5, 5)].map(|(accumulation, count)| (accumulation, lists(d, count, 3))).into();
    }
    by results {
        steps_by_the_unscaled_mean: "divided by `state.scaler.scale()`",
            "Mend 9.3 first if you call it. Divide the sum by the ranks and by the scale before its update; gather what `update` changed." => unclipped;
        clips_by_the_norm_of_all_gradients: "`g ← g·clip/norm` if `norm > clip > 0`",
            "If norm > clip > 0, multiply the chunk by clip/norm, with the norm of all ranks' unscaled gradients." => clipped;
        skips_on_every_rank: "all ranks skip the step",
            "If any rank's chunk is not finite, all skip, update the scale, and start the next step empty." => overflowing;
    }
    by added {
        rejects_gradients_that_do_not_fit: "a different length",
            "Return an error if the step has all its micro-batches, or if a list has another length than the last." =>
            |_| [vec![2; 3], vec![2, 3], vec![2, 1]].map(|n| (2, n.into_iter().map(|n| vec![1.0; n]).collect())).into();
    }
    by errors {
        passes_on_errors_of_the_step: "any error at once",
            "Pass on the error of each call with `?`: of the three collectives, of `update` and of the scaler." =>
            |d| [(2, ""), (2, ALL_REDUCE), (1, "update"), (2, "update"), (1, "scaler.update")]
                .map(|(world, fails)| (run(d, world, 4, [1, 1]), fails)).into();
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.7" [engine_step, engine_backward];
    1 "The micro-batches are summed; divide each by `accumulation`, so that their sum is the mean.";
    2 "`zip` with an empty list does nothing: fill `state.gradients` with zeros before the first micro-batch.";
    3 "Each micro-batch replaces the one before; add it.";
    4 "A step is taken after every micro-batch; wait until there are `accumulation` of them.";
    5 "The gradients are still multiplied by the loss scale.";
    6 "The gradients are summed over the ranks; divide them by the number of ranks.";
    7 "The norm is that of the rank's own chunk; it is that of all chunks together.";
    8 "Each rank decides by its own chunk whether to skip; one that steps waits for the others in the all-gather.";
    9 "The scale is updated only after a skipped step; it must also hear of good steps, to grow again.";
};
