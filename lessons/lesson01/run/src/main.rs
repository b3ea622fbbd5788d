//! The experiment of lesson 01: your optimizer steps and L-BFGS minimise the same function.
//!
//! `cargo run -p lesson01` prints the table and writes two plots to `runs/lesson01`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson01;

mod descent;
mod lbfgs;

use std::process::ExitCode;

use anyhow::Result;
use candle_core::{Tensor, Var};
use canopy::{
    optim::{AdamConfig, AdamState},
    report::svg::{LinePlot, Mark, Series},
};
use descent::{ARRIVED, Descent, GOAL, START, STEPS, contours, descend};
use kit::{
    experiment::Report,
    table::{Table, count, json, left, scientific},
};
use lbfgs::Lbfgs;
use lesson01::{LESSON, Lesson01};

/// The learning rates that are tried for each optimizer: 1, 2 and 5 times powers of ten.
const RATES: [f64; 16] = [
    1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];

type Stepper = Box<dyn FnMut(&Var, &Tensor) -> Result<()>>;

/// An optimizer, created anew for each learning rate.
struct Method {
    name: &'static str,
    make: Box<dyn Fn(f64) -> Result<Stepper>>,
}

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson01, report: &mut Report) -> Result<()> {
    let mut table = Table::new([
        left("optimizer"),
        count("rate"),
        count("steps"),
        scientific("last loss"),
    ]);
    let mut descents = Vec::new();
    for method in methods(*answer) {
        let (rate, descent) = best(&method)?;
        let steps = descent.steps.map_or(format!("> {STEPS}"), |s| s.to_string());
        let last = descent.losses.last().copied();
        table.row(json!([method.name, rate, steps, last]));
        descents.push((method.name, descent));
    }
    let title = format!(
        "Steps to a loss below {ARRIVED}, at the best of {} learning rates\n\
         (1.3 to 1.5: the functions of lesson 01; L-BFGS: the experiment's)",
        RATES.len()
    );
    report.table("optimizers", &title, &table);
    plot(&descents, report)
}

/// The three steps of the lesson, and L-BFGS.
fn methods(answer: Lesson01) -> Vec<Method> {
    let one = |var: &Var, grad: &Tensor| ([var.clone()], [grad.clone()]);
    let sgd = move |lr| -> Result<Stepper> {
        Ok(Box::new(move |var, grad| {
            let (vars, grads) = one(var, grad);
            Ok((answer.sgd_step)(&vars, &grads, lr)?)
        }))
    };
    let momentum = move |lr| -> Result<Stepper> {
        let mut velocity = None;
        Ok(Box::new(move |var, grad| {
            let (vars, grads) = one(var, grad);
            let velocity = match &mut velocity {
                Some(v) => v,
                none => none.insert([Var::from_tensor(&grad.zeros_like()?)?]),
            };
            Ok((answer.momentum_step)(&vars, &grads, velocity, lr, 0.9)?)
        }))
    };
    let adam = move |lr| -> Result<Stepper> {
        let (mut state, config) = (None, AdamConfig::default());
        Ok(Box::new(move |var, grad| {
            let (vars, grads) = one(var, grad);
            let state = match &mut state {
                Some(s) => s,
                none => none.insert(AdamState::zeros_like(vars.iter())?),
            };
            Ok((answer.adam_step)(&vars, &grads, state, lr, &config)?)
        }))
    };
    let lbfgs = |lr| -> Result<Stepper> {
        let mut lbfgs = None;
        Ok(Box::new(move |var, grad| {
            let lbfgs = lbfgs.get_or_insert_with(|| Lbfgs::new(vec![var.clone()], 100));
            Ok(lbfgs.step(std::slice::from_ref(grad), lr)?)
        }))
    };
    vec![
        method("1.3 SGD", sgd),
        method("1.4 momentum", momentum),
        method("1.5 Adam", adam),
        method("L-BFGS", lbfgs),
    ]
}

fn method(name: &'static str, make: impl Fn(f64) -> Result<Stepper> + 'static) -> Method {
    let make = Box::new(make);
    Method { name, make }
}

/// The learning rate with the fewest steps and its descent; if none arrives, the one with the lowest last loss.
fn best(method: &Method) -> Result<(f64, Descent)> {
    let rank = |d: &Descent| {
        let last = d.losses.last().copied().filter(|l| l.is_finite());
        (d.steps.unwrap_or(usize::MAX), last.unwrap_or(f64::MAX))
    };
    let mut best = (RATES[0], descend((method.make)(RATES[0])?)?);
    for rate in RATES.into_iter().skip(1) {
        let descent = descend((method.make)(rate)?)?;
        if rank(&descent) < rank(&best.1) {
            best = (rate, descent);
        }
    }
    Ok(best)
}

fn plot(descents: &[(&str, Descent)], report: &mut Report) -> Result<()> {
    let mut paths = LinePlot::new("Paths down the valley", "x", "y").for_the_book();
    for (i, line) in contours().into_iter().enumerate() {
        let name = if i == 0 { "equal loss" } else { "" };
        paths = paths.with(Series::new(name, line).contour());
    }
    let ends = [(START, "start"), (GOAL, "goal")];
    paths.marks = ends
        .map(|([x, y], label)| Mark {
            at: (x, y),
            label: label.into(),
        })
        .into();
    paths.size.1 = 350.0;
    let mut losses = LinePlot::new("Loss after each step", "step", "loss").for_the_book();
    losses.log_y = true;
    for (name, descent) in descents {
        paths = paths.with(Series::new(*name, descent.path.clone()));
        let steps = descent.losses.iter().enumerate();
        let steps = steps.map(|(i, &l)| (i as f64, l));
        losses = losses.with(Series::new(*name, steps.collect()));
    }
    report.file("01-paths.svg", paths.svg())?;
    report.file("01-losses.svg", losses.svg())
}
