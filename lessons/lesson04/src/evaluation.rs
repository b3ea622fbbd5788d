//! 4.3: an evaluation without a graph.

use anyhow::Result;
use candle_core::DType;
use canopy::{
    kernels::Pass,
    model::Kind::{self, Full, Vanilla},
};
use grader::{Check, Facts, Mistake, Values, Verdict, draw, given, mistakes, rows};
use kit::values;

use crate::{
    Lesson04, REFERENCE, answers,
    networks::{after, network, points, tensors},
};

/// A network, its dtype, and a number of clouds.
type Input = (Kind, DType, usize);

fn evaluate(answer: &Lesson04, (kind, dtype, clouds): Input) -> Result<Facts> {
    let d = &mut draw();
    // Without dropout, a training pass shows by its statistics alone, whatever its seed is.
    let model = network(kind, dtype, d.whole(1, 10_000) as u64, 0.0)?;
    for step in 0..3 {
        model.forward(&(points(d, 6, dtype)? * 1.5)?, &Pass::train(1, step))?;
    }
    let points = points(d, clouds, dtype)?;
    let result = (answer.probabilities)(&model, &points)?;
    let all = values(&result)?;
    let facts = Facts::default()
        .text("dtype", all.dtype)
        .cause("Convert the logits to f32, then compute the softmax.")
        .values("probabilities", all)
        .items("track_op()", [result.track_op()])
        .cause("Detach the logits, or the result.");
    let facts = after(facts, tensors(model.to_map()?)?);
    let second = points.narrow(0, 1, 1)?.contiguous()?;
    let alone = (answer.probabilities)(&model, &second).and_then(|alone| Ok(values(&alone)?));
    let alone = alone.unwrap_or_else(|_| Values::from(&Vec::<f64>::new()));
    let facts = facts.values("second cloud, in a batch of its own", alone);
    Ok(facts.cause("A batch of one cloud gives [1, classes], with the same numbers as in a larger batch."))
}

fn evaluated(answer: &Lesson04, input: Input) -> Verdict {
    let (kind, dtype, clouds) = input;
    let case = given(format!(
        "a narrow {kind} PointNet in {dtype:?}, trained for 3 steps; {clouds} clouds"
    ));
    let seen = |answer| Facts::of(evaluate(answer, input), |facts| facts);
    case.same(seen(answer), seen(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.3";
    by evaluated {
        returns_probabilities_of_each_cloud: "softmax of the logits",
            "Run the network in `Pass::eval()`. The result is exp of each logit, less its row's maximum, divided by the row's sum (axis 1)." =>
            |_| vec![(Vanilla, DType::F32, 5), (Full, DType::F32, 5)];
        returns_f32_of_any_network_dtype: "whatever the network's dtype is",
            "Convert the logits to f32, then compute the softmax." => |_| vec![(Vanilla, DType::BF16, 4)];
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.3" probabilities;
    1 "These are logits; softmax turns them into probabilities.";
    2 "The softmax is over the clouds; it should be over the classes, axis 1.";
    3 "The statistics of the batch are used (a training pass). Evaluation uses the running statistics.";
};
