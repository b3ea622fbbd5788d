//! Lesson 08: data parallelism, as a student completes the third hints of `lesson.toml`.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use canopy::parallel::{Bucket, BucketSizes, Collective, Cost, Kind, Link, Place, chunk};

pub fn share_of_epoch(order: &[usize], rank: usize, world_size: usize, drop_tail: bool) -> Vec<usize> {
    if order.is_empty() {
        return Vec::new();
    }
    let n = order.len();
    let each =
        if drop_tail { n / world_size } else { n.div_ceil(world_size) };
    (0..each).map(|i| order[(rank + i * world_size) % n]).collect()
}

pub fn ring_reduce_scatter(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..p - 1 {
        let out = chunk(n, (rank + 2 * p - 1 - step) % p, p);
        let into = chunk(n, (rank + 2 * p - 2 - step) % p, p);
        link.send((rank + 1) % p, &data[out])?;
        let mut came = vec![0.0; into.len()];
        link.receive((rank + p - 1) % p, &mut came)?;
        for (sum, v) in data[into].iter_mut().zip(came) {
            *sum += v;
        }
    }
    Ok(())
}

pub fn ring_all_gather(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let (rank, p, n) = (link.rank(), link.world_size(), data.len());
    for step in 0..p - 1 {
        let out = chunk(n, (rank + p - step) % p, p);
        let into = chunk(n, (rank + 2 * p - 1 - step) % p, p);
        link.send((rank + 1) % p, &data[out])?;
        link.receive((rank + p - 1) % p, &mut data[into])?;
    }
    Ok(())
}

pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let mut done: Vec<Bucket> = Vec::new();
    let mut open: Vec<Bucket> = Vec::new();
    for (index, &(bytes, kind)) in params.iter().enumerate().rev() {
        let at = match open.iter().position(|b| b.kind == kind) {
            Some(at) => at,
            None => {
                open.push(Bucket { params: Vec::new(), bytes: 0, kind });
                open.len() - 1
            }
        };
        open[at].params.push(index);
        open[at].bytes += bytes;
        let first = !done.iter().any(|b| b.kind == kind);
        let limit = if first { sizes.first } else { sizes.others };
        if open[at].bytes >= limit {
            done.push(open.remove(at));
        }
    }
    open.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied()));
    done.extend(open);
    done
}

pub fn average_gradients(collective: &dyn Collective, gradients: &mut [Tensor]) -> Result<()> {
    let p = collective.world_size();
    let mut flat: Vec<f32> = Vec::new();
    for g in gradients.iter() {
        flat.extend(g.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?);
    }
    collective.all_reduce(&mut flat)?;
    let mut rest = &flat[..];
    for g in gradients.iter_mut() {
        let (own, after) = rest.split_at(g.elem_count());
        let mean: Vec<f32> = own.iter().map(|v| v / p as f32).collect();
        *g = Tensor::from_vec(mean, g.shape(), g.device())?
            .to_dtype(g.dtype())?;
        rest = after;
    }
    Ok(())
}

pub fn place_from(variable: &dyn Fn(&str) -> Option<String>) -> Result<Place> {
    let number = |name: &str| -> Result<usize> {
        let text = variable(name)
            .with_context(|| format!("{name} is missing"))?;
        text.trim()
            .parse()
            .with_context(|| format!("{name} is '{text}'"))
    };
    let launchers = [
        ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK"]),
        ("Open MPI", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"]),
        ("Slurm", ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"]),
    ];
    for (launcher, [rank, world, local]) in launchers {
        if variable(rank).is_none() {
            continue;
        }
        let place = Place {
            rank: number(rank)?,
            world_size: number(world)?,
            local_rank: number(local)?,
            launcher,
        };
        ensure!(
            place.rank < place.world_size,
            "{rank} is not below {world}"
        );
        return Ok(place);
    }
    Ok(Place { rank: 0, world_size: 1, local_rank: 0, launcher: "alone" })
}

pub fn device_for(place: &Place, gpus: usize) -> Result<String> {
    match gpus {
        0 => Ok("cpu".into()),
        1 => Ok("cuda:0".into()),
        _ => {
            ensure!(place.local_rank < gpus, "more ranks than GPUs");
            Ok(format!("cuda:{}", place.local_rank))
        }
    }
}

pub fn strong_efficiency(seconds_of_one: f64, seconds: f64, ranks: usize) -> f64 {
    let strong = seconds_of_one / (ranks as f64 * seconds);
    strong
}

pub fn weak_efficiency(seconds_of_one: f64, seconds: f64) -> f64 {
    let weak = seconds_of_one / seconds;
    weak
}

pub fn ring_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    let hop = cost.alpha + bytes / p as f64 * cost.beta;
    if p < 2 { 0.0 } else { 2.0 * (p - 1) as f64 * hop }
}

pub fn tree_seconds(p: usize, bytes: f64, cost: Cost) -> f64 {
    let levels = p.max(1).next_power_of_two().trailing_zeros();
    2.0 * f64::from(levels) * (cost.alpha + bytes * cost.beta)
}
