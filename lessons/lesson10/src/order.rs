//! Orders of the passes of a pipeline's stage, for the checks of 10.3 and 10.4.

use canopy::split::Action;
use grader::{Case, Draw, given};

/// Stage, stages, micro-batches.
pub type Shape = (usize, usize, usize);

/// Each stage, the second first, of pipelines with more, as many and fewer micro-batches than stages, and with a single one of each.
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
    let each = |(stages, m): (usize, usize)| (1..stages).chain([0]).map(move |stage| (stage, stages, m));
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
