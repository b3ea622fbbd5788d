//! Each operator with its inputs.

use candle_core::{DType, Result, Tensor, Var};
use canopy::kernels::{
    BatchNorm, Clouds, MlpLayer, Pass, Share, add_identity, cross_entropy, dropout, linear, orthogonality,
    shared_mlp, shared_mlp_max, transform, without_padding,
};

use super::*;

/// Values that every dtype holds exactly.
fn exact(values: Vec<f32>) -> Vec<f32> {
    values.iter().map(|v| (v * 64.0).round() / 64.0).collect()
}

/// Dropout of a rank's rows.
pub fn dropped([rows, width]: [usize; 2], [rank, world_size]: [usize; 2]) -> Case {
    let sums = None;
    let share = Share {
        rank,
        world_size,
        sums,
    };
    Case::new(
        "dropout",
        (rows, width, rank),
        &[&[rows, width]],
        move |x, _, pass| {
            let mut pass = pass.clone().shared(share.clone());
            // With the layer's number, that of the step takes more than 32 bits.
            (pass.seed, pass.step) = (5, 70_000);
            Ok(vec![dropout(x, 0.3, 2, &pass)?])
        },
    )
    .within(Bound::EXACT)
}

/// A linear layer of 7 inputs and `n` outputs.
pub fn linear_layer([rows, n]: [usize; 2]) -> Case {
    // The product is rounded, then its sum with the bias.
    let operator = |x: &Tensor, v: &[Var], _: &Pass| Ok(vec![linear(x, &v[1], &v[2])?]);
    Case::new("linear", [rows, n], &[&[rows, 7], &[n, 7], &[n]], operator).within(Bound::close(2.0, 0.0))
}

/// The real points of three clouds: some, one, and all of `longest`.
pub fn padding(longest: usize) -> Case {
    let is_real = |i| match i / longest {
        0 => i % 7 < 4,
        1 => i % longest == 2,
        _ => true,
    };
    let mask: Vec<f32> = (0..3 * longest)
        .map(|i| f32::from(u8::from(is_real(i))))
        .collect();
    let shape: &[usize] = &[3, longest, 5];
    Case::new("without_padding", longest, &[shape], move |x, _, pass| {
        let mask = Tensor::from_slice(&mask, (3, longest), x.device())?;
        Ok(vec![without_padding(x, &mask, pass)?.0])
    })
    .within(Bound::EXACT)
}

/// The cross-entropy, without and with smoothing and weights.
pub fn entropy([rows, classes]: [usize; 2], weighted: bool) -> Case {
    let labels: Vec<u32> = (0..rows as u32).map(|i| i * 7 % classes as u32).collect();
    let weights = exact(random(5, classes).iter().map(|v| v + 1.5).collect());
    let (sizes, shape): (_, &[usize]) = ((rows, classes, weighted), &[rows, classes]);
    let mut case = Case::new("cross_entropy", sizes, &[shape], move |x, _, _| {
        let labels = Tensor::from_slice(&labels, rows, x.device())?;
        let weights = Tensor::from_slice(&weights, classes, x.device())?.to_dtype(x.dtype())?;
        let loss = match weighted {
            true => cross_entropy(x, &labels, 0.1, Some(&weights))?,
            false => cross_entropy(x, &labels, 0.0, None)?,
        };
        Ok(vec![loss])
    });
    case.inputs[0].0.iter_mut().for_each(|v| *v *= 8.0);
    case
}

/// The points of four clouds times their matrices.
pub fn transformed(k: usize) -> Case {
    const LENGTHS: [usize; 4] = [1, 2, 33, 100];
    let rows: usize = LENGTHS.iter().sum();
    Case::new("transform", k, &[&[rows, k], &[4, k, k]], |x, v, pass| {
        let clouds = Clouds::Lengths(LENGTHS.into());
        Ok(vec![transform(x, &v[1], &clouds, pass)?])
    })
}

/// The penalty of the matrices of `clouds` clouds.
pub fn penalty([clouds, k]: [usize; 2]) -> Case {
    let operator = |x: &Tensor, _: &[Var], _: &Pass| Ok(vec![orthogonality(x)?]);
    Case::new("orthogonality", [clouds, k], &[&[clouds, k, k]], operator)
}

/// Matrices of `clouds` clouds, to which the identity is added.
pub fn plus_identity([clouds, k]: [usize; 2]) -> Case {
    let operator = move |x: &Tensor, _: &[Var], _: &Pass| Ok(vec![add_identity(x, k)?]);
    Case::new("add_identity", [clouds, k], &[&[clouds, k * k]], operator)
}

/// Batch norm with γ and β, and running statistics of the dtype of γ.
fn batch_norm(gamma: &Var, beta: &Var, [mean, var]: [&[f32]; 2]) -> Result<BatchNorm> {
    let of = |values: &[f32]| {
        let values = Tensor::from_slice(values, values.len(), gamma.device())?;
        Var::from_tensor(&values.to_dtype(gamma.dtype())?)
    };
    Ok(BatchNorm {
        gamma: gamma.clone(),
        beta: beta.clone(),
        mean: of(mean)?,
        var: of(var)?,
        momentum: 0.1,
        eps: 1e-5,
    })
}

/// The layers' output, then copies of their running statistics.
pub fn with_running(y: Tensor, norms: &[BatchNorm]) -> Result<Vec<Tensor>> {
    let running = norms.iter().flat_map(|bn| [&bn.mean, &bn.var]);
    std::iter::once(Ok(y)).chain(running.map(|v| v.copy())).collect()
}

