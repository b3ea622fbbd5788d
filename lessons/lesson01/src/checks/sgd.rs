use grader::{Verdict, draw};

use super::steps::{ALIKE, DTYPES, Kind, SHAPES, Steps};
use crate::Lesson01;

pub fn steps_down_the_gradient(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    check_sgd(answer, Steps::new(&mut draw, &ALIKE[..1], 1)?, &[0.25])?;
    check_sgd(answer, Steps::new(&mut draw, &ALIKE, 1)?, &[0.25])
}

pub fn updates_every_parameter(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    check_sgd(answer, Steps::new(&mut draw, &SHAPES, 1)?, &[0.5])?;
    // A gradient of 0 is no reason to stop.
    for i in 0..2 {
        let steps = Steps::new(&mut draw, &SHAPES, 1)?.with_gradient(0, i, 0.0)?;
        check_sgd(answer, steps, &[0.5])?;
    }
    check_sgd(answer, Steps::new(&mut draw, &SHAPES[1..2], 1)?, &[0.5])?;
    check_sgd(answer, Steps::new(&mut draw, &[] as &[Kind], 1)?, &[0.5])
}

pub fn uses_the_current_learning_rate(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let lr = (draw.number(0.01, 0.1) * 1e4).round() / 1e4;
    check_sgd(answer, Steps::new(&mut draw, &ALIKE, 3)?, &[lr, 0.0, lr / 10.0])
}

pub fn computes_in_the_dtype_of_the_parameter(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    // Beyond the range of f32.
    let steps = Steps::new(&mut draw, &DTYPES, 1)?.with_size(0, 1e40)?;
    check_sgd(answer, steps, &[0.125])?;
    // A step as long as the parameter: 0.1 in f32 is seen in f64.
    check_sgd(answer, Steps::new(&mut draw, &DTYPES[1..2], 2)?, &[0.1, 0.1])
}

fn check_sgd(answer: &Lesson01, steps: Steps, rates: &[f64]) -> Verdict {
    let steps = steps.set(format!("lr {}", super::shown(rates)));
    for (grads, &lr) in steps.grads.iter().zip(rates) {
        steps.ended((answer.sgd_step)(&steps.params, grads, lr))?;
    }
    steps.check("parameter", &steps.params, |w, slopes| {
        slopes.iter().zip(rates).fold(w, |w, (g, lr)| w - lr * g)
    })
}
