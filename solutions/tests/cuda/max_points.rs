//! The maximum over a cloud's points.

use grid::Arg;

use crate::common::*;
use crate::device::*;

/// Clouds of different lengths, equal values and NaN: value and first arg-max, and the gradient at it alone.
#[test]
fn the_first_of_equals_takes_the_gradient() {
    let lengths = [1, 2, 33, 1000];
    let rows: usize = lengths.iter().sum();
    let mut starts = vec![0_i32];
    lengths
        .iter()
        .for_each(|&n| starts.push(starts[starts.len() - 1] + n as i32));
    let n = 35;
    for dtype in Type::ALL {
        let Some(mut device) = Device::with("max_points.cu") else {
            return;
        };
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
        let (on, y) = (device.tensor(&x, dtype), device.output(top.len(), dtype));
        let (starts, found_at) = (
            device.memory.upload(&starts),
            device.memory.zeros::<i32>(at.len()),
        );
        let shape = Shape::grid([2, lengths.len() as u32, 1], [32, 8, 1]);
        let arguments = [
            on.read(),
            Arg::read(starts),
            y.write(),
            Arg::write(found_at),
            value(n as i32),
        ];
        device.launch(&format!("max_points_{}", dtype.suffix()), shape, &arguments);
        assert_eq!(device.memory.download(found_at), at, "{dtype:?}");
        let bits = |v: &[f32]| {
            v.iter()
                .map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() })
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&device.values(y)), bits(&top), "{dtype:?}");

        let (gradient, out) = (device.tensor(&g, dtype), device.output(x.len(), dtype));
        let arguments = [
            gradient.read(),
            Arg::read(found_at),
            Arg::read(starts),
            out.write(),
            value(n as i32),
        ];
        let shape = Shape::grid([2, lengths.len() as u32, 1], [64, 1, 1]);
        device.launch(
            &format!("max_points_backward_{}", dtype.suffix()),
            shape,
            &arguments,
        );
        assert_eq!(device.values(out), dx, "{dtype:?}");
    }
}
