use canopy::precision::{Casting, Operator};
use grader::{Verdict, given};

use crate::Lesson06;

fn all(answer: &Lesson06, operators: &[Operator], expected: Casting) -> Verdict {
    for &operator in operators {
        let case = given(format!("{operator:?}"));
        let got = (answer.autocast)(operator);
        case.equal("the casting", got, expected)?;
    }
    Ok(())
}

pub fn casts_products_to_low_precision(answer: &Lesson06) -> Verdict {
    let products = [Operator::Matmul, Operator::Linear, Operator::Convolution];
    all(answer, &products, Casting::Low)
}

pub fn keeps_long_sums_in_fp32(answer: &Lesson06) -> Verdict {
    all(
        answer,
        &[Operator::Sum, Operator::Mean, Operator::Norm],
        Casting::Full,
    )
}

pub fn keeps_losses_and_norms_in_fp32(answer: &Lesson06) -> Verdict {
    let made_of_sums = [
        Operator::Softmax,
        Operator::CrossEntropy,
        Operator::MeanSquaredError,
        Operator::BatchNorm,
        Operator::LayerNorm,
    ];
    all(answer, &made_of_sums, Casting::Full)
}

pub fn keeps_growing_functions_in_fp32(answer: &Lesson06) -> Verdict {
    all(
        answer,
        &[Operator::Exp, Operator::Log, Operator::Power],
        Casting::Full,
    )
}

pub fn promotes_to_the_widest_dtype(answer: &Lesson06) -> Verdict {
    all(answer, &[Operator::Add, Operator::Concatenate], Casting::Widest)
}

pub fn leaves_other_operators_unchanged(answer: &Lesson06) -> Verdict {
    let rest = [
        Operator::Relu,
        Operator::Max,
        Operator::Dropout,
        Operator::Reshape,
    ];
    all(answer, &rest, Casting::AsIs)
}
