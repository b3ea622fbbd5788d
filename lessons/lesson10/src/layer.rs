//! A linear layer whose parts are on several ranks, for the checks of 10.1 and 10.2.

use candle_core::{Device, Result, Tensor};
use canopy::{parallel::chunk, split::LinearGrads};
use grader::{Case, Draw, Facts, Verdict, given};
use kit::{Ran, values};

/// First one rank, on whose thread a stub panics, then several.
const WORLDS: [usize; 4] = [1, 3, 2, 4];

/// A layer for `world` ranks, with its input and the gradient of its output: whole, or what a rank has of it.
#[derive(Clone)]
pub struct Layer {
    pub world: usize,
    pub x: Tensor,
    pub weight: Tensor,
    pub bias: Tensor,
    pub grad: Tensor,
}

/// Layers for each of [`WORLDS`]. With more inputs and outputs than ranks, and not as many outputs as inputs. `even`: with as many
/// outputs on each rank, so that gradients of the weight can be summed by mistake.
pub fn layers(d: &mut Draw, even: bool) -> Vec<Layer> {
    let layer = |world| {
        let (rows, inputs) = (d.whole(2, 5), world + d.whole(2, 4));
        let outputs = if even { 4 * world } else { inputs + d.whole(1, 3) };
        let mut drawn = |rows: usize, columns: usize| {
            let numbers = d.list(rows * columns, -2.0, 2.0);
            Tensor::from_vec(numbers, (rows, columns), &Device::Cpu)
        };
        let (x, weight) = (drawn(rows, inputs)?, drawn(outputs, inputs)?);
        Ok(Layer {
            world,
            x,
            weight,
            bias: drawn(1, outputs)?.squeeze(0)?,
            grad: drawn(rows, outputs)?,
        })
    };
    let all: Result<_> = WORLDS.into_iter().map(layer).collect();
    all.expect("as many numbers as each shape has")
}

/// The part of `rank` of a tensor whose axis `dim` is split.
fn part(tensor: &Tensor, dim: usize, rank: usize, world: usize) -> Result<Tensor> {
    let own = chunk(tensor.dim(dim)?, rank, world);
    tensor.narrow(dim, own.start, own.len())?.contiguous()
}

impl Layer {
    pub fn input(&self) -> String {
        let [x, weight] = [&self.x, &self.weight].map(Tensor::dims);
        format!("{} ranks, x {x:?}, W {weight:?}", self.world)
    }

    pub fn case(&self) -> Case {
        given(self.input()).at_scale(1.0)
    }

    /// If the outputs are split.
    pub fn of_outputs(&self, rank: usize) -> Result<Self> {
        Ok(Self {
            weight: part(&self.weight, 0, rank, self.world)?,
            bias: part(&self.bias, 0, rank, self.world)?,
            grad: part(&self.grad, 1, rank, self.world)?,
            ..self.clone()
        })
    }

    /// If the inputs are split.
    pub fn of_inputs(&self, rank: usize) -> Result<Self> {
        Ok(Self {
            x: part(&self.x, 1, rank, self.world)?,
            weight: part(&self.weight, 1, rank, self.world)?,
            ..self.clone()
        })
    }

    /// The gradients of `rank`. `of_input`: what an answer has wrong if that of the input differs.
    pub fn facts(rank: usize, grads: &LinearGrads, of_input: &'static str) -> Result<Facts> {
        Ok(Facts::default()
            .values(format!("gradient of rank {rank}'s input"), values(&grads.x)?)
            .cause(of_input)
            .values(
                format!("gradient of rank {rank}'s weight"),
                values(&grads.weight)?,
            )
            .cause("The gradient of the weight is grad_yᵀ·x of this rank alone: a sum over the rows, as it is.")
            .asked("Returns the gradients of")
            .values(format!("gradient of rank {rank}'s bias"), values(&grads.bias)?)
            .cause("The gradient of the bias, `[outputs]`, is the sum of this rank's grad_y over the rows, as it is.")
            .asked("Returns the gradients of"))
    }

    /// Tests that each rank called one all-reduce of `numbers` numbers, and sent nothing else: a ring sends 2(p − 1) messages.
    pub fn sent_once<T>(&self, ran: &Ran<T>, numbers: usize) -> Verdict {
        for rank in (0..self.world).filter(|_| self.world > 1) {
            let calls = ran.calls.iter().filter(|c| c.rank == rank);
            let calls: Vec<usize> = calls.map(|c| c.numbers).collect();
            let what = format!("numbers in each call of the all-reduce of rank {rank}");
            self.case().close(&what, &calls, &vec![numbers])?;
            let sent = ran.sent.iter().filter(|s| s.from == rank).count();
            let what = format!("messages of rank {rank}");
            self.case().close(&what, sent, 2 * (self.world - 1))?;
        }
        Ok(())
    }
}
