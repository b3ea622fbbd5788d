//! The filter finds the maximum of a plain search in f32, bit for bit, and computes only few products in f32.

use std::sync::{Arc, Mutex};

use candle_core::{DType, Result, Tensor};
use canopy::kernels::device::{Argument, Grid, Launcher};

use crate::cases::Widest;
use crate::common::{Values, random};
use crate::emulated::EmulatedGrid;

/// Searches with the filter, then without it.
#[derive(Debug)]
struct Compared {
    grid: Arc<EmulatedGrid>,
    /// Candidates for which the list has room; as many as the operator has if none.
    capacity: Option<u32>,
    found: Mutex<Option<Found>>,
}

/// The keys after the filter and what follows it, those of a plain search, and the number of candidates.
#[derive(Debug)]
struct Found {
    filtered: Vec<Vec<i64>>,
    plain: Vec<Vec<i64>>,
    candidates: u32,
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
        // The operands, the keys, three sizes, the number of candidates, and the capacity of their list.
        if let ("widest_f32", &[.., Argument::Tensor(keys), _, _, _, Argument::Tensor(count), _]) =
            (kernel, arguments)
        {
            let plain = keys.zeros_like()?;
            own[arguments.len() - 6] = Argument::Tensor(&plain);
            own[arguments.len() - 2] = Argument::Null;
            self.grid.launch(source, kernel, grid, &own)?;
            *self.found.lock().unwrap() = Some(Found {
                filtered: keys.to_vec2()?,
                plain: plain.to_vec2()?,
                candidates: count.to_scalar()?,
            });
        }
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
fn are_few(found: &Found, layer: &Widest) -> bool {
    let each = f64::from(found.candidates) / (layer.lengths.len() * layer.n) as f64;
    println!("{each:.1} candidates for each cloud and channel");
    (1.0..16.0).contains(&each)
}

/// What the layer computes, and whether the filter leaves few candidates.
pub fn outcome(layer: &Widest, capacity: Option<u32>, grid: &Arc<EmulatedGrid>) -> Values {
    let (mut values, found) = searched(layer, capacity, grid)?;
    values.push(vec![f64::from(u8::from(are_few(&found, layer)))]);
    Ok(values)
}

/// Full f32 values, behind a ReLU as in the network.
pub fn layer() -> Widest {
    let mut layer = Widest::new(&[33, 300], 80, 72, true);
    layer.a = random(21, layer.a.len()).iter().map(|v| v.max(0.0)).collect();
    layer.w = random(22, layer.w.len());
    layer.gamma = random(23, layer.n);
    layer
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

/// Few candidates, a maximum that takes the whole bound, a full list, and values that are no numbers: after the last two, the
/// plain search runs.
#[test]
fn the_filter_is_bit_identical_to_a_plain_search() {
    let Some(grid) = EmulatedGrid::new() else { return };
    let mut bad = layer();
    bad.a[5 * bad.k] = f32::NAN;
    bad.w[3] = f32::INFINITY;
    bad.gamma[7] = 0.0;
    let cases = [(layer(), None), (tight(), None), (layer(), Some(10)), (bad, None)];
    let found = cases.map(|(layer, capacity)| {
        let (_, found) = searched(&layer, capacity, &grid).unwrap();
        assert_eq!(found.filtered, found.plain);
        found
    });
    assert!(are_few(&found[0], &layer()));
    // A key ends in the complement of the row.
    let rows = |keys: &Vec<i64>| keys.iter().map(|key| !*key as u32).collect::<Vec<_>>();
    let rows: Vec<_> = found[1].filtered.iter().map(rows).collect();
    assert_eq!(rows, [[3; 40], [7; 40]]);
}
