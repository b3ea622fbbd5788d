//! The T-Nets' operators: each cloud's points times its matrix, and the orthogonality penalty.

use canopy::kernels::{Clouds, add_identity, orthogonality, transform};

use crate::common::*;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

/// Calls `then` with the product of the points of four clouds with their matrices.
pub fn with_transform<R>(k: usize, dtype: Type, then: impl FnOnce(Case) -> R) -> R {
    let lengths = [1_usize, 2, 33, 100];
    let rows: usize = lengths.iter().sum();
    let sizes = [rows * k, lengths.len() * k * k, rows * k];
    let [x, t, g] = [0, 1, 2].map(|i| dtype.rounded(&random(i as u64, sizes[i])));
    then(Case {
        what: format!("k {k}"),
        inputs: &[(&x, &[rows, k]), (&t, &[lengths.len(), k, k])],
        g: &g,
        operator: &|v, pass| {
            let clouds = Clouds::Lengths(lengths.into());
            Ok(vec![transform(&on_tape(&v[0], pass)?, v[1].as_tensor(), clouds)?])
        },
    })
}

#[test]
fn transform_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for k in [3, 33, 64] {
        for dtype in Type::ALL {
            with_transform(k, dtype, |case| {
                case.check(&grid, dtype, 0.0, &case.references());
            });
        }
    }
}

/// Calls `then` with the penalty of the matrices of `clouds` clouds.
pub fn with_orthogonality<R>([clouds, k]: [usize; 2], dtype: Type, then: impl FnOnce(Case) -> R) -> R {
    let t = dtype.rounded(&random(1, clouds * k * k));
    then(Case {
        what: format!("{clouds} clouds, k {k}"),
        inputs: &[(&t, &[clouds, k, k])],
        g: &[0.5],
        operator: &|v, pass| Ok(vec![orthogonality(&on_tape(&v[0], pass)?)?]),
    })
}

#[test]
fn orthogonality_and_its_gradient_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for sizes in [[1, 3], [2, 33], [5, 64], [70, 3]] {
        for dtype in Type::ALL {
            with_orthogonality(sizes, dtype, |case| {
                case.check(&grid, dtype, 0.0, &case.references());
            });
        }
    }
}

/// Calls `then` with the matrices of `clouds` clouds, to which the identity is added.
pub fn with_identity<R>([clouds, k]: [usize; 2], dtype: Type, then: impl FnOnce(Case) -> R) -> R {
    let [x, g] = [1, 2].map(|seed| dtype.rounded(&random(seed, clouds * k * k)));
    then(Case {
        what: "x + I".to_owned(),
        inputs: &[(&x, &[clouds, k * k])],
        g: &g,
        operator: &|v, pass| Ok(vec![add_identity(&on_tape(&v[0], pass)?, k)?]),
    })
}

#[test]
fn add_identity_adds_to_the_diagonals() {
    let Some(grid) = EmulatedGrid::new() else { return };
    // They fill more than a block.
    for dtype in Type::ALL {
        with_identity([3, 13], dtype, |case| {
            case.check(&grid, dtype, 0.0, &case.references());
        });
    }
}
