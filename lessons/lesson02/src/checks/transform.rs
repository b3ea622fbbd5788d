use candle_core::{Device, Result, Var};
use grader::{Case, Draw, Verdict, draw, given};

use super::{Loss, expected, values, wide};
use crate::Lesson02;

/// `[clouds, k, k]`, one cloud after another.
struct Matrices {
    numbers: Vec<f32>,
    clouds: usize,
    k: usize,
}

impl Matrices {
    fn drawn(draw: &mut Draw, clouds: usize, k: usize) -> Self {
        let numbers = draw.list(clouds * k * k, -0.9, 0.9);
        Self { numbers, clouds, k }
    }

    fn shape(&self) -> [usize; 3] {
        [self.clouds, self.k, self.k]
    }

    fn case(&self, name: &str, shape: &[usize]) -> Case {
        given(format!("{name} {shape:?} {:?}", self.numbers)).at_scale(1.0)
    }

    fn var(&self, shape: &[usize]) -> Result<Var> {
        Var::from_slice(&self.numbers, shape, &Device::Cpu)
    }

    /// I − A·Aᵀ of each cloud.
    fn off(&self) -> Vec<f64> {
        let (k, a) = (self.k, wide(&self.numbers));
        let mut off = Vec::new();
        for a in a.chunks(k * k) {
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
        let (clouds, k) = (self.clouds, self.k);
        let case = self.case("x", &[clouds, k * k]);
        let one = |(at, x): (usize, f64)| if at % (k * k) % (k + 1) == 0 { x + 1.0 } else { x };
        let matrices = wide(&self.numbers).into_iter().enumerate().map(one).collect();
        let x = self.var(&[clouds, k * k])?;
        let got = (answer.to_matrix)(&x, k)?;
        case.close("matrices", values(&got)?, expected(matrices, &self.shape()))
    }

    fn check_distance(&self, answer: &Lesson02) -> Verdict {
        let case = self.case("a", &self.shape());
        let squares: f64 = self.off().iter().map(|v| v * v).sum();
        let a = self.var(&self.shape())?;
        let got = (answer.orthogonality)(&a)?;
        case.close("distance", values(&got)?, (squares / self.clouds as f64) as f32)
    }
}

pub fn is_the_identity_for_zero_output(answer: &Lesson02) -> Verdict {
    for (clouds, k) in [(1, 3), (2, draw().whole(4, 6))] {
        let numbers = vec![0.0; clouds * k * k];
        Matrices { numbers, clouds, k }.check_matrix(answer)?;
    }
    Ok(())
}

pub fn fills_matrices_row_by_row(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    Matrices::drawn(&mut draw, 1, 3).check_matrix(answer)?;
    Matrices::drawn(&mut draw, 1, 4).check_matrix(answer)
}

pub fn gives_each_cloud_its_own_matrix(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    Matrices::drawn(&mut draw, 2, 3).check_matrix(answer)?;
    Matrices::drawn(&mut draw, 3, 2).check_matrix(answer)
}

pub fn passes_the_gradient_to_its_input(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let matrices = Matrices::drawn(&mut draw, 2, 3);
    let (case, var) = (matrices.case("x", &[2, 9]), matrices.var(&[2, 9])?);
    let loss = Loss::new(&mut draw, &[2, 3, 3]);
    let gradient = loss.weights.clone();
    loss.check(
        &case,
        "gradient of x",
        &(answer.to_matrix)(&var, 3)?,
        &var,
        gradient,
    )
}

pub fn is_zero_for_rotations_and_reflections(answer: &Lesson02) -> Verdict {
    let (sin, cos) = draw().number(0.4, 1.2).sin_cos();
    let (sin, cos) = (sin as f32, cos as f32);
    #[rustfmt::skip]
    let numbers = vec![
        cos, -sin, 0.0,   sin, cos, 0.0,   0.0, 0.0, 1.0,
        0.0, 1.0, 0.0,    0.0, 0.0, -1.0,  1.0, 0.0, 0.0,
    ];
    let turned = Matrices {
        numbers,
        clouds: 2,
        k: 3,
    };
    turned.check_distance(answer)
}

pub fn penalises_rows_of_length_other_than_1(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for (low, high) in [(1.5, 2.5), (0.3, 0.6)] {
        let mut numbers = vec![0.0; 9];
        for at in [1, 3, 8] {
            numbers[at] = draw.list(1, low, high)[0];
        }
        Matrices {
            numbers,
            clouds: 1,
            k: 3,
        }
        .check_distance(answer)?;
    }
    Ok(())
}

pub fn penalises_rows_that_are_not_orthogonal(answer: &Lesson02) -> Verdict {
    // Every row of length 1, and no two of them at a right angle.
    let mut draw = draw();
    let angles = [(0.1, 0.5), (0.8, 1.2)].map(|(low, high)| draw.number(low, high));
    let numbers = angles
        .iter()
        .flat_map(|a| [a.cos() as f32, a.sin() as f32])
        .collect();
    let leaning = Matrices {
        numbers,
        clouds: 1,
        k: 2,
    };
    leaning.check_distance(answer)
}

pub fn is_the_mean_over_clouds(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    Matrices::drawn(&mut draw, 3, 2).check_distance(answer)?;
    let k = draw.whole(4, 5);
    Matrices::drawn(&mut draw, 2, k).check_distance(answer)
}

pub fn has_the_right_gradient(answer: &Lesson02) -> Verdict {
    let matrices = Matrices::drawn(&mut draw(), 2, 3);
    let (case, a) = (matrices.case("a", &[2, 3, 3]), wide(&matrices.numbers));
    let off = matrices.off();
    // The gradient is −4·(I − A·Aᵀ)·A, by the number of clouds.
    let mut gradient = Vec::new();
    for cloud in 0..2 {
        let (off, a) = (&off[cloud * 9..][..9], &a[cloud * 9..][..9]);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|c| off[i * 3 + c] * a[c * 3 + j]).sum();
                gradient.push(-4.0 * product / 2.0);
            }
        }
    }
    let var = matrices.var(&[2, 3, 3])?;
    let grads = (answer.orthogonality)(&var)?.sum_all()?.backward()?;
    match grads.get(&var) {
        Some(grad) => case.close("gradient of a", values(grad)?, expected(gradient, &[2, 3, 3])),
        None => case.require("gradient of a", false, "none: the result does not depend on it"),
    }
}
