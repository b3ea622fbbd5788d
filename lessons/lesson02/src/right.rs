//! Right answers written another way.

use candle_core::Tensor;
use grader::{Right, right};

use crate::{Lesson02, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson02>] = &[
    right!("2.1", "in f64 until the end", normalise: |points| {
        let centre = mean(points);
        let far = |p: &[f32; 3]| (0..3).map(|a| (f64::from(p[a]) - centre[a]).powi(2)).sum::<f64>();
        let far = points.iter().map(far).fold(0.0, f64::max).sqrt();
        for p in points {
            for a in 0..3 {
                let off = f64::from(p[a]) - centre[a];
                p[a] = if far == 0.0 { 0.0 } else { (off / far) as f32 };
            }
        }
    }),
    right!("2.1", "first moved to the first point, so that f32 serves", normalise: |points| {
        let Some(&first) = points.first() else { return };
        for p in points.iter_mut() {
            (0..3).for_each(|a| p[a] -= first[a]);
        }
        moved(points, mean(points));
        let far = points.iter().map(size).fold(0.0, f64::max);
        if far > 0.0 {
            scaled(points, 1.0 / far);
        }
    }),
    right!("2.2", "a broadcast product and candle's relu", shared_layer: |x, w, b| {
        x.broadcast_matmul(&w.t()?)?.broadcast_add(b)?.relu()
    }),
    right!("2.2", "the points as columns, and (y + |y|)/2 as the ReLU", shared_layer: |x, w, b| {
        let (clouds, points, input) = x.dims3()?;
        let columns = x.reshape((clouds * points, input))?.t()?.contiguous()?;
        let y = w.matmul(&columns)?.broadcast_add(&b.unsqueeze(1)?)?;
        let y = ((&y + y.abs()?)? / 2.0)?;
        y.t()?.reshape((clouds, points, w.dim(0)?))
    }),
    right!("2.2", "the bias as a channel of the product, cut by `maximum`", shared_layer: |x, w, b| {
        let (clouds, points, input) = x.dims3()?;
        let rows = x.reshape((clouds * points, input))?;
        let rows = Tensor::cat(&[&rows, &rows.narrow(1, 0, 1)?.ones_like()?], 1)?;
        let w = Tensor::cat(&[w, &b.unsqueeze(1)?], 1)?;
        rows.matmul(&w.t()?)?.maximum(0f32)?.reshape((clouds, points, ()))
    }),
    right!("2.3", "a mask of ones in place of gather", max_points: |x| {
        let points = x.dim(1)? as u32;
        let index = Tensor::arange(0u32, points, x.device())?.reshape((1, (), 1))?;
        let first = x.detach().argmax_keepdim(1)?;
        let mask = index.broadcast_as(x.shape())?.broadcast_eq(&first)?.to_dtype(x.dtype())?;
        (x * mask)?.sum(1)
    }),
    right!("2.3", "the first greatest, read out, then gathered", max_points: |x| {
        pick(x, |list| (0..list.len()).fold(0, |best, p| if list[p] > list[best] { p } else { best }))
    }),
    right!("2.4", "added while they are rows", to_matrix: |x, k| {
        let one = Tensor::eye(k, x.dtype(), x.device())?.flatten_all()?;
        x.broadcast_add(&one)?.reshape((x.dim(0)?, k, k))
    }),
    right!("2.4", "a mask of rows against columns", to_matrix: |x, k| {
        let index = Tensor::arange(0u32, k as u32, x.device())?;
        let (row, column) = (index.reshape((1, k, 1))?, index.reshape((1, 1, k))?);
        let one = row.broadcast_eq(&column)?.to_dtype(x.dtype())?;
        x.reshape(((), k, k))?.broadcast_add(&one)
    }),
    right!("2.3", "point after point, with `where_cond`", max_points: |x| {
        let mut best = x.get_on_dim(1, 0)?;
        for p in 1..x.dim(1)? {
            let point = x.get_on_dim(1, p)?;
            best = point.gt(&best)?.where_cond(&point, &best)?;
        }
        Ok(best)
    }),
    right!("2.5", "Aᵀ·A has the same distance", orthogonality: |a| {
        let off = a.t()?.matmul(a)?.broadcast_sub(&eye(a)?)?;
        (&off * &off)?.sum_all()? / a.dim(0)? as f64
    }),
    right!("2.5", "the mean of sums", orthogonality: |a| {
        let off = a.matmul(&a.t()?)?.broadcast_sub(&eye(a)?)?;
        off.sqr()?.sum((1, 2))?.mean_all()
    }),
    right!("2.6", "by the angle and distance of each point", turn: |points, angle| {
        for p in points {
            let [x, y] = [p[0], p[1]].map(f64::from);
            let (far, at) = (x.hypot(y), y.atan2(x) + angle);
            *p = [(far * at.cos()) as f32, (far * at.sin()) as f32, p[2]];
        }
    }),
    right!("2.7", "in f64, cut by the sign", jitter: |points, deviation, random| {
        for p in points.iter_mut() {
            for a in 0..3 {
                let draw = random.normal();
                let noise = f64::from(deviation) * draw.abs().min(5.0).copysign(draw);
                p[a] = (f64::from(p[a]) + noise) as f32;
            }
        }
    }),
    right!("2.7", "all draws first, and none without noise", jitter: |points, deviation, random| {
        if deviation > 0.0 {
            let noise: Vec<f64> = (0..3 * points.len()).map(|_| random.normal()).collect();
            for (c, draw) in points.as_flattened_mut().iter_mut().zip(noise) {
                *c += cut(draw) * deviation;
            }
        }
    }),
    right!("2.8", "channel after channel into a set", survivors: |x| {
        let mut found = std::collections::BTreeSet::new();
        for channel in x.t()?.to_vec2::<f32>()? {
            let mut best = 0;
            for (p, &value) in channel.iter().enumerate() {
                if value > channel[best] {
                    best = p;
                }
            }
            if channel[best] > 0.0 {
                found.insert(best);
            }
        }
        Ok(found.into_iter().collect())
    }),
];
