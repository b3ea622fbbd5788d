//! The filter finds the maximum of a plain search in f32, bit for bit, and computes only few products in f32.

use std::sync::{Arc, Mutex};

use candle_core::{DType, Result, Tensor};
use canopy::kernels::device::{Argument, Grid, Launcher};

use crate::case::Widest;
use crate::common::random;
use crate::emulated::EmulatedGrid;
use crate::sources::Type;

/// Compares the keys that the filter and what follows it leave with those of a plain search. Keeps the number of candidates.
#[derive(Debug)]
struct Compared {
    grid: Arc<EmulatedGrid>,
    /// Candidates for which the list has room; all if none.
    capacity: Option<u32>,
    candidates: Mutex<Option<u32>>,
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
        let (
            "widest_f32",
            [
                operands @ ..,
                Argument::Write(keys),
                n,
                k,
                parts,
                Argument::Read(count),
                capacity,
            ],
        ) = (kernel, arguments)
        else {
            return Ok(());
        };
        let expected = keys.zeros_like()?;
        let plain = [
            Argument::Write(&expected),
            *n,
            *k,
            *parts,
            Argument::Null,
            *capacity,
        ];
        self.grid
            .launch(source, kernel, grid, &[operands, &plain].concat())?;
        assert_eq!(keys.to_vec2::<i64>()?, expected.to_vec2::<i64>()?);
        *self.candidates.lock().unwrap() = Some(count.to_scalar()?);
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        self.grid.output(shape, dtype)
    }
}

/// Compares the filter with a plain search; returns the candidates for each cloud and channel.
fn compare(layer: &Widest, capacity: Option<u32>) -> Option<f64> {
    let launcher = Arc::new(Compared {
        grid: EmulatedGrid::new()?,
        capacity,
        candidates: Mutex::default(),
    });
    layer.with(|case| case.on(&launcher, Type::F32)).unwrap();
    let candidates = launcher.candidates.lock().unwrap().expect("the filter has run");
    Some(f64::from(candidates) / (layer.lengths.len() * layer.n) as f64)
}

fn layer() -> Widest {
    let mut layer = Widest::new(&[33, 300], 80, 72, true);
    // Full f32 values, behind a ReLU as in the network.
    layer.a = random(21, layer.a.len()).iter().map(|v| v.max(0.0)).collect();
    layer.w = random(22, layer.w.len());
    layer.gamma = random(23, layer.n);
    layer
}

#[test]
fn the_filter_is_bit_identical_to_a_plain_search() {
    if let Some(candidates) = compare(&layer(), None) {
        println!("{candidates:.1} candidates for each cloud and channel");
        assert!((1.0..16.0).contains(&candidates), "{candidates}");
    }
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
