//! The filter finds the maximum of a plain search in f32, bit for bit, and computes only few products in f32.

use std::sync::Arc;

use candle_core::{DType, Result};

use crate::cases::{Case, Values, random, widest};
use crate::emulated::{EmulatedGrid, Search};

/// What the layer computes and what its search leaves, with room for `capacity` candidates; for as many as the operator has if none.
fn searched(
    layer: &Case,
    capacity: Option<u32>,
    grid: &Arc<EmulatedGrid>,
) -> Result<(Vec<Vec<f64>>, Search)> {
    let grid = Arc::new(EmulatedGrid {
        capacity,
        search: Arc::default(),
        ..(**grid).clone()
    });
    let values = layer.on(&grid, DType::F32)?;
    let search = grid.search.lock().unwrap().take();
    Ok((values, search.expect("the filter has run")))
}

/// Whether there are as few candidates as are worth a filter: for each cloud and channel one or some.
fn are_few(search: &Search) -> bool {
    let each = f64::from(search.candidates) / search.keys.len() as f64;
    println!("{each:.1} candidates for each cloud and channel");
    (1.0..16.0).contains(&each)
}

/// What the layer computes, and whether the filter leaves few candidates.
pub fn outcome(layer: &Case, capacity: Option<u32>, grid: &Arc<EmulatedGrid>) -> Values {
    let (mut values, search) = searched(layer, capacity, grid)?;
    values.push(vec![f64::from(u8::from(are_few(&search)))]);
    Ok(values)
}

/// Full f32 values, behind a ReLU as in the network.
pub fn layer() -> Case {
    let mut layer = widest(&[33, 300], 80, 72, true);
    let [a, w, gamma, _] = [0, 1, 2, 3].map(|i| random(21 + i as u64, layer.inputs[i].0.len()));
    layer.inputs[0].0 = a.iter().map(|v| v.max(0.0)).collect();
    layer.inputs[1].0 = w;
    layer.inputs[2].0 = gamma;
    layer
}

/// Clouds of points that differ by less than the filter's bound, so that each point is a candidate.
pub fn crowded() -> Case {
    const K: usize = 72;
    let mut layer = widest(&[13, 14], 80, K, true);
    let (one, change) = (random(41, K), random(42, 27 * K));
    let near = |i: usize| one[i % K].abs() + 1e-5 * change[i];
    layer.inputs[0].0 = (0..27 * K).map(near).collect();
    layer.inputs[1].0 = random(43, 80 * K);
    layer
}

/// Two clouds whose rounding to bf16 changes the order of two rows, by nearly the filter's whole bound: in the first, that
/// of the points, in the second, that of the weights.
pub fn tight() -> Case {
    let (n, k, half) = (40, 40, 1.0 / 256.0);
    let mut layer = widest(&[5, 6], n, k, false);
    // The number above 1 is 1 + 2·half in bf16: `down` becomes 1, and `up` that number.
    let (down, up) = (1.0 + 0.98 * half, 1.0 + 1.02 * half);
    let of_two = |i: usize, values: [f32; 2]| values[i % 2];
    let mut a = random(31, 11 * k).iter().map(|v| v / 8.0).collect::<Vec<_>>();
    for d in 0..k {
        // The first of each two seems the greater one when it is rounded, and is not.
        a[k + d] = of_two(d, [up, 1.0]);
        a[3 * k + d] = down;
        a[5 * k + d] = of_two(d, [0.0, 1.0 - half]);
        a[7 * k + d] = of_two(d, [1.0, 0.0]);
    }
    let weights = |c: usize, d| if c < n / 2 { 1.0 } else { of_two(d, [down, up]) };
    layer.inputs[0].0 = a;
    layer.inputs[1].0 = (0..n * k).map(|i| weights(i / k, i % k)).collect();
    layer.inputs[2].0.fill(1.0);
    layer
}

/// Few candidates, a maximum that takes the whole bound, a full list, and values that are no numbers: after the last two, the
/// plain search runs. Without room for candidates, nothing but the plain search runs.
#[test]
fn the_filter_is_bit_identical_to_a_plain_search() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let mut bad = layer();
    bad.inputs[0].0[5 * 72] = f32::NAN;
    bad.inputs[1].0[3] = f32::INFINITY;
    bad.inputs[2].0[7] = 0.0;
    let cases = [(layer(), None), (tight(), None), (layer(), Some(10)), (bad, None)];
    let found = cases.map(|(layer, capacity)| {
        let [found, plain] = [capacity, Some(0)].map(|capacity| searched(&layer, capacity, &grid).unwrap().1);
        assert_eq!(found.keys, plain.keys);
        found
    });
    assert!(are_few(&found[0]));
    // A key ends in the complement of the row.
    let rows: Vec<_> = found[1].keys.iter().map(|key| !*key as u32).collect();
    assert_eq!(rows, [[3; 40], [7; 40]].concat());
}
