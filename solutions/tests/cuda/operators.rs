//! Each operator at odd sizes and in each dtype, against f64 and its CPU twin: values and gradients.

use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels::{Pass, cross_entropy};

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
    let in_each_dtype = cases.into_iter().map(|case| (case, &DTYPES[..]));
    let mut in_f32 = vec![
        linear_layer(many::LINEAR),
        padding(many::PADDED),
        entropy(many::LOGITS, true),
        plus_identity(many::MATRICES),
        sum_of_terms(),
    ];
    in_f32.extend(WIDTHS.map(|(widths, max)| layers(widths, max, &LENGTHS)));
    let in_f32 = in_f32.into_iter().map(|case| (case, &DTYPES[..1]));
    each_in_parallel(in_each_dtype.chain(in_f32).collect(), |(case, dtypes)| {
        dtypes.iter().for_each(|&dtype| case.check(&grid, dtype));
    });
}

#[test]
fn the_widest_layer_keeps_its_maximum_and_its_gradient() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let large = Widest::new(&[2, 33, 300], 70, 40, true);
    let small = Widest::new(&[1, 2], 5, 3, false);
    // A thousand rows, through two chunks.
    let long = Widest::new(&[1000], 140, 136, true);
    // The backward pass takes 256 channels at a time.
    let wide = Widest::new(&[5, 40], 300, 9, true);
    let mut all = Vec::new();
    // The dtype, whether products are in tf32, and the kernel that must search the maximum.
    for (dtype, tf32, kernel) in [
        (DType::BF16, false, "widest_bf16"),
        (DType::F16, false, "widest_f16"),
        (DType::F32, true, "widest_tf32"),
        (DType::F32, false, "widest_f32"),
    ] {
        all.extend([&large, &small].map(|layer| (layer.case(), dtype, tf32, kernel)));
    }
    all.push((long.case(), DType::BF16, false, "widest_bf16"));
    all.push((wide.case(), DType::BF16, false, "widest_bf16"));
    all.push((wide.case(), DType::F32, false, "widest_f32"));
    each_in_parallel(all, |(case, dtype, tf32, kernel)| {
        let grid = grid.in_tf32(tf32);
        case.check(&grid, dtype);
        assert!(grid.launched.lock().unwrap().contains(kernel), "{kernel}");
    });
}

#[test]
fn evaluations_of_layers_match_f64() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (widths, max) in WIDTHS {
        let case = layers(widths, max, &LENGTHS);
        let plain = Pass::eval().plain(true);
        let expected = case.forward(DType::F64, &Cpu::Cpu, &plain).unwrap();
        let pass = Pass::eval().with_launcher(grid.clone());
        let found = case.forward(DType::F32, device(), &pass).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            close(&format!("evaluation of {widths:?}"), found, expected, 1e-5);
        }
    }
}

#[test]
fn a_label_that_is_no_class_makes_the_loss_nan() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let operator = |v: &[Var], pass: &Pass| {
        let labels = Tensor::new(&[1_u32, 3], v[0].device())?;
        Ok(vec![cross_entropy(&on_tape(&v[0], pass)?, &labels, 0.0, None)?])
    };
    let case = case(
        "cross_entropy",
        &"a label 3 of 3",
        &[&[2, 3]],
        1,
        Box::new(operator),
    );
    assert!(case.on(&grid, DType::F32).unwrap()[0][0].is_nan());
}
