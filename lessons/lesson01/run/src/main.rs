//! The experiment of lesson 01: your optimizer steps and canopy's optimizers minimise the same function.
//!
//! `cargo run -p lesson01` prints the table and writes two plots to `runs/lesson01`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson01;

mod adaptive;
mod descent;
mod lbfgs;

use std::process::ExitCode;

use adaptive::{Adaptive, adadelta, adagrad, rmsprop};
use anyhow::Result;
use candle_core::{Tensor, Var};
use canopy::{
    optim::{AdamConfig, AdamState, OptimConfig, SgdConfig},
    report::svg::{LinePlot, Mark, Series},
};
use descent::{ARRIVED, Descent, GOAL, START, STEPS, contours, descend};
use grader::{
    cells,
    experiment::Report,
    table::{Table, count, left, scientific},
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
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson01, report: &mut Report) -> Result<()> {
    let mut table = Table::new([
        left("optimizer"),
        count("rate"),
        count("steps"),
        scientific("last loss"),
    ]);
    let mut descents = Vec::new();
    let methods = [of_the_lesson(*answer), canopys(), others()];
    for method in methods.into_iter().flatten() {
        let (rate, descent) = best(&method)?;
        let steps = descent.steps.map_or(format!("> {STEPS}"), |s| s.to_string());
        let last = descent.losses.last().copied();
        table.row(cells![method.name, rate, steps, last]);
        descents.push((method.name, descent));
    }
    let title = format!(
        "Steps to a loss below {ARRIVED}, at the best of {} learning rates\n\
         (1.3 to 1.5: the functions of lesson 01; the others are canopy's and the experiment's)",
        RATES.len()
    );
    report.table("optimizers", &title, &table);
    plot(&descents, report);
    Ok(())
}

/// The three steps of the lesson.
fn of_the_lesson(answer: Lesson01) -> Vec<Method> {
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
    vec![
        method("1.3 SGD", sgd),
        method("1.4 momentum", momentum),
        method("1.5 Adam", adam),
    ]
}

fn canopys() -> Vec<Method> {
    let plain = OptimConfig::Sgd(SgdConfig::with_momentum(0.0));
    let all = [
        ("SGD", plain),
        ("SGD, momentum 0.9", OptimConfig::sgd()),
        ("Adam", OptimConfig::adam()),
    ];
    let one = |(name, config): (&'static str, OptimConfig)| {
        method(name, move |lr| {
            let (config, mut optimizer) = (config.clone(), None);
            Ok(Box::new(move |var, grad| {
                let optimizer = match &mut optimizer {
                    Some(o) => o,
                    none => none.insert(config.build(vec![("at".into(), var.clone())])?),
                };
                optimizer.step(std::slice::from_ref(grad), lr)
            }))
        })
    };
    all.map(one).into()
}

/// Those that canopy does not have.
fn others() -> Vec<Method> {
    let one = |name, rule| {
        method(name, move |lr| {
            let mut optimizer = None;
            Ok(Box::new(move |var, grad| {
                let optimizer = match &mut optimizer {
                    Some(o) => o,
                    none => none.insert(Adaptive::new(rule, var)?),
                };
                Ok(optimizer.step(var, grad, lr)?)
            }))
        })
    };
    let lbfgs = method("L-BFGS", |lr| {
        let mut lbfgs = None;
        Ok(Box::new(move |var, grad| {
            let lbfgs = lbfgs.get_or_insert_with(|| Lbfgs::new(vec![var.clone()], 100));
            Ok(lbfgs.step(std::slice::from_ref(grad), lr)?)
        }))
    });
    vec![
        one("Adagrad", adagrad as fn(&_, &_) -> _),
        one("RMSprop", rmsprop),
        one("Adadelta", adadelta),
        lbfgs,
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

fn plot(descents: &[(&str, Descent)], report: &mut Report) {
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
    // The SGD, momentum and Adam of canopy take the same path as those of the lesson.
    let shown = descents
        .iter()
        .filter(|(name, _)| *name == "L-BFGS" || name.starts_with("1."));
    for (name, descent) in shown {
        paths = paths.with(Series::new(*name, descent.path.clone()));
        let steps = descent.losses.iter().enumerate();
        let steps = steps.map(|(i, &l)| (i as f64, l));
        losses = losses.with(Series::new(*name, steps.collect()));
    }
    report.file("01-paths.svg", paths.svg());
    report.file("01-losses.svg", losses.svg());
}
