//! 2.2: a layer of a shared MLP.

use candle_core::{Device, Result, Tensor, Var};
use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson02, REFERENCE, answers, tensors::Input};

fn output(lesson: &Lesson02, of: &[Var]) -> Result<Tensor> {
    (lesson.shared_layer)(&of[0], &of[1], &of[2])
}

fn layer_of(answer: &Lesson02, input: Input) -> Verdict {
    input.compare(answer, output)
}

/// How many tensors candle has numbered so far, in all threads.
fn created() -> Result<usize> {
    let id = format!("{:?}", Tensor::new(0f32, &Device::Cpu)?.id());
    let digits: String = id.chars().filter(char::is_ascii_digit).collect();
    Ok(digits.parse().unwrap_or_default())
}

const MANY: usize = 150;

fn operations(answer: &Lesson02, input: Input) -> Verdict {
    let shapes: Vec<_> = input.tensors.iter().map(|(_, _, shape)| shape).collect();
    let case = given(format!("x, w and b of shapes {shapes:?}"));
    let vars = input.vars()?;
    // A loop creates two tensors or more in each round. The least of ten counts has none of other threads.
    let mut least = usize::MAX;
    for _ in 0..10 {
        let before = created()?;
        output(answer, &vars)?;
        least = least.min(created()? - before);
    }
    let otherwise = format!("one or more for each of {MANY} clouds or points: there is a loop");
    case.require("number of candle's operations", least < MANY, otherwise)
}

/// Clouds, points, channels in and out. The greatest possible number is `size` in x, 1 in w and `bias` in b; the least
/// is `low` times that.
fn layer(d: &mut Draw, sizes: [usize; 4], low: f64, size: f64, bias: f64) -> Input {
    let [clouds, points, input, output] = sizes;
    let x = d.list(clouds * points * input, low * size, size);
    let w = d.list(output * input, low, 1.0);
    let b = d.list(output, low * bias, bias);
    let layer = Input::default().with("x", x, &[clouds, points, input]);
    layer.with("w", w, &[output, input]).with("b", b, &[output])
}

fn drawn(d: &mut Draw, sizes: [usize; 4]) -> Input {
    layer(d, sizes, -1.0, 1.0, 0.4)
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.2";
    by layer_of {
        applies_the_same_layer_to_every_point: "for every point p",
            "With b = 0 and no number below 0, the result is the rows of points times wᵀ: the ReLU changes nothing." =>
            // As many channels out as in: a weight the wrong way round has a shape that fits.
            |d| [[2, 3, 2, 3], [2, 2, 3, 3]].map(|sizes| layer(d, sizes, 0.25, 1.0, 0.0)).to_vec();
        adds_the_bias_before_relu: "relu(w·p + b)",
            "Add the bias of each channel to all points. Only then the ReLU turns all that is below 0 into exactly 0." => |d| vec![
                layer(d, [2, 3, 2, 4], 0.25, 1.0, 1.0),
                // As many points as channels: a bias along the wrong axis has a shape that fits.
                layer(d, [2, 3, 3, 3], 0.25, 1.0, 1.0),
                layer(d, [2, 3, 2, 4], -1.0, 1.0, 2.0),
                drawn(d, [2, 3, 2, 3]),
                drawn(d, [2, 2, 3, 3]),
            ];
        keeps_values_above_0: "relu(w·p + b)", "The ReLU has no upper limit: a value above 0 stays as it is." =>
            |d| [1.0, 0.01, 1e3, 1e6].map(|size| layer(d, [2, 2, 2, 2], 0.25, size, 0.0)).to_vec();
        preserves_clouds_and_points: "as `[clouds, points, out]`",
            "The result is [clouds, points, out], in the order of x, also if an axis has length 1." => |d| {
            let some = [d.whole(2, 3), d.whole(4, 5), 2, 3];
            let sizes = [some, [3, 1, 2, 4], [1, 3, 2, 4], [2, 3, 1, 2], [2, 3, 2, 1], [1, 1, 1, 1]];
            sizes.map(|sizes| drawn(d, sizes)).to_vec()
        };
        has_gradients_for_all_inputs: "Gradients flow to all three inputs",
            "Compute with tensors all the way: what is detached, or converted to numbers, has no gradient." =>
            |d| vec![drawn(d, [2, 3, 2, 3]).gradients()];
    }
    by operations {
        computes_all_points_in_one_product: "without a loop",
            "A loop goes over clouds or points. Reshape x to one matrix of all points, and multiply once." =>
            |d| vec![drawn(d, [MANY, 2, 2, 2]), drawn(d, [2, MANY, 2, 2])];
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.2" shared_layer;
    1 "The weight is not transposed: w is [out, in], and rows of points are multiplied by [in, out].";
    2 "x has three axes and w has two: make one matrix of all points first.";
    3 "`+` requires equal shapes; `broadcast_add` adds the bias to every row.";
    4 "The bias is left out.";
    5 "The ReLU is missing: values below 0 remain.";
    6 "The bias is added after the ReLU; the ReLU comes last.";
    7 "The result is [clouds × points, out]; reshape it to [clouds, points, out].";
    8 "The matrix is reshaped instead of transposed: the numbers of several points are mixed.";
    9 "A loop computes cloud after cloud. Reshape x to one matrix of all points, and multiply once.";
    10 "The weight is reshaped to [in, out], which mixes its numbers; transpose it with `w.t()?`.";
};
