//! Pipeline schedules: the order in which a stage computes the forward and backward passes of its micro-batches.

// ANCHOR: Action
/// What a stage computes next. The number is the micro-batch, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The forward pass of a micro-batch through the layers of the stage.
    Forward(usize),
    /// Its backward pass.
    Backward(usize),
}
// ANCHOR_END: Action

/// GPipe's order: all forward passes, then all backward passes, both in the order of the micro-batches. It is the same for
/// every stage; the parameters make it interchangeable with [`one_f_one_b_order`].
pub fn gpipe_order(_stage: usize, _stages: usize, micro_batches: usize) -> Vec<Action> {
    let forward = (0..micro_batches).map(Action::Forward);
    forward.chain((0..micro_batches).map(Action::Backward)).collect()
}

/// The 1F1B order ("one forward, one backward", PipeDream-Flush) of stage `stage` of `stages`, from 0: forward passes until
/// the stages after this one have work, min(stages − stage − 1, micro-batches); then always one forward and one backward pass;
/// then the backward passes that are left.
pub fn one_f_one_b_order(stage: usize, stages: usize, micro_batches: usize) -> Vec<Action> {
    let warm_up = stages.saturating_sub(stage + 1).min(micro_batches);
    let mut order: Vec<Action> = (0..warm_up).map(Action::Forward).collect();
    for i in 0..micro_batches - warm_up {
        order.extend([Action::Forward(warm_up + i), Action::Backward(i)]);
    }
    order.extend((micro_batches - warm_up..micro_batches).map(Action::Backward));
    order
}

/// Returns the bubble of a GPipe or 1F1B schedule: the time in which a stage is idle, as a fraction of the time in which it
/// computes, (p − 1)/m for p stages of equal work and m micro-batches.
pub fn bubble(stages: usize, micro_batches: usize) -> f64 {
    stages.saturating_sub(1) as f64 / micro_batches.max(1) as f64
}

/// Returns how many micro-batches' activations a stage keeps at most: micro-batches whose forward pass is done and whose
/// backward pass is not.
pub fn activations_held(order: &[Action]) -> usize {
    let mut held = 0_usize;
    let mut most = 0;
    for action in order {
        match action {
            Action::Forward(_) => held += 1,
            Action::Backward(_) => held = held.saturating_sub(1),
        }
        most = most.max(held);
    }
    most
}
