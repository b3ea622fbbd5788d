//! Dropout, ReLU, bias, scale, and rows taken out of a padded batch.

use candle_core::{Device as Cpu, Tensor as Host};
use canopy::kernels::{Pass, Share, dropout};
use canopy_data::Purpose;

use crate::common::*;
use crate::device::*;

#[test]
fn dropout_has_the_mask_of_the_cpu() {
    for (rows, width) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for (rank, world) in [(0, 1), (1, 3)] {
            for dtype in Type::ALL {
                let Some(mut device) = Device::with("dropout.cu") else {
                    return;
                };
                let x = dtype.rounded(&random(rows as u64, rows * width));
                let (seed, step, layer, p) = (5, 9, 2, 0.3_f32);
                let mut pass = Pass::train(seed, step);
                if world > 1 {
                    pass = pass.shared(Share {
                        rank,
                        world_size: world,
                        sums: None,
                    });
                }
                let host = Host::from_vec(x.clone(), (rows, width), &Cpu::Cpu).unwrap();
                let expected = flat(&dropout(&host, p, layer, &pass).unwrap());
                let (on, y) = (device.tensor(&x, dtype), device.output(x.len(), dtype));
                let arguments = [
                    on.read(),
                    y.write(),
                    value(rows as i32),
                    value(width as i32),
                    value(p),
                    value(Purpose::Dropout.key(seed)),
                    value(step << 16 | layer),
                    value(rank as i32),
                    value(world as i32),
                ];
                device.launch(
                    &format!("dropout_{}", dtype.suffix()),
                    Shape::of(3, 64),
                    &arguments,
                );
                let found = device.values(y);
                let expected: Vec<f32> = expected.iter().map(|&v| v as f32).collect();
                assert_eq!(found, dtype.rounded(&expected), "{rows} × {width}, {dtype:?}");
            }
        }
    }
}

#[test]
fn relu_bias_and_scale_equal_their_formulas() {
    for (rows, n) in ROWS.into_iter().zip([70, 33, 5, 3]) {
        for dtype in Type::ALL {
            let Some(mut device) = Device::with("operators.cu") else {
                return;
            };
            let mut x = dtype.rounded(&random(1, rows * n));
            x[0] = 0.0;
            let g = dtype.rounded(&random(2, rows * n));
            let bias = random(3, n);
            let name = |kernel: &str| format!("{kernel}_{}", dtype.suffix());
            let len = value((rows * n) as i64);
            let shape = Shape::of(2, 96);
            let (on, gradient) = (device.tensor(&x, dtype), device.tensor(&g, dtype));
            let out = device.output(x.len(), dtype);

            device.launch(&name("relu"), shape, &[on.read(), out.write(), len.clone()]);
            let expected: Vec<f32> = x.iter().map(|v| v.max(0.0)).collect();
            assert_eq!(device.values(out), expected);

            let arguments = [on.read(), gradient.read(), out.write(), len.clone()];
            device.launch(&name("relu_backward"), shape, &arguments);
            let slope = |(x, g): (&f32, &f32)| if *x > 0.0 { *g } else { 0.0 };
            assert_eq!(
                device.values(out),
                x.iter().zip(&g).map(slope).collect::<Vec<_>>()
            );

            let factor = device.memory.upload(&[0.75_f32]);
            let arguments = [on.read(), out.write(), grid::Arg::read(factor), len];
            device.launch(&name("scaled"), shape, &arguments);
            let expected: Vec<f32> = x.iter().map(|v| v * 0.75).collect();
            assert_eq!(device.values(out), dtype.rounded(&expected));

            let b = device.memory.upload(&bias);
            let y = device.tensor(&x, dtype);
            let arguments = [y.write(), grid::Arg::read(b), value(rows as i64), value(n as i32)];
            device.launch(&name("add_bias"), shape, &arguments);
            let expected: Vec<f32> = x.iter().enumerate().map(|(i, v)| v + bias[i % n]).collect();
            assert_eq!(device.values(y), dtype.rounded(&expected));

            let sums = device.output(n, Type::F32);
            let columns = Shape::grid([(n as u32).div_ceil(32), 1, 1], [32, 8, 1]);
            let arguments = [gradient.read(), sums.write(), value(rows as i32), value(n as i32)];
            device.launch(&name("column_sums"), columns, &arguments);
            let mut expected = vec![0.0; n];
            g.iter()
                .enumerate()
                .for_each(|(i, g)| expected[i % n] += f64::from(*g));
            close("the bias's gradient", &device.values(sums), &expected, 1e-6);
        }
    }
}

#[test]
fn padding_is_taken_out_and_gets_no_gradient() {
    let (padded, k) = (9, 5);
    let real = [0, 1, 3, 7];
    let mut place = vec![-1_i32; padded];
    real.iter().zip(0..).for_each(|(&row, i)| place[row as usize] = i);
    for dtype in Type::ALL {
        let Some(mut device) = Device::with("clouds.cu") else {
            return;
        };
        let x = dtype.rounded(&random(1, padded * k));
        let taken = |from: &[f32], index: &[i32]| -> Vec<f32> {
            let row = |&i: &i32| (0..k).map(move |c| if i < 0 { 0.0 } else { from[i as usize * k + c] });
            index.iter().flat_map(row).collect()
        };
        let mut from = x;
        for index in [&real[..], &place] {
            let (on, y) = (device.tensor(&from, dtype), device.output(index.len() * k, dtype));
            let at = device.memory.upload(index);
            let rows = value(index.len() as i64);
            let arguments = [on.read(), grid::Arg::read(at), y.write(), rows, value(k as i32)];
            device.launch(
                &format!("gather_rows_{}", dtype.suffix()),
                Shape::of(1, 32),
                &arguments,
            );
            let expected = taken(&from, index);
            assert_eq!(device.values(y), expected);
            from = expected;
        }
    }
}
