use std::f64::consts::TAU;

use candle_core::{DType, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::{Input, check_grads, rejects, values};
use crate::Lesson12;

/// Logits, means, logarithms of standard deviations, [n, k], and targets, [n].
#[derive(Clone)]
struct Mixtures {
    parts: [Input; 3],
    target: Input,
}

const NAMES: [&str; 4] = ["logits", "mean", "log_std", "target"];

impl Mixtures {
    fn new(k: usize, parts: [&[f64]; 3], target: &[f64]) -> Self {
        let n = target.len();
        Self {
            parts: parts.map(|list| Input::new(list, &[n, k])),
            target: Input::new(target, &[n]),
        }
    }

    fn drawn(draw: &mut Draw, n: usize, k: usize) -> Self {
        let mut list = |count, low, high| super::wide(&draw.list(count, low, high));
        let (logits, mean) = (list(n * k, -1.5, 1.5), list(n * k, -2.0, 2.0));
        let (log_std, target) = (list(n * k, -0.9, 0.6), list(n, -2.0, 2.0));
        Self::new(k, [&logits, &mean, &log_std], &target)
    }

    fn with(self, dtype: DType) -> Self {
        Self {
            parts: self.parts.map(|p| p.with(dtype)),
            target: self.target.with(dtype),
        }
    }

    fn inputs(&self) -> [&Input; 4] {
        let [logits, mean, log_std] = &self.parts;
        [logits, mean, log_std, &self.target]
    }

    fn vars(&self) -> Result<[Var; 4]> {
        let [a, b, c, d] = self.inputs();
        Ok([a.var()?, b.var()?, c.var()?, d.var()?])
    }

    fn case(&self) -> Case {
        let inputs = self.inputs().into_iter().zip(NAMES);
        let texts: Vec<String> = inputs.map(|(i, name)| i.text(name)).collect();
        given(texts.join(", ")).at_scale(1.0)
    }

    /// Loss and gradients by logits, means, ln σ and targets, from responsibilities.
    fn expected(&self) -> (f64, [Vec<f64>; 4]) {
        let (n, k) = (self.parts[0].shape[0], self.parts[0].shape[1]);
        let mut loss = 0.0;
        let mut grads = [vec![0.0; n * k], vec![0.0; n * k], vec![0.0; n * k], vec![0.0; n]];
        for (row, &y) in self.target.numbers.iter().enumerate() {
            let at = |part: usize, j: usize| self.parts[part].numbers[row * k + j];
            let logits: Vec<f64> = (0..k).map(|j| at(0, j)).collect();
            let all = log_sum(&logits);
            let z = |j: usize| (y - at(1, j)) * (-at(2, j)).exp();
            let term = |j: usize| at(0, j) - all - 0.5 * TAU.ln() - at(2, j) - 0.5 * z(j).powi(2);
            let terms: Vec<f64> = (0..k).map(term).collect();
            let whole = log_sum(&terms);
            loss -= whole / n as f64;
            for j in 0..k {
                let share = (terms[j] - whole).exp() / n as f64;
                let by_mean = -share * z(j) * (-at(2, j)).exp();
                grads[0][row * k + j] = (logits[j] - all).exp() / n as f64 - share;
                grads[1][row * k + j] = by_mean;
                grads[2][row * k + j] = share * (1.0 - z(j).powi(2));
                grads[3][row] -= by_mean;
            }
        }
        (loss, grads)
    }

    fn check(&self, answer: &Lesson12) -> Verdict {
        let case = self.case();
        let [logits, mean, log_std, target] = self.vars()?;
        let got = (answer.mixture_nll)(&logits, &mean, &log_std, &target)?;
        let expected = Values::tensor(vec![self.expected().0], &[], self.target.dtype.as_str());
        case.close("loss", values(&got)?, expected)
    }

    fn check_gradients(&self, answer: &Lesson12) -> Verdict {
        let case = self.case();
        let vars = self.vars()?;
        let [logits, mean, log_std, target] = &vars;
        let loss = (answer.mixture_nll)(logits, mean, log_std, target)?;
        check_grads(&case, &loss, &NAMES, &vars, self.expected().1)
    }
}

fn log_sum(list: &[f64]) -> f64 {
    let top = list.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + list.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

pub fn is_the_density_of_one_gaussian_for_k_1(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let mean: f64 = draw.list(1, -2.0, 2.0)[0].into();
    for (log_std, distance) in [(-1.0, 3.0), (0.75, -2.0), (0.25, 0.0), (-2.0, 0.0)] {
        Mixtures::new(1, [&[0.0], &[mean], &[log_std]], &[mean + distance]).check(answer)?;
    }
    let logit = draw.list(1, 0.5, 2.0)[0].into();
    Mixtures::new(1, [&[logit], &[mean], &[-0.25]], &[mean + 0.5]).check(answer)
}

pub fn sums_the_densities_of_the_components(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // Equal weights.
    for k in [2, 3, 2] {
        let mut mixtures = Mixtures::drawn(&mut draw, 1, k);
        mixtures.parts[0].numbers.fill(0.0);
        mixtures.check(answer)?;
    }
    Ok(())
}

pub fn weights_components_by_the_softmax(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for k in [2, 4] {
        let mixtures = Mixtures::drawn(&mut draw, 1, k);
        mixtures.check(answer)?;
        // The softmax does not change if all logits grow alike.
        let mut shifted = mixtures.clone();
        shifted.parts[0].numbers.iter_mut().for_each(|v| *v += 2.5);
        shifted.check(answer)?;
    }
    // A tiny weight, e^-40, of the only component that is near.
    let mean: f64 = draw.list(1, -1.0, 1.0)[0].into();
    Mixtures::new(
        2,
        [&[25.0, -15.0], &[mean, mean + 14.0], &[0.0, 0.0]],
        &[mean + 14.0],
    )
    .check(answer)
}

pub fn averages_over_the_rows(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (n, k) in [(3, 2), (2, 3), (3, 3), (17, 4), (4, 1)] {
        Mixtures::drawn(&mut draw, n, k).check(answer)?;
    }
    Ok(())
}

pub fn has_the_gradients_of_the_mixture(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (n, k) in [(2, 3), (1, 2), (3, 1)] {
        Mixtures::drawn(&mut draw, n, k).check_gradients(answer)?;
    }
    // Two equal components have equal gradients.
    let mut equal = Mixtures::drawn(&mut draw, 1, 2);
    equal
        .parts
        .iter_mut()
        .for_each(|part| part.numbers[1] = part.numbers[0]);
    equal.check_gradients(answer)
}

pub fn stays_finite_far_from_every_component(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for sigmas in [30.0, -100.0, 10_000.0] {
        let logit: f64 = draw.list(1, -1.0, 1.0)[0].into();
        let mixtures = Mixtures::new(
            2,
            [&[logit, 0.0], &[-0.5, 1.0], &[0.25, -0.5]],
            &[sigmas * f64::exp(0.25)],
        );
        mixtures.check(answer)?;
        mixtures.check_gradients(answer)?;
    }
    // One row of several: the maximum is the row's own.
    let mixtures = Mixtures::new(
        2,
        [
            &[0.5, 0.0, 0.25, 0.0],
            &[-0.5, 1.0, 0.0, 1.0],
            &[0.25, -0.5, 0.0, 0.0],
        ],
        &[0.25, 500.0],
    );
    mixtures.check(answer)?;
    mixtures.check_gradients(answer)
}

pub fn stays_finite_for_large_logits(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let mean: f64 = draw.list(1, -1.0, 1.0)[0].into();
    for logits in [
        [200.0, 199.0],
        [10_000.0, 9_999.0],
        [-10_000.0, -9_999.0],
        [10_000.0, -10_000.0],
    ] {
        // The second component alone would be likely.
        let mixtures = Mixtures::new(2, [&logits, &[mean, 2.0], &[-0.25, 0.25]], &[mean + 0.5]);
        // A sum of large logits is rounded to a thousandth in f32.
        let rough = |v: Values| Values::tensor(v.numbers, &v.shape, "f16");
        let (loss, grads) = mixtures.expected();
        let case = mixtures.case();
        let vars = mixtures.vars()?;
        let got = (answer.mixture_nll)(&vars[0], &vars[1], &vars[2], &vars[3])?;
        case.close("loss", rough(values(&got)?), rough(loss.into()))?;
        let of_logits = got.backward()?.get(&vars[0]).map(values).transpose()?;
        let none = || Values::tensor(Vec::new(), &[0], "f32");
        let expected = Values::tensor(grads[0].clone(), &[1, 2], "f16");
        case.close(
            "gradient of logits",
            rough(of_logits.unwrap_or_else(none)),
            expected,
        )?;
    }
    Ok(())
}

pub fn keeps_the_dtype_of_the_mixture(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    // In f32, the target would be the first mean.
    let near = Mixtures::new(2, [&[0.0, 0.0], &[1.5, 1.5], &[-20.0, -20.0]], &[1.5 + 1e-9]);
    near.with(DType::F64).check(answer)?;
    Mixtures::drawn(&mut draw, 3, 2).check(answer)?;
    let mixtures = Mixtures::drawn(&mut draw, 3, 2).with(DType::F64);
    mixtures.check(answer)?;
    mixtures.check_gradients(answer)
}

pub fn rejects_shapes_that_do_not_fit(answer: &Lesson12) -> Verdict {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &candle_core::Device::Cpu);
    let cases: [[&[usize]; 4]; 5] = [
        [&[3, 2], &[3, 2], &[3, 2], &[2]],
        [&[3, 2], &[3, 2], &[3, 1], &[3]],
        [&[3, 2], &[3, 2], &[3, 2], &[1]],
        [&[3, 2], &[1, 2], &[3, 2], &[3]],
        [&[3, 1], &[3, 2], &[3, 2], &[3]],
    ];
    for shapes in cases {
        let named: Vec<String> = NAMES
            .iter()
            .zip(shapes)
            .map(|(n, s)| format!("{n} {s:?}"))
            .collect();
        let case = given(named.join(", "));
        let [logits, mean, log_std, target] = [
            zeros(shapes[0])?,
            zeros(shapes[1])?,
            zeros(shapes[2])?,
            zeros(shapes[3])?,
        ];
        rejects(&case, (answer.mixture_nll)(&logits, &mean, &log_std, &target))?;
    }
    Ok(())
}
