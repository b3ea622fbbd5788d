//! Right answers that are written differently from canopy's.

use anyhow::{Result, ensure};
use canopy::{parallel::*, shard::*};
use grader::{Right, known};

use crate::{Lesson09, REFERENCE};

/// This rank's chunk.
fn own(c: &dyn Collective, length: usize) -> std::ops::Range<usize> {
    chunk(length, c.rank(), c.world_size())
}

/// Divides by the number of ranks.
fn divide(c: &dyn Collective, numbers: &mut [f32]) {
    numbers.iter_mut().for_each(|v| *v /= c.world_size() as f32);
}

pub const RIGHT: &[Right<Lesson09>] = &[
    known!("9.1", "element by element", slices_of_rank: |sizes, rank, p| {
        let of = |(param, &size): (usize, &usize)| (0..size).map(move |i| (param, i));
        let all: Vec<(usize, usize)> = sizes.iter().enumerate().flat_map(of).collect();
        let parts = all[chunk(all.len(), rank, p)].chunk_by(|a, b| a.0 == b.0);
        parts.map(|part| Slice { param: part[0].0, range: part[0].1..part[0].1 + part.len() }).collect()
    }),
    known!("9.2", "divided first, no calls on one rank, no update of an empty chunk", stage1_step: |c, w, g, update| {
        if c.world_size() == 1 {
            return update(w, g);
        }
        divide(c, g);
        c.all_reduce(g)?;
        let own = own(c, w.len());
        if !own.is_empty() {
            update(&mut w[own.clone()], &g[own.clone()])?;
        }
        let mine = w[own].to_vec();
        c.all_gather(&mine, w)
    }),
    known!("9.3", "the gradients are divided before they are summed", reduce_gradients: |c, mut gradients| {
        divide(c, &mut gradients);
        let mut mine = vec![0.0; own(c, gradients.len()).len()];
        c.reduce_scatter(&gradients, &mut mine)?;
        Ok(mine)
    }),
    known!("9.4", "a buffer is released after its gradients are reduced", backward_sharded: |c, layers, memory, work| {
        let means: Result<Vec<Vec<f32>>> = (0..layers.len()).rev().map(|index| {
            let mut whole = memory.buffer(layers[index].length);
            c.all_gather(&layers[index].own, &mut whole)?;
            (REFERENCE.reduce_gradients)(c, work(index, &whole)?)
        }).collect();
        Ok(means?.into_iter().rev().collect())
    }),
    known!("9.5", "stage by stage", bytes_per_rank: |n, each, stage, p| {
        let [w, m, g, o] = [each.weight, each.master, each.gradient, each.optimizer].map(u64::from);
        let share = n.div_ceil(p);
        match stage {
            Stage::Zero0 => [n * (w + m), n * g, n * o],
            Stage::Zero1 => [n * w + share * m, n * g, share * o],
            Stage::Zero2 => [n * w + share * m, share * g, share * o],
            Stage::Zero3 => [share * (w + m), share * g, share * o],
        }
    }),
    known!("9.6", "each default in turn", settle_batch: |w, p| {
        let by_two = w.train.zip(w.micro).map(|(train, micro)| train / (micro * p).max(1));
        let accumulation = w.accumulation.or(by_two).unwrap_or(1);
        let micro = w.micro.unwrap_or(w.train.unwrap_or(0) / (accumulation * p).max(1));
        let train = w.train.unwrap_or(micro * accumulation * p);
        ensure!(train > 0 && train == micro * accumulation * p, "{w:?}, {p} ranks");
        Ok(BatchSizes { train, micro, accumulation })
    }),
    known!("9.7", "unscaled first, two numbers to agree, PyTorch's 10⁻⁶", engine_step: |s, c, w, update| {
        if s.micro_batches != s.accumulation {
            return Ok(Outcome::Accumulating);
        }
        s.micro_batches = 0;
        let scale = s.scaler.scale() as f32;
        let mut mine = (REFERENCE.reduce_gradients)(c, s.gradients.drain(..).map(|g| g / scale).collect())?;
        let bad = mine.iter().any(|g| !g.is_finite());
        let mut both = [f32::from(bad), mine.iter().filter(|_| !bad).map(|g| g * g).sum()];
        if c.world_size() > 1 {
            c.all_reduce(&mut both)?;
        }
        let (bad, norm) = (both[0] > 0.0 || both[1].is_infinite(), f64::from(both[1]).sqrt());
        s.scaler.update(bad)?;
        if bad {
            return Ok(Outcome::Skipped);
        }
        let factor = if s.clip > 0.0 { (s.clip / (norm + 1e-6)).min(1.0) } else { 1.0 };
        mine.iter_mut().for_each(|g| *g *= factor as f32);
        let own = own(c, w.len());
        update(&mut w[own.clone()], &mine)?;
        let mine = w[own].to_vec();
        c.all_gather(&mine, w)?;
        Ok(Outcome::Taken { norm })
    }),
];
