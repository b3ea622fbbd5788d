//! The experiment of lesson 01: your steps and canopy's optimizers walk down the same valley.
//!
//! `cargo run -p lesson01` prints the table and writes two plots to `runs/lesson01`; `-- --reference` takes
//! canopy's functions in the place of yours, `-- --out FOLDER` another folder.

mod valley;

use std::{
    fs,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
};

use anyhow::{Context, Result};
use candle_core::{Tensor, Var};
use canopy::{
    optim::{
        AdadeltaConfig, AdagradConfig, AdamConfig, AdamState, LbfgsConfig, OptimConfig, RmspropConfig,
        SgdConfig,
    },
    report::svg::{LinePlot, Series},
};
use lesson01::{Lesson01, REFERENCE, STUDENT};
use valley::{ARRIVED, STEPS, Walk, walk};

/// The rates that are tried for each: 1, 2 and 5 times powers of ten.
const RATES: [f64; 16] = [
    1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];

type Stepper = Box<dyn FnMut(&Var, &Tensor) -> Result<()>>;

/// One way to walk, made anew for each rate.
struct Method {
    name: &'static str,
    make: Box<dyn Fn(f64) -> Result<Stepper>>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let reference = arguments.iter().any(|a| a == "--reference");
    let out = arguments.iter().position(|a| a == "--out");
    let out = match out {
        Some(at) => arguments.get(at + 1).context("--out needs a folder")?.into(),
        None => PathBuf::from("runs/lesson01"),
    };
    let (answer, whose) = if reference {
        (REFERENCE, "1.3 to 1.5")
    } else {
        (STUDENT, "yours")
    };
    println!(
        "Steps to a loss below {ARRIVED}, at the best of {} rates",
        RATES.len()
    );
    println!("({whose}: the functions of lesson 01; the others are canopy's optimizers)\n");
    println!("{:<24}{:>8}{:>10}{:>14}", "", "rate", "steps", "last loss");
    let mut walks = Vec::new();
    for method in by_hand(answer, whose).into_iter().chain(canopys()) {
        match best(&method)? {
            Some((rate, walk)) => {
                let steps = walk.steps.map_or(format!("> {STEPS}"), |s| s.to_string());
                let last = walk.losses.last().copied().unwrap_or(f64::NAN);
                println!("{:<24}{rate:>8}{steps:>10}{last:>14.1e}", method.name);
                walks.push((method.name, walk));
            }
            None => println!("{:<24}not run, because it is still to do, or panics", method.name),
        }
    }
    draw(&walks, &out)
}

/// The three steps of the lesson.
fn by_hand(answer: Lesson01, whose: &str) -> Vec<Method> {
    let names = match whose {
        "yours" => ["1.3 your SGD", "1.4 your momentum", "1.5 your Adam"],
        _ => ["1.3 SGD", "1.4 momentum", "1.5 Adam"],
    };
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
                none => none.insert(Var::from_tensor(&grad.zeros_like()?)?),
            };
            Ok((answer.momentum_step)(
                &vars,
                &grads,
                std::slice::from_ref(velocity),
                lr,
                0.9,
            )?)
        }))
    };
    let adam = move |lr| -> Result<Stepper> {
        let mut state = None;
        Ok(Box::new(move |var, grad| {
            let (vars, grads) = one(var, grad);
            let state = match &mut state {
                Some(s) => s,
                none => none.insert(AdamState::zeros_like(vars.iter())?),
            };
            Ok((answer.adam_step)(
                &vars,
                &grads,
                state,
                lr,
                &AdamConfig::default(),
            )?)
        }))
    };
    let [a, b, c] = names;
    vec![method(a, sgd), method(b, momentum), method(c, adam)]
}

fn canopys() -> Vec<Method> {
    let plain = OptimConfig::Sgd(SgdConfig {
        momentum: 0.0,
        ..SgdConfig::default()
    });
    let all = [
        ("SGD", plain),
        ("SGD, momentum 0.9", OptimConfig::sgd()),
        ("Adam", OptimConfig::adam()),
        ("Adagrad", OptimConfig::Adagrad(AdagradConfig::default())),
        ("RMSprop", OptimConfig::Rmsprop(RmspropConfig::default())),
        ("Adadelta", OptimConfig::Adadelta(AdadeltaConfig::default())),
        ("L-BFGS", OptimConfig::Lbfgs(LbfgsConfig::default())),
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

fn method(name: &'static str, make: impl Fn(f64) -> Result<Stepper> + 'static) -> Method {
    let make = Box::new(make);
    Method { name, make }
}

/// The walk with the fewest steps, and its rate; where none arrives, the one that comes lowest. Nothing of a method
/// that panics.
fn best(method: &Method) -> Result<Option<(f64, Walk)>> {
    let mut best: Option<(f64, Walk)> = None;
    for rate in RATES {
        let stepper = (method.make)(rate)?;
        let usual = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let walked = panic::catch_unwind(AssertUnwindSafe(|| walk(stepper)));
        panic::set_hook(usual);
        let Ok(walked) = walked else {
            return Ok(None);
        };
        let walked = walked?;
        let rank = |w: &Walk| {
            let last = w.losses.last().copied().filter(|l| l.is_finite());
            (w.steps.unwrap_or(usize::MAX), last.unwrap_or(f64::MAX))
        };
        if best.as_ref().is_none_or(|(_, b)| rank(&walked) < rank(b)) {
            best = Some((rate, walked));
        }
    }
    Ok(best)
}

fn draw(walks: &[(&str, Walk)], out: &PathBuf) -> Result<()> {
    let floor = (-16..=13)
        .map(|i| f64::from(i) * 0.1)
        .map(|x| (x, x * x))
        .collect();
    let mut paths =
        LinePlot::new("Paths down the valley", "x", "y").with(Series::new("valley floor", floor).dashed());
    let mut losses = LinePlot::new("Loss on the way", "step", "loss");
    (losses.log_y, paths.size, losses.size) = (true, (640.0, 400.0), (640.0, 360.0));
    // canopy's SGD, momentum and Adam go where those of the lesson go, and are drawn only in their place.
    let written = walks.iter().any(|(name, _)| name.starts_with("1."));
    let shown = walks.iter().filter(|(name, _)| match *name {
        "L-BFGS" => true,
        name if written => name.starts_with("1."),
        name => ["SGD", "SGD, momentum 0.9", "Adam"].contains(&name),
    });
    for (name, walk) in shown {
        paths = paths.with(Series::new(*name, walk.path.clone()));
        let steps = walk.losses.iter().enumerate().map(|(i, &l)| (i as f64, l));
        losses = losses.with(Series::new(*name, steps.collect()));
    }
    fs::create_dir_all(out).with_context(|| format!("the folder {}", out.display()))?;
    for (name, plot) in [("01-paths.svg", paths), ("01-losses.svg", losses)] {
        let path = out.join(name);
        fs::write(&path, plot.svg()).with_context(|| path.display().to_string())?;
        println!("\nwritten: {}", path.display());
    }
    Ok(())
}
