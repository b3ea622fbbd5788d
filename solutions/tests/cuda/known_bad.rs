//! Kernels with one mistake each: the tests must see it, by a fault of the grid or by a wrong value.

use std::sync::Arc;

use candle_core::Result;
use grid::Source;

use crate::case::Widest;
use crate::emulated::{EmulatedGrid, device};
use crate::sources::*;

/// A grid with `from` replaced by `to` in a source; none on a GPU, where such kernels could break more than the test.
pub fn changed(name: &'static str, from: &str, to: &str) -> Option<EmulatedGrid> {
    if !device().is_cpu() {
        println!("not run, because wrong kernels run on the emulated grid only");
        return None;
    }
    let path = format!("{}/{name}", folder());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} has no `{from}`");
    let beside = std::path::Path::new(&path).parent().unwrap().to_owned();
    let file = name.rsplit('/').next().unwrap();
    let source = Source::text(file, text.replace(from, to))
        .include(beside)
        .include(folder());
    Some(EmulatedGrid {
        changed: Some((name, compile(&source)?)),
        ..EmulatedGrid::default()
    })
}

/// Output and gradients of `layer`.
fn outcome(layer: &Widest, dtype: Type, grid: EmulatedGrid) -> Result<Vec<Vec<f64>>> {
    layer.with(|case| case.on(&Arc::new(grid), dtype))
}

/// Whether a mistake is seen: by a fault if it must be one.
fn check(what: &str, fault: bool, found: Result<Vec<Vec<f64>>>, expected: &[Vec<f64>]) {
    match found {
        Err(message) => println!("{what}: {message}"),
        Ok(found) => assert!(!fault && found != expected, "{what} is not seen"),
    }
}

#[test]
fn mistakes_in_the_maximum_are_seen() {
    let Some(right) = EmulatedGrid::new() else { return };
    // With more inputs than outputs the product is stored.
    let layer = Widest::new(&[5, 35], 35, 36, false);
    let expected = outcome(&layer, Type::F32, EmulatedGrid::clone(&right)).unwrap();
    for (what, from, to, fault) in [
        (
            "no barrier",
            "    __syncthreads();\n    if (threadIdx.y > 0",
            "    if (threadIdx.y > 0",
            true,
        ),
        (
            "a channel beyond the last",
            "threadIdx.y > 0 || channel >= n",
            "threadIdx.y > 0",
            true,
        ),
        ("a row too many", "r < end", "r <= end", true),
        ("the last row is left out", "r < end", "r < end - 1", false),
        (
            "another lane's row",
            "rows[k][threadIdx.x]",
            "rows[k][threadIdx.x ^ 1]",
            false,
        ),
    ] {
        let Some(grid) = changed("max_points.cu", from, to) else {
            return;
        };
        check(what, fault, outcome(&layer, Type::F32, grid), &expected);
    }
}

#[test]
fn mistakes_in_the_widest_layer_are_seen() {
    let Some(right) = EmulatedGrid::new() else { return };
    // Two tiles of a cloud, each of two chunks, so that a copy writes to a buffer that was read before.
    let layer = Widest {
        gamma: vec![1.0; 74],
        ..Widest::new(&[33, 150], 74, 72, false)
    };
    let expected = outcome(&layer, Type::Bf16, EmulatedGrid::clone(&right)).unwrap();
    for (what, header, from, to, fault) in [
        (
            "no barrier behind the copies",
            true,
            "        __pipeline_wait_prior(1);\n        __syncthreads();",
            "        __pipeline_wait_prior(1);",
            true,
        ),
        (
            "no barrier before the next copy",
            true,
            "        __syncthreads(); // The next",
            "        // The next",
            true,
        ),
        (
            "no wait for the copies",
            true,
            "        __pipeline_wait_prior(1);\n",
            "",
            true,
        ),
        (
            "rows beyond the end",
            true,
            "min(row + r, end - 1)",
            "(row + r)",
            true,
        ),
        (
            "the wrong buffer",
            true,
            "buffers + step % 2 * ROWS",
            "buffers + next % 2 * ROWS",
            true,
        ),
        (
            "another warp's channels",
            true,
            "/ WARP % 2 * 32",
            "/ WARP % 2 * 16",
            false,
        ),
        (
            "channels beyond the last",
            false,
            "channel < n && d < k",
            "d < k",
            true,
        ),
        (
            "another lane's tile",
            false,
            "values[256 + r * 16 + lane % 16]",
            "values[256 + r * 16 + (lane + 1) % 16]",
            false,
        ),
        (
            "no wait for the other lanes",
            false,
            "            __syncwarp();\n            Key key",
            "            Key key",
            true,
        ),
    ] {
        let text = std::fs::read_to_string(format!("{}/shared_mlp/product.cuh", folder())).unwrap();
        let grid = if header {
            assert!(text.contains(from), "product.cuh has no `{from}`");
            changed(
                "shared_mlp/widest.cu",
                "#include \"product.cuh\"",
                &text.replace(from, to),
            )
        } else {
            changed("shared_mlp/widest.cu", from, to)
        };
        let Some(grid) = grid else {
            return;
        };
        check(what, fault, outcome(&layer, Type::Bf16, grid), &expected);
    }
}
