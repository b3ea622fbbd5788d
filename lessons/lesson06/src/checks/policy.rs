use canopy::precision::{Casting, Operator};
use grader::{Verdict, given};

use crate::Lesson06;

fn all(answer: &Lesson06, operators: &[Operator], expected: Casting) -> Verdict {
    for &operator in operators {
        let got = (answer.autocast)(operator);
        given(format!("{operator:?}")).holds(
            &format!("{expected:?}"),
            got == expected,
            format!("{got:?}"),
        )?;
    }
    Ok(())
}

pub fn lowers_products(answer: &Lesson06) -> Verdict {
    let products = [Operator::Matmul, Operator::Linear, Operator::Convolution];
    all(answer, &products, Casting::Low)
}

pub fn keeps_long_sums_whole(answer: &Lesson06) -> Verdict {
    all(
        answer,
        &[Operator::Sum, Operator::Mean, Operator::Norm],
        Casting::Full,
    )
}

pub fn keeps_losses_and_norms_whole(answer: &Lesson06) -> Verdict {
    let made_of_sums = [
        Operator::Softmax,
        Operator::CrossEntropy,
        Operator::MeanSquaredError,
        Operator::BatchNorm,
        Operator::LayerNorm,
    ];
    all(answer, &made_of_sums, Casting::Full)
}

pub fn keeps_functions_that_grow_whole(answer: &Lesson06) -> Verdict {
    all(
        answer,
        &[Operator::Exp, Operator::Log, Operator::Power],
        Casting::Full,
    )
}

pub fn takes_the_widest_where_tensors_meet(answer: &Lesson06) -> Verdict {
    all(answer, &[Operator::Add, Operator::Concatenate], Casting::Widest)
}

pub fn leaves_the_rest_as_it_is(answer: &Lesson06) -> Verdict {
    let rest = [
        Operator::Relu,
        Operator::Max,
        Operator::Dropout,
        Operator::Reshape,
    ];
    all(answer, &rest, Casting::AsIs)
}
