//! The memory of a step: the largest batch that fits in a budget as counted, the memory that this batch takes when it runs,
//! and the largest batch found by trying.

use std::{cell::RefCell, collections::HashMap};

use anyhow::{Context, Result};
use candle_core::Device;
use canopy::{
    kernels::release_buffers,
    precision::FP32,
    report::svg::{LinePlot, Series},
    train::{
        Failure,
        memory::{Form, StepSize, held, measured},
    },
};
use grader::{
    cells,
    table::{Table, count, fixed, left, percent},
};
use lesson04::Lesson04;

use super::bench::Bench;

/// Points of a cloud.
pub const POINTS: usize = 256;
/// The network has a quarter of the published width.
const WIDTH: usize = 4;
/// Budgets, MiB.
const BUDGETS: [u64; 4] = [16, 32, 64, 128];
/// The first batch to try: fused, and with candle's operators, which take about fifty times as much memory.
const START: [usize; 2] = [1024, 32];

/// One budget.
pub struct Budget {
    form: Form,
    /// Bytes.
    budget: u64,
    /// Clouds and bytes by exercise 4.6.
    counted: Option<(u64, u64)>,
    /// Bytes that two steps with so many clouds held.
    measured: Option<u64>,
    /// Clouds by exercise 4.8; `None` if not even 2 clouds fit.
    tried: Option<usize>,
}

pub fn measure(answer: &Lesson04) -> Result<Vec<Budget>> {
    let mut found = Vec::new();
    // No batch is run twice: its memory does not depend on the budget.
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
        // AdamW keeps two numbers for each parameter.
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
            found.push(Budget {
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

/// The peak of the bytes that two steps held, with network and optimizer.
fn two_steps(answer: &Lesson04, form: Form, batch: usize) -> Result<u64> {
    // The pool keeps buffers of the step before, which would not be counted for this one.
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

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn name(form: Form) -> &'static str {
    match form {
        Form::Fused => "fused",
        Form::Cuda => "CUDA",
        Form::Plain => "candle's",
    }
}

pub fn table(budgets: &[Budget]) -> Table {
    let mut table = Table::new([
        left("operators"),
        fixed("budget", 0),
        count("counted"),
        fixed("takes", 1),
        fixed("measured", 1),
        percent("share", 0),
        count("by trying"),
    ]);
    for b in budgets {
        let bytes = b.counted.map(|(_, bytes)| bytes);
        let share = bytes.zip(b.measured).map(|(c, m)| c as f64 / m as f64);
        table.row(cells![
            name(b.form),
            mib(b.budget),
            b.counted.map(|(clouds, _)| clouds),
            bytes.map(mib),
            b.measured.map(mib),
            share,
            b.tried
        ]);
    }
    table
}

pub fn plot(budgets: &[Budget]) -> LinePlot {
    let mut plot = LinePlot::new("Memory of a step", "batch size", "MiB");
    for of in budgets.chunk_by(|a, b| a.form == b.form) {
        let name = name(of[0].form);
        let line = |bytes: fn(&Budget) -> Option<u64>| {
            let points = of
                .iter()
                .filter_map(|b| Some((b.counted?.0 as f64, mib(bytes(b)?))));
            points.collect::<Vec<_>>()
        };
        plot = plot
            .with(Series::new(
                format!("{name}, counted"),
                line(|b| b.counted.map(|c| c.1)),
            ))
            .with(Series::new(format!("{name}, measured"), line(|b| b.measured)).dashed());
    }
    (plot.log_x, plot.log_y) = (true, true);
    plot.for_the_book()
}
