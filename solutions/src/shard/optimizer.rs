//! Stage 1: each rank updates its own part of the parameters.

use anyhow::{Result, ensure};

use crate::parallel::{Collective, chunk};

// ANCHOR: Update
/// An optimizer step on a part of the parameters: the parameters, which it changes, and their gradients.
pub type Update<'a> = dyn FnMut(&mut [f32], &[f32]) -> Result<()> + 'a;
// ANCHOR_END: Update

/// Takes a step of ZeRO's stage 1 on `params`, which are equal on all ranks before and after it. `gradients` are this
/// rank's; afterwards they are the mean over the ranks.
///
/// The gradients are averaged by one all-reduce. Each rank calls `update` for its own [`chunk`] only, so that the
/// optimizer keeps state for this part alone, and one all-gather distributes the new parameters.
///
/// The paper reduces the gradients by a reduce-scatter, which stage 2 does here: with the all-reduce, a step sends 1.5 times
/// as much as [`numbers_sent`](super::numbers_sent) counts.
///
/// # Errors
/// Returns an error if the lists differ in length, a collective fails, or `update` does.
pub fn stage1_step(
    collective: &dyn Collective,
    params: &mut [f32],
    gradients: &mut [f32],
    update: &mut Update,
) -> Result<()> {
    check_lengths(params, gradients.len())?;
    collective.all_reduce(gradients)?;
    let share = 1.0 / collective.world_size() as f32;
    gradients.iter_mut().for_each(|g| *g *= share);
    let own = chunk(params.len(), collective.rank(), collective.world_size());
    update_own_part(collective, params, &gradients[own], update)
}

/// Calls `update` for this rank's part of `params`, and gathers the parts of all ranks.
pub(super) fn update_own_part(
    collective: &dyn Collective,
    params: &mut [f32],
    own_gradients: &[f32],
    update: &mut Update,
) -> Result<()> {
    let own = chunk(params.len(), collective.rank(), collective.world_size());
    let mut mine = params[own].to_vec();
    update(&mut mine, own_gradients)?;
    collective.all_gather(&mine, params)
}

/// Checks that there is a gradient for each parameter.
pub(super) fn check_lengths(params: &[f32], gradients: usize) -> Result<()> {
    ensure!(
        params.len() == gradients,
        "ZeRO: there are {} parameters and {gradients} gradients",
        params.len()
    );
    Ok(())
}
