//! The memory of a step: the largest batch that fits in a budget as counted, the memory that this batch takes when it runs,
//! and the largest batch found by trying.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::{Pass, release_buffers},
    model::{Kind, PointNet, PointNetConfig},
    optim::OptimConfig,
    precision::FP32,
    train::{
        Failure, Loss,
        memory::{Form, StepSize, held, measured},
    },
};
use canopy_data::Philox;
use kit::table::{Table, count, fixed, json, left, percent};
use lesson04::Lesson04;

/// Points of a cloud.
pub const POINTS: usize = 256;
/// Budgets, MiB.
const BUDGETS: [u64; 4] = [16, 32, 64, 128];

/// A row for each kind of operators and each budget. The last column is the batch of exercise 4.8, empty if not even 2
/// clouds fit.
pub fn table(answer: &Lesson04) -> Result<Table> {
    let mut table = Table::new([
        left("operators"),
        fixed("budget", 0),
        count("counted"),
        fixed("takes", 1),
        fixed("measured", 1),
        percent("share", 0),
        count("by trying"),
    ]);
    // The first steps of a process allocate buffers that it keeps.
    two_steps(answer, false, 64)?;
    // The first batch to try: candle's operators take about fifty times as much memory.
    for (name, form, start) in [("fused", Form::Fused, 1024), ("candle's", Form::Plain, 32)] {
        // AdamW keeps two numbers for each parameter.
        let step = StepSize::of(&network()?, POINTS, form, FP32, 2);
        // No batch is run twice: its memory does not depend on the budget.
        let mut known = HashMap::new();
        let mut taken = |batch: usize| -> Result<u64> {
            if let Some(&bytes) = known.get(&batch) {
                return Ok(bytes);
            }
            let bytes = two_steps(answer, form == Form::Plain, batch)?;
            known.insert(batch, bytes);
            Ok(bytes)
        };
        for budget in BUDGETS.map(|mib| mib << 20) {
            let counted = (answer.largest_batch)(&step, budget);
            let measured = counted.map(|(clouds, _)| taken(clouds as usize)).transpose()?;
            let mut attempt = |batch| match taken(batch) {
                Ok(bytes) if bytes > budget => Err(Failure::OutOfMemory),
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::Other(format!("{error:#}"))),
            };
            let tried = match (answer.executable_batch)(start, 2, &mut attempt) {
                Ok(clouds) => Some(clouds),
                Err(Failure::OutOfMemory) => None,
                Err(Failure::Other(why)) => bail!(why),
            };
            let bytes = counted.map(|(_, bytes)| bytes.total());
            table.row(json!([
                name,
                mib(budget),
                counted.map(|(clouds, _)| clouds),
                bytes.map(mib),
                measured.map(mib),
                bytes.zip(measured).map(|(c, m)| c as f64 / m as f64),
                tried
            ]));
        }
    }
    Ok(table)
}

/// A vanilla PointNet of a quarter of the published width.
fn network() -> Result<PointNet> {
    let config = PointNetConfig {
        kind: Kind::Vanilla,
        width: 4,
        ..PointNetConfig::default()
    };
    PointNet::new(&config, &Device::Cpu, DType::F32, 1)
}

/// The peak of the bytes that two steps by exercise 4.2 held, with network and optimizer.
fn two_steps(answer: &Lesson04, plain: bool, batch: usize) -> Result<u64> {
    // The pool keeps buffers of the step before, which would not be counted for this one.
    release_buffers();
    let before = held().context("the experiment counts its memory")?;
    let (done, peak) = measured(|| -> Result<()> {
        let model = network()?;
        let mut optimizer = OptimConfig::adamw().build(model.params())?;
        let mut random = Philox::new(1, batch as u64);
        let numbers = (0..batch * POINTS * 3).map(|_| random.uniform() * 2.0 - 1.0);
        let points = Tensor::from_iter(numbers, &Device::Cpu)?.reshape((batch, POINTS, 3))?;
        let classes = model.config().classes;
        let labels = Tensor::from_iter((0..batch).map(|i| (i % classes) as u32), &Device::Cpu)?;
        for step in 0..2 {
            let pass = Pass::train(1, step).plain(plain);
            let data = (&points, &labels);
            (answer.train_step)(
                &model,
                &mut *optimizer,
                data,
                &Loss::CROSS_ENTROPY,
                &pass,
                1e-3,
                1.0,
            )?;
        }
        Ok(())
    });
    done?;
    Ok(peak.unwrap_or(0).saturating_sub(before))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
