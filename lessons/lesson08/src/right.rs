//! Right answers that are not written as canopy's.

use std::collections::BTreeMap;

use anyhow::ensure;
use candle_core::{DType, Result, Tensor};
use canopy::parallel::{Bucket, chunk};
use grader::{Right, known};

use crate::{Lesson08, REFERENCE};

pub const RIGHT: &[Right<Lesson08>] = &[
    known!("8.1", "cut or padded first, then every so many-th", share_of_epoch: |order, rank, world, drop| {
        let length = if drop { order.len() / world * world } else { order.len().next_multiple_of(world) };
        order.iter().copied().cycle().take(length).skip(rank).step_by(world).collect()
    }),
    known!("8.2", "a chunk carried along; chunks counted in integers below zero", ring_reduce_scatter: |link, data| {
        let (r, p, n) = (link.rank(), link.world_size(), data.len());
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
    }, ring_all_gather: |link, data| {
        let (r, p, n) = (link.rank() as i64, link.world_size() as i64, data.len());
        let own = |index: i64| chunk(n, index.rem_euclid(p) as usize, p as usize);
        for step in 0..p - 1 {
            link.send(((r + 1) % p) as usize, &data[own(r - step)])?;
            link.receive((r - 1).rem_euclid(p) as usize, &mut data[own(r - step - 1)])?;
        }
        Ok(())
    }),
    known!("8.3", "a map from kind to what is open", buckets: |params, sizes| {
        let mut open: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut done: Vec<Bucket> = Vec::new();
        let made = |kind, list: Vec<usize>| {
            Bucket { bytes: list.iter().map(|&i| params[i].0).sum(), params: list, kind }
        };
        for (i, &(_, kind)) in params.iter().enumerate().rev() {
            let list = open.entry(kind).or_default();
            list.push(i);
            let bucket = made(kind, list.clone());
            let later = done.iter().any(|b| b.kind == kind);
            if bucket.bytes >= if later { sizes.others } else { sizes.first } {
                done.push(bucket);
                open.remove(kind);
            }
        }
        let mut rest: Vec<Bucket> = open.into_iter().map(|(kind, list)| made(kind, list)).collect();
        rest.sort_by(|a, b| b.params.last().cmp(&a.params.last()));
        done.extend(rest);
        done
    }),
    known!("8.4", "divided before the sum, in f32; one tensor, cut by narrow", average_gradients: |c, grads| {
        let flat = grads.iter().map(|g| g.to_dtype(DType::F32)?.flatten_all()).collect::<Result<Vec<_>>>()?;
        let mut numbers: Vec<f32> = (Tensor::cat(&flat, 0)? / c.world_size() as f64)?.to_vec1()?;
        c.all_reduce(&mut numbers)?;
        let mean = Tensor::new(numbers, grads[0].device())?;
        let mut at = 0;
        for g in grads.iter_mut() {
            let own = mean.narrow(0, at, g.elem_count())?;
            at += g.elem_count();
            *g = own.reshape(g.shape())?.to_dtype(g.dtype())?;
        }
        Ok(())
    }),
    known!("8.5", "the error first", device_for: |place, gpus| {
        ensure!(gpus < 2 || place.local_rank < gpus, "{place:?} of {gpus}");
        let index = if gpus == 1 { 0 } else { place.local_rank };
        Ok(if gpus == 0 { "cpu".into() } else { format!("cuda:{index}") })
    }),
    known!("8.6", "by rates", weak_efficiency: |one, all| (1.0 / all) / (1.0 / one),
        strong_efficiency: |one, all, p| (one / all) / p as f64),
    known!("8.7", "bytes and beginnings apart, steps by logarithm", ring_seconds: |p, b, c| {
        let p = p as f64;
        2.0 * (p - 1.0) * c.alpha + 2.0 * (p - 1.0) / p * b * c.beta
    }, tree_seconds: |p, b, c| 2.0 * (p as f64).log2().ceil() * (c.alpha + b * c.beta)),
];
