//! Each operator with its inputs, as cases of the tests of operators and of known-bad kernels.

use candle_core::{Result, Tensor, Var};
use canopy::kernels::{
    BatchNorm, Clouds, MlpLayer, Pass, Share, add_identity, cross_entropy, dropout, linear, orthogonality,
    shared_mlp, shared_mlp_max, transform, weighted_sum, without_padding,
};

use crate::common::*;

/// Values that every dtype holds exactly.
fn exact(values: Vec<f32>) -> Vec<f32> {
    values.iter().map(|v| (v * 64.0).round() / 64.0).collect()
}

/// Random inputs of these shapes, from the seed 1 on, and the gradient of an output of `outputs` values.
pub fn case(
    name: &'static str,
    sizes: &dyn std::fmt::Debug,
    shapes: &[&[usize]],
    outputs: usize,
    operator: Operator,
) -> Case {
    let input = |(seed, shape): (u64, &&[usize])| (random(seed, shape.iter().product()), shape.to_vec());
    Case {
        name,
        sizes: format!("{sizes:?}"),
        inputs: (1..).zip(shapes).map(input).collect(),
        g: if outputs == 1 {
            vec![0.5]
        } else {
            random(100, outputs)
        },
        operator,
        bound: Bound::close(0.0),
    }
}

/// Dropout of a rank's rows.
pub fn dropped([rows, width]: [usize; 2], [rank, world_size]: [usize; 2]) -> Case {
    let operator = move |v: &[Var], pass: &Pass| {
        let share = Share {
            rank,
            world_size,
            sums: None,
        };
        let mut pass = pass.clone().shared(share);
        // With the layer's number, that of the step takes more than 32 bits.
        (pass.seed, pass.step) = (5, 70_000);
        Ok(vec![dropout(v[0].as_tensor(), 0.3, 2, &pass)?])
    };
    Case {
        bound: Bound::Exact,
        ..case(
            "dropout",
            &(rows, width, rank),
            &[&[rows, width]],
            rows * width,
            Box::new(operator),
        )
    }
}

/// A linear layer of 7 inputs and `n` outputs.
pub fn linear_layer([rows, n]: [usize; 2]) -> Case {
    let operator = |v: &[Var], pass: &Pass| {
        let x = on_tape(&v[0], pass)?;
        Ok(vec![linear(&x, v[1].as_tensor(), v[2].as_tensor())?])
    };
    Case {
        // The product is rounded, then its sum with the bias.
        bound: Bound::Close {
            roundings: 2.0,
            tolerance: 0.0,
        },
        ..case(
            "linear",
            &[rows, n],
            &[&[rows, 7], &[n, 7], &[n]],
            rows * n,
            Box::new(operator),
        )
    }
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
    let real = mask.iter().filter(|v| **v != 0.0).count();
    let operator = move |v: &[Var], pass: &Pass| {
        let mask = Tensor::from_slice(&mask, (3, longest), v[0].device())?;
        Ok(vec![without_padding(v[0].as_tensor(), &mask, pass)?.0])
    };
    Case {
        bound: Bound::Exact,
        ..case(
            "without_padding",
            &longest,
            &[&[3, longest, 5]],
            5 * real,
            Box::new(operator),
        )
    }
}

/// The cross-entropy, without and with smoothing and weights.
pub fn entropy([rows, classes]: [usize; 2], weighted: bool) -> Case {
    let labels: Vec<u32> = (0..rows as u32).map(|i| i * 7 % classes as u32).collect();
    let weights = exact(random(5, classes).iter().map(|v| v + 1.5).collect());
    let operator = move |v: &[Var], pass: &Pass| {
        let labels = Tensor::from_slice(&labels, rows, v[0].device())?;
        let weights = Tensor::from_slice(&weights, classes, v[0].device())?.to_dtype(v[0].dtype())?;
        let (smoothing, weights) = if weighted {
            (0.1, Some(&weights))
        } else {
            (0.0, None)
        };
        Ok(vec![cross_entropy(
            &on_tape(&v[0], pass)?,
            &labels,
            smoothing,
            weights,
        )?])
    };
    let sizes = (rows, classes, weighted);
    let mut case = case(
        "cross_entropy",
        &sizes,
        &[&[rows, classes]],
        1,
        Box::new(operator),
    );
    case.inputs[0].0.iter_mut().for_each(|v| *v *= 8.0);
    case
}

