use std::f64::consts::TAU;

use candle_core::{DType, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::{Input, check_grads, rejects, values};
use crate::Lesson12;

/// Means, logarithms of standard deviations, and targets.
struct Rows([Input; 3]);

const NAMES: [&str; 3] = ["mean", "log_std", "target"];

impl Rows {
    fn new(mean: &[f64], log_std: &[f64], target: &[f64]) -> Self {
        Self([mean, log_std, target].map(|list| Input::new(list, &[list.len()])))
    }

    fn drawn(draw: &mut Draw, n: usize) -> Self {
        let [mean, log_std, target] =
            [(-2.0, 2.0), (-1.2, 0.9), (-2.0, 2.0)].map(|(low, high)| super::wide(&draw.list(n, low, high)));
        Self::new(&mean, &log_std, &target)
    }

    fn with(self, dtype: DType) -> Self {
        Self(self.0.map(|input| input.with(dtype)))
    }

    fn vars(&self) -> Result<[Var; 3]> {
        let [mean, log_std, target] = &self.0;
        Ok([mean.var()?, log_std.var()?, target.var()?])
    }

    fn case(&self) -> Case {
        let texts: Vec<String> = self.0.iter().zip(NAMES).map(|(i, name)| i.text(name)).collect();
        given(texts.join(", ")).at_scale(1.0)
    }

    /// (μ, ln σ, y) of each row.
    fn rows(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        let [mean, log_std, target] = &self.0;
        (0..mean.numbers.len()).map(move |i| [mean, log_std, target].map(|list| list.numbers[i]))
    }

    fn loss(&self) -> f64 {
        let n = self.0[0].numbers.len() as f64;
        self.rows().map(nll).sum::<f64>() / n
    }

    /// Of the mean loss, by μ, ln σ and y.
    fn gradients(&self) -> [Vec<f64>; 3] {
        let n = self.0[0].numbers.len() as f64;
        let z = |[m, s, y]: [f64; 3]| (y - m) * (-s).exp();
        let by_y = |row: [f64; 3]| z(row) * (-row[1]).exp() / n;
        [
            self.rows().map(|row| -by_y(row)).collect(),
            self.rows().map(|row| (1.0 - z(row).powi(2)) / n).collect(),
            self.rows().map(by_y).collect(),
        ]
    }

    fn check(&self, answer: &Lesson12) -> Verdict {
        let case = self.case();
        let [mean, log_std, target] = self.vars()?;
        let got = (answer.gaussian_nll)(&mean, &log_std, &target)?;
        let dtype = self.0[0].dtype.as_str();
        case.close(
            "loss",
            values(&got)?,
            Values::tensor(vec![self.loss()], &[], dtype),
        )
    }
}

fn nll([mean, log_std, target]: [f64; 3]) -> f64 {
    0.5 * TAU.ln() + log_std + 0.5 * ((target - mean) * (-log_std).exp()).powi(2)
}

pub fn measures_the_distance_in_units_of_the_deviation(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for distance in [3.0, -2.0] {
        let mean = draw.list(1, -2.0, 2.0)[0].into();
        for log_std in [-1.0, 0.75, 0.25] {
            Rows::new(&[mean], &[log_std], &[mean + distance]).check(answer)?;
        }
    }
    Ok(())
}

pub fn includes_the_constant_and_the_deviation(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // At the mean, the other two terms are all there is.
    for log_std in [0.0, -0.5, 1.25, -2.0] {
        let mean = draw.list(1, -2.0, 2.0)[0].into();
        Rows::new(&[mean], &[log_std], &[mean]).check(answer)?;
    }
    Ok(())
}

pub fn averages_over_the_targets(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for n in [2, 5, 1, 33] {
        Rows::drawn(&mut draw, n).check(answer)?;
    }
    Ok(())
}

fn check_gradients(answer: &Lesson12, rows: &Rows) -> Verdict {
    let case = rows.case();
    let vars = rows.vars()?;
    let [mean, log_std, target] = &vars;
    let loss = (answer.gaussian_nll)(mean, log_std, target)?;
    check_grads(&case, &loss, &NAMES, &vars, rows.gradients())
}

pub fn has_the_gradients_of_the_formula(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for n in [4, 1] {
        check_gradients(answer, &Rows::drawn(&mut draw, n))?;
    }
    Ok(())
}

pub fn stays_finite_for_extreme_deviations(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let mean: f64 = draw.list(1, 1.0, 2.0)[0].into();
    // e^±120 is infinite or 0 in f32.
    for log_std in [60.0, -60.0, 50.0, -50.0] {
        Rows::new(&[mean], &[log_std], &[mean]).check(answer)?;
    }
    Rows::new(&[mean], &[60.0], &[mean + 5.0]).check(answer)?;
    // Some two σ away, both far below what is often added to σ.
    Rows::new(&[1.5], &[-16.0], &[1.5 + 2f64.powi(-22)]).check(answer)
}

pub fn keeps_gradients_finite_for_extreme_deviations(answer: &Lesson12) -> Verdict {
    let mean: f64 = draw().list(1, 1.0, 2.0)[0].into();
    for log_std in [-60.0, 60.0, -50.0] {
        check_gradients(answer, &Rows::new(&[mean], &[log_std], &[mean]))?;
    }
    Ok(())
}

pub fn keeps_the_dtype_of_its_inputs(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // In f32, the target would be the mean.
    Rows::new(&[1.5], &[-20.0], &[1.5 + 1e-9])
        .with(DType::F64)
        .check(answer)?;
    for dtype in [DType::F32, DType::F64] {
        Rows::drawn(&mut draw, 3).with(dtype).check(answer)?;
    }
    check_gradients(answer, &Rows::drawn(&mut draw, 3).with(DType::F64))
}

pub fn rejects_shapes_that_differ(answer: &Lesson12) -> Verdict {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &candle_core::Device::Cpu);
    let cases: [[&[usize]; 3]; 5] = [
        [&[3], &[3], &[2]],
        [&[3], &[3], &[1]],
        [&[1], &[3], &[3]],
        [&[3], &[1], &[3]],
        [&[3], &[3], &[3, 1]],
    ];
    for shapes in cases {
        let case = given(format!(
            "mean {:?}, log_std {:?}, target {:?}",
            shapes[0], shapes[1], shapes[2]
        ));
        let [mean, log_std, target] = [zeros(shapes[0])?, zeros(shapes[1])?, zeros(shapes[2])?];
        rejects(&case, (answer.gaussian_nll)(&mean, &log_std, &target))?;
    }
    Ok(())
}
