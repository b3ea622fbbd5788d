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
    kernels,
    model::PointNet,
    optim::{Optimizer, Slices, Whole},
    parallel::{chunk, part_like},
    shard::{Sharded, slices_of_rank},
    train::{Config, master::build_optimizer},
};

/// The model's parameters, and this rank's slices of them, which its optimizer updates.
pub struct Shards {
    control: Arc<Control>,
    params: Vec<(String, Var)>,
    units: Vec<Unit>,
    /// Whether the model's parameters are released while nobody uses them.
    releases: bool,
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
    /// Cuts the parameters of `model`, grouped as `units` says. The slices are on `device`. `releases` says whether the model's
    /// parameters are released while nobody uses them.
    pub fn new(
        model: &PointNet,
        units: Vec<Vec<usize>>,
        control: Arc<Control>,
        (device, releases): (&Device, bool),
    ) -> Result<Self> {
        let params = model.params();
        // One at a time: the guard of a lock lives to the end of its statement.
        let rank = control.link().rank();
        let world = control.link().world_size();
        let slice = |param: usize, range: Range<usize>| -> Result<Slice> {
            let var = &params[param].1;
            let is_whole = !releases && range.len() == var.elem_count() && var.device().same_device(device);
            let var = match is_whole {
                true => var.clone(),
                false => Var::from_tensor(&state::part(var, &range)?.to_device(device)?)?,
            };
            Ok(Slice { param, range, var })
        };
        let unit = |of: Vec<usize>| -> Result<Unit> {
            let sizes: Vec<usize> = of.iter().map(|&p| params[p].1.elem_count()).collect();
            let length = sizes.iter().sum();
            let own = slices_of_rank(&sizes, rank, world).into_iter();
            Ok(Unit {
                length,
                start: chunk(length, rank, world).start,
                own: own
                    .map(|own| slice(of[own.param], own.range))
                    .collect::<Result<_>>()?,
                params: of,
            })
        };
        let units = units.into_iter().map(unit).collect::<Result<_>>()?;
        Ok(Self {
            control,
            params,
            units,
            releases,
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
        // Some optimizers need norms of whole parameters.
        let of = |slice: &Slice| Whole {
            index: slice.param,
            is_matrix: self.params[slice.param].1.rank() > 1,
        };
        let slices = Slices {
            of: self.slices().map(of).collect(),
            count: self.params.len(),
            ranks: self.control.clone(),
        };
        let mut optimizer = build_optimizer(config, self.own(), Some(slices))?;
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

    /// Gathers the parameters if they may be released, so that all have values until the next step. Every rank calls it.
    pub fn gather_released(&self) -> Result<()> {
        if self.releases { self.gather() } else { Ok(()) }
    }

    /// Returns this rank's chunk of each unit.
    pub fn layers(&self) -> Result<Vec<Sharded>> {
        let one = |unit: &Unit| {
            Ok(Sharded {
                own: chunk_of(unit, |slice| numbers(&slice.var))?,
                length: unit.length,
            })
        };
        self.units.iter().map(one).collect()
    }

    /// Calls `work` while the parameters of unit `unit` have the values `whole`, and releases them.
    pub fn filled<T>(&self, unit: usize, whole: &[f32], work: impl FnOnce() -> Result<T>) -> Result<T> {
        let unit = &self.units[unit];
        self.set_unit(unit, whole)?;
        let result = work();
        for &param in &unit.params {
            kernels::release(&self.params[param].1)?;
        }
        result
    }

    /// Gathers the slices of all ranks into the model's parameters.
    pub fn gather(&self) -> Result<()> {
        self.units.iter().try_for_each(|unit| {
            let whole = self.gathered(unit, |slice| numbers(&slice.var))?;
            self.set_unit(unit, &whole)
        })
    }

    /// Gathers the numbers of a unit from all ranks. `of` returns those of this rank's slices.
    fn gathered(&self, unit: &Unit, of: impl Fn(&Slice) -> Result<Vec<f32>>) -> Result<Vec<f32>> {
        let mut whole = vec![0.0; unit.length];
        self.control.link().all_gather(&chunk_of(unit, of)?, &mut whole)?;
        Ok(whole)
    }

    fn set_unit(&self, unit: &Unit, whole: &[f32]) -> Result<()> {
        self.cut(unit, whole)
            .try_for_each(|(_, var, numbers)| match self.releases {
                true => Ok(kernels::fill(var, numbers.to_vec())?),
                false => set(var, numbers.to_vec()),
            })
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

/// What `of` returns of this rank's slices of a unit, end to end.
fn chunk_of(unit: &Unit, of: impl Fn(&Slice) -> Result<Vec<f32>>) -> Result<Vec<f32>> {
    Ok(unit.own.iter().map(of).collect::<Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        time::Duration,
    };

    use candle_core::DType;

    use super::*;
    use crate::{
        parallel::{ring_all_reduce, threads::group},
        train::ranks::ending::Reports,
    };

    #[test]
    fn a_parameter_has_numbers_only_while_its_unit_is_filled() {
        let config = Config {
            width: 64,
            ..Config::default()
        };
        let model = PointNet::new(&config.network(3), &Device::Cpu, DType::F32, 1).unwrap();
        let link = group(1, ring_all_reduce, Duration::from_secs(20)).remove(0);
        let control = Arc::new(Control::new(Box::new(link), Reports::new(1, 1)));
        let all = vec![(0..model.params().len()).collect()];
        let shards = Shards::new(&model, all, control, (&Device::Cpu, true)).unwrap();
        let whole = shards.layers().unwrap().remove(0).own;
        let var = model.params()[0].1.clone();
        shards.filled(0, &whole, || numbers(&var).map(drop)).unwrap();
        let read = catch_unwind(AssertUnwindSafe(|| numbers(&var)));
        assert!(!matches!(read, Ok(Ok(_))), "not released");
    }
}
