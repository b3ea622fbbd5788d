//! What differs between the launches of two training steps of the same shapes. A CUDA graph would repeat all else as it was
//! captured. The launches do not depend on values, so nothing is computed here, and no compiler is needed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use candle_core::{DType, Device as Cpu, Tensor, Var};
use canopy::kernels::Pass;
use canopy::kernels::device::{Argument, Grid, Launcher, MultiTensor};
use canopy::kernels::multi_tensor::AdamStep;
use canopy::model::{PointNet, PointNetConfig};
use canopy::optim::Optimizer;
use canopy::train::{Loss, train_step};

/// Writes down what is launched: source, kernel, grid, and each argument. Of tensors, the shape.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<Vec<String>>>);

impl Launcher for Recorder {
    fn launch(
        &self,
        source: &str,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
    ) -> candle_core::Result<()> {
        let tensor = |t: &Tensor| format!("{:?} {:?}", t.dtype(), t.dims());
        let described = |argument: &Argument| match argument {
            Argument::Read(t) | Argument::Write(t) => tensor(t),
            Argument::Table(rows) => {
                let row = |row: &[Option<&Tensor>; 4]| row.map(|t| t.map(tensor));
                format!("{:?}", rows.iter().map(row).collect::<Vec<_>>())
            }
            value => format!("{value:?}"),
        };
        let mut launch = vec![kernel.to_owned(), source.to_owned(), format!("{grid:?}")];
        launch.extend(arguments.iter().map(described));
        self.0.lock().unwrap().push(launch);
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> candle_core::Result<Tensor> {
        Tensor::zeros(shape, dtype, &Cpu::Cpu)
    }
}

/// AdamW with clipped gradients, by the kernels.
struct AdamW {
    kernels: MultiTensor,
    params: Vec<Var>,
    step: u64,
}

impl Optimizer for AdamW {
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()> {
        self.step += 1;
        let step = AdamStep {
            lr,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.01,
            decoupled: true,
            step: self.step,
            gradient_factor: 1.0,
        };
        let weights: Vec<&Tensor> = self.params.iter().map(Var::as_tensor).collect();
        let grads: Vec<&Tensor> = grads.iter().collect();
        let norm = self.kernels.norm(&grads, 1.0, 1.0)?;
        // Moments have the shapes of the gradients.
        let moments = [&grads[..], &grads[..]];
        Ok(self.kernels.adam(&weights, &grads, moments, &step, Some(&norm))?)
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(Vec::new())
    }

    fn load_state(&mut self, _: &HashMap<String, Tensor>) -> Result<()> {
        Ok(())
    }
}

/// The launches of a step.
fn launches(
    model: &PointNet,
    optimizer: &mut AdamW,
    recorder: &Arc<Recorder>,
    step: u64,
) -> Vec<Vec<String>> {
    let points = Tensor::rand(-1.0f32, 1.0, (3, 20, 3), &Cpu::Cpu).unwrap();
    let labels = Tensor::new(&[0_u32, 2, 1], &Cpu::Cpu).unwrap();
    let pass = Pass::train(7, step).with_launcher(recorder.clone());
    let loss = Loss {
        orthogonality: 0.001,
        ..Loss::CROSS_ENTROPY
    };
    let rate = 0.01 / (step + 1) as f64;
    train_step(model, optimizer, (&points, &labels), &loss, &pass, rate, 0.0).unwrap();
    std::mem::take(&mut *recorder.0.lock().unwrap())
}

#[test]
fn steps_of_equal_shapes_differ_in_adams_factors_and_the_mask_of_dropout_alone() {
    let config = PointNetConfig {
        width: 16,
        classes: 3,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Cpu::Cpu, DType::F32, 1).unwrap();
    let recorder = Arc::new(Recorder::default());
    let mut optimizer = AdamW {
        kernels: MultiTensor::new(recorder.clone()),
        params: model.params().into_iter().map(|(_, var)| var).collect(),
        step: 0,
    };
    let [first, second] = [0, 1].map(|step| launches(&model, &mut optimizer, &recorder, step));
    assert!(first.len() > 100, "{} launches", first.len());
    let names = |launches: &[Vec<String>]| launches.iter().map(|l| l[0].clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), names(&second));
    let mut different = BTreeMap::new();
    for (first, second) in first.iter().zip(&second) {
        if first != second {
            *different.entry(first[0].as_str()).or_insert(0) += 1;
        }
    }
    // Adam's factors depend on the learning rate and on the number of the step, the masks on the number of the pass.
    let expected = BTreeMap::from([("adam_factors", 1), ("dropout_f32", 4)]);
    assert_eq!(different, expected);
}
