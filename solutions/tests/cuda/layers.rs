//! Layers of linear+BN+ReLU, in training and in evaluation.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use candle_core::{DType, Device as Cpu, Error, Result, Tensor, Var};
use canopy::kernels::{BatchNorm, Clouds, MlpLayer, Pass, Share, SumOverRanks, shared_mlp, shared_mlp_max};

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
    let Some(grid) = EmulatedGrid::new() else { return };
    for (rows, n) in ROWS.into_iter().zip([5, 33, 70, 17]) {
        for dtype in Type::ALL {
            with_batch_norm([rows, n], true, 0.0, dtype, |case| {
                case.check(&grid, dtype, 0.0, &case.references());
            });
            with_batch_norm([rows, n], false, 300.0, dtype, |case| {
                // The CPU multiplies before it subtracts the mean, and loses digits to a large one.
                case.check(&grid, dtype, 1e-3, &case.references()[..1]);
            });
        }
    }
}

/// Calls `then` with batch norm of values whose mean is `offset`: no digits may be lost to it.
pub fn with_batch_norm<R>(
    [rows, n]: [usize; 2],
    relu: bool,
    offset: f32,
    dtype: Type,
    then: impl FnOnce(Case) -> R,
) -> R {
    let y: Vec<f32> = random(1, rows * n).iter().map(|v| v + offset).collect();
    let (y, g) = (dtype.rounded(&y), dtype.rounded(&random(2, rows * n)));
    let positive: Vec<f32> = random(6, n).iter().map(|v| v + 1.5).collect();
    // The layer's product is its input.
    let identity: Vec<f32> = (0..n * n)
        .map(|i| f32::from(u8::from(i % (n + 1) == 0)))
        .collect();
    then(Case {
        what: format!("{rows} × {n}, ReLU {relu}, mean {offset}"),
        inputs: &[(&y, &[rows, n]), (&random(3, n), &[n]), (&random(4, n), &[n])],
        g: &g,
        operator: &|v, pass| {
            let bn = batch_norm(&v[1], &v[2], [&random(5, n), &positive])?;
            let w = Tensor::from_slice(&identity, (n, n), v[0].device())?.to_dtype(v[0].dtype())?;
            let layer = MlpLayer {
                weight: &w,
                bn: &bn,
                relu,
            };
            let y = shared_mlp(v[0].as_tensor(), &[layer], pass)?;
            Ok([&[y][..], &running(&bn)?].concat())
        },
    })
}

/// Widths of a shared MLP's layers, with and without a maximum after them: of a last layer with more inputs than outputs, the
/// product is stored.
const WIDTHS: [(&[usize], bool); 3] = [(&[5, 9, 33], true), (&[5, 12, 8], true), (&[5, 9, 33], false)];

/// Rows of the clouds.
const LENGTHS: [usize; 3] = [2, 33, 70];

/// Layers of `widths` over v: the input, then weight, γ and β of each layer. With `clouds`, the maximum of each follows.
fn apply(widths: &[usize], clouds: Option<&[usize]>, v: &[Var], pass: &Pass) -> Outputs {
    let norms = v[1..].chunks_exact(3).zip(&widths[1..]);
    let norms = norms.map(|(v, &n)| batch_norm(&v[1], &v[2], [&vec![0.1; n], &vec![1.5; n]]));
    let norms = norms.collect::<Result<Vec<_>>>()?;
    let layers = norms.iter().zip(v[1..].chunks_exact(3)).map(|(bn, v)| MlpLayer {
        weight: v[0].as_tensor(),
        bn,
        relu: true,
    });
    let (layers, x) = (layers.collect::<Vec<_>>(), v[0].as_tensor());
    let y = match clouds {
        Some(clouds) => shared_mlp_max(x, &layers, Clouds::Lengths(clouds.into()), pass)?,
        None => shared_mlp(x, &layers, pass)?,
    };
    let mut outputs = vec![y];
    for bn in &norms {
        outputs.extend(running(bn)?);
    }
    Ok(outputs)
}

/// The values and the shape of a tensor.
type Values = (Vec<f32>, Vec<usize>);

/// The rows, and the variables of [`apply`].
fn inputs(widths: &[usize]) -> (usize, Vec<Values>) {
    let rows: usize = LENGTHS.iter().sum();
    let mut inputs = vec![(random(1, rows * widths[0]), vec![rows, widths[0]])];
    for (i, pair) in widths.windows(2).enumerate() {
        let seed = 10 * i as u64;
        inputs.push((random(seed + 2, pair[0] * pair[1]), vec![pair[1], pair[0]]));
        inputs.extend([3, 4].map(|of| (random(seed + of, pair[1]), vec![pair[1]])));
    }
    (rows, inputs)
}

/// Sums of two ranks that are threads. If one panics, the other gets an error.
#[derive(Debug)]
struct Sums(Mutex<Ends>);

