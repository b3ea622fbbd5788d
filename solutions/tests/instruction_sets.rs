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
use common::{flat, matches_plain, outcome, pass, random, stack, var};

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
    let layers = stack(20, &[3, 19, 40, 67], |_| true);
    let x = random(3, &[600, 3]);
    let (mut wide, mut adam) = (Vec::new(), Vec::new());
    for set in InstructionSet::ALL {
        if set > InstructionSet::widest() {
            println!("{set:?}: not run, because this machine has no such instructions");
            continue;
        }
        set.choose();
        assert_eq!(InstructionSet::current(), set);
        matches_plain(&x, &layers, None, 1e-4);
        matches_plain(&x, &layers, Some(3), 1e-4);
        adam.push(stepped());
        // The base set rounds each product before it adds it; the others do not, and add in the same order.
        if set > InstructionSet::Base {
            let pass = pass(true, DType::F32);
            wide.push(outcome(&x, &layers, Some(3), DType::F32, &pass).unwrap());
        }
    }
    assert!(
        wide.windows(2).all(|pair| pair[0] == pair[1]),
        "AVX2 and AVX-512 differ"
    );
    assert!(adam.windows(2).all(|pair| pair[0] == pair[1]), "AdamW");
}
