//! Operators on the emulated grid or on a GPU, compared with their references on the CPU.

use std::sync::{Arc, Mutex};
use std::thread;

use candle_core::{DType, Device as Cpu};

use crate::cases::{Bound, Case, Values, close, rounded};
use crate::emulated::{EmulatedGrid, device};

/// The dtypes in which the kernels have a form.
pub const DTYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The tolerance of a result that is rounded to `dtype` once, as a fraction of the greatest value.
fn tolerance_of(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 1.0 / 256.0,
        DType::F16 => 1.0 / 1024.0,
        _ => 1e-5,
    }
}

/// Prints the line from which `tests/gpu` takes an error: it is relative, and `share` of its tolerance.
pub fn report(what: &str, dtype: &str, error: f64, share: f64) {
    println!("error {what} {} {error:.1e} {share:.3}", dtype.to_lowercase());
}

/// Calls `check` with each of `items`, on as many threads as there are cores.
pub fn each_in_parallel<T: Send>(items: Vec<T>, check: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = next() {
                    check(item);
                }
            });
        }
    });
}

impl Case {
    /// A pass on the emulated grid, or on the GPU under test.
    pub fn on(&self, launcher: &Arc<EmulatedGrid>, dtype: DType) -> Values {
        let pass = self.pass().with_launcher(launcher.clone());
        self.outcome(dtype, dtype, device(), &pass)
    }

    /// Compares what the operator launches with its references on the CPU.
    pub fn check(&self, launcher: &Arc<EmulatedGrid>, dtype: DType) {
        let Bound {
            roundings,
            tolerance,
            references,
        } = self.bound;
        let found = self.on(launcher, dtype).unwrap();
        let mut worst = (0.0, 0.0);
        for &form in references {
            let pass = self.pass().plain(form == DType::F64);
            let expected = self.outcome(dtype, form, &Cpu::Cpu, &pass).unwrap();
            assert_eq!(found.len(), expected.len());
            for (i, (found, mut expected)) in found.iter().zip(expected).enumerate() {
                // Vectors and losses are f32.
                let vector = match i.checked_sub(1) {
                    None => found.len() == 1,
                    Some(i) => self.inputs.get(i).is_none_or(|(_, shape)| shape.len() == 1),
                };
                if roundings == 0.0 {
                    let values: Vec<f32> = expected.iter().map(|&v| v as f32).collect();
                    expected = rounded(dtype, &values).into_iter().map(f64::from).collect();
                }
                let of_dtype = tolerance_of(if vector { DType::F32 } else { dtype });
                let allowed = (roundings * of_dtype).max(tolerance);
                let (name, sizes) = (self.name, &self.sizes);
                let what = format!("{name}, {sizes}, {dtype:?}: tensor {i} against {form:?} on the CPU");
                let error = close(&what, found, &expected, allowed);
                if error / allowed >= worst.1 {
                    worst = (error, error / allowed);
                }
            }
        }
        let (error, share) = worst;
        report(
            &format!("operators::{}", self.name),
            &format!("{dtype:?}"),
            error,
            share,
        );
    }
}
