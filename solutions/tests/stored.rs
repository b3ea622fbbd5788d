//! What the operators of the CUDA kernels keep for the backward pass, against the count of `canopy plan --device cuda`. The
//! kernels do not run: which tensors are kept does not depend on their values.
//!
//! One test, because the allocator counts the whole process.

#![allow(clippy::unwrap_used)] // a test may panic

use std::alloc::System;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use canopy::kernels::device::{Argument, Grid, Launcher};
use canopy::kernels::{Lowering, Pass, cross_entropy};
use canopy::model::{Kind, PointNet, PointNetConfig, orthogonality};
use canopy::precision::{Autocast, BF16, FP16, FP32};
use canopy::train::memory::{Counted, Form, StepSize, held, step_bytes};

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

/// Allocates outputs, and launches nothing.
#[derive(Debug)]
struct Nothing;

impl Launcher for Nothing {
    fn launch(&self, _: &str, _: &str, _: Grid, _: &[Argument]) -> Result<()> {
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::zeros(shape, dtype, &Device::Cpu)
    }
}

const CLOUDS: usize = 16;
const POINTS: usize = 512;

/// Bytes that a forward pass and its loss keep, the points included.
fn kept(model: &PointNet, lowering: Option<Arc<dyn Lowering>>) -> u64 {
    let before = held().unwrap();
    let points = Tensor::zeros((CLOUDS, POINTS, 3), DType::F32, &Device::Cpu).unwrap();
    let labels = Tensor::zeros(CLOUDS, DType::U32, &Device::Cpu).unwrap();
    let pass = Pass::train(1, 0)
        .lowered(lowering)
        .with_launcher(Arc::new(Nothing));
    let output = model.forward(&points, &pass).unwrap();
    let loss = cross_entropy(&output.logits, &labels, 0.1, None).unwrap();
    let penalty = output
        .feature_transform
        .as_ref()
        .map(|t| orthogonality(t).unwrap());
    let kept = held().unwrap() - before;
    drop((loss, penalty, output, pass));
    kept
}

#[test]
fn the_kernels_keep_what_is_counted() {
    for kind in [Kind::Vanilla, Kind::Full] {
        let config = PointNetConfig {
            kind,
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, &Device::Cpu, DType::F32, 1).unwrap();
        for (format, dtype) in [(FP32, None), (BF16, Some(DType::BF16)), (FP16, Some(DType::F16))] {
            let lowering = dtype.map(|dtype| Arc::new(Autocast::real(dtype)) as Arc<dyn Lowering>);
            let size = StepSize::of(&model, POINTS, Form::Cuda, format, 2);
            let counted = step_bytes(&size, CLOUDS as u64).activations;
            // Casts of the weights are counted with the parameters.
            let casts = dtype.map_or(0, |_| 2 * size.parameters);
            // Some passes also allocate what libraries keep per thread, such as the packing buffers of candle's matrix products,
            // whose size depends on the CPU. Each thread does so once.
            let passes = 2 * rayon::current_num_threads() + 2;
            let least = (0..passes).map(|_| kept(&model, lowering.clone())).min();
            let kept = least.unwrap() - casts;
            let share = counted as f64 / kept as f64;
            println!(
                "{kind}, {}: counted {counted} of {kept} bytes, {share:.3}",
                format.name
            );
            // The kernels also keep W·S of each layer before a maximum, which does not grow with the batch.
            assert!((0.9..1.01).contains(&share), "{kind}, {}: {share}", format.name);
        }
    }
}
