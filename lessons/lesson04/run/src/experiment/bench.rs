//! The devices of this machine, and training steps by the functions of the run.

use anyhow::{Result, anyhow};
use candle_core::{DType, Device, Tensor};
use canopy::{
    device,
    kernels::Pass,
    model::{Kind, PointNet, PointNetConfig},
    optim::{OptimConfig, Optimizer},
    train::Loss,
};
use canopy_data::Philox;
use lesson04::Lesson04;

/// The devices of this machine.
pub struct Devices {
    /// Name and device, the CPU first.
    pub all: Vec<(String, Device)>,
    /// The device that exercise 4.1 chose for `auto`, in words.
    pub said: String,
}

pub fn devices(answer: &Lesson04) -> Result<Devices> {
    let mut opened = None;
    let settled = (answer.choose_device)("auto", &mut |n| {
        opened = Some(device::open(n)?);
        Ok(())
    });
    let settled = settled.map_err(|why| anyhow!(why))?;
    let mut all = vec![("cpu".to_owned(), Device::Cpu)];
    let said = match (settled.cuda, opened) {
        (Some(n), Some(device)) => {
            all.push((format!("cuda:{n}"), device));
            format!("cuda:{n}.")
        }
        _ => format!(
            "the CPU: {}. Not run on a GPU.",
            settled.reason.unwrap_or_else(|| "no reason was given".into())
        ),
    };
    Ok(Devices { all, said })
}

/// A vanilla PointNet, its optimizer, and random clouds.
pub struct Bench {
    pub model: PointNet,
    optimizer: Box<dyn Optimizer>,
    step: u64,
    plain: bool,
}

impl Bench {
    pub fn new(width: usize, plain: bool, device: &Device) -> Result<Self> {
        let config = PointNetConfig {
            kind: Kind::Vanilla,
            width,
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, device, DType::F32, 1)?;
        Ok(Self {
            optimizer: OptimConfig::adamw().build(model.params())?,
            model,
            step: 0,
            plain,
        })
    }

    /// Random clouds `[clouds, points, 3]` and labels.
    pub fn batch(&self, clouds: usize, points: usize) -> Result<(Tensor, Tensor)> {
        let mut random = Philox::new(1, clouds as u64);
        let numbers = (0..clouds * points * 3).map(|_| random.uniform() * 2.0 - 1.0);
        let labels = (0..clouds).map(|i| (i % self.model.config().classes) as u32);
        let device = self.model.device();
        Ok((
            Tensor::from_vec(numbers.collect::<Vec<f32>>(), (clouds, points, 3), &device)?,
            Tensor::from_vec(labels.collect::<Vec<u32>>(), clouds, &device)?,
        ))
    }

    /// One step by exercise 4.2. Returns the loss, which the device may still be computing.
    pub fn step(&mut self, answer: &Lesson04, (points, labels): (&Tensor, &Tensor)) -> Result<Tensor> {
        let pass = Pass::train(1, self.step).plain(self.plain);
        self.step += 1;
        let optimizer = &mut *self.optimizer;
        let (loss, _) = (answer.train_step)(
            &self.model,
            optimizer,
            (points, labels),
            &Loss::CROSS_ENTROPY,
            &pass,
            1e-3,
            1.0,
        )?;
        Ok(loss)
    }
}
