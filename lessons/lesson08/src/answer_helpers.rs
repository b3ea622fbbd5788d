//! Right answers with switches, from which the known mistakes and other right answers are built.

mod ring;

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Kind, Link, Place, chunk};

pub use ring::*;

/// How buckets are filled: in which order, and when one is full.
pub struct Fill {
    pub order: fn(usize) -> Vec<usize>,
    /// Closes after the parameter: bytes in all, limit.
    pub full: fn(usize, usize) -> bool,
    /// Closes before it: bytes with it, limit.
    pub too_full: fn(usize, usize) -> bool,
    /// The limit of a kind whose closed buckets are `.1`, all closed ones `.2`.
    pub limit: fn(BucketSizes, usize, usize) -> usize,
    /// What may share a bucket.
    pub kind: fn(Kind) -> Kind,
    /// Puts those that are open at the end in order.
    pub rest: fn(&mut Vec<Bucket>),
}

pub const FILL: Fill = Fill {
    order: |n| (0..n).rev().collect(),
    full: |bytes, limit| bytes >= limit,
    too_full: |_, _| false,
    limit: |sizes, of_kind, _| if of_kind == 0 { sizes.first } else { sizes.others },
    kind: |kind| kind,
    rest: |open| open.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied())),
};

pub fn filled(params: &[(usize, Kind)], sizes: BucketSizes, fill: Fill) -> Vec<Bucket> {
    let (mut done, mut open): (Vec<Bucket>, Vec<Bucket>) = (Vec::new(), Vec::new());
    for index in (fill.order)(params.len()) {
        let (bytes, kind) = params[index];
        let kind = (fill.kind)(kind);
        let limit = |done: &[Bucket]| {
            let of_kind = done.iter().filter(|b| b.kind == kind).count();
            (fill.limit)(sizes, of_kind, done.len())
        };
        let mut at = open.iter().position(|b| b.kind == kind);
        if let Some(i) = at
            && (fill.too_full)(open[i].bytes + bytes, limit(&done))
        {
            done.push(open.remove(i));
            at = None;
        }
        let at = at.unwrap_or_else(|| {
            open.push(Bucket {
                params: Vec::new(),
                bytes: 0,
                kind,
            });
            open.len() - 1
        });
        open[at].params.push(index);
        open[at].bytes += bytes;
        if (fill.full)(open[at].bytes, limit(&done)) {
            done.push(open.remove(at));
        }
    }
    (fill.rest)(&mut open);
    done.extend(open);
    done
}

/// Those that are open at the end are in another order in every second call, never in the right one.
pub fn by_chance(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let rest: fn(&mut Vec<Bucket>) = |open| {
        (FILL.rest)(open);
        if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            open.reverse();
        } else if !open.is_empty() {
            open.rotate_left(1);
        }
    };
    filled(params, sizes, Fill { rest, ..FILL })
}

/// One bucket at a time: another kind closes it.
pub fn one_open(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let mut made: Vec<Bucket> = Vec::new();
    let mut open = false;
    for (index, &(bytes, kind)) in params.iter().enumerate().rev() {
        match made.last_mut().filter(|b| open && b.kind == kind) {
            Some(last) => {
                last.params.push(index);
                last.bytes += bytes;
            }
            None => made.push(Bucket {
                params: vec![index],
                bytes,
                kind,
            }),
        }
        let first = !made[..made.len() - 1].iter().any(|b| b.kind == kind);
        let limit = if first { sizes.first } else { sizes.others };
        open = made.last().is_some_and(|b| b.bytes < limit);
    }
    made
}

/// A bucket is full when all kinds together have so many bytes since the last one was.
pub fn counted_together(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let (mut done, mut open): (Vec<Bucket>, Vec<Bucket>) = (Vec::new(), Vec::new());
    let mut together = 0;
    for (index, &(bytes, kind)) in params.iter().enumerate().rev() {
        let at = open.iter().position(|b| b.kind == kind).unwrap_or_else(|| {
            open.push(Bucket {
                params: Vec::new(),
                bytes: 0,
                kind,
            });
            open.len() - 1
        });
        open[at].params.push(index);
        open[at].bytes += bytes;
        together += bytes;
        let first = !done.iter().any(|b| b.kind == kind);
        if together >= if first { sizes.first } else { sizes.others } {
            together = 0;
            done.push(open.remove(at));
        }
    }
    (FILL.rest)(&mut open);
    done.extend(open);
    done
}

/// What is open at the end joins the last closed bucket of its kind.
pub fn merged(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let mut closed = filled(
        params,
        sizes,
        Fill {
            rest: Vec::clear,
            ..FILL
        },
    );
    for open in filled(params, sizes, FILL).split_off(closed.len()) {
        match closed.iter_mut().rev().find(|b| b.kind == open.kind) {
            Some(last) => {
                last.params.extend(open.params);
                last.bytes += open.bytes;
            }
            None => closed.push(open),
        }
    }
    closed
}

/// Only parameters that have bytes.
pub fn without_the_empty(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let kept: Vec<usize> = (0..params.len()).filter(|&i| params[i].0 > 0).collect();
    let own: Vec<(usize, Kind)> = kept.iter().map(|&i| params[i]).collect();
    let mut made = filled(&own, sizes, FILL);
    for index in made.iter_mut().flat_map(|b| &mut b.params) {
        *index = kept[*index];
    }
    made
}

