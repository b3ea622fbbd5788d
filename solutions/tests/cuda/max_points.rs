//! The maximum over a cloud's points.

use candle_core::Tensor;
use canopy::kernels::device::{Argument, Grid, Launcher};

use crate::common::*;
use crate::emulated::{EmulatedGrid, device};
use crate::sources::Type;

/// Clouds of different lengths, equal values and NaN: value and first arg-max, and the gradient at it alone.
#[test]
fn the_first_of_equals_takes_the_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let lengths = [1, 2, 33, 1000];
    let rows: usize = lengths.iter().sum();
    let mut starts = vec![0_i32];
    lengths
        .iter()
        .for_each(|&n| starts.push(starts[starts.len() - 1] + n as i32));
    let n = 35;
    for dtype in Type::ALL {
        // Few different values, so that many are equal.
        let mut x: Vec<f32> = random(6, rows * n)
            .iter()
            .map(|v| (v * 20.0).round() / 4.0)
            .collect();
        x[(3 + 20) * n + 1] = f32::NAN;
        x[(3 + 30) * n + 1] = f32::NAN;
        x[2] = f32::NEG_INFINITY;
        let g = dtype.rounded(&random(7, lengths.len() * n));
        let (mut top, mut at, mut dx) = (Vec::new(), Vec::new(), vec![0.0; rows * n]);
        for cloud in 0..lengths.len() {
            for c in 0..n {
                let value = |row: i32| x[row as usize * n + c];
                let mut best = starts[cloud];
                for row in starts[cloud]..starts[cloud + 1] {
                    if value(row) > value(best) || (value(row).is_nan() && !value(best).is_nan()) {
                        best = row;
                    }
                }
                top.push(value(best));
                dx[best as usize * n + c] = g[at.len()];
                at.push(best);
            }
        }
        let tensor = |values: &[f32]| {
            Tensor::new(values, device())
                .unwrap()
                .to_dtype(dtype.dtype())
                .unwrap()
        };
        let (y, dx_found) = (tensor(&vec![0.0; top.len()]), tensor(&vec![1.0; x.len()]));
        let (starts, found_at) = (of_ints(&starts), of_ints(&vec![-1; at.len()]));
        let launch = |kernel: &str, threads, arguments: [Argument; 5]| {
            let shape = Grid {
                blocks: [2, lengths.len() as u32, 1],
                threads,
                shared: 0,
            };
            let kernel = format!("{kernel}_{}", dtype.suffix());
            grid.launch("max_points.cu", &kernel, shape, &arguments).unwrap();
        };
        let (read, write) = (Argument::Read, Argument::Write);
        let (points, gradient, channels) = (tensor(&x), tensor(&g), Argument::I32(n as i32));
        let arguments = [
            read(&points),
            read(&starts),
            write(&y),
            write(&found_at),
            channels,
        ];
        launch("max_points", [32, 8, 1], arguments);
        assert_eq!(found_at.to_vec1::<i32>().unwrap(), at, "{dtype:?}");
        for (found, expected) in flat(&y).into_iter().zip(&top) {
            let expected = f64::from(*expected);
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{dtype:?}"
            );
        }
        let arguments = [
            read(&gradient),
            read(&found_at),
            read(&starts),
            write(&dx_found),
            channels,
        ];
        launch("max_points_backward", [64, 1, 1], arguments);
        let expected: Vec<f64> = dx.into_iter().map(f64::from).collect();
        assert_eq!(flat(&dx_found), expected, "{dtype:?}");
    }
}

fn of_ints(values: &[i32]) -> Tensor {
    Tensor::new(values, device()).unwrap()
}
