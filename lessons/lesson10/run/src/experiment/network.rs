//! A PointNet without T-Nets and batch norm, in two stages: the per-point layers with the max over the points, and the head.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use candle_core::{D, Device, Tensor, Var};
use canopy::{
    parallel::{Link, Rank},
    split::Action,
};
use canopy_data::Philox;

use super::on_ranks;

/// Channels of the per-point layers, and of the head before the classes.
const POINTS: [usize; 3] = [3, 32, 64];
const HEAD: usize = 32;
const RATE: f64 = 0.05;

/// A batch: points, [clouds, points, 3], and labels.
pub type Batch = (Tensor, Tensor);

/// The layers of a stage: weight and bias of each.
struct Stage(Vec<[Var; 2]>);

impl Stage {
    /// Stage 0 or 1, the same for each call with the same seed.
    fn new(index: usize, classes: usize, seed: u64) -> Result<Self> {
        let widths = match index {
            0 => POINTS.to_vec(),
            _ => vec![POINTS[2], HEAD, classes],
        };
        let mut random = Philox::new(seed, index as u64);
        let mut layer = |w: &[usize]| -> Result<[Var; 2]> {
            let scale = (2.0 / w[0] as f64).sqrt();
            let weights: Vec<f32> = (0..w[0] * w[1])
                .map(|_| (random.normal() * scale) as f32)
                .collect();
            let weight = Var::from_vec(weights, (w[1], w[0]), &Device::Cpu)?;
            Ok([weight, Var::from_vec(vec![0f32; w[1]], w[1], &Device::Cpu)?])
        };
        Ok(Self(widths.windows(2).map(&mut layer).collect::<Result<_>>()?))
    }

    fn linear(&self, at: usize, x: &Tensor) -> Result<Tensor> {
        let [weight, bias] = &self.0[at];
        Ok(x.matmul(&weight.t()?)?.broadcast_add(bias)?)
    }

    /// [clouds, points, 3] to [clouds, channels].
    fn features(&self, points: &Tensor) -> Result<Tensor> {
        let (clouds, count, _) = points.dims3()?;
        let x = self.linear(0, &points.reshape((clouds * count, 3))?)?.relu()?;
        let x = self.linear(1, &x)?.relu()?;
        Ok(x.reshape((clouds, count, POINTS[2]))?.max(1)?)
    }

