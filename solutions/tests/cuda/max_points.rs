//! The maximum over a cloud's points.

use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels;
use canopy::kernels::device::{Argument, Grid, Launcher};

use crate::common::*;
use crate::emulated::{EmulatedGrid, device};

/// Clouds of different lengths, equal values and NaN: value, and the gradient at the first arg-max alone.
#[test]
fn the_first_of_equals_takes_the_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let starts = [0, 1, 3, 36, 1036];
    let (clouds, rows, n) = (4, 1036, 35);
    // Few different values, so that many are equal.
    let mut x: Vec<f32> = random(6, rows * n)
        .iter()
        .map(|v| (v * 20.0).round() / 4.0)
        .collect();
    x[(3 + 20) * n + 1] = f32::NAN;
    x[(3 + 30) * n + 1] = f32::NAN;
    x[2] = f32::NEG_INFINITY;
    for dtype in DTYPES {
        let g = rounded(dtype, &random(7, clouds * n));
        let of = |values: &[f32], rows: usize| Tensor::from_slice(values, (rows, n), &Cpu::Cpu).unwrap();
        let points = Var::from_tensor(&of(&x, rows)).unwrap();
        let tops = starts.windows(2).map(|range| {
            let cloud = points.narrow(0, range[0], range[1] - range[0]).unwrap();
            kernels::max_points(&cloud.unsqueeze(0).unwrap()).unwrap()
        });
        let top = Tensor::cat(&tops.collect::<Vec<_>>(), 0).unwrap();
        let loss = (&top * of(&g, clouds)).unwrap().sum_all().unwrap();
        let gradients = loss.backward().unwrap();

        let on_device = |t: &Tensor| t.to_device(device()).unwrap().to_dtype(dtype).unwrap();
        let output = |rows: usize, dtype| grid.output(&[rows, n], dtype).unwrap();
        let (y, at) = (output(clouds, dtype), output(clouds, DType::I32));
        let dx = output(rows, dtype);
        let starts = Tensor::new(&starts.map(|start| start as i32), device()).unwrap();
        let launch = |kernel: &str, threads, tensors: [&Tensor; 4]| {
            let shape = Grid {
                blocks: [2, clouds as u32, 1],
                threads,
                shared: 0,
            };
            let channels = [Argument::I32(n as i32)];
            let arguments = [&tensors.map(Argument::Tensor)[..], &channels].concat();
            let kernel = format!("{kernel}_{}", dtype.as_str());
            grid.launch("max_points.cu", &kernel, shape, &arguments).unwrap();
        };
        launch("max_points", [32, 8, 1], [&on_device(&points), &starts, &y, &at]);
        for (found, expected) in flat(&y).into_iter().zip(flat(&top)) {
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{dtype:?}"
            );
        }
        launch(
            "max_points_backward",
            [64, 1, 1],
            [&on_device(&of(&g, clouds)), &at, &starts, &dx],
        );
        assert_eq!(flat(&dx), flat(gradients.get(&points).unwrap()), "{dtype:?}");
    }
}