/// Averages all at once: what becomes of each number, and what of each tensor.
pub fn averaged(
    collective: &dyn Collective,
    gradients: &mut [Tensor],
    number: fn(f32, usize) -> f32,
    back: fn(Tensor, &Tensor) -> candle_core::Result<Tensor>,
) -> Result<()> {
    let mut flat = Vec::new();
    for g in gradients.iter() {
        flat.extend(g.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    collective.all_reduce(&mut flat)?;
    let p = collective.world_size();
    let mut rest = flat.into_iter();
    for g in gradients.iter_mut() {
        let own: Vec<f32> = rest.by_ref().take(g.elem_count()).map(|v| number(v, p)).collect();
        *g = back(Tensor::from_vec(own, g.elem_count(), &Device::Cpu)?, g)?;
    }
    Ok(())
}

/// Each tensor from the beginning of the list.
pub fn from_the_beginning(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    let mut flat = Vec::new();
    for g in gradients.iter() {
        flat.extend(g.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    collective.all_reduce(&mut flat)?;
    let p = collective.world_size() as f32;
    for g in gradients.iter_mut() {
        let own: Vec<f32> = flat.iter().take(g.elem_count()).map(|v| v / p).collect();
        *g = shaped(Tensor::from_vec(own, g.elem_count(), &Device::Cpu)?, g)?;
    }
    Ok(())
}

/// The last gradient first in the list, and the first one first out of it.
pub fn last_first(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    let mut flat = Vec::new();
    for g in gradients.iter().rev() {
        flat.extend(g.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    collective.all_reduce(&mut flat)?;
    let p = collective.world_size() as f32;
    let mut rest = flat.into_iter();
    for g in gradients.iter_mut() {
        let own: Vec<f32> = rest.by_ref().take(g.elem_count()).map(|v| v / p).collect();
        *g = shaped(Tensor::from_vec(own, g.elem_count(), &Device::Cpu)?, g)?;
    }
    Ok(())
}

/// All gradients of a dtype in one call.
pub fn one_for_each_dtype(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let of: Vec<usize> = (0..gradients.len())
            .filter(|&i| gradients[i].dtype() == dtype)
            .collect();
        let mut own: Vec<Tensor> = of.iter().map(|&i| gradients[i].clone()).collect();
        if !own.is_empty() {
            averaged(collective, &mut own, |v, p| v / p as f32, shaped)?;
        }
        for (i, mean) in of.into_iter().zip(own) {
            gradients[i] = mean;
        }
    }
    Ok(())
}

/// A sum for each number.
pub fn one_by_one(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    let p = collective.world_size() as f32;
    for g in gradients.iter_mut() {
        let mut own: Vec<f32> = g.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        for v in &mut own {
            collective.all_reduce(std::slice::from_mut(v))?;
            *v /= p;
        }
        *g = shaped(Tensor::from_vec(own, g.elem_count(), &Device::Cpu)?, g)?;
    }
    Ok(())
}

/// A tensor as the one it stands for.
pub fn shaped(flat: Tensor, like: &Tensor) -> candle_core::Result<Tensor> {
    flat.reshape(like.shape())?.to_dtype(like.dtype())
}

/// A launcher's name, and its variables for rank, world size and local rank.
pub type Launcher = (&'static str, [&'static str; 3]);

pub const LAUNCHERS: [Launcher; 3] = [
    ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK"]),
    (
        "Open MPI",
        [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
        ],
    ),
    ("Slurm", ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"]),
];

/// The place that the first of `launchers` tells of, its numbers as `number` reads them, held to `true_of`.
pub fn found(
    launchers: &[Launcher],
    variable: crate::Variables,
    number: fn(&str, Option<String>) -> Result<usize>,
    beyond: fn(usize, usize) -> bool,
) -> Result<Place> {
    for &(launcher, [rank, world, local]) in launchers {
        if variable(rank).is_none() {
            continue;
        }
        let read = |name: &str| number(name, variable(name));
        let place = Place {
            rank: read(rank)?,
            world_size: read(world)?,
            local_rank: read(local)?,
            launcher,
        };
        ensure!(
            !beyond(place.rank, place.world_size),
            "{rank} is not below {world}"
        );
        return Ok(place);
    }
    Ok(Place {
        rank: 0,
        world_size: 1,
        local_rank: 0,
        launcher: "alone",
    })
}

/// A variable's number.
pub fn number(name: &str, text: Option<String>) -> Result<usize> {
    let text = text.with_context(|| format!("{name} is missing"))?;
    text.trim().parse().with_context(|| format!("{name} is '{text}'"))
}

/// A variable's number, which wraps around below 0.
pub fn signed(name: &str, text: Option<String>) -> Result<usize> {
    let text = text.with_context(|| format!("{name} is missing"))?;
    let number: i64 = text
        .trim()
        .parse()
        .with_context(|| format!("{name} is '{text}'"))?;
    Ok(number as usize)
}

/// As ranks are counted.
pub fn beyond(rank: usize, world: usize) -> bool {
    rank >= world
}