/// To the other rank, and from it.
type Ends = (Sender<Vec<f64>>, Receiver<Vec<f64>>);

impl Sums {
    fn both() -> [Option<Arc<Self>>; 2] {
        let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
        [(to_second, from_second), (to_first, from_first)].map(|ends| Some(Arc::new(Self(Mutex::new(ends)))))
    }
}

impl SumOverRanks for Sums {
    fn sum(&self, values: &mut [f64]) -> Result<()> {
        let (to, from) = &*self.0.lock().unwrap();
        to.send(values.to_vec()).map_err(Error::wrap)?;
        let others = from.recv_timeout(Duration::from_secs(60)).map_err(Error::wrap)?;
        values.iter_mut().zip(others).for_each(|(v, other)| *v += other);
        Ok(())
    }
}

/// Two ranks with different numbers of clouds, against one with all of them.
#[test]
fn synchronised_batch_norm_is_that_of_the_whole_batch() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (widths, max) in WIDTHS {
        let (rows, inputs) = inputs(widths);
        let (split, last) = (LENGTHS[0] + LENGTHS[1], widths[2]);
        let g = random(5, if max { LENGTHS.len() } else { rows } * last);
        // The first rank has two clouds.
        let outcome = |[from, to]: [usize; 2], clouds: &[usize], g: &[f32], dtype, device, pass: &Pass| {
            let x = &inputs[0].0[from * widths[0]..to * widths[0]];
            let own = [(x, vec![to - from, widths[0]])].into_iter();
            let own = own.chain(inputs[1..].iter().map(|(v, shape)| (&v[..], shape.clone())));
            let own: Vec<_> = own.collect();
            let own: Vec<Input> = own.iter().map(|(v, shape)| (*v, &shape[..])).collect();
            let case = Case {
                what: String::new(),
                inputs: &own,
                g,
                operator: &|v, pass| apply(widths, max.then_some(clouds), v, pass),
            };
            case.outcome(dtype, device, pass).unwrap()
        };
        let plain = Pass::train(1, 0).plain(true);
        let expected = outcome([0, rows], &LENGTHS, &g, DType::F64, &Cpu::Cpu, &plain);
        let of_rank = |rank: usize, sums: Option<Arc<Sums>>| {
            let pass = Pass::train(1, 0).with_launcher(grid.clone()).shared(Share {
                rank,
                world_size: 2,
                sums: sums.map(|sums| sums as _),
            });
            let half = if max { 2 } else { split } * last;
            let (rows, clouds, g) = match rank {
                0 => ([0, split], &LENGTHS[..2], &g[..half]),
                _ => ([split, rows], &LENGTHS[2..], &g[half..]),
            };
            outcome(rows, clouds, g, DType::F32, device(), &pass)
        };
        let of_rank = &of_rank;
        let [first, second] = thread::scope(|scope| {
            let [first, second] = Sums::both();
            let ranks =
                [(0, first), (1, second)].map(|(rank, sums)| scope.spawn(move || of_rank(rank, sums)));
            ranks.map(|rank| rank.join().unwrap())
        });
        for (i, expected) in expected.iter().enumerate() {
            let what = format!("{widths:?}, maximum {max}: tensor {i}");
            let parameters = 2..=inputs.len();
            if i < 2 {
                close(&what, &[&first[i][..], &second[i]].concat(), expected, 1e-4);
            } else if parameters.contains(&i) {
                let sums = first[i].iter().zip(&second[i]).map(|(a, b)| a + b);
                close(&what, &sums.collect::<Vec<_>>(), expected, 1e-4);
            } else {
                close(&what, &first[i], expected, 1e-5);
                assert_eq!(first[i], second[i], "{what}");
            }
        }
    }
    let launched = grid.launched.lock().unwrap();
    assert!(launched.contains("fold_statistics") && launched.contains("backward_f32"));
}

#[test]
fn a_shared_mlp_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (widths, max) in WIDTHS {
        let (rows, inputs) = inputs(widths);
        let clouds = max.then_some(&LENGTHS[..]);
        let inputs: Vec<Input> = inputs.iter().map(|(v, shape)| (&v[..], &shape[..])).collect();
        let outputs = if max { LENGTHS.len() } else { rows } * widths[2];
        let case = Case {
            what: format!("{widths:?}, maximum {max}"),
            inputs: &inputs,
            g: &random(5, outputs),
            operator: &|v, pass| apply(widths, clouds, v, pass),
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
            let outputs = apply(widths, clouds, &vars, pass).unwrap();
            outputs.iter().map(flat).collect::<Vec<_>>()
        };
        let expected = evaluated(DType::F64, &Cpu::Cpu, &Pass::eval().plain(true));
        let found = evaluated(DType::F32, device(), &Pass::eval().with_launcher(grid.clone()));
        for (found, expected) in found.iter().zip(&expected) {
            close(&format!("evaluation of {widths:?}"), found, expected, 1e-5);
        }
    }
}