pub fn sum_of_terms() -> Case {
    let operator = |v: &[Var], pass: &Pass| {
        let terms = v.iter().map(|v| on_tape(v, pass)).collect::<Result<Vec<_>>>()?;
        let terms: Vec<_> = terms.iter().zip([0.5, -2.0, 1.0]).collect();
        Ok(vec![weighted_sum(&terms)?])
    };
    case("weighted_sum", &3, &[&[], &[], &[]], 1, Box::new(operator))
}

/// The points of four clouds times their matrices.
pub fn transformed(k: usize) -> Case {
    const LENGTHS: [usize; 4] = [1, 2, 33, 100];
    let operator = |v: &[Var], pass: &Pass| {
        let clouds = Clouds::Lengths(LENGTHS.into());
        Ok(vec![transform(&on_tape(&v[0], pass)?, v[1].as_tensor(), clouds)?])
    };
    let rows: usize = LENGTHS.iter().sum();
    case(
        "transform",
        &k,
        &[&[rows, k], &[4, k, k]],
        rows * k,
        Box::new(operator),
    )
}

/// The penalty of the matrices of `clouds` clouds.
pub fn penalty([clouds, k]: [usize; 2]) -> Case {
    let operator = |v: &[Var], pass: &Pass| Ok(vec![orthogonality(&on_tape(&v[0], pass)?)?]);
    case(
        "orthogonality",
        &[clouds, k],
        &[&[clouds, k, k]],
        1,
        Box::new(operator),
    )
}

