//! Optimizer steps over all parameters in one launch, and unscaling, overflow and norm of all gradients in another.

use candle_core::{DType, Result, Tensor, bail};

use super::launch::{Argument, Grid, Kernels, TENSORS, args};
use crate::kernels::steps::{AdamStep, LarsStep, SgdStep};

const GRADIENTS: &str = "gradients.cu";
const STEPS: &str = "multi_tensor.cu";

/// Values that one block takes, as in `multi_tensor.cuh`.
const PIECE: usize = 16_384;

/// The multi-tensor kernels. All tensors are contiguous f32, of the launcher's device.
#[derive(Clone, Debug)]
pub struct MultiTensor(Kernels);

/// What [`MultiTensor::norm`] leaves on the device: the norm of all unscaled gradients; 1 if a value of them is infinite or
/// NaN; the factor that unscales and clips them.
#[derive(Clone, Debug)]
pub struct Norm(Tensor);

impl Norm {
    /// The norm of the unscaled gradients, a scalar.
    pub fn value(&self) -> Result<Tensor> {
        self.0.get(0)
    }

    /// Whether a gradient is infinite or NaN. Waits for the device.
    pub fn found_inf(&self) -> Result<bool> {
        Ok(self.0.get(1)?.to_scalar::<f32>()? != 0.0)
    }
}

/// The tensors of a step, of each parameter [weights, gradient, state, state], in pieces. A launch takes [`TENSORS`] of them.
struct Table<'a> {
    rows: Vec<[Option<&'a Tensor>; 4]>,
    /// `Piece` of each block, and where those of each launch begin.
    pieces: Tensor,
    begin: Vec<usize>,
}