    /// The sum of the cross-entropies of `features`, divided by `clouds`.
    fn loss(&self, features: &Tensor, labels: &Tensor, clouds: usize) -> Result<Tensor> {
        let logits = self.linear(1, &self.linear(0, features)?.relu()?)?;
        let shifted = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?)?;
        let normaliser = shifted.exp()?.sum_keepdim(D::Minus1)?.log()?;
        let log_p = shifted.broadcast_sub(&normaliser)?;
        let picked = log_p.gather(&labels.unsqueeze(1)?, 1)?;
        Ok((picked.sum_all()? * (-1.0 / clouds as f64))?)
    }

    fn vars(&self) -> impl Iterator<Item = &Var> {
        self.0.iter().flatten()
    }

    /// A step of SGD.
    fn step(&self, gradients: &[Tensor]) -> Result<()> {
        for (var, gradient) in self.vars().zip(gradients) {
            var.set(&(var.as_tensor() - (gradient * RATE)?)?)?;
        }
        Ok(())
    }

    fn numbers(&self) -> Result<Vec<f32>> {
        let all = self.vars().map(|v| Ok(v.flatten_all()?.to_vec1::<f32>()?));
        Ok(all.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// What a training left.
pub struct Trained {
    /// The loss of each step.
    pub losses: Vec<f64>,
    /// All parameters.
    pub parameters: Vec<f32>,
    /// The most micro-batches whose activations stage 0 held at one time.
    pub held: usize,
}

/// Trains on one rank, each batch at once.
pub fn on_one_rank(batches: &[Batch], classes: usize, seed: u64) -> Result<Trained> {
    let stages = [Stage::new(0, classes, seed)?, Stage::new(1, classes, seed)?];
    let mut losses = Vec::new();
    for (points, labels) in batches {
        let loss = stages[1].loss(&stages[0].features(points)?, labels, labels.dim(0)?)?;
        let grads = loss.backward()?;
        for stage in &stages {
            let own = stage
                .vars()
                .map(|v| grads.get(v).cloned().context("a layer without gradient"));
            stage.step(&own.collect::<Result<Vec<_>>>()?)?;
        }
        losses.push(f64::from(loss.to_scalar::<f32>()?));
    }
    Ok(Trained {
        losses,
        parameters: [stages[0].numbers()?, stages[1].numbers()?].concat(),
        held: 1,
    })
}

/// Trains on two ranks, a stage each, in the order of `orders`.
pub fn on_two_ranks(
    orders: &[Vec<Action>; 2],
    micro_batches: usize,
    batches: &[Batch],
    classes: usize,
    seed: u64,
) -> Result<Trained> {
    let train = |rank: &Rank| {
        let index = rank.rank();
        let half = Half {
            rank,
            stage: Stage::new(index, classes, seed)?,
            micro_batches,
        };
        let (mut losses, mut most) = (Vec::new(), 0);
        for batch in batches {
            let (loss, held) = half.batch(batch, &orders[index])?;
            losses.push(loss);
            most = most.max(held);
        }
        Ok((losses, half.stage.numbers()?, most))
    };
    let mut both = on_ranks(2, train)?;
    let (losses, head, _) = both.pop().context("rank 1 left nothing")?;
    let (_, points, held) = both.pop().context("rank 0 left nothing")?;
    Ok(Trained {
        losses,
        parameters: [points, head].concat(),
        held,
    })
}

/// A stage on its rank.
struct Half<'a> {
    rank: &'a Rank,
    stage: Stage,
    micro_batches: usize,
}

impl Half<'_> {
    /// A step. Returns the loss, which only the last stage knows, and the most micro-batches held.
    fn batch(&self, (points, labels): &Batch, order: &[Action]) -> Result<(f64, usize)> {
        let clouds = labels.dim(0)?;
        let each = clouds / self.micro_batches;
        let first = self.rank.rank() == 0;
        let mut held: BTreeMap<usize, (Option<Var>, Tensor)> = BTreeMap::new();
        let mut sums: Vec<Option<Tensor>> = self.stage.vars().map(|_| None).collect();
        let (mut total, mut most) = (0.0, 0);
        for &action in order {
            match action {
                Action::Forward(i) if first => {
                    let output = self.stage.features(&points.narrow(0, i * each, each)?)?;
                    let numbers = output.flatten_all()?.to_vec1::<f32>()?;
                    self.rank.send(1, &numbers)?;
                    held.insert(i, (None, output));
                }
                Action::Forward(i) => {
                    let input = Var::from_tensor(&self.receive(0, each)?)?;
                    let labels = labels.narrow(0, i * each, each)?;
                    let loss = self.stage.loss(input.as_tensor(), &labels, clouds)?;
                    total += f64::from(loss.to_scalar::<f32>()?);
                    held.insert(i, (Some(input), loss));
                }
                Action::Backward(i) => {
                    let (input, output) = held
                        .remove(&i)
                        .context("a backward pass before its forward pass")?;
                    let loss = match input {
                        None => (output * self.receive(1, each)?)?.sum_all()?,
                        Some(_) => output,
                    };
                    let grads = loss.backward()?;
                    for (sum, var) in sums.iter_mut().zip(self.stage.vars()) {
                        let own = grads.get(var).context("a layer without gradient")?;
                        *sum = Some(match sum.take() {
                            Some(sum) => (sum + own)?,
                            None => own.clone(),
                        });
                    }
                    if let Some(input) = input {
                        let back = grads.get(&input).context("an input without gradient")?;
                        let numbers = back.flatten_all()?.to_vec1::<f32>()?;
                        self.rank.send(0, &numbers)?;
                    }
                }
            }
            most = most.max(held.len());
        }
        let sums: Option<Vec<Tensor>> = sums.into_iter().collect();
        self.stage
            .step(&sums.context("the order has no backward pass")?)?;
        Ok((total, most))
    }

    /// Features or their gradients.
    fn receive(&self, from: usize, clouds: usize) -> Result<Tensor> {
        let mut numbers = vec![0.0; clouds * POINTS[2]];
        self.rank.receive(from, &mut numbers)?;
        Ok(Tensor::from_vec(numbers, (clouds, POINTS[2]), &Device::Cpu)?)
    }
}