/// Batch norm of values whose mean is `offset`: no digits may be lost to it.
pub fn normalised([rows, n]: [usize; 2], relu: bool, offset: f32) -> Case {
    let positive: Vec<f32> = random(6, n).iter().map(|v| v + 1.5).collect();
    // The layer's product is its input.
    let identity: Vec<f32> = (0..n * n)
        .map(|i| f32::from(u8::from(i % (n + 1) == 0)))
        .collect();
    let (sizes, shapes): (_, [&[usize]; 3]) = ((rows, n, offset), [&[rows, n], &[n], &[n]]);
    let mut case = Case::new("batch_norm", sizes, &shapes, move |x, v, pass| {
        let bn = &batch_norm(&v[1], &v[2], [&random(5, n), &positive])?;
        let weight = &Tensor::from_slice(&identity, (n, n), x.device())?.to_dtype(x.dtype())?;
        let y = shared_mlp(x, &[MlpLayer { weight, bn, relu }], pass)?;
        with_running(y, std::slice::from_ref(bn))
    });
    case.inputs[0].0.iter_mut().for_each(|v| *v += offset);
    if offset != 0.0 {
        // The CPU multiplies before it subtracts the mean, and loses digits to a large one.
        case.bound = Bound {
            references: &[DType::F64],
            ..Bound::close(1.0, 1e-3)
        };
    }
    case
}

/// Widths of a shared MLP's layers, with and without a maximum after them: of a last layer with more inputs than outputs, the
/// product is stored.
pub const WIDTHS: [([usize; 3], bool); 3] = [([5, 9, 33], true), ([5, 12, 8], true), ([5, 9, 33], false)];

/// Rows of the clouds of [`layers`].
pub const LENGTHS: [usize; 3] = [2, 33, 70];

/// Two layers of these widths over the points of `clouds`, and the maximum of each cloud, if there is one.
pub fn layers((widths, max): ([usize; 3], bool), clouds: &[usize]) -> Case {
    shared(&widths, (true, max), clouds).within(Bound::close(1.0, 1e-4))
}

/// Batch norms of layers, of which `v` has weight, γ and β each.
pub fn norms(v: &[Var]) -> Result<Vec<BatchNorm>> {
    let norm = |v: &[Var]| {
        let n = v[1].elem_count();
        batch_norm(&v[1], &v[2], [&vec![0.1; n], &vec![1.5; n]])
    };
    v.chunks_exact(3).map(norm).collect()
}

/// The layers of `v`, as [`norms`], with ReLU or not.
pub fn mlp<'a>(v: &'a [Var], norms: &'a [BatchNorm], relu: bool) -> Vec<MlpLayer<'a>> {
    let layer = |(v, bn): (&'a [Var], &'a BatchNorm)| MlpLayer {
        weight: v[0].as_tensor(),
        bn,
        relu,
    };
    v.chunks_exact(3).zip(norms).map(layer).collect()
}

/// Shapes of weight, γ and β of layers of these widths.
pub fn layer_shapes(widths: &[usize]) -> Vec<Vec<usize>> {
    let of_layer = |pair: &[usize]| [vec![pair[1], pair[0]], vec![pair[1]], vec![pair[1]]];
    widths.windows(2).flat_map(of_layer).collect()
}

/// Layers of these widths, with ReLU or not, and with the maximum of each cloud or not. The inputs are the points, and weight, γ and β
/// of each layer.
pub fn shared(widths: &[usize], (relu, max): (bool, bool), clouds: &[usize]) -> Case {
    let points = vec![vec![clouds.iter().sum(), widths[0]]];
    let shapes = [points, layer_shapes(widths)].concat();
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let sizes = format!("{clouds:?} points, {widths:?} channels, maximum: {max}");
    let clouds = Clouds::Lengths(clouds.into());
    Case::new("shared_mlp", sizes, &shapes, move |x, v, pass| {
        let norms = norms(&v[1..])?;
        let layers = mlp(&v[1..], &norms, relu);
        let y = match max {
            true => shared_mlp_max(x, &layers, clouds.clone(), pass)?,
            false => shared_mlp(x, &layers, pass)?,
        };
        with_running(y, &norms)
    })
}

/// A layer of the widest kind, of `k` inputs and `n` outputs. Its values are such that every dtype holds them exactly; γ has both signs
/// and one 0; the first two points of a long cloud are equal to its last.
pub fn widest(lengths: &[usize], n: usize, k: usize, relu: bool) -> Case {
    let mut case = shared(&[k, n], (relu, true), lengths);
    let rows: usize = lengths.iter().sum();
    let mut a = exact(random(11, rows * k));
    let last = *lengths.last().unwrap();
    if last > 4 {
        let (first, end) = ((rows - last) * k, rows * k);
        a.copy_within(end - k..end, first);
        a.copy_within(end - k..end, first + k);
    }
    let mut gamma = random(13, n);
    gamma[n / 2] = 0.0;
    let values = [a, exact(random(12, n * k)), gamma, random(14, n)];
    case.inputs
        .iter_mut()
        .zip(values)
        .for_each(|(input, v)| input.0 = v);
    case.g = Some(exact(random(15, lengths.len() * n)));
    case.name = "widest";
    case.within(Bound::close(1.0, 5e-5))
}

/// More elements than the threads of a grid, of which there are 2,048 · 256 at most.
pub mod many {
    /// Rows and outputs of a linear layer.
    pub const LINEAR: [usize; 2] = [5300, 100];
    /// Points of the longest cloud.
    pub const PADDED: usize = 70_000;
    /// Rows and classes.
    pub const LOGITS: [usize; 2] = [8200, 64];
    /// Clouds, and rows of their matrices.
    pub const MATRICES: [usize; 2] = [130, 64];
}
