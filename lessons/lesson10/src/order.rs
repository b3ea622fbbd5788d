//! Orders of the passes of a pipeline's stage, for the checks of 10.3 and 10.4.

use canopy::split::Action;
use grader::{Case, Draw, Facts, Verdict, given};

/// Stage, stages, micro-batches.
pub type Shape = (usize, usize, usize);

/// Each stage of pipelines with more, as many and fewer micro-batches than stages, and with a single one of each.
pub fn shapes(d: &mut Draw) -> Vec<Shape> {
    let stages = d.whole(2, 4);
    let all = [
        (3, 6),
        (4, 4),
        (5, 2),
        (1, 3),
        (3, 1),
        (stages, stages + d.whole(1, 4)),
    ];
    let each = |(stages, m): (usize, usize)| (0..stages).map(move |stage| (stage, stages, m));
    all.into_iter().flat_map(each).collect()
}

pub fn empty(_: &mut Draw) -> Vec<Shape> {
    vec![(0, 1, 0), (0, 3, 0), (2, 3, 0)]
}

pub fn case((stage, stages, micro_batches): Shape) -> Case {
    given(format!(
        "stage {stage} of {stages}, {micro_batches} micro-batches"
    ))
}

/// `FFBFB`.
pub fn kinds(order: &[Action]) -> String {
    let kind = |action: &Action| match action {
        Action::Forward(_) => 'F',
        Action::Backward(_) => 'B',
    };
    order.iter().map(kind).collect()
}

/// Compares the micro-batches of the forward and of the backward passes.
pub fn same_numbers(shape: Shape, orders: [Vec<Action>; 2]) -> Verdict {
    let [got, expected] = orders.map(|order| {
        let (forward, backward): (Vec<_>, Vec<_>) = order
            .into_iter()
            .partition(|action| matches!(action, Action::Forward(_)));
        Facts::default()
            .values("micro-batches of the forward passes", &numbers(&forward))
            .values("micro-batches of the backward passes", &numbers(&backward))
    });
    case(shape).same(got, expected)
}

fn numbers(order: &[Action]) -> Vec<usize> {
    let number = |action: &Action| match action {
        Action::Forward(i) | Action::Backward(i) => *i,
    };
    order.iter().map(number).collect()
}
