//! A linear layer whose parts are on several ranks, for the checks of 10.1 and 10.2.

use candle_core::{DType, Device, Result, Tensor};
use canopy::{parallel::chunk, split::LinearGrads};
use grader::{Case, Draw, Facts, Values, Verdict, given};
use kit::{Ran, values};

use crate::answers;

/// First one rank, on whose thread a stub panics, then several.
pub const WORLDS: [usize; 4] = [1, 3, 2, 4];

/// The numbers of a layer, of its input and of the gradient of its output, for some ranks.
pub struct Drawn {
    pub world: usize,
    rows: usize,
    inputs: usize,
    outputs: usize,
    numbers: [Vec<f32>; 4],
}

impl Drawn {
    /// For each of [`WORLDS`]. With more inputs and outputs than ranks, and not as many outputs as inputs. `even`: with as many
    /// outputs on each rank, so that gradients of the weight can be summed by mistake. `bias`: not only zeros.
    pub fn all(d: &mut Draw, even: bool, bias: bool) -> Vec<Self> {
        let drawn = |world| {
            let (rows, inputs) = (d.whole(2, 5), world + d.whole(2, 4));
            let outputs = if even { 4 * world } else { inputs + d.whole(1, 3) };
            let mut numbers =
                [rows * inputs, outputs * inputs, outputs, rows * outputs].map(|n| d.list(n, -2.0, 2.0));
            if !bias {
                numbers[2].fill(0.0);
            }
            Self {
                world,
                rows,
                inputs,
                outputs,
                numbers,
            }
        };
        WORLDS.map(drawn).into()
    }

    pub fn layer(&self) -> Result<Layer> {
        let [x, weight, bias, grad] = &self.numbers;
        let matrix =
            |numbers: &[f32], rows, columns| Tensor::from_slice(numbers, (rows, columns), &Device::Cpu);
        Ok(Layer {
            x: matrix(x, self.rows, self.inputs)?,
            weight: matrix(weight, self.outputs, self.inputs)?,
            bias: Tensor::new(&bias[..], &Device::Cpu)?,
            grad: matrix(grad, self.rows, self.outputs)?,
        })
    }

    pub fn input(&self) -> String {
        let ranks = if self.world == 1 { "rank" } else { "ranks" };
        let (rows, inputs, outputs) = (self.rows, self.inputs, self.outputs);
        format!(
            "{} {ranks}, {rows} rows, {inputs} inputs, {outputs} outputs",
            self.world
        )
    }

    pub fn case(&self) -> Case {
        given(self.input()).at_scale(1.0)
    }
}

/// The layer as tensors: whole, or what a rank has of it.
#[derive(Clone)]
pub struct Layer {
    pub x: Tensor,
    pub weight: Tensor,
    pub bias: Tensor,
    pub grad: Tensor,
}

/// The part of `rank` of a tensor whose axis `dim` is split.
pub fn part(tensor: &Tensor, dim: usize, rank: usize, world: usize) -> Result<Tensor> {
    let own = chunk(tensor.dim(dim)?, rank, world);
    tensor.narrow(dim, own.start, own.len())?.contiguous()
}

impl Layer {
    /// If the outputs are split.
    pub fn of_outputs(&self, rank: usize, world: usize) -> Result<Self> {
        Ok(Self {
            x: self.x.clone(),
            weight: part(&self.weight, 0, rank, world)?,
            bias: part(&self.bias, 0, rank, world)?,
            grad: part(&self.grad, 1, rank, world)?,
        })
    }

    /// If the inputs are split.
    pub fn of_inputs(&self, rank: usize, world: usize) -> Result<Self> {
        Ok(Self {
            x: part(&self.x, 1, rank, world)?,
            weight: part(&self.weight, 1, rank, world)?,
            ..self.clone()
        })
    }

    fn wide(&self) -> Result<[Tensor; 4]> {
        let [x, weight, bias, grad] =
            [&self.x, &self.weight, &self.bias, &self.grad].map(|t| t.to_dtype(DType::F64));
        Ok([x?, weight?, bias?, grad?])
    }

    /// The outputs of the whole layer, in f64.
    pub fn outputs(&self) -> anyhow::Result<Tensor> {
        let [x, weight, bias, _] = self.wide()?;
        answers::column_parallel::<0>(&x, &weight, &bias)
    }

    /// Its gradients, in f64.
    pub fn gradients(&self) -> anyhow::Result<LinearGrads> {
        let [x, weight, _, grad] = self.wide()?;
        answers::row_parallel_backward::<0>(&x, &weight, &grad)
    }
}

/// Numbers that are expected in f32.
pub fn expected(tensor: &Tensor) -> Result<Values> {
    let mut values = values(tensor)?;
    values.dtype = "f32";
    Ok(values)
}

/// The gradients of `rank`. `parts`: those of its part of the layer that are compared.
pub fn gradients(rank: usize, parts: &[&str], got: [Values; 3]) -> Facts {
    let named = ["input", "weight", "bias"].into_iter().zip(got);
    let compared = named.filter(|(name, _)| parts.contains(name));
    compared.fold(Facts::default(), |facts, (name, got)| {
        facts.values(format!("gradient of rank {rank}'s {name}"), got)
    })
}

/// Tests that each rank called one all-reduce of `numbers` numbers, and sent nothing else: a ring sends 2(p − 1) messages.
pub fn sent_once<T>(drawn: &Drawn, ran: &Ran<T>, numbers: usize) -> Verdict {
    for rank in (0..drawn.world).filter(|_| drawn.world > 1) {
        let calls: Vec<usize> = ran
            .calls
            .iter()
            .filter(|c| c.rank == rank)
            .map(|c| c.numbers)
            .collect();
        let what = format!("numbers in each call of the all-reduce of rank {rank}");
        drawn.case().close(&what, &calls, &vec![numbers])?;
        let sent = ran.sent.iter().filter(|s| s.from == rank).count();
        drawn
            .case()
            .close(&format!("messages of rank {rank}"), sent, 2 * (drawn.world - 1))?;
    }
    Ok(())
}
