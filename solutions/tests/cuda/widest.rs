//! The widest layer with its maximum: forward, and the backward pass in closed form.

use std::sync::Arc;

use crate::case::Widest;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

fn check(layer: &Widest, dtype: Type, tf32: bool) {
    let Some(grid) = EmulatedGrid::new() else { return };
    let grid = Arc::new(EmulatedGrid {
        tf32,
        ..EmulatedGrid::clone(&grid)
    });
    layer.with(|case| case.check(&grid, dtype, 5e-5, &case.references()));
    let kernel = match (dtype, tf32) {
        (Type::F32, true) => "widest_tf32".to_owned(),
        (Type::F32, false) => "widest_f32".to_owned(),
        _ => format!("widest_{}", dtype.suffix()),
    };
    assert!(grid.launched.lock().unwrap().contains(&kernel), "{kernel}");
}

#[test]
fn tensor_cores_keep_the_maximum_and_its_gradient() {
    for (dtype, tf32) in [(Type::Bf16, false), (Type::F16, false), (Type::F32, true)] {
        check(&Widest::new(&[2, 33, 300], 70, 40, true), dtype, tf32);
        check(&Widest::new(&[1, 2], 5, 3, false), dtype, tf32);
    }
}

#[test]
fn a_thousand_rows_through_two_chunks() {
    check(&Widest::new(&[1000], 140, 136, true), Type::Bf16, false);
}

/// The backward pass takes 256 channels at a time.
#[test]
fn more_channels_than_a_block_has_threads() {
    for dtype in [Type::F32, Type::Bf16] {
        check(&Widest::new(&[5, 40], 300, 9, true), dtype, false);
    }
}

#[test]
fn f32_behind_the_filter_matches() {
    check(&Widest::new(&[2, 33, 300], 70, 40, true), Type::F32, false);
    check(&Widest::new(&[1, 2], 5, 3, false), Type::F32, false);
}
