use grader::{Verdict, draw};

use super::steps::{ALIKE, DTYPES, Kind, SHAPES, Steps};
use crate::Lesson01;

/// What is compared after the steps.
#[derive(PartialEq)]
enum Compared {
    Parameters,
    Velocities,
    Both,
}
use Compared::*;

pub fn first_step_is_plain_sgd(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    for kinds in [&ALIKE[..1], &ALIKE] {
        check_momentum(
            answer,
            Steps::new(&mut draw, kinds, 1)?,
            &[(0.25, 0.9)],
            Parameters,
        )?;
    }
    Ok(())
}

pub fn accumulates_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let momentum = (draw.number(0.5, 0.8) * 1e3).round() / 1e3;
    let steps = Steps::new(&mut draw, &ALIKE, 3)?;
    check_momentum(answer, steps, &[(0.2, momentum); 3], Parameters)
}

pub fn stores_the_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let steps = Steps::new(&mut draw, &ALIKE, 2)?;
    check_momentum(answer, steps, &[(0.1, 0.75); 2], Velocities)?;
    check_momentum(answer, Steps::new(&mut draw, &SHAPES, 5)?, &[(0.1, 0.9); 5], Both)
}

pub fn excludes_the_learning_rate_from_the_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let lr = (draw.number(0.1, 0.2) * 1e3).round() / 1e3;
    let rates = [(lr, 0.9), (lr / 10.0, 0.9), (lr / 100.0, 0.9)];
    check_momentum(answer, Steps::new(&mut draw, &ALIKE, 3)?, &rates, Both)?;
    let rates = [(lr, 0.9), (0.0, 0.9), (lr, 0.9)];
    check_momentum(answer, Steps::new(&mut draw, &ALIKE, 3)?, &rates, Both)
}

pub fn moves_on_without_a_gradient(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    check_momentum(answer, Steps::new(&mut draw, &SHAPES, 1)?, &[(0.5, 0.9)], Both)?;
    // Without a gradient, the velocity still moves the parameter, and falls.
    for i in 0..3 {
        let steps = Steps::new(&mut draw, &SHAPES, 3)?.with_gradient(1, i, 0.0)?;
        check_momentum(answer, steps, &[(0.5, 0.9); 3], Both)?;
    }
    let steps = Steps::new(&mut draw, &SHAPES, 2)?.with_gradient(0, 0, 0.0)?;
    check_momentum(answer, steps, &[(0.5, 0.9); 2], Both)?;
    check_momentum(
        answer,
        Steps::new(&mut draw, &[] as &[Kind], 1)?,
        &[(0.5, 0.9)],
        Both,
    )
}

pub fn uses_the_current_momentum(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let settings = [(0.1, 0.9), (0.1, 0.0), (0.1, 0.5), (0.1, 1.0)];
    check_momentum(answer, Steps::new(&mut draw, &ALIKE, 4)?, &settings, Both)?;
    check_momentum(answer, Steps::new(&mut draw, &ALIKE, 2)?, &[(0.1, 0.0); 2], Both)
}

pub fn keeps_the_dtype_of_the_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let steps = Steps::new(&mut draw, &DTYPES, 2)?.with_size(0, 1e40)?;
    check_momentum(answer, steps, &[(0.125, 0.5); 2], Both)?;
    check_momentum(
        answer,
        Steps::new(&mut draw, &DTYPES[1..2], 3)?,
        &[(0.1, 0.9); 3],
        Both,
    )
}

/// `settings` are lr and μ of each step.
fn check_momentum(answer: &Lesson01, steps: Steps, settings: &[(f64, f64)], compared: Compared) -> Verdict {
    let (rates, momenta): (Vec<f64>, Vec<f64>) = settings.iter().copied().unzip();
    let steps = steps.set(format!(
        "lr {}, momentum {}",
        super::shown(&rates),
        super::shown(&momenta)
    ));
    let velocities = steps.filled(0.0)?;
    for (grads, &(lr, momentum)) in steps.grads.iter().zip(settings) {
        steps.ended((answer.momentum_step)(
            &steps.params,
            grads,
            &velocities,
            lr,
            momentum,
        ))?;
    }
    let end = |w: f64, slopes: &[f64]| {
        let path = slopes.iter().zip(settings);
        path.fold((w, 0.0), |(w, v), (g, (lr, momentum))| {
            let v = momentum * v + g;
            (w - lr * v, v)
        })
    };
    if compared != Velocities {
        steps.check("parameter", &steps.params, |w, g| end(w, g).0)?;
    }
    if compared != Parameters {
        steps.check("velocity of parameter", &velocities, |w, g| end(w, g).1)?;
    }
    Ok(())
}
