//! What differs between the launches of two training steps of the same shapes. A CUDA graph would repeat all else as it was
//! captured. The launches do not depend on values, so nothing is computed here, and no compiler is needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use candle_core::{DType, Device as Cpu, Result, Tensor};
use canopy::kernels::device::{Argument, Constants, Grid, Launcher, MultiTensor};
use canopy::model::Kind;
use canopy::train::{Loss, short::Learner};

use crate::step::{AdamW, batch, small};

/// Writes down what is launched: kernel, source, grid, and each argument. Of tensors, the shape.
#[derive(Debug, Default)]
struct Recorder {
    launches: Mutex<Vec<Vec<String>>>,
    constants: Constants,
}

impl Launcher for Recorder {
    fn launch(&self, source: &str, kernel: &str, grid: Grid, arguments: &[Argument]) -> Result<()> {
        let tensor = |t: &Tensor| format!("{:?} {:?}", t.dtype(), t.dims());
        let described = |argument: &Argument| match argument {
            Argument::Tensor(t) => tensor(t),
            Argument::Table(rows) => {
                let row = |row: &[Option<&Tensor>; 4]| row.map(|t| t.map(tensor));
                format!("{:?}", rows.iter().map(row).collect::<Vec<_>>())
            }
            value => format!("{value:?}"),
        };
        let mut launch = vec![kernel.to_owned(), source.to_owned(), format!("{grid:?}")];
        launch.extend(arguments.iter().map(described));
        self.launches.lock().unwrap().push(launch);
        Ok(())
    }

    fn output(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::zeros(shape, dtype, &Cpu::Cpu)
    }

    fn constant(&self, values: &[i32], device: &Cpu) -> Result<Tensor> {
        self.constants.tensor(values, device)
    }
}

#[test]
fn steps_of_equal_shapes_differ_in_adams_factors_and_the_mask_of_dropout_alone() {
    let (model, recorder) = (small(Kind::Full), Arc::new(Recorder::default()));
    let optimizer = AdamW::new(&model, Some(MultiTensor::new(recorder.clone())));
    let loss = Loss {
        orthogonality: 0.001,
        ..Loss::CROSS_ENTROPY
    };
    let mut learner = Learner {
        launcher: Some(recorder.clone()),
        ..Learner::new(model, Box::new(optimizer), loss)
    };
    let labels = Tensor::new(&[0_u32, 2, 1], &Cpu::Cpu).unwrap();
    let [(first, uploads), (second, all_uploads)] = [0, 1].map(|step| {
        let rate = 0.01 / (step + 1) as f64;
        learner.step((&batch(step, 3), &labels), rate).unwrap();
        let launches = std::mem::take(&mut *recorder.launches.lock().unwrap());
        (launches, recorder.constants.uploads())
    });
    // The second step finds on the device what the first one uploaded.
    assert!(uploads > 0 && all_uploads == uploads, "{uploads}, {all_uploads}");
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
