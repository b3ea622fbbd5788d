//! Right answers that are written differently from canopy's.

use anyhow::{Result, bail, ensure};
use canopy::{
    parallel::chunk,
    shard::{BatchSizes, Slice, Stage},
};
use grader::{Right, right};

use crate::{Lesson09, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson09>] = &[
    right!("9.1", "element by element", slices_of_rank: |sizes, rank, p| {
        let all: Vec<(usize, usize)> = sizes.iter().enumerate().flat_map(|(i, &n)| (0..n).map(move |j| (i, j))).collect();
        let mut slices: Vec<Slice> = Vec::new();
        for &(param, i) in &all[chunk(all.len(), rank, p)] {
            match slices.last_mut() {
                Some(last) if last.param == param => last.range.end = i + 1,
                _ => slices.push(Slice { param, range: i..i + 1 }),
            }
        }
        slices
    }),
    right!("9.2", "the gradients are divided before they are summed", stage1_step: |c, params, gradients, update| {
        divide(c, gradients);
        c.all_reduce(gradients)?;
        let own = own(c, params.len());
        update(&mut params[own.clone()], &gradients[own.clone()])?;
        let mine = params[own].to_vec();
        c.all_gather(&mine, params)
    }),
    right!("9.2", "one rank makes no calls, an empty chunk is not updated", stage1_step: |c, params, gradients, update| {
        if c.world_size() == 1 {
            return update(params, gradients);
        }
        c.all_reduce(gradients)?;
        divide(c, gradients);
        let own = own(c, params.len());
        if !own.is_empty() {
            update(&mut params[own.clone()], &gradients[own.clone()])?;
        }
        let mine = params[own].to_vec();
        c.all_gather(&mine, params)
    }),
    right!("9.3", "the gradients are divided before they are summed", reduce_gradients: |c, mut gradients| {
        divide(c, &mut gradients);
        let mut mine = vec![0.0; own(c, gradients.len()).len()];
        c.reduce_scatter(&gradients, &mut mine)?;
        Ok(mine)
    }),
    right!("9.4", "by index", forward_sharded: |c, layers, memory, work| {
        for index in 0..layers.len() {
            let mut whole = memory.buffer(layers[index].length);
            c.all_gather(&layers[index].own, &mut whole)?;
            work(index, &whole)?;
            drop(whole);
        }
        Ok(())
    }, backward_sharded: |c, layers, memory, work| {
        let mut means = Vec::new();
        for index in (0..layers.len()).rev() {
            let gradients = {
                let mut whole = memory.buffer(layers[index].length);
                c.all_gather(&layers[index].own, &mut whole)?;
                work(index, &whole)?
            };
            means.push((REFERENCE.reduce_gradients)(c, gradients)?);
        }
        means.reverse();
        Ok(means)
    }),
    right!("9.5", "stage by stage", bytes_per_rank: |n, each, stage, p| {
        let [w, m, g, o] = [each.weight, each.master, each.gradient, each.optimizer].map(u64::from);
        let share = n.div_ceil(p);
        match stage {
            Stage::Zero0 => [n * (w + m), n * g, n * o],
            Stage::Zero1 => [n * w + share * m, n * g, share * o],
            Stage::Zero2 => [n * w + share * m, share * g, share * o],
            Stage::Zero3 => [share * (w + m), share * g, share * o],
        }
    }, numbers_sent: |n, stage, p| {
        let pass = (p - 1) * n.div_ceil(p);
        pass + pass + if stage == Stage::Zero3 { pass } else { 0 }
    }),
    right!("9.6", "case by case", settle_batch: |w, p| {
        if [w.train, w.micro, w.accumulation, Some(p)].contains(&Some(0)) {
            bail!("0");
        }
        let exactly = |a: usize, b: usize| -> Result<usize> {
            ensure!(a.is_multiple_of(b), "{w:?}, {p} ranks");
            Ok(a / b)
        };
        let (train, micro, accumulation) = match (w.train, w.micro, w.accumulation) {
            (None, None, _) => bail!("nothing"),
            (None, Some(m), None) => (m * p, m, 1),
            (None, Some(m), Some(a)) => (m * a * p, m, a),
            (Some(t), None, None) => (t, exactly(t, p)?, 1),
            (Some(t), None, Some(a)) => (t, exactly(t, a * p)?, a),
            (Some(t), Some(m), None) => (t, m, exactly(t, m * p)?),
            (Some(t), Some(m), Some(a)) => {
                ensure!(t == m * a * p, "{w:?}, {p} ranks");
                (t, m, a)
            }
        };
        Ok(BatchSizes { train, micro, accumulation })
    }),
    right!("9.7", "divided by the scale before the reduce-scatter, squares in f32", engine_step: |s, c, p, u| {
        if s.micro_batches == s.accumulation {
            let scale = s.scaler.scale() as f32;
            s.gradients.iter_mut().for_each(|g| *g /= scale);
        }
        step(s, c, p, u, &Engine {
            unscale: |_| 1.0,
            agree: |c, own| {
                let mut sum = [own.iter().map(|g| g * g).sum::<f32>()];
                if c.world_size() > 1 {
                    c.all_reduce(&mut sum)?;
                }
                Ok(sum[0].into())
            },
            ..ENGINE
        })
    }),
    right!("9.7", "overflow and squares in two numbers, PyTorch's 10⁻⁶", engine_backward: backward, engine_step: |s, c, p, u| {
        step(s, c, p, u, &Engine {
            agree: |c, own| {
                let bad = own.iter().any(|g| !g.is_finite());
                let mut both = [f32::from(u8::from(bad)), if bad { 0.0 } else { squares(own) as f32 }];
                c.all_reduce(&mut both)?;
                Ok(if both[0] > 0.0 { f64::NAN } else { both[1].into() })
            },
            clips: |clip, norm| if clip > 0.0 { (clip / (norm + 1e-6)).min(1.0) } else { 1.0 },
            ..ENGINE
        })
    }),
];
