//! Every instruction set that this machine can run, tested against the plain form in f64 and against each other.
//!
//! One test, because the choice applies to the whole process.

#![allow(clippy::unwrap_used)] // a test may panic

#[allow(dead_code)]
#[path = "kernels/common.rs"]
mod common;

use candle_core::DType;
use canopy::kernels::InstructionSet;
use canopy::optim::OptimConfig;
use common::{flat, layer, matches_plain, outcome, random, var};

/// Weights after three steps of AdamW.
fn stepped() -> Vec<f64> {
    let w = var(&random(40, &[37, 11]), DType::F32);
    let mut adam = OptimConfig::adamw()
        .build(vec![("w".to_owned(), w.clone())])
        .unwrap();
    for step in 0..3 {
        let gradient = random(50 + step, &[37, 11]).to_dtype(DType::F32).unwrap();
        adam.step(&[gradient], 1e-2).unwrap();
    }
    flat(w.as_tensor())
}

#[test]
fn every_instruction_set_matches_plain_and_the_wide_ones_are_bit_identical() {
    let layers = [
        layer(20, 3, 19, true),
        layer(23, 19, 40, true),
        layer(26, 40, 67, true),
    ];
    let x = random(3, &[600, 3]);
    let mut wide = Vec::new();
    let mut adam = Vec::new();
    for set in InstructionSet::ALL {
        if set > InstructionSet::widest() {
            println!("{set:?}: not run, because this machine has no such instructions");
            continue;
        }
        set.choose();
        assert_eq!(InstructionSet::current(), set);
        matches_plain(&x, &layers, None, 1e-4);
        matches_plain(&x, &layers, Some(3), 1e-4);
        adam.push((set, stepped()));
        // The base set rounds each product before it adds it; the others do not, and add in the same order.
        if set > InstructionSet::Base {
            wide.push((set, outcome(&x, &layers, Some(3), DType::F32, true).unwrap()));
        }
    }
    for pair in wide.windows(2) {
        assert!(
            pair[0].1 == pair[1].1,
            "{:?} and {:?} differ",
            pair[0].0,
            pair[1].0
        );
    }
    for pair in adam.windows(2) {
        assert!(
            pair[0].1 == pair[1].1,
            "AdamW: {:?} and {:?} differ",
            pair[0].0,
            pair[1].0
        );
    }
}
