//! The backward pass, part by part.

use std::collections::HashMap;

use anyhow::{Context, Result};
use candle_core::{Tensor, Var};

use super::PointNet;
use crate::kernels::{Pass, Reverse};

/// A backward pass that stops after each part of the network.
pub struct BackwardByParts {
    reverse: Reverse,
    /// Operators that the forward pass had recorded before each part.
    recorded: Vec<usize>,
    /// The parameters of each part.
    parts: Vec<Vec<Var>>,
}

impl PointNet {
    /// Starts a backward pass of `loss`, a scalar of `pass`. `recorded` says how many operators had been recorded before each
    /// part of the forward pass ([`Pass::recorded`]).
    ///
    /// # Errors
    /// Returns an error if the loss is not on the pass's tape, as with plain operators or on a GPU.
    pub fn backward_by_parts(
        &self,
        loss: &Tensor,
        pass: &Pass,
        recorded: Vec<usize>,
    ) -> Result<BackwardByParts> {
        let of = |part: Vec<usize>| part.into_iter().map(|p| self.params[p].1.clone()).collect();
        Ok(BackwardByParts {
            reverse: Reverse::new(loss, pass)?.context(
                "a backward pass by parts needs the fused operators: f32 on the CPU, without --plain",
            )?,
            recorded,
            parts: self.parts().into_iter().map(of).collect(),
        })
    }
}

impl BackwardByParts {
    /// Runs part `part`, the next from the last to the first. Returns the gradients of its parameters; zeros for one that the
    /// loss does not depend on.
    pub fn part(&mut self, part: usize) -> Result<Vec<Tensor>> {
        let mut grads = HashMap::new();
        self.reverse
            .down_to(self.recorded[part], &mut |variable, gradient| {
                grads.insert(variable.id(), gradient);
                Ok::<_, candle_core::Error>(())
            })?;
        let of = |var: &Var| match grads.remove(&var.id()) {
            Some(gradient) => Ok(gradient),
            None => Ok(Tensor::zeros(var.shape(), var.dtype(), var.device())?),
        };
        self.parts[part].iter().map(of).collect()
    }
}
