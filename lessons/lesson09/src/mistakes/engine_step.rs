//! Known wrong answers to exercise 9.7.

use anyhow::ensure;

use super::*;

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.7", averages_over_the_step, "The micro-batches are summed; their mean is the gradient of the batch, so divide each by `accumulation`.",
    engine_backward: |state, gradients| {
        let times: Vec<f32> = gradients.iter().map(|g| g * state.accumulation as f32).collect();
        backward(state, &times)
    }),
    wrong!("9.7", averages_over_the_step, "`state.gradients` is empty before the first micro-batch of a step, and `zip` with an empty list does nothing: fill it with zeros first.",
    engine_backward: |state, _| {
        ensure!(state.micro_batches < state.accumulation, "too many");
        state.micro_batches += 1;
        Ok(())
    }),
    wrong!("9.7", averages_over_the_step, "The gradients are divided by the loss scale already here; `engine_step` does it.",
    engine_backward: |state, gradients| {
        let scale = state.scaler.scale() as f32;
        let unscaled: Vec<f32> = gradients.iter().map(|g| g / scale).collect();
        backward(state, &unscaled)
    }),
    wrong!("9.7", averages_over_the_step, "Each micro-batch replaces the one before; add it.",
    engine_backward: |state, gradients| {
        if !state.gradients.is_empty() {
            state.gradients = vec![0.0; gradients.len()];
        }
        backward(state, gradients)
    }),
    wrong!("9.7", averages_over_the_step, "The mean is that of the micro-batches so far; every one is divided by `accumulation`.",
    engine_backward: |state, gradients| {
        let before = state.micro_batches as f32;
        ensure!(state.micro_batches < state.accumulation, "too many");
        ensure!(before == 0.0 || state.gradients.len() == gradients.len(), "another length");
        state.gradients.resize(gradients.len(), 0.0);
        for (mean, g) in state.gradients.iter_mut().zip(gradients) {
            *mean = (*mean * before + g) / (before + 1.0);
        }
        state.micro_batches += 1;
        Ok(())
    }),
    wrong!("9.7", averages_over_the_step, "The micro-batches are not counted: add 1 to `state.micro_batches`.",
    engine_backward: |state, gradients| {
        let result = backward(state, gradients);
        state.micro_batches = 0;
        result
    }),
    wrong!("9.7", rejects_gradients_that_do_not_fit, "A micro-batch more than `accumulation` is accepted: the mean would be too large.",
    engine_backward: |state, gradients| {
        let full = state.micro_batches == state.accumulation;
        if full {
            state.micro_batches -= 1;
        }
        backward(state, gradients)
    }),
    wrong!("9.7", rejects_gradients_that_do_not_fit, "A list of another length is accepted: `zip` ends with the shorter one, and says nothing.",
    engine_backward: |state, gradients| {
        ensure!(state.micro_batches < state.accumulation, "too many");
        let mut same = gradients.to_vec();
        if state.micro_batches > 0 {
            same.resize(state.gradients.len(), 0.0);
        }
        backward(state, &same)
    }),
    wrong!("9.7", waits_until_the_step_is_complete, "A step is taken after every micro-batch; wait until there are `accumulation` of them.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { waits: false, ..ENGINE })),
    wrong!("9.7", waits_until_the_step_is_complete, "No step is taken: the step is complete if `state.micro_batches` equals `state.accumulation`.",
    engine_step: |s, c, p, u| {
        if s.micro_batches <= s.accumulation {
            return Ok(Outcome::Accumulating);
        }
        step(s, c, p, u, &ENGINE)
    }),
    wrong!("9.7", waits_until_the_step_is_complete, "The step comes one micro-batch early.",
    engine_step: |s, c, p, u| {
        if s.micro_batches + 1 == s.accumulation {
            return step(s, c, p, u, &Engine { waits: false, ..ENGINE });
        }
        step(s, c, p, u, &ENGINE)
    }),
    wrong!("9.7", steps_by_the_unscaled_mean, "The gradients are still multiplied by the loss scale.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { unscale: |_| 1.0, ..ENGINE })),
    wrong!("9.7", steps_by_the_unscaled_mean, "The gradients are multiplied by the loss scale again; divide them by it.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { unscale: f64::recip, ..ENGINE })),
    wrong!("9.7", steps_by_the_unscaled_mean, "The parameters are not gathered: each rank has only its own part of the new ones.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { gathers: |_| false, ..ENGINE })),
    wrong!("9.7", steps_by_the_unscaled_mean, "The chunk is gathered as it was before `update`: gather the list that `update` has changed.",
    engine_step: |s, c, p, u| {
        let before = &mut |own: &mut [f32], gradients: &[f32]| u(&mut own.to_vec(), gradients);
        step(s, c, p, before, &ENGINE)
    }),
    wrong!("9.7", clips_by_the_norm_of_all_gradients, "The norm is the sum of the squares: its square root is missing.",
    engine_step: |s, c, p, u| step(s, c, p, u, &Engine {
        norm: |norm, _| norm * norm,
        clips: |clip, norm| if clip > 0.0 && norm * norm > clip { clip / (norm * norm) } else { 1.0 },
        ..ENGINE
    })),
    wrong!("9.7", clips_by_the_norm_of_all_gradients, "The norm is that of the rank's own chunk; it is that of all chunks together.",
    engine_step: |s, c, p, u| {
        step(s, c, p, u, &Engine {
            agree: |c, own| {
                let sum = (ENGINE.agree)(c, own)?;
                Ok(if sum.is_finite() { squares(own) } else { sum })
            },
            ..ENGINE
        })
    }),
    wrong!("9.7", clips_by_the_norm_of_all_gradients, "Gradients shorter than `clip` are made longer; clipping only shortens.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { clips: |clip, norm| if clip > 0.0 { clip / norm } else { 1.0 }, ..ENGINE })),
    wrong!("9.7", clips_by_the_norm_of_all_gradients, "The gradients are not clipped.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { clips: |_, _| 1.0, ..ENGINE })),
    wrong!("9.7", returns_the_norm_before_clipping, "The result has the sum of the squares; the norm is its square root.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { norm: |norm, _| norm * norm, ..ENGINE })),
    wrong!("9.7", returns_the_norm_before_clipping, "The norm in the result is that of the scaled gradients.",
    engine_step: |s, c, p, u| {
        let scale = s.scaler.scale();
        Ok(match step(s, c, p, u, &ENGINE)? {
            Outcome::Taken { norm } => Outcome::Taken { norm: norm * scale },
            other => other,
        })
    }),
    wrong!("9.7", returns_the_norm_before_clipping, "The norm in the result is that after clipping.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { norm: |norm, factor| norm * factor, ..ENGINE })),
    wrong!("9.7", steps_by_the_unscaled_mean, "`clip` 0 means that nothing is clipped; here all gradients become 0.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { clips: |clip, norm| if norm > clip { clip / norm } else { 1.0 }, ..ENGINE })),
    wrong!("9.7", skips_on_every_rank, "Each rank decides by its own chunk whether to skip: the others step, and wait in the all-gather for the one that does not.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { skips: |_, own| own.iter().any(|g| !g.is_finite()), ..ENGINE })),
    wrong!("9.7", skips_on_every_rank, "A step is taken although a gradient is infinite or NaN: the parameters become NaN.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { skips: |_, _| false, ..ENGINE })),
    wrong!("9.7", skips_on_every_rank, "Only NaN is found; an infinite gradient is an overflow, too.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { skips: |sum, _| sum.is_nan(), ..ENGINE })),
    wrong!("9.7", skips_on_every_rank, "Only infinity is found; NaN is the result of an overflow, too.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { skips: |sum, _| sum.is_infinite(), ..ENGINE })),
    wrong!("9.7", updates_the_scale_once, "The scale is updated only after a skipped step; it must also hear of good steps, to grow again.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { updates: usize::from, ..ENGINE })),
    wrong!("9.7", updates_the_scale_once, "The scale is not updated after a skipped step, and the next one overflows again.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { updates: |skipped| usize::from(!skipped), ..ENGINE })),
    wrong!("9.7", updates_the_scale_once, "The scale is updated after every micro-batch; update it once a step.",
    engine_step: |s, c, p, u| {
        let outcome = step(s, c, p, u, &ENGINE)?;
        if outcome == Outcome::Accumulating {
            s.scaler.update(false)?;
        }
        Ok(outcome)
    }),
    wrong!("9.7", starts_the_next_step_empty, "`state.gradients` is kept after the step: its memory is not freed.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { frees: false, ..ENGINE })),
    wrong!("9.7", steps_by_the_unscaled_mean, "The gradients are summed over the ranks; divide them by the number of ranks.",
    engine_step: |s, c, p, u| {
        let ranks = c.world_size() as f32;
        s.gradients.iter_mut().for_each(|g| *g *= ranks);
        step(s, c, p, u, &ENGINE)
    }),
    wrong!("9.7", starts_the_next_step_empty, "`state.micro_batches` is not set back to 0, so that the next micro-batch is one too many.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { restarts: false, ..ENGINE })),
    wrong!("9.7", starts_the_next_step_empty, "After a skipped step the gradients of its micro-batches are still in the state; drop them.",
    engine_step: |s, c, p, u| {
        let (gradients, count) = (s.gradients.clone(), s.micro_batches);
        let outcome = step(s, c, p, u, &ENGINE)?;
        if outcome == Outcome::Skipped {
            (s.gradients, s.micro_batches) = (gradients, count);
        }
        Ok(outcome)
    }),
    wrong!("9.7", sends_little_more_than_stage_2, "All gradients are summed once more to find an overflow: one number tells as much.",
    engine_step: |s, c, p, u| {
        step(s, c, p, u, &Engine {
            agree: |c, own| {
                let mut all = own.to_vec();
                all.resize(3, 0.0);
                all[0] = squares(own) as f32;
                c.all_reduce(&mut all)?;
                Ok(all[0].into())
            },
            ..ENGINE
        })
    }),
    wrong!("9.7", sends_little_more_than_stage_2, "The parameters are gathered after a skipped step, too; they have not changed.",
        engine_step: |s, c, p, u| step(s, c, p, u, &Engine { gathers: |_| true, ..ENGINE })),
    wrong!("9.7", passes_on_errors_of_the_step, "Errors are taken for an overflow: pass them on with `?`.",
        engine_step: |s, c, p, u| Ok(step(s, c, p, u, &ENGINE).unwrap_or(Outcome::Skipped))),
    wrong!("9.7", clips_by_the_norm_of_all_gradients, "The norm is that of the scaled gradients: divide by the scale before you compute the norm and clip.",
    engine_step: |s, c, p, u| {
        let scale = s.scaler.scale() as f32;
        let unscaled = &mut |params: &mut [f32], gradients: &[f32]| {
            let gradients: Vec<f32> = gradients.iter().map(|g| g / scale).collect();
            u(params, &gradients)
        };
        step(s, c, p, unscaled, &Engine { unscale: |_| 1.0, ..ENGINE })
    }),
    wrong!("9.7", skips_on_every_rank, "A rank that finds an infinite gradient or NaN in its own chunk returns before the ranks agree, and the others wait for it in the all-reduce.",
    engine_step: |s, c, p, u| {
        step(s, c, p, u, &Engine {
            agree: |c, own| if own.iter().all(|g| g.is_finite()) { (ENGINE.agree)(c, own) } else { Ok(f64::NAN) },
            ..ENGINE
        })
    }),
];
