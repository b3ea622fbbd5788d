//! Every path of the operators that this machine can run, held to the plain form in f64 and to each other.
//!
//! One test, as the choice holds for the whole process.

#![allow(clippy::unwrap_used)] // a test that fails on an error says where

#[allow(dead_code)]
#[path = "kernels/common.rs"]
mod common;

use candle_core::DType;
use canopy::kernels::InstructionSet;
use canopy::optim::OptimConfig;
use common::{flat, hold, layer, outcome, random, var};

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
fn every_instruction_set_gives_the_plain_forms_values_and_the_wide_ones_the_same_bits() {
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
        hold(&x, &layers, None, 1e-4);
        hold(&x, &layers, Some(3), 1e-4);
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
