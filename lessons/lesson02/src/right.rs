//! Right answers that are not written as canopy's.

use candle_core::Tensor;
use grader::{Right, known};

use crate::{Lesson02, REFERENCE};

pub const RIGHT: &[Right<Lesson02>] = &[
    known!("2.1", "in f64 until the end", normalise: |points| {
        let n = points.len() as f64;
        let centre = [0, 1, 2].map(|a| points.iter().map(|p| f64::from(p[a])).sum::<f64>() / n);
        let off = |p: &[f32; 3]| [0, 1, 2].map(|a| f64::from(p[a]) - centre[a]);
        let size = |p: &[f32; 3]| off(p).map(|c| c * c).iter().sum::<f64>().sqrt();
        let far = points.iter().map(size).fold(0.0, f64::max);
        for p in points {
            *p = off(p).map(|c| if far == 0.0 { 0.0 } else { (c / far) as f32 });
        }
    }),
    known!("2.1", "first moved to the first point, so that f32 serves", normalise: |points| {
        let Some(&first) = points.first() else { return };
        points.iter_mut().for_each(|p| (0..3).for_each(|a| p[a] -= first[a]));
        let centre = [0, 1, 2].map(|a| points.iter().map(|p| p[a]).sum::<f32>() / points.len() as f32);
        points.iter_mut().for_each(|p| (0..3).for_each(|a| p[a] -= centre[a]));
        let far = points.iter().map(|p| p[0].hypot(p[1]).hypot(p[2])).fold(0.0, f32::max);
        if far > 0.0 {
            points.as_flattened_mut().iter_mut().for_each(|c| *c *= 1.0 / far);
        }
    }),
    known!("2.2", "a broadcast product and candle's relu",
        shared_layer: |x, w, b| x.broadcast_matmul(&w.t()?)?.broadcast_add(b)?.relu()),
    known!("2.2", "the points as columns, and (y + |y|)/2 as the ReLU", shared_layer: |x, w, b| {
        let columns = x.flatten_to(1)?.t()?.contiguous()?;
        let y = w.matmul(&columns)?.broadcast_add(&b.unsqueeze(1)?)?;
        let y = ((&y + y.abs()?)? / 2.0)?;
        y.t()?.reshape((x.dim(0)?, x.dim(1)?, ()))
    }),
    known!("2.2", "the bias as a channel of the product, cut by `maximum`", shared_layer: |x, w, b| {
        let rows = x.flatten_to(1)?;
        let rows = Tensor::cat(&[&rows, &rows.narrow(1, 0, 1)?.ones_like()?], 1)?;
        let w = Tensor::cat(&[w, &b.unsqueeze(1)?], 1)?;
        rows.matmul(&w.t()?)?.maximum(0f32)?.reshape((x.dim(0)?, x.dim(1)?, ()))
    }),
    known!("2.3", "a mask of ones in place of gather", max_points: |x| {
        let index = Tensor::arange(0u32, x.dim(1)? as u32, x.device())?.reshape((1, (), 1))?;
        let first = x.detach().argmax_keepdim(1)?;
        (x * index.broadcast_as(x.shape())?.broadcast_eq(&first)?.to_dtype(x.dtype())?)?.sum(1)
    }),
    known!("2.3", "the first greatest, read out, then gathered", max_points: |x| {
        let channels = x.transpose(1, 2)?.to_vec3::<f32>()?;
        let first = |v: &Vec<f32>| (0..v.len()).fold(0, |best, p| if v[p] > v[best] { p } else { best });
        let index = channels.iter().flatten().map(|v| first(v) as u32).collect();
        x.gather(&Tensor::from_vec(index, (x.dim(0)?, 1, x.dim(2)?), x.device())?, 1)?.squeeze(1)
    }),
    known!("2.3", "point after point, with `where_cond`", max_points: |x| {
        let mut best = x.get_on_dim(1, 0)?;
        for p in 1..x.dim(1)? {
            let point = x.get_on_dim(1, p)?;
            best = point.gt(&best)?.where_cond(&point, &best)?;
        }
        Ok(best)
    }),
    known!("2.4", "added while they are rows", to_matrix: |x, k| {
        let one = Tensor::eye(k, x.dtype(), x.device())?.flatten_all()?;
        x.broadcast_add(&one)?.reshape((x.dim(0)?, k, k))
    }),
    known!("2.4", "a mask of rows against columns", to_matrix: |x, k| {
        let index = Tensor::arange(0u32, k as u32, x.device())?;
        let one = index.reshape((k, 1))?.broadcast_eq(&index.reshape((1, k))?)?;
        x.reshape(((), k, k))?.broadcast_add(&one.to_dtype(x.dtype())?)
    }),
    known!("2.5", "Aᵀ·A has the same distance", orthogonality: |a| {
        let one = Tensor::eye(a.dim(1)?, a.dtype(), a.device())?;
        let off = a.t()?.matmul(a)?.broadcast_sub(&one)?;
        (&off * &off)?.sum_all()? / a.dim(0)? as f64
    }),
    known!("2.5", "the mean of sums", orthogonality: |a| {
        let one = Tensor::eye(a.dim(1)?, a.dtype(), a.device())?;
        a.matmul(&a.t()?)?.broadcast_sub(&one)?.sqr()?.sum((1, 2))?.mean_all()
    }),
    known!("2.6", "by the angle and distance of each point", turn: |points, angle| {
        for p in points {
            let [x, y] = [p[0], p[1]].map(f64::from);
            let (far, at) = (x.hypot(y), y.atan2(x) + angle);
            *p = [(far * at.cos()) as f32, (far * at.sin()) as f32, p[2]];
        }
    }),
    known!("2.7", "in f64, cut by the sign", jitter: |points, deviation, random| {
        for c in points.as_flattened_mut() {
            let draw = random.normal();
            let noise = f64::from(deviation) * draw.abs().min(5.0).copysign(draw);
            *c = (f64::from(*c) + noise) as f32;
        }
    }),
    known!("2.7", "all draws first, and none without noise", jitter: |points, deviation, random| {
        if deviation > 0.0 {
            let noise: Vec<f64> = (0..3 * points.len()).map(|_| random.normal()).collect();
            let pairs = points.as_flattened_mut().iter_mut().zip(noise);
            pairs.for_each(|(c, draw)| *c += draw.clamp(-5.0, 5.0) as f32 * deviation);
        }
    }),
    known!("2.8", "channel after channel into a set", survivors: |x| {
        let mut found = std::collections::BTreeSet::new();
        for channel in x.t()?.to_vec2::<f32>()? {
            let first = (0..channel.len()).fold(0, |best, p| if channel[p] > channel[best] { p } else { best });
            if channel[first] > 0.0 {
                found.insert(first);
            }
        }
        Ok(found.into_iter().collect())
    }),
];
