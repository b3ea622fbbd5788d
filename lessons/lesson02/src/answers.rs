//! Lesson 02: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use candle_core::{Result, Tensor};
use canopy_data::Philox;

pub fn normalise<const M: u8>(points: &mut [[f32; 3]]) {
    let before = points.to_vec();
    let square = |p: &[f32; 3]| p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    let mut centre = [0f64; 3];
    let n = points.len() as f64;
    for p in points.iter() {
        for a in 0..3 {
            centre[a] += f64::from(p[a]);
        }
    }
    let centre = centre.map(|sum| sum / n);
    let centre = match M {
        1 => [0.0; 3],
        2 => centre.map(|c| f64::from(c as f32)),
        3 => [0, 1, 2].map(|a| points.iter().map(|p| f64::from(p[a]) / n).sum()),
        _ => centre,
    };
    let mut far = 0f32;
    for p in points.iter_mut() {
        for a in 0..3 {
            p[a] = (f64::from(p[a]) - centre[a]) as f32;
        }
        far = far.max(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    match M {
        4 => far = before.iter().map(square).fold(0.0, f32::max),
        5 => far = points.iter().flatten().fold(0.0, |far, c| far.max(c * c)),
        6 => far *= far,
        7 => far = points.iter().map(square).sum::<f32>() / n as f32,
        8 if far == 0.0 => points.fill([f32::NAN; 3]),
        _ => {}
    }
    if far > 0.0 {
        points.iter_mut().flatten().for_each(|c| *c /= far.sqrt());
    }
}

pub fn shared_layer<const M: u8>(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (clouds, points, input) = x.dims3()?;
    let rows = x.reshape((clouds * points, input))?;
    let product = rows.matmul(&w.t()?)?;
    let sum = product.broadcast_add(b)?;
    let mixed = w.matmul(&rows.t()?)?.reshape(product.shape())?;
    let of_cloud = |cloud: usize| x.get(cloud)?.matmul(&w.t()?)?.broadcast_add(b)?.relu();
    let back = |rows: Tensor| rows.reshape((clouds, points, ()));
    match M {
        1 => return back(rows.matmul(w)?),
        2 => return x.matmul(&w.t()?),
        3 => return &product + b,
        4 => return back(product.relu()?),
        5 => return back(sum),
        6 => return back(product.relu()?.broadcast_add(b)?),
        7 => return sum.relu(),
        8 => return back(mixed.broadcast_add(b)?.relu()?),
        9 => return Tensor::stack(&(0..clouds).map(of_cloud).collect::<Result<Vec<_>>>()?, 0),
        10 => return back(rows.matmul(&w.reshape((input, ()))?)?.broadcast_add(b)?.relu()?),
        _ => {}
    }
    let y = rows.matmul(&w.t()?)?.broadcast_add(b)?.relu()?;
    y.reshape((clouds, points, w.dim(0)?))
}

pub fn max_points<const M: u8>(x: &Tensor) -> Result<Tensor> {
    match M {
        1 => return x.mean(1),
        2 => return x.max(2),
        3 => return x.max(0),
        4 => return x.max(1),
        5 => return x.gather(&x.argmax(1)?, 1),
        6 => return x.max_keepdim(1),
        7 => return x.detach().max(1),
        8 => return max_points::<0>(&x.flip(&[1])?),
        _ => {}
    }
    let first = x.detach().argmax_keepdim(1)?;
    x.gather(&first, 1)?.squeeze(1)
}

pub fn to_matrix<const M: u8>(x: &Tensor, k: usize) -> Result<Tensor> {
    let x = if M == 1 { &x.detach() } else { x };
    let one = Tensor::eye(k, x.dtype(), x.device())?.unsqueeze(0)?;
    let off = one.affine(-1.0, 1.0)?;
    let numbers = x.reshape((x.dim(0)?, k, k))?;
    match M {
        2 => return Ok(numbers),
        3 => return numbers + one.squeeze(0)?,
        4 => return numbers + 1.0,
        5 => return numbers.broadcast_add(&one)?.t(),
        6 => return numbers.broadcast_mul(&off)?.broadcast_add(&one),
        7 => return numbers.get(0)?.broadcast_add(&one)?.repeat((x.dim(0)?, 1, 1)),
        8 => return numbers.broadcast_add(&one)?.flatten_from(1),
        _ => {}
    }
    x.reshape((x.dim(0)?, k, k))?.broadcast_add(&one)
}

pub fn orthogonality<const M: u8>(a: &Tensor) -> Result<Tensor> {
    let product = a.matmul(&a.t()?)?;
    let one = Tensor::eye(a.dim(1)?, a.dtype(), a.device())?;
    let off_by = |from: &Tensor| one.unsqueeze(0)?.broadcast_sub(from)?.sqr()?.sum((1, 2));
    let off = one.unsqueeze(0)?.broadcast_sub(&product)?;
    match M {
        1 => return off_by(&a.matmul(a)?)?.mean_all(),
        2 => return off_by(a)?.mean_all(),
        3 => return (one - product)?.sqr()?.sum_all(),
        4 => return off.broadcast_mul(&one)?.sqr()?.sum((1, 2))?.mean_all(),
        5 => return off_by(&product)?.sqrt()?.mean_all(),
        6 => return off.sqr()?.mean_all(),
        7 => return off.sqr()?.sum_all(),
        8 => return off_by(&product),
        _ => {}
    }
    off.sqr()?.sum_all()? / a.dim(0)? as f64
}

pub fn turn<const M: u8>(points: &mut [[f32; 3]], angle: f64) {
    let angle = match M {
        1 => -angle,
        2 => angle.to_radians(),
        3 => angle.abs(),
        4 => f64::from(angle as f32),
        _ => angle,
    };
    let (sin, cos) = angle.sin_cos();
    let (sin, cos) = (sin as f32, cos as f32);
    let (sin, cos) = if M == 5 { (cos, sin) } else { (sin, cos) };
    for p in points {
        let [x, y, z] = *p;
        *p = [cos * p[0] - sin * p[1], sin * p[0] + cos * p[1], p[2]];
        *p = match M {
            6 => [x, y, z],
            7 => [p[0], sin * p[0] + cos * y, z],
            8 => [cos * x + sin * y, p[1], z],
            _ => *p,
        };
    }
}

pub fn jitter<const M: u8>(points: &mut [[f32; 3]], deviation: f32, random: &mut Philox) {
    let deviation = if M == 1 { deviation * deviation } else { deviation };
    let random = match M {
        2 => &mut Philox::new(0, 0),
        3 => &mut random.clone(),
        _ => random,
    };
    for c in points.iter_mut().flatten() {
        if M >= 4 {
            let draw = random.normal() as f32;
            *c = match M {
                4 => *c + (draw * deviation).clamp(-5.0, 5.0),
                5 if draw.abs() > 5.0 => *c + random.normal() as f32 * deviation,
                6 => draw * deviation,
                7 => *c + draw.abs() * deviation,
                _ => *c + draw * deviation,
            };
            continue;
        }
        *c += random.normal().clamp(-5.0, 5.0) as f32 * deviation;
    }
}

pub fn survivors<const M: u8>(values: &Tensor) -> Result<Vec<usize>> {
    let won: Vec<u32> = values.argmax(0)?.to_vec1()?;
    let by: Vec<f32> = values.max(0)?.to_vec1()?;
    match M {
        1 => return survivors::<0>(&values.t()?.contiguous()?),
        2 => return survivors::<0>(&values.affine(-1.0, 9.0)?),
        3 => return Ok((0..by.len()).collect()),
        _ => {}
    }
    let by = if M == 4 { vec![1.0; by.len()] } else { by };
    let above = won.iter().zip(&by).filter(|(_, v)| **v > 0.0);
    let mut points: Vec<_> = above.map(|(p, _)| *p as usize).collect();
    match M {
        5 => points.dedup(),
        6 => points.iter_mut().for_each(|p| *p += 1),
        7 => return Ok(points),
        _ => {}
    }
    points.sort_unstable();
    if M == 5 || M == 8 {
        return Ok(points);
    }
    points.dedup();
    Ok(points)
}
