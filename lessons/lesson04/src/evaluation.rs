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

/// A network, its dtype, a number of clouds, and what is compared.
type Input = (Kind, DType, usize, Part);

/// Of the probabilities, those of the second cloud in a batch of its own, and the network and the graph afterwards.
type Part = fn(Values, Result<Values>, [Facts; 2]) -> Facts;

fn evaluate(answer: &Lesson04, (kind, dtype, clouds, part): Input) -> Result<Facts> {
    let d = &mut draw();
    // Without dropout, a training pass shows by its statistics alone, whatever its seed is.
    let model = network(kind, dtype, d.whole(1, 10_000) as u64, 0.0)?;
    for step in 0..3 {
        model.forward(&(points(d, 6, dtype)? * 1.5)?, &Pass::train(1, step))?;
    }
    let points = points(d, clouds, dtype)?;
    let result = (answer.probabilities)(&model, &points)?;
    let network = after(Facts::default(), tensors(model.to_map()?)?);
    let graph = Facts::default().items("track_op()", [result.track_op()]);
    let second = points.narrow(0, 1, 1)?.contiguous()?;
    let alone = (answer.probabilities)(&model, &second).and_then(|alone| Ok(values(&alone)?));
    Ok(part(values(&result)?, alone, [network, graph]))
}

fn evaluated(answer: &Lesson04, input: Input) -> Verdict {
    let (kind, dtype, clouds, _) = input;
    let batch = format!("{clouds} clouds of 8 points");
    let case = given(format!(
        "a narrow {kind} PointNet in {dtype:?}, trained for 3 steps; {batch}"
    ));
    let seen = |answer| Facts::of(evaluate(answer, input), |facts| facts);
    case.same(seen(answer), seen(&REFERENCE))
}

const ALL: Part = |all, _, _| {
    Facts::default()
        .text("dtype", all.dtype)
        .values("probabilities", all)
};
const ALONE: Part = |_, alone, _| {
    Facts::of(alone, |alone| {
        Facts::default().values("second cloud, alone", alone)
    })
};
const NETWORK: Part = |_, _, [network, _]| network;
const GRAPH: Part = |_, _, [_, graph]| graph;

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.3";
    by evaluated {
        returns_probabilities_of_each_cloud: "softmax of the logits",
            "Run the network in `Pass::eval()`; divide exp of each logit by its row's sum (axis 1); return f32." =>
            |_| vec![(Vanilla, DType::F32, 5, ALL), (Full, DType::F32, 5, ALL)];
        leaves_the_network_unchanged: "The network does not change",
            "Run the network in `Pass::eval()` alone: a training pass updates the running statistics." =>
            |_| vec![(Vanilla, DType::F32, 6, NETWORK)];
        does_not_depend_on_the_batch: "does not depend on the other clouds",
            "A batch of one cloud gives [1, classes], with the same numbers as in a larger batch." =>
            |_| vec![(Vanilla, DType::F32, 4, ALONE)];
        is_detached_from_the_graph: "detached from the graph", "Detach the logits, or the result." =>
            |_| vec![(Vanilla, DType::F32, 3, GRAPH), (Full, DType::F32, 3, GRAPH)];
        returns_f32_of_any_network_dtype: "whatever the network's dtype is",
            "Convert the logits to f32, then compute the softmax." => |_| vec![(Vanilla, DType::BF16, 4, ALL)];
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.3" probabilities;
    1 "These are logits; softmax turns them into probabilities.";
    2 "The softmax is over the clouds; it should be over the classes, axis 1.";
    3 "The statistics of the batch are used (a training pass). Evaluation uses the running statistics.";
    4 "All rows together sum to 1; each row should.";
    5 "The softmax is taken twice.";
};
