//! The part of the parameters that this rank updates.

use std::{collections::HashMap, ops::Range, sync::Arc};

use anyhow::{Context, Result};
use candle_core::{Device, Tensor, Var};

use super::{
    control::Control,
    state, stats,
    weights::{numbers, set},
};
use crate::{
    model::PointNet,
    optim::Optimizer,
    parallel::{Bucket, chunk, part_like},
    shard::slices_of_rank,
    train::{Config, master::build_optimizer},
};

/// The model's parameters, and this rank's slices of them, which its optimizer updates.
pub struct Shards {
    control: Arc<Control>,
    params: Vec<(String, Var)>,
    units: Vec<Unit>,
}

/// Parameters that are laid end to end and cut into one chunk for each rank.
struct Unit {
    /// Indices in the model.
    params: Vec<usize>,
    /// How many numbers they have.
    length: usize,
    /// Where this rank's chunk begins.
    start: usize,
    /// This rank's chunk. A rank has at most one slice of each parameter.
    own: Vec<Slice>,
}

/// A part of a parameter, which this rank updates.
struct Slice {
    /// Index in the model.
    param: usize,
    range: Range<usize>,
    /// The model's own variable if the rank has the whole parameter, otherwise a copy.
    var: Var,
}

impl Shards {
    /// Cuts the parameters of `model`, grouped in `buckets`.
    pub fn new(model: &PointNet, buckets: &[Bucket], control: Arc<Control>) -> Result<Self> {
        let params = model.params();
        // One at a time: the guard of a lock lives to the end of its statement.
        let rank = control.link().rank();
        let world = control.link().world_size();
        let slice = |param: usize, range: Range<usize>| -> Result<Slice> {
            let var = &params[param].1;
            let var = match range.len() == var.elem_count() {
                true => var.clone(),
                false => Var::from_tensor(&state::part(var, &range)?)?,
            };
            Ok(Slice { param, range, var })
        };
        let unit = |bucket: &Bucket| -> Result<Unit> {
            let of = &bucket.params;
            let sizes: Vec<usize> = of.iter().map(|&p| params[p].1.elem_count()).collect();
            let length = sizes.iter().sum();
            let own = slices_of_rank(&sizes, rank, world).into_iter();
            Ok(Unit {
                length,
                start: chunk(length, rank, world).start,
                own: own
                    .map(|own| slice(of[own.param], own.range))
                    .collect::<Result<_>>()?,
                params: of.clone(),
            })
        };
        let units = buckets.iter().map(unit).collect::<Result<_>>()?;
        Ok(Self {
            control,
            params,
            units,
        })
    }

    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.units.iter().flat_map(|unit| &unit.own)
    }

    /// The variable of each slice, under the name of its parameter.
    fn own(&self) -> Vec<(String, Var)> {
        let named = |slice: &Slice| (self.params[slice.param].0.clone(), slice.var.clone());
        self.slices().map(named).collect()
    }

    /// Builds the optimizer of this rank's slices, and loads its part of `state`, the state of an optimizer of the whole
    /// parameters.
    pub fn optimizer(&self, config: &Config, state: &HashMap<String, Tensor>) -> Result<Box<dyn Optimizer>> {
        let mut own_slices = HashMap::new();
        for Slice { param, range, var } in self.slices() {
            let (name, whole) = &self.params[*param];
            if var.id() != whole.id() {
                var.set(&state::part(whole, range)?.to_device(var.device())?)?;
            }
            own_slices.insert(name.as_str(), (range.clone(), var.shape()));
        }
        let mut optimizer = build_optimizer(config, self.own())?;
        optimizer.load_state(&state::cut(state, &self.params, &own_slices)?)?;
        Ok(optimizer)
    }

    /// Returns the size of the slices that are no whole parameters of the model.
    pub fn copied_bytes(&self) -> u64 {
        let copies = self
            .slices()
            .filter(|slice| slice.var.id() != self.params[slice.param].1.id());
        stats::bytes(copies.map(|slice| slice.var.as_tensor()))
    }

    /// Gathers the state of the optimizers of all ranks. Returns the state of an optimizer of the whole parameters on rank 0,
    /// and nothing on the others. Every rank calls it.
    pub fn state(&self, optimizer: &dyn Optimizer) -> Result<Vec<(String, Tensor)>> {
        let own = optimizer.state()?;
        let leads = self.control.link().rank() == 0;
        let (mut whole, kinds) = state::kinds(&own, &self.params);
        let tensors: HashMap<&str, &Tensor> = own.iter().map(|(name, t)| (name.as_str(), t)).collect();
        for kind in kinds {
            for unit in &self.units {
                let gathered = self.gathered(unit, |slice| {
                    let key = state::key(kind, &self.params[slice.param].0);
                    let tensor = tensors.get(key.as_str());
                    numbers(tensor.with_context(|| format!("the optimizer's state has no tensor {key}"))?)
                })?;
                for (name, var, numbers) in self.cut(unit, &gathered).filter(|_| leads) {
                    let tensor = Tensor::from_slice(numbers, var.shape(), &Device::Cpu)?;
                    whole.push((state::key(kind, name), tensor));
                }
            }
        }
        Ok(whole)
    }

    /// Gathers the slices of all ranks into the model's parameters.
    pub fn gather(&self) -> Result<()> {
        for unit in &self.units {
            let whole = self.gathered(unit, |slice| numbers(&slice.var))?;
            for (_, var, numbers) in self.cut(unit, &whole) {
                set(var, numbers.to_vec())?;
            }
        }
        Ok(())
    }

    /// Gathers the numbers of a unit from all ranks. `of` returns those of this rank's slices.
    fn gathered(&self, unit: &Unit, of: impl Fn(&Slice) -> Result<Vec<f32>>) -> Result<Vec<f32>> {
        let own = unit.own.iter().map(of).collect::<Result<Vec<_>>>()?.concat();
        let mut whole = vec![0.0; unit.length];
        self.control.link().all_gather(&own, &mut whole)?;
        Ok(whole)
    }

    /// Cuts the numbers of a unit into those of each parameter, with its name and variable.
    fn cut<'a>(
        &'a self,
        unit: &'a Unit,
        mut whole: &'a [f32],
    ) -> impl Iterator<Item = (&'a str, &'a Var, &'a [f32])> {
        unit.params.iter().map(move |&param| {
            let (name, var) = &self.params[param];
            let (own, after) = whole.split_at(var.elem_count());
            whole = after;
            (name.as_str(), var, own)
        })
    }

    /// Returns the gradients of the slices. `parts` are the gradients of each unit, as vectors: this rank's chunk, or all.
    pub fn gradients(&self, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut gradients = Vec::new();
        for (unit, part) in self.units.iter().zip(parts) {
            let own: usize = unit.own.iter().map(|slice| slice.range.len()).sum();
            let part = match part.elem_count() == own {
                true => part.clone(),
                // A copy, so that the rest is freed before the optimizer steps.
                false => Tensor::new(part.narrow(0, unit.start, own)?.to_vec1::<f32>()?, part.device())?,
            };
            let mut at = 0;
            for slice in &unit.own {
                gradients.push(part_like(&part, at, &slice.var)?);
                at += slice.range.len();
            }
        }
        Ok(gradients)
    }
}
