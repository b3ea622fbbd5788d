//! A fused operator as a candle `CustomOp`, so that it can be mixed with candle's own operators.
//!
//! The kernels are the same; the backward pass is candle's. candle's operators have three inputs at most, so
//! the parameters are concatenated into one flat tensor, whose gradient candle's graph splits again.

use std::sync::Mutex;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail};

use super::tape::Backward;
use super::values::Values;

/// An operator whose output is already computed, and its backward pass.
struct Fused {
    output: Mutex<Option<Vec<f32>>>,
    shape: Vec<usize>,
    backward: Backward,
    inputs: usize,
}

/// The output as a tensor on candle's graph.
pub(super) fn on_graph(
    inputs: &[&Tensor],
    output: Vec<f32>,
    shape: &[usize],
    backward: Backward,
) -> Result<Tensor> {
    let fused = Fused {
        output: Mutex::new(Some(output)),
        shape: shape.to_vec(),
        backward,
        inputs: inputs.len(),
    };
    match inputs {
        [] => bail!("a fused operator needs an input"),
        [x] => x.apply_op1(fused),
        [x, parameters @ ..] => {
            let flat = parameters
                .iter()
                .map(|p| p.flatten_all())
                .collect::<Result<Vec<_>>>()?;
            x.apply_op2(&Tensor::cat(&flat, 0)?, fused)
        }
    }
}

impl Fused {
    fn forward(&self) -> Result<(CpuStorage, Shape)> {
        let mut output = self
            .output
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match output.take() {
            Some(output) => Ok((CpuStorage::F32(output), Shape::from(self.shape.clone()))),
            None => bail!("a fused operator runs once"),
        }
    }

    fn gradients(&self, gradient: &Tensor, of_x: bool) -> Result<Vec<Option<Vec<f32>>>> {
        let gradient = gradient.contiguous()?;
        let mut wanted = vec![true; self.inputs];
        wanted[0] = of_x;
        (self.backward)(Values::of(&gradient)?.to_vec(), &wanted)
    }
}

fn like(x: &Tensor, gradient: Option<Vec<f32>>) -> Result<Option<Tensor>> {
    gradient
        .map(|g| Tensor::from_vec(g, x.shape(), x.device()))
        .transpose()
}

impl CustomOp1 for Fused {
    fn name(&self) -> &'static str {
        "fused"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward()
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let mut gradients = self.gradients(gradient, true)?;
        like(x, gradients.swap_remove(0))
    }
}

impl CustomOp2 for Fused {
    fn name(&self) -> &'static str {
        "fused"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward()
    }

    fn bwd(
        &self,
        x: &Tensor,
        parameters: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let mut gradients = self.gradients(gradient, x.track_op())?;
        let of_x = gradients.remove(0);
        let flat: Vec<f32> = gradients.into_iter().flatten().flatten().collect();
        Ok((like(x, of_x)?, like(parameters, Some(flat))?))
    }
}
