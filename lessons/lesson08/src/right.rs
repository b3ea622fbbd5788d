//! Right answers that are not written as canopy's.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use candle_core::{DType, Tensor};
use canopy::parallel::{Link, chunk};
use grader::{Right, right};

use crate::{Lesson08, REFERENCE, answer_helpers::*};

/// The first half with the chunk carried along in a vector of its own, the last one first.
fn carried(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (r, p, n) = (link.rank(), link.world_size(), data.len());
    if p == 1 {
        return Ok(());
    }
    let mut carried = data[chunk(n, (r + p - 1) % p, p)].to_vec();
    for back in 2..=p {
        link.send((r + 1) % p, &carried)?;
        let own = chunk(n, (r + 2 * p - back) % p, p);
        carried = vec![0.0; own.len()];
        link.receive((r + p - 1) % p, &mut carried)?;
        carried.iter_mut().zip(&data[own]).for_each(|(c, d)| *c += d);
    }
    data[chunk(n, r, p)].copy_from_slice(&carried);
    Ok(())
}

pub const RIGHT: &[Right<Lesson08>] = &[
    right!("8.1", "padded first, then every so many-th", share_of_epoch: |order, rank, world, drop| {
        let mut all = order.to_vec();
        if drop {
            all.truncate(order.len() / world * world);
        } else if !order.is_empty() {
            while all.len() % world != 0 {
                all.push(order[all.len() % order.len()]);
            }
        }
        all.into_iter().skip(rank).step_by(world).collect()
    }),
    right!("8.1", "columns of rows of one record a rank", share_of_epoch: |order, rank, world, drop| {
        let whole = order.chunks_exact(world);
        let rest = whole.remainder();
        let mut mine: Vec<usize> = whole.map(|row| row[rank]).collect();
        if !drop && !rest.is_empty() {
            let row: Vec<usize> = rest.iter().chain(order.iter().cycle()).take(world).copied().collect();
            mine.push(row[rank]);
        }
        mine
    }),
    right!("8.2", "by chunks counted in integers below zero", ring_reduce_scatter: |l, d| around(l, d, Ring {
        out: |r, s, p| (r as i64 - s as i64 - 1).rem_euclid(p as i64) as usize,
        into: |r, s, p| (r as i64 - s as i64 - 2).rem_euclid(p as i64) as usize,
        ..SCATTER
    }), ring_all_gather: |l, d| around(l, d, GATHER)),
    right!("8.2", "a chunk carried along", ring_reduce_scatter: carried),
    right!("8.3", "by parts that canopy has in one", buckets: |p, s| filled(p, s, FILL)),
    right!("8.3", "a map from kind to what is open", buckets: |params, sizes| {
        let mut open: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut done = Vec::new();
        let made = |kind, list: Vec<usize>| canopy::parallel::Bucket {
            bytes: list.iter().map(|&i| params[i].0).sum(),
            params: list,
            kind,
        };
        for i in (0..params.len()).rev() {
            let kind = params[i].1;
            let list = open.entry(kind).or_default();
            list.push(i);
            let bucket = made(kind, list.clone());
            let limit = match done.iter().any(|b: &canopy::parallel::Bucket| b.kind == kind) {
                true => sizes.others,
                false => sizes.first,
            };
            if bucket.bytes >= limit {
                done.push(bucket);
                open.remove(kind);
            }
        }
        let mut rest: Vec<_> = open.into_iter().map(|(kind, list)| made(kind, list)).collect();
        rest.sort_by(|a, b| b.params.last().cmp(&a.params.last()));
        done.extend(rest);
        done
    }),
    right!("8.4", "as one tensor, cut by narrow", average_gradients: |c, grads| {
        let flat: Vec<Tensor> = grads.iter().map(|g| g.to_dtype(DType::F32)?.flatten_all()).collect::<candle_core::Result<_>>()?;
        let all = Tensor::cat(&flat, 0)?;
        let mut numbers: Vec<f32> = all.to_vec1()?;
        c.all_reduce(&mut numbers)?;
        let mean = (Tensor::from_vec(numbers, all.shape(), all.device())? / c.world_size() as f64)?;
        let mut at = 0;
        for g in grads.iter_mut() {
            let own = mean.narrow(0, at, g.elem_count())?;
            at += g.elem_count();
            *g = shaped(own, g)?;
        }
        Ok(())
    }),
    right!("8.4", "divided before the sum, in f32", average_gradients: |c, grads| {
        let dtypes: Vec<DType> = grads.iter().map(Tensor::dtype).collect();
        for g in grads.iter_mut() {
            *g = (g.to_dtype(DType::F32)? / c.world_size() as f64)?;
        }
        averaged(c, grads, |v, _| v, shaped)?;
        for (g, dtype) in grads.iter_mut().zip(dtypes) {
            *g = g.to_dtype(dtype)?;
        }
        Ok(())
    }),
    right!("8.5", "by a table of launchers", place_from: |v| found(&LAUNCHERS, v, number, beyond)),
    right!("8.5", "whoever has a local rank below its GPUs", device_for: |place, gpus| match (gpus, place.local_rank) {
        (0, _) => Ok("cpu".into()),
        (1, _) => Ok("cuda:0".to_owned()),
        (n, local) if local < n => Ok(format!("cuda:{local}")),
        (n, local) => bail!("{local} of {n}"),
    }),
    right!("8.6", "by rates", weak_efficiency: |one, all| (1.0 / all) / (1.0 / one),
        strong_efficiency: |one, all, p| (one / all) / p as f64),
    right!("8.7", "bytes and beginnings apart, steps by logarithm", ring_seconds: |p, b, c| {
        let p = p as f64;
        2.0 * (p - 1.0) * c.alpha + 2.0 * (p - 1.0) / p * b * c.beta
    }, tree_seconds: |p, b, c| 2.0 * (p as f64).log2().ceil() * (c.alpha + b * c.beta)),
];
