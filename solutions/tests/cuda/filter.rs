//! The filter finds the maximum of a plain search in f32, bit for bit, and computes only few products in f32.

use std::sync::{Arc, Mutex};

use candle_core::{DType, Result, Tensor};
use canopy::kernels::device::{Argument, Grid, Launcher};

use crate::cases::Widest;
use crate::common::{Values, random};
use crate::emulated::EmulatedGrid;

/// What a search leaves.
#[derive(Debug)]
struct Found {
    /// The keys after the filter and what follows it, and those of a plain search.
    keys: [Vec<Vec<i64>>; 2],
    candidates: u32,
}

/// Searches in both ways.
#[derive(Debug)]
struct Compared {
    grid: Arc<EmulatedGrid>,
    /// Candidates for which the list has room; all if none.
    capacity: Option<u32>,
    found: Mutex<Option<Found>>,
}

impl Launcher for Compared {
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        let mut own = arguments.to_vec();
        for argument in &mut own {
            if let (Argument::U32(v), Some(capacity)) = (argument, self.capacity) {
                *v = capacity;
            }
        }
        self.grid.launch(source, kernel, grid, &own)?;
        let [operands @ .., keys, n, k, parts, count, capacity] = arguments else {
            return Ok(());
        };
        let ("widest_f32", Argument::Tensor(keys), Argument::Tensor(count)) = (kernel, keys, count) else {
            return Ok(());
        };
        let expected = keys.zeros_like()?;
        let plain = [
            Argument::Tensor(&expected),
            *n,
            *k,
            *parts,
            Argument::Null,
            *capacity,
        ];
        self.grid
            .launch(source, kernel, grid, &[operands, &plain].concat())?;
        *self.found.lock().unwrap() = Some(Found {
            keys: [keys.to_vec2()?, expected.to_vec2()?],
            candidates: count.to_scalar()?,
        });
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        self.grid.output(shape, dtype)
    }
}

/// What the layer computes and what its search leaves, with room for `capacity` candidates.
fn searched(
    layer: &Widest,
    capacity: Option<u32>,
    grid: &Arc<EmulatedGrid>,
) -> Result<(Vec<Vec<f64>>, Found)> {
    let launcher = Arc::new(Compared {
        grid: grid.clone(),
        capacity,
        found: Mutex::default(),
    });
    let values = layer.case().on(&launcher, DType::F32)?;
    let found = launcher.found.lock().unwrap().take();
    Ok((values, found.expect("the filter has run")))
}

/// Whether there are as few candidates as are worth a filter: for each cloud and channel one or some.
fn are_few(candidates: u32, layer: &Widest) -> bool {
    let each = f64::from(candidates) / (layer.lengths.len() * layer.n) as f64;
    println!("{each:.1} candidates for each cloud and channel");
    (1.0..16.0).contains(&each)
}

/// What the layer computes, and whether the filter leaves few candidates.
pub fn outcome(layer: &Widest, capacity: Option<u32>, grid: &Arc<EmulatedGrid>) -> Values {
    let (mut values, found) = searched(layer, capacity, grid)?;
    values.push(vec![f64::from(u8::from(are_few(found.candidates, layer)))]);
    Ok(values)
}

/// Compares the filter with a plain search; returns the candidates.
fn compare(layer: &Widest, capacity: Option<u32>) -> Option<u32> {
    let (_, found) = searched(layer, capacity, &EmulatedGrid::new()?).unwrap();
    assert_eq!(found.keys[0], found.keys[1]);
    Some(found.candidates)
}

/// Full f32 values, behind a ReLU as in the network.
pub fn layer() -> Widest {
    let mut layer = Widest::new(&[33, 300], 80, 72, true);
    layer.a = random(21, layer.a.len()).iter().map(|v| v.max(0.0)).collect();
    layer.w = random(22, layer.w.len());
    layer.gamma = random(23, layer.n);
    layer
}

#[test]
fn the_filter_is_bit_identical_to_a_plain_search() {
    let layer = layer();
    if let Some(candidates) = compare(&layer, None) {
        assert!(are_few(candidates, &layer), "{candidates}");
    }
}

/// Clouds of points that differ by less than the filter's bound, so that each point is a candidate.
pub fn crowded() -> Widest {
    let mut layer = Widest::new(&[13, 14], 80, 72, true);
    let (one, change) = (random(41, layer.k), random(42, layer.a.len()));
    let near = |i: usize| one[i % layer.k].abs() + 1e-5 * change[i];
    layer.a = (0..layer.a.len()).map(near).collect();
    layer.w = random(43, layer.w.len());
    layer
}

/// Two clouds whose rounding to bf16 changes the order of two rows, by nearly the filter's whole bound: in the first, that
/// of the points, in the second, that of the weights.
pub fn tight() -> Widest {
    let (n, k, half) = (40, 40, 1.0 / 256.0);
    let layer = Widest::new(&[5, 6], n, k, false);
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
    Widest {
        a,
        w: (0..n * k).map(|i| weights(i / k, i % k)).collect(),
        gamma: vec![1.0; n],
        ..layer
    }
}

#[test]
fn a_maximum_that_takes_the_whole_bound_is_found() {
    let layer = tight();
    let Some(grid) = EmulatedGrid::new() else { return };
    let (_, found) = searched(&layer, None, &grid).unwrap();
    assert_eq!(found.keys[0], found.keys[1]);
    // A key ends in the complement of the row.
    let rows = found.keys[0]
        .iter()
        .map(|keys| keys.iter().map(|key| !*key as u32).collect::<Vec<_>>());
    assert_eq!(rows.collect::<Vec<_>>(), [[3; 40], [7; 40]]);
}

#[test]
fn a_full_list_or_values_that_are_no_numbers_fall_back_to_the_plain_search() {
    compare(&layer(), Some(10));
    let mut bad = layer();
    bad.a[5 * bad.k] = f32::NAN;
    bad.w[3] = f32::INFINITY;
    bad.gamma[7] = 0.0;
    compare(&bad, None);
}
