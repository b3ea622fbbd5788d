//! Training in low precision. `lists/train.txt` evaluates and predicts in every format.

use canopy::kernels::Bf16Unit;

use crate::*;

/// `lists/train.txt` has the messages of a program that emulates bf16.
#[test]
fn the_program_says_which_unit_computes_bf16() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let expected = match Bf16Unit::current() {
        Bf16Unit::Off => "precision: bf16, emulated: shows accuracy, not speed".into(),
        unit => format!("precision: bf16 products on the CPU's {unit} units, sums in fp32"),
    };
    let mut train = train(&data, &dir.path().join("run"), "--precision bf16 --epochs 1");
    assert_contains(&text(&succeeds(&mut train).stderr), &[&expected]);
}
