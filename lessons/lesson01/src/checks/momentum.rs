use grader::{Draw, Verdict, draw};

use super::steps::Steps;
use crate::Lesson01;

pub fn first_step_is_plain_sgd(answer: &Lesson01) -> Verdict {
    let steps = Steps::new(&mut draw(), 1)?;
    let case = steps.given("lr 0.25, momentum 0.9");
    (answer.momentum_step)(&steps.params, &steps.grads[0], &steps.zeros()?, 0.25, 0.9)?;
    steps.check(&case, "parameter", &steps.params, |w, g| w - 0.25 * g[0])
}

pub fn accumulates_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let (count, momentum) = (draw.whole(3, 5), draw.number(0.5, 0.8));
    check_momentum(answer, &mut draw, &vec![0.2; count], momentum, true)
}

pub fn stores_the_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let steps = Steps::new(&mut draw, 2)?;
    let (velocities, lr) = (steps.zeros()?, 0.1);
    let case = steps.given("lr 0.1, momentum 0.75");
    for grads in &steps.grads {
        (answer.momentum_step)(&steps.params, grads, &velocities, lr, 0.75)?;
    }
    steps.check(&case, "velocity", &velocities, |_, g| 0.75 * g[0] + g[1])
}

pub fn excludes_the_learning_rate_from_the_velocity(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let lr = draw.number(0.1, 0.2);
    check_momentum(answer, &mut draw, &[lr, lr / 10.0, lr / 100.0], 0.9, false)
}

fn check_momentum(answer: &Lesson01, draw: &mut Draw, rates: &[f64], momentum: f64, same: bool) -> Verdict {
    let steps = Steps::new(draw, rates.len())?;
    let rule = if same {
        ""
    } else {
        ", a tenth of it each next step"
    };
    let case = steps.given(&format!("lr {:.4}{rule}, momentum {momentum:.4}", rates[0]));
    let velocities = steps.zeros()?;
    for (grads, &lr) in steps.grads.iter().zip(rates) {
        (answer.momentum_step)(&steps.params, grads, &velocities, lr, momentum)?;
    }
    steps.check(&case, "parameter", &steps.params, |w, slopes| {
        let path = slopes.iter().zip(rates);
        let end = path.fold((w, 0.0), |(w, v), (g, lr)| {
            let v = momentum * v + g;
            (w - lr * v, v)
        });
        end.0
    })
}
