//! The part of the parameters that this rank updates.

use std::{collections::HashMap, ops::Range, sync::Arc};

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

use super::{
    RankMemory,
    control::Control,
    state,
    weights::{numbers, set},
};
use crate::{
    kernels,
    model::PointNet,
    optim::{Optimizer, Slices, Whole, clip_by_norm, sum_of_squares},
    parallel::{chunk, part_like},
    shard::{Sharded, Slice, slices_of_rank},
    train::{Config, OptimizerStep, master::build_optimizer_for},
};

/// The model's parameters, and this rank's slices of them, which its optimizer updates.
pub struct Shards {
    control: Arc<Control>,
    params: Vec<(String, Var)>,
    units: Vec<Unit>,
    /// The variable of each slice, in the order of the units, under the name of its parameter: a rank has at most one slice of
    /// each. If the rank has the whole parameter, it is the model's own variable, otherwise a copy.
    own: Vec<(String, Var)>,
    /// Whether the model's parameters are released while nobody uses them.
    releases: bool,
}

/// Parameters that are laid end to end and cut into one chunk for each rank.
pub struct Unit {
    /// Indices in the model.
    params: Vec<usize>,
    /// This rank's slices; [`Slice::param`] is an index in `params`.
    slices: Vec<Slice>,
    /// Where this rank's chunk begins.
    start: usize,
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
        let unit = |of: Vec<usize>| {
            let sizes: Vec<usize> = of.iter().map(|&p| params[p].1.elem_count()).collect();
            Unit {
                start: chunk(sizes.iter().sum(), rank, world).start,
                slices: slices_of_rank(&sizes, rank, world),
                params: of,
            }
        };
        let units: Vec<Unit> = units.into_iter().map(unit).collect();
        let mut own = Vec::new();
        for (param, range) in units.iter().flat_map(Unit::own) {
            let (name, var) = &params[param];
            let is_whole = !releases && range.len() == var.elem_count() && var.device().same_device(device);
            let slice = match is_whole {
                true => var.clone(),
                false => Var::from_tensor(&state::part(var, &range)?.to_device(device)?)?,
            };
            own.push((name.clone(), slice));
        }
        Ok(Self {
            control,
            params,
            units,
            own,
            releases,
        })
    }

    /// Builds the optimizer of this rank's slices, and loads its part of `state`, the state of an optimizer of the whole
    /// parameters.
    pub fn optimizer(&self, config: &Config, state: &HashMap<String, Tensor>) -> Result<Box<dyn Optimizer>> {
        let slices = self.units.iter().flat_map(Unit::own).zip(&self.own);
        let mut own_slices = HashMap::new();
        for ((param, range), (name, own)) in slices {
            let whole = &self.params[param].1;
            if own.id() != whole.id() {
                own.set(&state::part(whole, &range)?.to_device(own.device())?)?;
            }
            own_slices.insert(name.as_str(), (range, own.shape()));
        }
        let mut optimizer = build_optimizer_for(config, self.own.clone(), Some(self.slices()))?;
        optimizer.load_state(&state::cut(state, &self.params, &own_slices)?)?;
        Ok(optimizer)
    }

    /// Says of which parameters this rank has slices, for optimizers that need norms of whole parameters.
    fn slices(&self) -> Slices {
        let of = |(index, _): (usize, Range<usize>)| Whole {
            index,
            is_matrix: self.params[index].1.rank() > 1,
        };
        Slices {
            of: self.units.iter().flat_map(Unit::own).map(of).collect(),
            count: self.params.len(),
            ranks: self.control.clone(),
        }
    }

    /// Counts the bytes that this rank keeps: the model's weights, the copies of slices and the masters in the state of
    /// `optimizer`, and the rest of that state.
    pub fn memory(&self, optimizer: &dyn Optimizer) -> Result<RankMemory> {
        let memory = RankMemory::of(&self.params, &self.own, optimizer)?;
        Ok(match self.releases {
            true => RankMemory { weights: 0, ..memory },
            false => memory,
        })
    }

    /// Gathers the state of the optimizers of all ranks. Returns the state of an optimizer of the whole parameters on rank 0,
    /// and nothing on the others. Every rank calls it.
    pub fn state(&self, optimizer: &dyn Optimizer) -> Result<Vec<(String, Tensor)>> {
        let own = optimizer.state()?;
        let leads = self.control.link().rank() == 0;
        let names: Vec<&str> = self.params.iter().map(|(name, _)| name.as_str()).collect();
        let (mut whole, kinds) = state::kinds(&own, &names);
        let own: HashMap<String, Tensor> = own.into_iter().collect();
        for kind in kinds {
            let mut first = 0;
            for unit in &self.units {
                let slices = &self.own[first..first + unit.slices.len()];
                first += unit.slices.len();
                let mut mine = Vec::new();
                for (name, _) in slices {
                    mine.extend(state::numbers(&own, &kind.key(name))?);
                }
                let gathered = self.gathered(unit, &mine)?;
                let each = unit.params.iter().zip(unit.cut(&gathered, &self.params));
                for (&param, numbers) in each.filter(|_| leads) {
                    let (name, var) = &self.params[param];
                    let tensor = Tensor::from_vec(numbers, var.shape(), &Device::Cpu)?;
                    whole.push((kind.key(name), tensor));
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
        let mut first = 0;
        let one = |unit: &Unit| {
            let range = first..first + unit.slices.len();
            first = range.end;
            Ok(Sharded {
                own: self.numbers(range)?,
                length: unit.length(&self.params),
            })
        };
        self.units.iter().map(one).collect()
    }

    /// Calls `work` while the parameters of unit `unit` have the values `whole`, and releases them.
    pub fn filled<T>(&self, unit: usize, whole: &[f32], work: impl FnOnce() -> Result<T>) -> Result<T> {
        let unit = &self.units[unit];
        self.set_unit(unit, whole)?;
        let result = work();
        let params = unit.params.iter();
        params
            .into_iter()
            .try_for_each(|&param| kernels::release(&self.params[param].1))?;
        result
    }

    /// Gathers the slices of all ranks into the model's parameters.
    pub fn gather(&self) -> Result<()> {
        let mut first = 0;
        for unit in &self.units {
            let mine = self.numbers(first..first + unit.slices.len())?;
            first += unit.slices.len();
            let whole = self.gathered(unit, &mine)?;
            self.set_unit(unit, &whole)?;
        }
        Ok(())
    }

    fn gathered(&self, unit: &Unit, mine: &[f32]) -> Result<Vec<f32>> {
        let mut whole = vec![0.0; unit.length(&self.params)];
        self.control.link().all_gather(mine, &mut whole)?;
        Ok(whole)
    }

    fn set_unit(&self, unit: &Unit, whole: &[f32]) -> Result<()> {
        for (&param, numbers) in unit.params.iter().zip(unit.cut(whole, &self.params)) {
            let var = &self.params[param].1;
            match self.releases {
                true => kernels::fill(var, numbers)?,
                false => set(var, numbers)?,
            }
        }
        Ok(())
    }

    /// Returns the numbers of the slices `range`, end to end.
    fn numbers(&self, range: Range<usize>) -> Result<Vec<f32>> {
        let each = self.own[range].iter().map(|(_, var)| numbers(var));
        Ok(each.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Returns the gradients of the slices. `parts` are the gradients of each unit, as vectors: this rank's chunk, or all.
    pub fn gradients(&self, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut gradients = Vec::with_capacity(self.own.len());
        for (unit, part) in self.units.iter().zip(parts) {
            let own: usize = unit.slices.iter().map(|slice| slice.range.len()).sum();
            let part = match part.elem_count() == own {
                true => part.clone(),
                // A copy, so that the rest is freed before the optimizer steps.
                false => Tensor::new(part.narrow(0, unit.start, own)?.to_vec1::<f32>()?, part.device())?,
            };
            let mut at = 0;
            for slice in &unit.slices {
                gradients.push(part_like(&part, at, &self.own[gradients.len()].1)?);
                at += slice.range.len();
            }
        }
        Ok(gradients)
    }

    /// Clips this rank's gradients by the norm of those of all ranks (0: not clipped), and steps.
    pub fn clip_and_step(&self, mut grads: Vec<Tensor>, clip: f64, step: OptimizerStep) -> Result<()> {
        if clip > 0.0 {
            let mut squares = [sum_of_squares(&grads)?];
            self.control.sum_f64(&mut squares)?;
            clip_by_norm(&mut grads, squares[0].sqrt(), clip)?;
        }
        step(&grads)?;
        self.control.stepped();
        Ok(())
    }
}

impl Unit {
    /// This rank's slices: the parameter's index in the model, and the range in it.
    fn own(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.slices
            .iter()
            .map(|slice| (self.params[slice.param], slice.range.clone()))
    }

    fn length(&self, params: &[(String, Var)]) -> usize {
        self.params.iter().map(|&p| params[p].1.elem_count()).sum()
    }

    /// Cuts the unit's numbers into those of each parameter.
    fn cut(&self, whole: &[f32], params: &[(String, Var)]) -> Vec<Vec<f32>> {
        let mut rest = whole;
        let one = |&param: &usize| {
            let (own, after) = rest.split_at(params[param].1.elem_count());
            rest = after;
            own.to_vec()
        };
        self.params.iter().map(one).collect()
    }
}
