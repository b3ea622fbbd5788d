//! The T-Nets' operators: each cloud's points times its matrix, and the orthogonality penalty.

use canopy::kernels::{Clouds, add_identity, orthogonality, transform};

use crate::common::*;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

#[test]
fn transform_and_its_gradients_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let lengths = [1_usize, 2, 33, 100];
    let rows: usize = lengths.iter().sum();
    for k in [3, 33, 64] {
        for dtype in Type::ALL {
            let sizes = [rows * k, lengths.len() * k * k, rows * k];
            let [x, t, g] = [0, 1, 2].map(|i| dtype.rounded(&random(i as u64, sizes[i])));
            let case = Case {
                what: format!("k {k}"),
                inputs: &[(&x, &[rows, k]), (&t, &[lengths.len(), k, k])],
                g: &g,
                operator: &|v, pass| {
                    let clouds = Clouds::Lengths(lengths.into());
                    Ok(vec![transform(&on_tape(&v[0], pass)?, v[1].as_tensor(), clouds)?])
                },
            };
            case.check(&grid, dtype, 0.0, &case.references());
        }
    }
}

#[test]
fn orthogonality_and_its_gradient_match() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (clouds, k) in [(1, 3), (2, 33), (5, 64)] {
        for dtype in Type::ALL {
            let t = dtype.rounded(&random(1, clouds * k * k));
            let case = Case {
                what: format!("{clouds} clouds, k {k}"),
                inputs: &[(&t, &[clouds, k, k])],
                g: &[0.5],
                operator: &|v, pass| Ok(vec![orthogonality(&on_tape(&v[0], pass)?)?]),
            };
            case.check(&grid, dtype, 0.0, &case.references());
        }
    }
}

#[test]
fn add_identity_adds_to_the_diagonals() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let (clouds, k) = (3, 5);
    for dtype in Type::ALL {
        let [x, g] = [1, 2].map(|seed| dtype.rounded(&random(seed, clouds * k * k)));
        let case = Case {
            what: "x + I".to_owned(),
            inputs: &[(&x, &[clouds, k * k])],
            g: &g,
            operator: &|v, pass| Ok(vec![add_identity(&on_tape(&v[0], pass)?, k)?]),
        };
        case.check(&grid, dtype, 0.0, &case.references());
    }
}
