//! The forward and backward passes of a step on one rank.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use candle_core::{Device, Tensor};

use super::{add::add_in_place, layer::Kept, loss::cross_entropy_and_gradient, own::Own, pipeline::Stages};

/// The clouds of a micro-batch: points `[clouds, points, channels]`, and the label of each.
pub type MicroBatch = (Tensor, Vec<u32>);

/// The forward and backward passes of one step.
pub(super) struct Step<'a> {
    own: &'a Own,
    batch: &'a dyn Fn(usize) -> Result<MicroBatch>,
    /// What each layer of a stage keeps of a micro-batch.
    kept: HashMap<(usize, usize), Vec<Kept>>,
    /// The gradient of the loss, of the last stage.
    of_logits: HashMap<usize, Tensor>,
    /// The sums so far, by stage and layer.
    pub gradients: Vec<Vec<Vec<Tensor>>>,
    /// The sum of the losses so far, in the last stage.
    pub loss: Option<f64>,
    held: u64,
    /// The most bytes of activations that were kept at one time.
    pub most: u64,
}

impl<'a> Step<'a> {
    pub fn new(own: &'a Own, batch: &'a dyn Fn(usize) -> Result<MicroBatch>) -> Self {
        Self {
            own,
            batch,
            kept: HashMap::new(),
            of_logits: HashMap::new(),
            gradients: own
                .chunks
                .iter()
                .map(|layers| vec![Vec::new(); layers.len()])
                .collect(),
            loss: None,
            held: 0,
            most: 0,
        }
    }

    fn micro_batch(&self, micro: usize) -> Result<MicroBatch> {
        let Own { setting, share, .. } = self.own;
        let (points, labels) = (self.batch)(share.position.data + micro * setting.mesh.data)?;
        let expected = [setting.clouds, setting.points, setting.network.inputs];
        ensure!(
            points.dims() == expected && labels.len() == setting.clouds,
            "a micro-batch has points {:?} and {} labels, expected points {expected:?} and {} labels",
            points.dims(),
            labels.len(),
            setting.clouds
        );
        Ok((points, labels))
    }

    /// The input of a stage as a matrix.
    fn input(&self, stage: usize, micro: usize, received: Option<Vec<f32>>) -> Result<Tensor> {
        let share = &self.own.share;
        let Some(received) = received else {
            let (points, _) = self.micro_batch(micro)?;
            let own = points.narrow(1, share.points.start, share.points.len())?;
            return Ok(own.flatten(0, 1)?.contiguous()?);
        };
        let first = &share.stages[stage][0];
        let size = (share.rows_of(first), share.sizes(first).0);
        Ok(Tensor::from_vec(received, size, &Device::Cpu)?)
    }

    /// The gradient of a stage's output.
    fn output_gradient(&mut self, stage: usize, micro: usize, received: Option<Vec<f32>>) -> Result<Tensor> {
        let share = &self.own.share;
        let Some(received) = received else {
            let of_logits = self.of_logits.remove(&micro);
            return of_logits.ok_or_else(|| anyhow::anyhow!("micro-batch {micro} has no loss yet"));
        };
        let width = share.stages[stage].last().map_or(1, |last| share.sizes(last).1);
        let rows = share.numbers_after(stage) / width;
        Ok(Tensor::from_vec(received, (rows, width), &Device::Cpu)?)
    }

    fn hold(&mut self, bytes: u64) {
        self.held += bytes;
        self.most = self.most.max(self.held);
    }
}

/// The values of a tensor, row by row.
fn values(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(tensor.flatten_all()?.to_vec1()?)
}

impl Stages for Step<'_> {
    fn forward(&mut self, chunk: usize, micro: usize, input: Option<Vec<f32>>) -> Result<Option<Vec<f32>>> {
        let Own {
            setting,
            share,
            groups,
            ..
        } = self.own;
        let stage = chunk * setting.mesh.pipeline + share.position.pipeline;
        let mut x = self.input(stage, micro, input)?;
        let mut all_kept = Vec::new();
        for layer in &self.own.chunks[chunk] {
            let (y, kept) = layer.forward(x, share.rows, groups)?;
            self.hold(kept.bytes());
            all_kept.push(kept);
            x = y;
        }
        self.kept.insert((chunk, micro), all_kept);
        if stage + 1 < setting.stages() {
            return Ok(Some(values(&x)?));
        }
        let (_, labels) = self.micro_batch(micro)?;
        let (loss, gradient) = cross_entropy_and_gradient(&x, &labels, setting.batch())?;
        *self.loss.get_or_insert(0.0) += loss;
        self.hold((gradient.elem_count() * size_of::<f32>()) as u64);
        self.of_logits.insert(micro, gradient);
        Ok(None)
    }

    fn backward(
        &mut self,
        chunk: usize,
        micro: usize,
        gradient: Option<Vec<f32>>,
    ) -> Result<Option<Vec<f32>>> {
        let own = self.own;
        let stage = chunk * own.setting.mesh.pipeline + own.share.position.pipeline;
        let mut grad = self.output_gradient(stage, micro, gradient)?;
        if stage + 1 == own.setting.stages() {
            self.held -= (grad.elem_count() * size_of::<f32>()) as u64;
        }
        let mut all_kept = self.kept.remove(&(chunk, micro)).unwrap_or_default();
        for (i, layer) in own.chunks[chunk].iter().enumerate().rev() {
            let kept = all_kept
                .pop()
                .ok_or_else(|| anyhow::anyhow!("stage {stage} has no forward pass of micro-batch {micro}"))?;
            let (x, gradients) = layer.backward(&kept, grad, own.share.rows, &own.groups)?;
            // What the layer kept is freed before the next one needs memory.
            self.held -= kept.bytes();
            add(&mut self.gradients[chunk][i], gradients)?;
            grad = x;
        }
        Ok(match stage {
            0 => None,
            _ => Some(values(&grad)?),
        })
    }

    fn numbers_after(&self, stage: usize) -> usize {
        self.own.share.numbers_after(stage)
    }
}

/// Adds the gradients of a micro-batch.
fn add(sums: &mut Vec<Tensor>, more: Vec<Tensor>) -> Result<()> {
    if sums.is_empty() {
        *sums = more;
        return Ok(());
    }
    for (sum, more) in sums.iter().zip(more) {
        add_in_place(sum, &more)?;
    }
    Ok(())
}
