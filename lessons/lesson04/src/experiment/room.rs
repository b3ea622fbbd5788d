//! The memory of a step: the largest batch of a budget as it is counted, what that batch takes when it runs, and the batch
//! that is found by trying.

use std::{cell::RefCell, collections::HashMap};

use anyhow::{Context, Result};
use candle_core::Device;
use canopy::{
    kernels::release_buffers,
    precision::FP32,
    train::{
        Failure,
        memory::{Form, StepSize, held, measured},
    },
};
use lesson04::Lesson04;

use super::pieces::Bench;

/// Points of a cloud.
pub const POINTS: usize = 256;
/// The network is a quarter as wide as the published one.
pub const WIDTH: usize = 4;
/// Budgets, MiB.
const BUDGETS: [u64; 4] = [16, 32, 64, 128];
/// Where the trying begins: fused, and by candle's operators, which take some fifty times as much.
const START: [usize; 2] = [1024, 32];

/// One budget.
pub struct Room {
    pub form: Form,
    pub budget: u64,
    /// By exercise 4.6: clouds, and bytes.
    pub counted: Option<(u64, u64)>,
    /// What two steps with so many clouds took.
    pub measured: Option<u64>,
    /// By exercise 4.8; none where not even 2 clouds ran.
    pub tried: Option<usize>,
}

pub fn measure(answer: &Lesson04) -> Result<Vec<Room>> {
    let mut found = Vec::new();
    // No batch is run twice: a step takes what it takes, whatever the budget.
    let known: RefCell<HashMap<(bool, usize), u64>> = RefCell::default();
    let taken = |form: Form, batch: usize| -> Result<u64> {
        let key = (form == Form::Plain, batch);
        if let Some(&bytes) = known.borrow().get(&key) {
            return Ok(bytes);
        }
        let bytes = two_steps(answer, form, batch)?;
        known.borrow_mut().insert(key, bytes);
        Ok(bytes)
    };
    for (form, start) in [Form::Fused, Form::Plain].into_iter().zip(START) {
        // AdamW keeps two numbers a parameter.
        let step = StepSize::of(
            &Bench::new(WIDTH, false, &Device::Cpu)?.model,
            POINTS,
            form,
            FP32,
            2,
        );
        for budget in BUDGETS.map(|mib| mib << 20) {
            let counted = (answer.largest_batch)(&step, budget).map(|(n, bytes)| (n, bytes.total()));
            let measured = match counted {
                Some((clouds, _)) => Some(taken(form, clouds as usize)?),
                None => None,
            };
            let error = RefCell::new(None);
            let tried = (answer.executable_batch)(start, 2, &mut |batch| match taken(form, batch) {
                Ok(bytes) if bytes > budget => Err(Failure::OutOfMemory),
                Ok(_) => Ok(()),
                Err(e) => {
                    let failure = Failure::Other(format!("{e:#}"));
                    *error.borrow_mut() = Some(e);
                    Err(failure)
                }
            });
            if let Some(error) = error.into_inner() {
                return Err(error);
            }
            found.push(Room {
                form,
                budget,
                counted,
                measured,
                tried: tried.ok(),
            });
        }
    }
    Ok(found)
}

/// Most bytes that two steps held, network and optimizer included.
fn two_steps(answer: &Lesson04, form: Form, batch: usize) -> Result<u64> {
    // Buffers of the step before wait for their next use, and would not be counted as this one's.
    release_buffers();
    let before = held().context("the experiment counts its memory")?;
    let (done, peak) = measured(|| -> Result<()> {
        let mut bench = Bench::new(WIDTH, form == Form::Plain, &Device::Cpu)?;
        let (points, labels) = bench.batch(batch, POINTS)?;
        for _ in 0..2 {
            bench.step(answer, (&points, &labels))?;
        }
        Ok(())
    });
    done?;
    Ok(peak.unwrap_or(0).saturating_sub(before))
}
