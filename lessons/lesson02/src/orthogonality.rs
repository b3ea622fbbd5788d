//! 2.5: how far matrices are from orthogonal.

use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::{Lesson02, REFERENCE, answers, tensors::Input};

fn distance(answer: &Lesson02, a: Input) -> Verdict {
    a.compare(answer, |lesson, of| (lesson.orthogonality)(&of[0]))
}

fn a(numbers: Vec<f32>, clouds: usize, k: usize) -> Input {
    Input::default().with("a", numbers, &[clouds, k, k])
}

fn drawn(d: &mut Draw, clouds: usize, k: usize) -> Input {
    a(d.list(clouds * k * k, -1.9, 1.9), clouds, k)
}

/// The rows are at right angles, and their lengths are from `low` to `high`.
fn stretched(d: &mut Draw, low: f64, high: f64) -> Input {
    let of = d.list(3, low, high);
    a(vec![0.0, of[0], 0.0, of[1], 0.0, 0.0, 0.0, 0.0, of[2]], 1, 3)
}

pub const CHECKS: &[Check<Lesson02>] = rows! { "2.5";
    by distance {
        is_zero_for_rotations_and_reflections: "‖I − A·Aᵀ‖²",
            "A·Aᵀ of a rotation is I: in every cloud, I − A·Aᵀ is 0. The result is one number, of shape []." => |d| {
            let (sin, cos) = d.number(0.4, 1.2).sin_cos();
            let (sin, cos) = (sin as f32, cos as f32);
            let rotation = [cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0];
            let reflection = [0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0];
            vec![a([rotation, reflection].concat(), 2, 3)]
        };
        penalises_rows_of_length_other_than_1: "the sum of the squares of all entries",
            "Square every entry of I − A·Aᵀ, then add the squares: all of them, without a factor." => |d| vec![
                stretched(d, 1.5, 2.5),
                stretched(d, 0.3, 0.6),
                a(d.list(1, 2.0, 4.0), 1, 1),
                a(vec![0.0; 8], 2, 2),
            ];
        penalises_rows_that_are_not_orthogonal: "‖I − A·Aᵀ‖²",
            "Each entry beside the diagonal counts as well: these are 0 only if the rows are at right angles." => |d| {
            // Every row of length 1, and no two of them at a right angle.
            let angles = [d.number(0.1, 0.5), d.number(0.8, 1.2)];
            vec![a(angles.map(|a| [a.cos() as f32, a.sin() as f32]).concat(), 1, 2)]
        };
        is_the_mean_over_clouds: "averaged over the clouds",
            "Compute the sum of squares of each cloud on its own, and take the mean of the sums." => |d| {
            let k = d.whole(4, 5);
            [(3, 2), (2, k), (3, 3), (4, 1)].map(|(clouds, k)| drawn(d, clouds, k)).to_vec()
        };
        has_the_right_gradient: "Gradients flow to it",
            "Compute with tensors all the way: what is detached, or converted to numbers, has no gradient." =>
            |d| vec![drawn(d, 2, 3).gradients()];
    }
};

pub const MISTAKES: &[Mistake<Lesson02>] = mistakes! { "2.5" orthogonality;
    1 "This is A·A; the second A must be transposed.";
    2 "This is the distance of A itself from I: every rotation would be penalised.";
    3 "`-` requires equal shapes; `broadcast_sub` subtracts the matrices from the one identity.";
    4 "Only the diagonal of A·Aᵀ is used; the other entries show whether rows are orthogonal to each other.";
    5 "This is the norm; the term is its square.";
    6 "This is the mean over the entries; sum them.";
    7 "The clouds are summed; take their mean.";
    8 "This is a number for each cloud; take their mean.";
};
