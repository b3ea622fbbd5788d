use grader::{Case, Draw, Verdict, draw, given};

use super::{Input, Loss, check_grad, values};
use crate::Lesson02;

/// `[clouds, k, k]`, one cloud after another.
struct Matrices {
    input: Input,
    clouds: usize,
    k: usize,
}

impl Matrices {
    fn new(numbers: &[f32], clouds: usize, k: usize) -> Self {
        let input = Input::new(numbers, &[clouds, k, k]);
        Self { input, clouds, k }
    }

    fn drawn(draw: &mut Draw, clouds: usize, k: usize) -> Self {
        Self::new(&draw.list(clouds * k * k, -1.9, 1.9), clouds, k)
    }

    fn in_f64(self) -> Self {
        let input = self.input.in_f64();
        Self { input, ..self }
    }

    /// `[clouds, k·k]`.
    fn rows(&self) -> Input {
        let shape = vec![self.clouds, self.k * self.k];
        Input {
            shape,
            ..self.input.clone()
        }
    }

    /// I − A·Aᵀ of each cloud.
    fn off(&self) -> Vec<f64> {
        let k = self.k;
        let mut off = Vec::new();
        for a in self.input.numbers.chunks(k * k) {
            for i in 0..k {
                for j in 0..k {
                    let product: f64 = (0..k).map(|c| a[i * k + c] * a[j * k + c]).sum();
                    off.push(if i == j { 1.0 } else { 0.0 } - product);
                }
            }
        }
        off
    }

    fn check_matrix(&self, answer: &Lesson02) -> Verdict {
        let (x, k) = (self.rows(), self.k);
        let case = given(format!("k = {k}, {}", x.text("x"))).at_scale(1.0);
        let one = |(at, x): (usize, &f64)| if at % (k * k) % (k + 1) == 0 { x + 1.0 } else { *x };
        let matrices = x.numbers.iter().enumerate().map(one).collect();
        let var = x.var()?;
        let got = (answer.to_matrix)(&var, k)?;
        case.close("matrices", values(&got)?, x.expected(matrices, &self.input.shape))
    }

    fn case(&self) -> Case {
        given(self.input.text("a")).at_scale(1.0)
    }

    fn check_distance(&self, answer: &Lesson02) -> Verdict {
        let case = self.case();
        let squares: f64 = self.off().iter().map(|v| v * v).sum();
        let a = self.input.var()?;
        let got = (answer.orthogonality)(&a)?;
        let expected = self.input.expected(vec![squares / self.clouds as f64], &[]);
        case.close("distance", values(&got)?, expected)
    }
}

pub fn is_the_identity_for_zero_output(answer: &Lesson02) -> Verdict {
    for (clouds, k) in [(1, 3), (2, draw().whole(4, 6)), (2, 1)] {
        Matrices::new(&vec![0.0; clouds * k * k], clouds, k).check_matrix(answer)?;
    }
    Ok(())
}

pub fn fills_matrices_row_by_row(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for k in [3, 4, 1, 2] {
        Matrices::drawn(&mut draw, 1, k).check_matrix(answer)?;
    }
    Ok(())
}

pub fn gives_each_cloud_its_own_matrix(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for (clouds, k) in [(2, 3), (3, 2), (3, 3), (5, 1)] {
        Matrices::drawn(&mut draw, clouds, k).check_matrix(answer)?;
    }
    Ok(())
}

pub fn passes_the_gradient_to_its_input(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let x = Matrices::drawn(&mut draw, 2, 3).rows();
    let (case, var) = (given(x.text("k = 3, x")).at_scale(1.0), x.var()?);
    let loss = Loss::new(&mut draw, &[2, 3, 3]);
    let result = (answer.to_matrix)(&var, 3)?;
    loss.check(&case, "gradient of x", &result, &var, loss.weights.clone())
}

pub fn adds_in_the_dtype_of_x(answer: &Lesson02) -> Verdict {
    Matrices::drawn(&mut draw(), 2, 3).in_f64().check_matrix(answer)
}

pub fn is_zero_for_rotations_and_reflections(answer: &Lesson02) -> Verdict {
    let (sin, cos) = draw().number(0.4, 1.2).sin_cos();
    let (sin, cos) = (sin as f32, cos as f32);
    #[rustfmt::skip]
    let numbers = [
        cos, -sin, 0.0,   sin, cos, 0.0,   0.0, 0.0, 1.0,
        0.0, 1.0, 0.0,    0.0, 0.0, -1.0,  1.0, 0.0, 0.0,
    ];
    Matrices::new(&numbers, 2, 3).check_distance(answer)
}

pub fn penalises_rows_of_length_other_than_1(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for (low, high) in [(1.5, 2.5), (0.3, 0.6)] {
        let mut numbers = [0.0; 9];
        for at in [1, 3, 8] {
            numbers[at] = draw.list(1, low, high)[0];
        }
        Matrices::new(&numbers, 1, 3).check_distance(answer)?;
    }
    // One number, and none.
    Matrices::new(&[draw.list(1, 2.0, 4.0)[0]], 1, 1).check_distance(answer)?;
    Matrices::new(&[0.0; 8], 2, 2).check_distance(answer)
}

pub fn penalises_rows_that_are_not_orthogonal(answer: &Lesson02) -> Verdict {
    // Every row of length 1, and no two of them at a right angle.
    let mut draw = draw();
    let angles = [(0.1, 0.5), (0.8, 1.2)].map(|(low, high)| draw.number(low, high));
    let numbers = angles.map(|a| [a.cos() as f32, a.sin() as f32]);
    Matrices::new(numbers.as_flattened(), 1, 2).check_distance(answer)
}

pub fn is_the_mean_over_clouds(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let k = draw.whole(4, 5);
    for (clouds, k) in [(3, 2), (2, k), (3, 3), (4, 1)] {
        Matrices::drawn(&mut draw, clouds, k).check_distance(answer)?;
    }
    Ok(())
}

/// The gradient is −4·(I − A·Aᵀ)·A, by the number of clouds.
fn check_gradient(answer: &Lesson02, matrices: &Matrices) -> Verdict {
    let (a, off, k) = (&matrices.input.numbers, matrices.off(), matrices.k);
    let mut gradient = Vec::new();
    for (off, a) in off.chunks(k * k).zip(a.chunks(k * k)) {
        for i in 0..k {
            for j in 0..k {
                let product: f64 = (0..k).map(|c| off[i * k + c] * a[c * k + j]).sum();
                gradient.push(-4.0 * product / matrices.clouds as f64);
            }
        }
    }
    let (case, var) = (matrices.case(), matrices.input.var()?);
    let loss = (answer.orthogonality)(&var)?.sum_all()?;
    check_grad(&case, "gradient of a", &loss, &var, gradient)
}

pub fn has_the_right_gradient(answer: &Lesson02) -> Verdict {
    check_gradient(answer, &Matrices::drawn(&mut draw(), 2, 3))
}

pub fn computes_in_the_dtype_of_a(answer: &Lesson02) -> Verdict {
    Matrices::drawn(&mut draw(), 2, 3).in_f64().check_distance(answer)
}