impl<'a> Table<'a> {
    /// Of the tensors [weights, gradients, state, state].
    fn new(lists: [Option<&[&'a Tensor]>; 4]) -> Result<Self> {
        let grads = lists[1].unwrap_or_default();
        let fits = |list: &&[&Tensor]| {
            list.len() == grads.len() && list.iter().zip(grads).all(|(t, g)| t.dims() == g.dims())
        };
        if !lists.iter().flatten().all(fits) {
            let count = lists[0].map_or(grads.len(), <[_]>::len);
            bail!("multi-tensor step: expected gradients and states of the {count} parameters' shapes");
        }
        let Some(first) = grads.first() else {
            bail!("multi-tensor step: there are no gradients");
        };
        let (mut pieces, mut begin, mut blocks) = (Vec::new(), Vec::new(), 0);
        for (i, grad) in grads.iter().enumerate() {
            if i % TENSORS == 0 {
                begin.push(blocks);
            }
            let count = grad.elem_count().div_ceil(PIECE);
            pieces
                .extend((0..count).flat_map(|piece| [i % TENSORS, piece, blocks + piece].map(|n| n as i32)));
            blocks += count;
        }
        begin.push(blocks);
        let row = |i: usize| lists.map(|list| Some(list?[i]));
        Ok(Self {
            rows: (0..grads.len()).map(row).collect(),
            pieces: Tensor::from_vec(pieces, (blocks, 3), first.device())?,
            begin,
        })
    }

    fn blocks(&self) -> usize {
        self.begin.last().copied().unwrap_or(0)
    }

    fn launch(&self, kernels: &Kernels, source: &str, kernel: &str, more: &[Argument]) -> Result<()> {
        for (rows, range) in self.rows.chunks(TENSORS).zip(self.begin.windows(2)) {
            let blocks = range[1] - range[0];
            let pieces = self.pieces.narrow(0, range[0], blocks)?;
            let own = [Argument::Table(rows), (&pieces).into()];
            kernels.launch(source, kernel, Grid::of(blocks, 256), &[&own, more].concat())?;
        }
        Ok(())
    }
}

impl MultiTensor {
    /// By the kernels that `launcher` runs.
    pub fn new(launcher: Kernels) -> Self {
        Self(launcher)
    }

    /// For tensors on a GPU. None without one, or if a tensor is not contiguous f32.
    pub(in crate::kernels) fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Option<Self> {
        let mut tensors = tensors.into_iter().peekable();
        let kernels = super::launcher(tensors.peek()?.device())?;
        let serves = |t: &Tensor| t.device().is_cuda() && t.dtype() == DType::F32 && t.is_contiguous();
        tensors.all(serves).then_some(Self(kernels))
    }

    /// Norm and overflow of the gradients divided by `scale`, and the factor that unscales them and clips them to
    /// `max_norm`; 0: they are not clipped. Changes nothing, and does not wait.
    pub fn norm(&self, grads: &[&Tensor], scale: f64, max_norm: f64) -> Result<Norm> {
        let table = Table::new([None, Some(grads), None, None])?;
        let blocks = table.blocks();
        let partial = self.0.output(&[blocks], DType::F64)?;
        let arrived = Tensor::zeros((), DType::U32, table.pieces.device())?;
        let result = self.0.output(&[3], DType::F32)?;
        let (inverse_scale, max_norm) = (scale.recip() as f32, max_norm as f32);
        let more = args![inverse_scale, max_norm, blocks, &partial, &arrived, &result];
        table.launch(&self.0, GRADIENTS, "unscale_and_norm", &more)?;
        Ok(Norm(result))
    }

    /// New tensors: the gradients unscaled and clipped by `norm`.
    pub fn scaled(&self, grads: &[&Tensor], norm: &Norm) -> Result<Vec<Tensor>> {
        let outputs = grads.iter().map(|g| self.0.output_like(g));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let to: Vec<&Tensor> = outputs.iter().collect();
        let table = Table::new([None, Some(grads), Some(&to), None])?;
        table.launch(&self.0, GRADIENTS, "scale_gradients", &args![&norm.0])?;
        Ok(outputs)
    }

    /// As [`crate::kernels::multi_tensor::adam`], of weights, gradients, means and squares.
    pub fn adam(&self, lists: [&[&Tensor]; 4], s: &AdamStep) -> Result<()> {
        let (table, factors) = (Table::new(lists.map(Some))?, self.factors(s)?);
        table.launch(&self.0, STEPS, "adam", &args![&factors])
    }

    /// As [`crate::kernels::multi_tensor::lamb`], of weights, gradients, means and squares.
    pub fn lamb(&self, lists: [&[&Tensor]; 4], s: &AdamStep) -> Result<()> {
        let (table, factors) = (Table::new(lists.map(Some))?, self.factors(s)?);
        let sums = self.0.output(&[table.blocks(), 2], DType::F64)?;
        ["lamb_moments", "lamb_apply"]
            .into_iter()
            .try_for_each(|kernel| table.launch(&self.0, STEPS, kernel, &args![&factors, &sums]))
    }

    /// As [`crate::kernels::multi_tensor::sgd`], of weights, gradients and velocities.
    pub fn sgd(&self, [w, g, v]: [&[&Tensor]; 3], s: &SgdStep) -> Result<()> {
        let table = Table::new([Some(w), Some(g), Some(v), None])?;
        let [lr, momentum, weight_decay] = [s.lr, s.momentum, s.weight_decay].map(|v| v as f32);
        table.launch(
            &self.0,
            STEPS,
            "sgd",
            &args![lr, momentum, weight_decay, s.nesterov],
        )
    }

    /// One step of LARS (You, Gitman, Ginsburg 2017), of weights, gradients and velocities.
    pub fn lars(&self, [w, g, v]: [&[&Tensor]; 3], s: &LarsStep) -> Result<()> {
        let table = Table::new([Some(w), Some(g), Some(v), None])?;
        let sums = match s.adapted {
            true => Some(self.0.output(&[table.blocks(), 2], DType::F64)?),
            false => None,
        };
        if let Some(sums) = &sums {
            table.launch(&self.0, STEPS, "lars_norms", &args![sums])?;
        }
        let sums = sums.as_ref();
        let more = args![s.lr, s.momentum, s.weight_decay, s.trust, sums];
        table.launch(&self.0, STEPS, "lars_apply", &more)
    }

    /// The factors of Adam's formula, which one thread computes.
    fn factors(&self, s: &AdamStep) -> Result<Tensor> {
        let factors = self.0.output(&[10], DType::F32)?;
        let numbers = args![s.lr, s.beta1, s.beta2, s.eps, s.weight_decay];
        let more = args![s.decoupled, s.step, &factors];
        self.0.launch(
            STEPS,
            "adam_factors",
            Grid::of(1, 1),
            &[&numbers[..], &more].concat(),
        )?;
        Ok(factors)
    }
}