/// Matrices of `clouds` clouds, to which the identity is added.
pub fn plus_identity([clouds, k]: [usize; 2]) -> Case {
    let operator = move |v: &[Var], pass: &Pass| Ok(vec![add_identity(&on_tape(&v[0], pass)?, k)?]);
    case(
        "add_identity",
        &[clouds, k],
        &[&[clouds, k * k]],
        clouds * k * k,
        Box::new(operator),
    )
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

/// The running statistics, copied.
fn running(bn: &BatchNorm) -> Result<[Tensor; 2]> {
    Ok([bn.mean.as_tensor().copy()?, bn.var.as_tensor().copy()?])
}

/// Batch norm of values whose mean is `offset`: no digits may be lost to it.
pub fn normalised([rows, n]: [usize; 2], relu: bool, offset: f32) -> Case {
    let positive: Vec<f32> = random(6, n).iter().map(|v| v + 1.5).collect();
    // The layer's product is its input.
    let identity: Vec<f32> = (0..n * n)
        .map(|i| f32::from(u8::from(i % (n + 1) == 0)))
        .collect();
    let operator = move |v: &[Var], pass: &Pass| {
        let bn = batch_norm(&v[1], &v[2], [&random(5, n), &positive])?;
        let w = Tensor::from_slice(&identity, (n, n), v[0].device())?.to_dtype(v[0].dtype())?;
        let layer = MlpLayer {
            weight: &w,
            bn: &bn,
            relu,
        };
        let y = shared_mlp(v[0].as_tensor(), &[layer], pass)?;
        Ok([&[y][..], &running(&bn)?].concat())
    };
    let (sizes, shapes): (_, [&[usize]; 3]) = ((rows, n, offset), [&[rows, n], &[n], &[n]]);
    let mut case = case("batch_norm", &sizes, &shapes, rows * n, Box::new(operator));
    case.inputs[0].0.iter_mut().for_each(|v| *v += offset);
    if offset != 0.0 {
        // The CPU multiplies before it subtracts the mean, and loses digits to a large one.
        case.bound = Bound::CloseToF64 { tolerance: 1e-3 };
    }
    case
}

/// Widths of a shared MLP's layers, with and without a maximum after them: of a last layer with more inputs than outputs, the
/// product is stored.
pub const WIDTHS: [([usize; 3], bool); 3] = [([5, 9, 33], true), ([5, 12, 8], true), ([5, 9, 33], false)];

/// Two layers of these widths over the points of `clouds`, and the maximum of each cloud, if there is one.
pub fn layers(widths: [usize; 3], max: bool, clouds: &[usize]) -> Case {
    let (rows, count) = (clouds.iter().sum(), clouds.len());
    let clouds = Clouds::Lengths(clouds.into());
    let operator = move |v: &[Var], pass: &Pass| {
        let norm = |(v, &n): (&[Var], &usize)| batch_norm(&v[1], &v[2], [&vec![0.1; n], &vec![1.5; n]]);
        let norms = v[1..].chunks_exact(3).zip(&widths[1..]).map(norm);
        let norms = norms.collect::<Result<Vec<_>>>()?;
        let layers = norms.iter().zip(v[1..].chunks_exact(3)).map(|(bn, v)| MlpLayer {
            weight: v[0].as_tensor(),
            bn,
            relu: true,
        });
        let (layers, x) = (layers.collect::<Vec<_>>(), v[0].as_tensor());
        let mut outputs = vec![match max {
            true => shared_mlp_max(x, &layers, clouds.clone(), pass)?,
            false => shared_mlp(x, &layers, pass)?,
        }];
        for bn in &norms {
            outputs.extend(running(bn)?);
        }
        Ok(outputs)
    };
    let [a, b, c] = widths;
    let shapes: [&[usize]; 7] = [&[rows, a], &[b, a], &[b], &[b], &[c, b], &[c], &[c]];
    let outputs = if max { count } else { rows } * c;
    Case {
        bound: Bound::close(1e-4),
        ..case("shared_mlp", &(widths, max), &shapes, outputs, Box::new(operator))
    }
}

/// A layer of the widest kind: its input and parameters, and the gradient of its output.
#[derive(Clone)]
pub struct Widest {
    pub lengths: Vec<usize>,
    pub n: usize,
    pub k: usize,
    pub relu: bool,
    pub a: Vec<f32>,
    pub w: Vec<f32>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
    pub g: Vec<f32>,
}

impl Widest {
    /// Values that every dtype holds exactly, of both signs of γ, and one γ of 0; the first two points of a long cloud are
    /// equal to its last.
    pub fn new(lengths: &[usize], n: usize, k: usize, relu: bool) -> Self {
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
        Self {
            lengths: lengths.to_vec(),
            n,
            k,
            relu,
            a,
            w: exact(random(12, n * k)),
            gamma,
            beta: random(14, n),
            g: exact(random(15, lengths.len() * n)),
        }
    }

    /// The layer as an operator on A, W, γ and β, which also returns the running statistics.
    pub fn case(&self) -> Case {
        let (rows, n, k, relu) = (self.lengths.iter().sum(), self.n, self.k, self.relu);
        let clouds = Clouds::Lengths(self.lengths.clone().into());
        let operator = move |v: &[Var], pass: &Pass| {
            let bn = &batch_norm(&v[2], &v[3], [&vec![0.0; n], &vec![1.0; n]])?;
            let weight = v[1].as_tensor();
            let layer = MlpLayer { weight, bn, relu };
            let y = shared_mlp_max(v[0].as_tensor(), &[layer], clouds.clone(), pass)?;
            Ok([&[y][..], &running(bn)?].concat())
        };
        let inputs = [
            (&self.a, vec![rows, k]),
            (&self.w, vec![n, k]),
            (&self.gamma, vec![n]),
            (&self.beta, vec![n]),
        ];
        Case {
            name: "widest",
            sizes: format!("clouds of {:?}, {k} to {n} channels", self.lengths),
            inputs: inputs.map(|(values, shape)| (values.clone(), shape)).to_vec(),
            g: self.g.clone(),
            operator: Box::new(operator),
            bound: Bound::close(5e-5),
        }
    }
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

/// Rows of the clouds of [`layers`].
pub const LENGTHS: [usize; 3] = [2, 33, 70];
