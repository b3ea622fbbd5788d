//! Layers of linear+BN+ReLU, in training and in evaluation.

use candle_core::{DType, Device as Cpu, Result, Tensor, Var};
use canopy::kernels::{BatchNorm, Clouds, MlpLayer, Pass, linear_bn, shared_mlp, shared_mlp_max};

use crate::common::*;
use crate::emulated::{EmulatedGrid, device};
use crate::sources::Type;

/// Batch norm with γ and β, and running statistics of the dtype of γ.
pub fn batch_norm(gamma: &Var, beta: &Var, [mean, var]: [&[f32]; 2]) -> Result<BatchNorm> {
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
pub fn running(bn: &BatchNorm) -> Result<[Tensor; 2]> {
    Ok([bn.mean.as_tensor().copy()?, bn.var.as_tensor().copy()?])
}

#[test]
fn batch_norm_and_relu_match() {
    for (rows, n) in ROWS.into_iter().zip([5, 33, 70, 17]) {
        for dtype in Type::ALL {
            one(rows, n, dtype, true, 0.0);
            one(rows, n, dtype, false, 300.0);
        }
    }
}

/// `offset` is the mean of the values: no digits may be lost to it.
fn one(rows: usize, n: usize, dtype: Type, relu: bool, offset: f32) {
    let Some(grid) = EmulatedGrid::new() else { return };
    let y: Vec<f32> = random(1, rows * n).iter().map(|v| v + offset).collect();
    let (y, g) = (dtype.rounded(&y), dtype.rounded(&random(2, rows * n)));
    let positive: Vec<f32> = random(6, n).iter().map(|v| v + 1.5).collect();
    // The layer's product is its input.
    let identity: Vec<f32> = (0..n * n)
        .map(|i| f32::from(u8::from(i % (n + 1) == 0)))
        .collect();
    let case = Case {
        what: format!("{rows} × {n}, ReLU {relu}, mean {offset}"),
        inputs: &[(&y, &[rows, n]), (&random(3, n), &[n]), (&random(4, n), &[n])],
        g: &g,
        operator: &|v, pass| {
            let bn = batch_norm(&v[1], &v[2], [&random(5, n), &positive])?;
            let w = Tensor::from_slice(&identity, (n, n), v[0].device())?.to_dtype(v[0].dtype())?;
            let y = linear_bn(v[0].as_tensor(), &w, &bn, relu, pass)?;
            Ok([&[y][..], &running(&bn)?].concat())
        },
    };
    // The CPU multiplies before it subtracts the mean, and loses digits to a large one.
    let (tolerance, forms) = if offset > 0.0 { (1e-3, 1) } else { (0.0, 2) };
    case.check(&grid, dtype, tolerance, &case.references()[..forms]);
}

/// Widths of a shared MLP's layers, with and without a maximum after them: of a last layer with more inputs than outputs, the
/// product is stored.
const WIDTHS: [(&[usize], bool); 3] = [(&[5, 9, 33], true), (&[5, 12, 8], true), (&[5, 9, 33], false)];

/// Rows of the clouds.
const LENGTHS: [usize; 3] = [2, 33, 70];

/// Layers of `widths` over v: the input, then weight, γ and β of each layer.
fn apply(widths: &[usize], max: bool, v: &[Var], pass: &Pass) -> Outputs {
    let norms = v[1..].chunks_exact(3).zip(&widths[1..]);
    let norms = norms.map(|(v, &n)| batch_norm(&v[1], &v[2], [&vec![0.1; n], &vec![1.5; n]]));
    let norms = norms.collect::<Result<Vec<_>>>()?;
    let layers = norms.iter().zip(v[1..].chunks_exact(3)).map(|(bn, v)| MlpLayer {
        weight: v[0].as_tensor(),
        bn,
        relu: true,
    });
    let (layers, x) = (layers.collect::<Vec<_>>(), v[0].as_tensor());
    let y = match max {
        true => shared_mlp_max(x, &layers, Clouds::Lengths(LENGTHS.into()), pass)?,
        false => shared_mlp(x, &layers, pass)?,
    };
    let mut outputs = vec![y];
    for bn in &norms {
        outputs.extend(running(bn)?);
    }
    Ok(outputs)
}

#[test]
fn a_shared_mlp_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (widths, max) in WIDTHS {
        let rows: usize = LENGTHS.iter().sum();
        let mut inputs = vec![(random(1, rows * widths[0]), vec![rows, widths[0]])];
        for (i, pair) in widths.windows(2).enumerate() {
            let seed = 10 * i as u64;
            inputs.push((random(seed + 2, pair[0] * pair[1]), vec![pair[1], pair[0]]));
            inputs.extend([3, 4].map(|of| (random(seed + of, pair[1]), vec![pair[1]])));
        }
        let inputs: Vec<Input> = inputs.iter().map(|(v, shape)| (&v[..], &shape[..])).collect();
        let outputs = if max { LENGTHS.len() } else { rows } * widths[2];
        let case = Case {
            what: format!("{widths:?}, maximum {max}"),
            inputs: &inputs,
            g: &random(5, outputs),
            operator: &|v, pass| apply(widths, max, v, pass),
        };
        case.check(&grid, Type::F32, 1e-4, &case.references());

        let evaluated = |dtype, device, pass: &Pass| {
            let vars: Vec<Var> = inputs
                .iter()
                .map(|&(v, shape)| {
                    let values = Tensor::from_slice(v, shape, device).unwrap();
                    Var::from_tensor(&values.to_dtype(dtype).unwrap()).unwrap()
                })
                .collect();
            let outputs = apply(widths, max, &vars, pass).unwrap();
            outputs.iter().map(flat).collect::<Vec<_>>()
        };
        let expected = evaluated(DType::F64, &Cpu::Cpu, &Pass::eval().plain(true));
        let found = evaluated(DType::F32, device(), &Pass::eval().with_launcher(grid.clone()));
        for (found, expected) in found.iter().zip(&expected) {
            close(&format!("evaluation of {widths:?}"), found, expected, 1e-5);
        }
    }
}
