//! 6.2: the policy of autocast.

use canopy::precision::Operator::{self, *};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers};

/// All operators of a check at once: two policies that agree in one rarely agree in all.
fn castings(answer: &Lesson06, operators: &[Operator]) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let pair = |&operator: &Operator| (operator, (lesson.autocast)(operator));
        Facts::default().items("castings", operators.iter().map(pair))
    };
    given(format!("{operators:?}")).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.2";
    by castings {
        casts_products_to_low_precision: "`Casting::Low`",
            "Tensor cores compute the products `Matmul`, `Linear` and `Convolution`: `Casting::Low`." =>
            |_| vec![&[Matmul, Linear, Convolution]];
        keeps_long_sums_in_fp32: "long sums",
            "A long sum loses small terms in 16 bits, or overflows: `Sum`, `Mean` and `Norm` are `Casting::Full`." =>
            |_| vec![&[Sum, Mean, Norm]];
        keeps_losses_and_norms_in_fp32: "operators made of these",
            "Softmax, the losses and both normalizations are long sums, whatever their inputs: `Casting::Full`." =>
            |_| vec![&[Softmax, CrossEntropy, MeanSquaredError, BatchNorm, LayerNorm]];
        keeps_growing_functions_in_fp32: "a far larger range",
            "exp(12) and 300² overflow fp16, and a logarithm must read tiny numbers exactly: `Casting::Full`." =>
            |_| vec![&[Exp, Log, Power]];
        promotes_to_the_widest_dtype: "`Casting::Widest`",
            "The inputs of `Add` and `Concatenate` may differ in dtype: cast to the widest, so that none loses bits." =>
            |_| vec![&[Add, Concatenate]];
        leaves_other_operators_unchanged: "`Casting::AsIs`",
            "`Relu`, `Max`, `Dropout` and `Reshape` return their inputs, or nearly: do not cast them." =>
            |_| vec![&[Relu, Max, Dropout, Reshape]];
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.2" autocast;
    1 "Every operator runs in low precision: only the products may.";
    2 "Every operator runs in fp32: then nothing is gained. The products run in low precision.";
    3 "`Low` and `Full` are exchanged: products run in low precision, long sums in fp32.";
    4 "A maximum looks at many numbers, but returns one of them and sums nothing: do not cast it.";
    5 "A loss has two inputs, but it is a long sum: it needs fp32.";
    6 "`Widest` and `AsIs` are exchanged: `Widest` is for operators with several inputs.";
};
