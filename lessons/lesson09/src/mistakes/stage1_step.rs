//! Known wrong answers to exercise 9.2.

use super::*;

fn of_part(gradients: &[f32], part: std::ops::Range<usize>) -> Vec<f32> {
    gradients[part].to_vec()
}

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.2", steps_by_the_mean_gradient, "The gradients are summed over the ranks, but not divided by their number.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        let own = own(c, params.len());
        let mut mine = params[own.clone()].to_vec();
        update(&mut mine, &gradients[own])?;
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "Each rank steps by its own gradients: the all-reduce is missing, or comes after `update`.",
    stage1_step: |c, params, gradients, update| {
        let own = own(c, params.len());
        let mut mine = params[own.clone()].to_vec();
        update(&mut mine, &gradients[own])?;
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "The new parameters are not gathered: each rank has only its own part of them.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        divide(c, gradients);
        let own = own(c, params.len());
        update(&mut params[own.clone()], &gradients[own])
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "The parameters are as before: `update` changes a copy of the part, which must also be gathered.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        divide(c, gradients);
        let own = own(c, params.len());
        update(&mut params[own.clone()].to_vec(), &gradients[own.clone()])?;
        let mine = params[own].to_vec();
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "`gradients` has the sums outside the own part: divide all of them.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        let own = own(c, params.len());
        divide(c, &mut gradients[own.clone()]);
        let mut mine = params[own.clone()].to_vec();
        update(&mut mine, &gradients[own])?;
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "The gradients of the first part are used for every part: take the same chunk of both lists.",
        stage1_step: |c, p, g, u| stage1(c, p, g, u, chunk, |g, part| g[..part.len()].to_vec())),
    wrong!("9.2", updates_only_its_own_part, "Every rank updates all parameters: the optimizer keeps all of its state on each, as without ZeRO.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        divide(c, gradients);
        update(params, gradients)?;
        let mine = params[own(c, params.len())].to_vec();
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", updates_only_its_own_part, "`update` gets the gradients of all parameters; it needs those of the part.",
        stage1_step: |c, p, g, u| stage1(c, p, g, u, chunk, |g, _| g.to_vec())),
    wrong!("9.2", sends_one_all_reduce_and_one_all_gather, "The parameters are combined by an all-reduce, which sends twice as much as an all-gather.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(gradients)?;
        divide(c, gradients);
        let own = own(c, params.len());
        let mut new = vec![0.0; params.len()];
        new[own.clone()].copy_from_slice(&params[own.clone()]);
        update(&mut new[own.clone()], &gradients[own])?;
        c.all_reduce(&mut new)?;
        params.copy_from_slice(&new);
        Ok(())
    }),
    wrong!("9.2", sends_one_all_reduce_and_one_all_gather, "There is one all-reduce for each gradient: each message has a latency.",
    stage1_step: |c, params, gradients, update| {
        for g in gradients.iter_mut() {
            c.all_reduce(std::slice::from_mut(g))?;
        }
        divide(c, gradients);
        let own = own(c, params.len());
        let mut mine = params[own.clone()].to_vec();
        update(&mut mine, &gradients[own])?;
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", sends_one_all_reduce_and_one_all_gather, "The ranks wait for each other by a further message; the collectives wait already.",
    stage1_step: |c, params, gradients, update| {
        c.all_reduce(&mut [0.0])?;
        (REFERENCE.stage1_step)(c, params, gradients, update)
    }),
    wrong!("9.2", accepts_uneven_and_empty_parts, "The parts have length/p numbers, rounded down: use `chunk`, as the all-gather does.",
        stage1_step: |c, p, g, u| stage1(c, p, g, u, even, of_part)),
    wrong!("9.2", accepts_uneven_and_empty_parts, "The parts have length/p numbers, rounded up: use `chunk`, as the all-gather does.",
        stage1_step: |c, p, g, u| stage1(c, p, g, u, padded, of_part)),
    wrong!("9.2", passes_on_errors, "Errors of the collectives and of `update` are ignored: pass them on with `?`.",
    stage1_step: |c, params, gradients, update| {
        let _ = (REFERENCE.stage1_step)(c, params, gradients, update);
        Ok(())
    }),
    wrong!("9.2", steps_by_the_mean_gradient, "`gradients` are this rank's own outside its part: a reduce-scatter averages the part only, and here all must be the mean.",
    stage1_step: |c, params, gradients, update| {
        let own = own(c, params.len());
        let mean = (REFERENCE.reduce_gradients)(c, gradients.to_vec())?;
        gradients[own.clone()].copy_from_slice(&mean);
        update(&mut params[own.clone()], &mean)?;
        let mine = params[own].to_vec();
        c.all_gather(&mine, params)
    }),
    wrong!("9.2", accepts_uneven_and_empty_parts, "A rank with an empty part returns before the all-gather, and the others wait for it: every rank makes the same calls.",
    stage1_step: |c, params, gradients, update| {
        if own(c, params.len()).is_empty() {
            c.all_reduce(gradients)?;
            divide(c, gradients);
            return Ok(());
        }
        (REFERENCE.stage1_step)(c, params, gradients, update)
    }),
    wrong!("9.2", accepts_uneven_and_empty_parts, "A rank with an empty part makes no call, and the others wait for it: every rank makes the same calls.",
    stage1_step: |c, params, gradients, update| {
        if own(c, params.len()).is_empty() {
            return Ok(());
        }
        (REFERENCE.stage1_step)(c, params, gradients, update)
    }),
    wrong!("9.2", passes_on_errors, "The error of `update` is ignored: pass it on with `?`.",
    stage1_step: |c, params, gradients, update| {
        (REFERENCE.stage1_step)(c, params, gradients, &mut |p, g| {
            let _ = update(p, g);
            Ok(())
        })
    }),
];
