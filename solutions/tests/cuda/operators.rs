//! Each operator at odd sizes and in each dtype, against f64 and its CPU twin: values and gradients.

use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels::device::{Argument, Grid, Launcher};
use canopy::kernels::{cross_entropy, max_points};

use crate::cases::*;
use crate::common::*;
use crate::emulated::{EmulatedGrid, device};

#[test]
fn operators_match_f64_and_the_cpu() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let rows = [1, 2, 33, 1000].into_iter();
    let mut cases = Vec::new();
    for (rows, [n, classes, channels]) in rows.zip([[70, 5, 5], [33, 40, 33], [5, 33, 70], [3, 7, 17]]) {
        cases.extend([[0, 1], [1, 3]].map(|share| dropped([rows, n], share)));
        cases.extend([false, true].map(|weighted| entropy([rows, classes], weighted)));
        cases.extend(
            [(true, 0.0), (false, 300.0)].map(|(relu, mean)| normalised([rows, channels], relu, mean)),
        );
        cases.push(linear_layer([rows, n]));
    }
    cases.extend([3, 33, 64].map(transformed));
    cases.extend([[1, 3], [2, 33], [5, 64], [70, 3]].map(penalty));
    // They fill more than a block.
    cases.extend([plus_identity([3, 13]), padding(60)]);
    let mut in_f32 = vec![
        linear_layer(many::LINEAR),
        padding(many::PADDED),
        entropy(many::LOGITS, true),
        plus_identity(many::MATRICES),
    ];
    for widths in WIDTHS {
        let bound = Bound {
            references: &[DType::F64],
            ..Bound::close(1.0, 0.0)
        };
        let evaluation = Case {
            train: false,
            ..layers(widths, &LENGTHS).within(bound)
        };
        in_f32.extend([layers(widths, &LENGTHS), evaluation]);
    }
    // With the dtypes, and whether products of f32 are in tf32.
    let (f32s, low) = (&DTYPES[..1], &DTYPES[1..2]);
    let mut all: Vec<(Case, &[DType], bool)> =
        cases.into_iter().map(|case| (case, &DTYPES[..], false)).collect();
    all.extend(in_f32.into_iter().map(|case| (case, f32s, false)));
    for (dtypes, tf32) in [(&DTYPES[..], false), (f32s, true)] {
        all.push((widest(&[2, 33, 300], 70, 40, true), dtypes, tf32));
        all.push((widest(&[1, 2], 5, 3, false), dtypes, tf32));
    }
    // A thousand rows, through two chunks.
    all.push((widest(&[1000], 140, 136, true), low, false));
    // The backward pass takes 256 channels at a time.
    all.push((widest(&[5, 40], 300, 9, true), &DTYPES[..2], false));
    each_in_parallel(all, |(case, dtypes, tf32)| {
        for &dtype in dtypes {
            let grid = grid.in_tf32(tf32);
            case.check(&grid, dtype);
            assert!(grid.is_used(), "{}", case.name);
            if case.name == "widest" {
                let form = if tf32 { "tf32" } else { dtype.as_str() };
                grid.assert_launched(&[&format!("widest_{form}")]);
            }
        }
    });
}

#[test]
fn a_label_that_is_no_class_makes_the_loss_nan() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let case = Case::new("cross_entropy", "a label 3 of 3", &[&[2, 3]], |x, _, _| {
        let labels = Tensor::new(&[1_u32, 3], x.device())?;
        Ok(vec![cross_entropy(x, &labels, 0.0, None)?])
    });
    assert!(case.on(&grid, DType::F32).unwrap()[0][0].is_nan());
}

/// The kernels of the maximum over a cloud's points: clouds of different lengths, equal values and NaN. Value, and the gradient at
/// the first arg-max alone.
#[test]
fn the_first_of_equals_takes_the_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let (starts, clouds, rows, n) = ([0, 1, 3, 36, 1036], 4, 1036, 35);
    // Few different values, so that many are equal.
    let few = |v: &f32| (v * 20.0).round() / 4.0;
    let mut x: Vec<f32> = random(6, rows * n).iter().map(few).collect();
    x[(3 + 20) * n + 1] = f32::NAN;
    x[(3 + 30) * n + 1] = f32::NAN;
    x[2] = f32::NEG_INFINITY;
    let on_cpu = |values: &[f32]| Tensor::from_slice(values, (values.len() / n, n), &Cpu::Cpu).unwrap();
    for dtype in DTYPES {
        let points = Var::from_tensor(&on_cpu(&x)).unwrap();
        let g = on_cpu(&rounded(dtype, &random(7, clouds * n)));
        let tops = starts.windows(2).map(|range| {
            let cloud = points.narrow(0, range[0], range[1] - range[0]).unwrap();
            max_points(&cloud.unsqueeze(0).unwrap()).unwrap()
        });
        let top = Tensor::cat(&tops.collect::<Vec<_>>(), 0).unwrap();
        let gradients = (&top * &g).unwrap().sum_all().unwrap().backward().unwrap();

        let input = |t: &Tensor| t.to_device(device()).unwrap().to_dtype(dtype).unwrap();
        let output = |rows: usize, dtype| grid.output(&[rows, n], dtype).unwrap();
        let (y, at, dx) = (
            output(clouds, dtype),
            output(clouds, DType::I32),
            output(rows, dtype),
        );
        let starts = Tensor::new(&starts.map(|start| start as i32), device()).unwrap();
        let launch = |kernel: &str, threads, tensors: [&Tensor; 4]| {
            let blocks = [2, clouds as u32, 1];
            let shape = Grid {
                blocks,
                threads,
                shared: 0,
            };
            let arguments = [&tensors.map(Argument::Tensor)[..], &[Argument::I32(n as i32)]].concat();
            let kernel = format!("{kernel}_{}", dtype.as_str());
            grid.launch("max_points.cu", &kernel, shape, &arguments).unwrap();
        };
        launch("max_points", [32, 8, 1], [&input(&points), &starts, &y, &at]);
        launch("max_points_backward", [64, 1, 1], [&input(&g), &at, &starts, &dx]);
        let same = |(a, b): (f64, f64)| a == b || a.is_nan() && b.is_nan();
        assert!(flat(&y).into_iter().zip(flat(&top)).all(same), "{dtype:?}");
        assert_eq!(flat(&dx), flat(gradients.get(&points).unwrap()), "{dtype:?}");
    }
}
