//! A pipeline in simulated time: when each stage computes what.

use canopy::split::Action;

/// A pass, and when a stage computed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The stage.
    pub stage: usize,
    /// Which pass.
    pub action: Action,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

/// Simulates stages that compute their passes in the order of `orders`, one list for each stage. A forward pass takes
/// `forward` and a backward pass `backward`; messages take no time. A stage waits for the forward pass of the stage before,
/// and for the backward pass of the stage after.
///
/// # Errors
/// Returns what a stage waits for in vain.
pub fn simulate(orders: &[Vec<Action>], forward: f64, backward: f64) -> Result<Vec<Pass>, String> {
    let mut done: Vec<Pass> = Vec::new();
    let mut next = vec![0; orders.len()];
    let total: usize = orders.iter().map(Vec::len).sum();
    while done.len() < total {
        let before = done.len();
        for (stage, order) in orders.iter().enumerate() {
            let Some(&action) = order.get(next[stage]) else {
                continue;
            };
            let Some(ready) = ready(&done, stage, orders.len(), action) else {
                continue;
            };
            let own = done.iter().filter(|pass| pass.stage == stage);
            let start = own.map(|pass| pass.end).fold(ready, f64::max);
            let takes = match action {
                Action::Forward(_) => forward,
                Action::Backward(_) => backward,
            };
            done.push(Pass {
                stage,
                action,
                start,
                end: start + takes,
            });
            next[stage] += 1;
        }
        if done.len() == before {
            let waits = |(stage, order): (usize, &Vec<Action>)| Some((stage, *order.get(next[stage])?));
            let first = orders.iter().enumerate().find_map(waits);
            let (stage, action) = first.unwrap_or((0, Action::Forward(0)));
            return Err(format!("stage {stage} waits for ever before {}", name(action)));
        }
    }
    Ok(done)
}

/// When what `action` of `stage` needs is there; `None` if it is not computed yet.
fn ready(done: &[Pass], stage: usize, stages: usize, action: Action) -> Option<f64> {
    let end = |stage: usize, action: Action| {
        let mut of = done
            .iter()
            .filter(|pass| pass.stage == stage && pass.action == action);
        of.next().map(|pass| pass.end)
    };
    match action {
        Action::Forward(_) if stage == 0 => Some(0.0),
        Action::Forward(_) => end(stage - 1, action),
        Action::Backward(i) => {
            let own = end(stage, Action::Forward(i))?;
            if stage + 1 == stages {
                return Some(own);
            }
            Some(own.max(end(stage + 1, action)?))
        }
    }
}

/// `F3` or `B3`.
pub fn name(action: Action) -> String {
    match action {
        Action::Forward(i) => format!("F{i}"),
        Action::Backward(i) => format!("B{i}"),
    }
}

/// The end of the last pass.
pub fn finish(passes: &[Pass]) -> f64 {
    passes.iter().map(|pass| pass.end).fold(0.0, f64::max)
}
