use grader::{Verdict, draw};

use super::{steps::Steps, values};
use crate::Lesson01;

pub fn steps_down_the_gradient(answer: &Lesson01) -> Verdict {
    let steps = Steps::new(&mut draw(), 1)?;
    let case = steps.given("lr 0.25");
    (answer.sgd_step)(&steps.params, &steps.grads[0], 0.25)?;
    steps.check(&case, "parameter", &steps.params, |w, g| w - 0.25 * g[0])
}

pub fn updates_every_parameter(answer: &Lesson01) -> Verdict {
    let steps = Steps::new(&mut draw(), 1)?;
    let case = steps.given("lr 0.5");
    (answer.sgd_step)(&steps.params, &steps.grads[0], 0.5)?;
    // From the last to the first: an answer that stops early is seen at the end.
    for (i, var) in steps.params.iter().enumerate().rev() {
        let moved = values(var)?.numbers != steps.start[i];
        case.require(
            &format!("parameter {}", i + 1),
            moved,
            "the value from before the step",
        )?;
    }
    Ok(())
}

pub fn uses_the_current_learning_rate(answer: &Lesson01) -> Verdict {
    let mut draw = draw();
    let steps = Steps::new(&mut draw, 2)?;
    let lr = draw.number(0.01, 0.1);
    let case = steps.given(&format!("lr {lr:.4}, then a tenth of it"));
    (answer.sgd_step)(&steps.params, &steps.grads[0], lr)?;
    (answer.sgd_step)(&steps.params, &steps.grads[1], lr / 10.0)?;
    steps.check(&case, "parameter", &steps.params, |w, g| {
        w - lr * g[0] - lr / 10.0 * g[1]
    })
}
