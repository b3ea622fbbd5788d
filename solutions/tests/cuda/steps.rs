//! Ten steps of the trainer in each precision and an evaluation, against those of the CPU.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use candle_core::{DType, Device as Cpu, Tensor};
use canopy::kernels::{Lowering, cross_entropy, device::Launcher};
use canopy::model::Kind;
use canopy::optim::OptimConfig;
use canopy::precision::{Autocast, GradScaler, LossScaling, Precision};
use canopy::train::{Loss, short::Learner};

use crate::common::{flat, greatest, report};
use crate::emulated::{EmulatedGrid, device};
use crate::step::{evaluate, network, points};

const STEPS: u64 = 10;

/// The greatest relative difference of a loss. Rounding differs, and grows from step to step.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 => 1e-4,
        Precision::Tf32 | Precision::Fp16 => 1e-2,
        Precision::Bf16 => 4e-2,
    }
}

/// The losses of ten steps on the device under test, or without a `grid` on the CPU; then the loss of an evaluation in the same
/// precision.
fn losses(kind: Kind, precision: Precision, grid: Option<&Arc<EmulatedGrid>>) -> Result<Vec<f64>> {
    let place = grid.map_or(&Cpu::Cpu, |_| device());
    let emulated = grid.filter(|_| place.is_cpu());
    let (width, sizes) = match device().is_cpu() {
        true => (16, [8, 12]),
        false => (2, [32, 256]),
    };
    // The emulated grid has the formats of a GPU, over tensors of the CPU.
    let real = |dtype| Some(Arc::new(Autocast::real(dtype)) as Arc<dyn Lowering>);
    let lowering = match precision {
        Precision::Tf32 if emulated.is_some() => None,
        Precision::Bf16 if emulated.is_some() => real(DType::BF16),
        Precision::Fp16 if emulated.is_some() => real(DType::F16),
        precision => precision.lowering(place),
    };
    let model = network(kind, width, place);
    let optimizer = OptimConfig::adamw().build(model.params())?;
    let scaler = LossScaling::Auto.scaler(precision);
    let mut learner = Learner {
        clip: 1.0,
        lowering,
        scaler: scaler.map(|rule| Box::new(GradScaler::new(rule)) as _),
        // On a GPU, the trainer finds its kernels itself.
        launcher: emulated.map(|grid| grid.clone() as Arc<dyn Launcher>),
        ..Learner::new(model, optimizer, Loss::USUAL)
    };
    let labels = Tensor::from_iter((0..sizes[0] as u32).map(|i| i % 3), place)?;
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let loss = learner.step((&points(step, sizes, place), &labels), 1e-4)?;
        losses.extend(flat(&loss));
    }
    let logits = evaluate(&learner, &points(STEPS, sizes, place), None);
    losses.extend(flat(&cross_entropy(&logits, &labels, 0.1, None)?));
    Ok(losses)
}

fn compare(kind: Kind, precision: Precision) {
    // On a GPU, tf32 is a setting of the whole process.
    static ALONE: Mutex<()> = Mutex::new(());
    let lock = || ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _alone = device().is_cuda().then(lock);
    let Some(grid) = EmulatedGrid::new() else { return };
    let grid = grid.in_tf32(precision == Precision::Tf32);
    let found = losses(kind, precision, Some(&grid)).unwrap();
    candle_core::cuda::set_gemm_reduced_precision_f32(false);
    assert!(
        !device().is_cpu() || grid.is_used(),
        "a pass in {precision} launches no kernels"
    );
    let expected = losses(kind, precision, None).unwrap();
    let worst = greatest(found.iter().zip(&expected).map(|(f, e)| (f - e).abs() / e.abs()));
    let allowed = tolerance(precision);
    assert!(
        worst <= allowed,
        "{kind}, {precision}: losses differ by {worst:e}, tolerance {allowed:e}\nfound    {found:?}\nexpected {expected:?}"
    );
    report(
        "steps::ten_steps",
        &format!("{kind}/{precision}"),
        worst,
        worst / allowed,
    );
}

#[test]
fn ten_steps_of_the_full_network_match_the_cpu() {
    for precision in Precision::ALL {
        compare(Kind::Full, precision);
    }
}

#[test]
fn ten_steps_of_the_vanilla_network_match_the_cpu() {
    for precision in Precision::ALL {
        compare(Kind::Vanilla, precision);
    }
}
