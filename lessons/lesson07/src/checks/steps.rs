use candle_core::{Device, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, given};

use super::values;

/// Five parameters, and gradients for some steps.
pub struct Steps {
    pub params: Vec<Var>,
    /// `[step][parameter]`
    pub grads: Vec<Vec<Tensor>>,
    start: Vec<Vec<f64>>,
    slopes: Vec<Vec<Vec<f64>>>,
}

const SHAPES: [&[usize]; 5] = [&[2, 1, 2], &[2, 3], &[4], &[3, 1], &[]];

/// The parameters with at least two axes.
pub const WEIGHTS: [usize; 3] = [0, 1, 3];
/// The parameters with at most one.
pub const VECTORS: [usize; 2] = [2, 4];

/// The norms of weights and gradients are far apart: of the second, the weights are large and the gradients small.
const SIZES: [(f64, f64); 5] = [
    (2.0, 1.0),
    (64.0, 1.0 / 256.0),
    (1.0, 1.0),
    (0.5, 4.0),
    (1.0, 1.0),
];

impl Steps {
    /// Weights and gradients; what `zero` names by (step of a gradient or none for the weights, parameter) is 0.
    pub fn new(draw: &mut Draw, steps: usize, zero: &[(Option<usize>, usize)]) -> Result<Self> {
        let mut list = |step: Option<usize>, i: usize, low: f64, high: f64, size: f64| {
            let count = SHAPES[i].iter().product();
            let mut list = draw.list(count, low, high);
            // Never short by chance.
            list[0] = high as f32;
            let size = if zero.contains(&(step, i)) { 0.0 } else { size };
            list.iter().map(|&x| x * size as f32).collect()
        };
        let tensor = |list: &Vec<f32>, i: usize| Tensor::from_slice(list, SHAPES[i], &Device::Cpu);
        let wide = |list: &Vec<f32>| list.iter().map(|&x| f64::from(x)).collect();
        let (mut params, mut start) = (Vec::new(), Vec::new());
        for (i, (size, _)) in SIZES.into_iter().enumerate() {
            let weights = list(None, i, -1.0, 1.5, size);
            params.push(Var::from_tensor(&tensor(&weights, i)?)?);
            start.push(wide(&weights));
        }
        let (mut grads, mut slopes) = (Vec::new(), Vec::new());
        for step in 0..steps {
            // Gradients that change direction and shrink, as in training.
            let small = 1.0 / (1.0 + step as f64);
            let mut of = |(i, (_, size))| list(Some(step), i, -0.5, 1.5, size * small);
            let lists: Vec<Vec<f32>> = SIZES.into_iter().enumerate().map(&mut of).collect();
            slopes.push(lists.iter().map(wide).collect());
            let tensors = lists.iter().enumerate().map(|(i, l)| tensor(l, i));
            grads.push(tensors.collect::<Result<_>>()?);
        }
        Ok(Self {
            params,
            grads,
            start,
            slopes,
        })
    }

    /// The gradients times `factor`, a power of two.
    pub fn shrunk(mut self, factor: f64) -> Result<Self> {
        for grad in self.grads.iter_mut().flatten() {
            *grad = (&*grad * factor)?;
        }
        let slopes = self.slopes.iter_mut().flatten().flatten();
        slopes.for_each(|slope| *slope *= factor);
        Ok(self)
    }

    /// The weights times `factor`, a power of two.
    pub fn light(mut self, factor: f64) -> Result<Self> {
        for param in &self.params {
            param.set(&(param.as_tensor() * factor)?)?;
        }
        let weights = self.start.iter_mut().flatten();
        weights.for_each(|weight| *weight *= factor);
        Ok(self)
    }

    /// The input, shortened; of the parameters the one at `shown`.
    pub fn given(&self, settings: &str, shown: usize) -> Case {
        let numbers = |list: &[f64]| {
            let list: Vec<String> = list.iter().map(|&x| grader::number(x)).collect();
            list.join(", ")
        };
        given(format!(
            "{} step(s), {settings}; parameters [2, 1, 2], [2, 3], [4], [3, 1] and []; number {} is [{}], its gradient [{}]",
            self.grads.len(),
            shown + 1,
            numbers(&self.start[shown]),
            self.slopes.first().map_or(String::new(), |s| numbers(&s[shown])),
        ))
    }

    pub fn zeros(&self) -> Result<Vec<Var>> {
        let zero = |p: &Var| Var::zeros(p.shape(), p.dtype(), p.device());
        self.params.iter().map(zero).collect()
    }

    /// Tests `vars` of the parameters in `which` against `rule(weights, gradients of all steps, whether it is a vector)`.
    pub fn check(
        &self,
        case: &Case,
        what: &str,
        vars: &[Var],
        which: &[usize],
        rule: impl Fn(&[f64], &[&[f64]], bool) -> Vec<f64>,
    ) -> Verdict {
        for &i in which {
            let slopes: Vec<&[f64]> = self.slopes.iter().map(|s| s[i].as_slice()).collect();
            let numbers = rule(&self.start[i], &slopes, SHAPES[i].len() < 2);
            let expected = Values::tensor(numbers, SHAPES[i], "f32");
            case.close(&format!("{what} {}", i + 1), values(&vars[i])?, expected)?;
        }
        Ok(())
    }
}

/// The 2-norm.
pub fn norm(list: &[f64]) -> f64 {
    list.iter().map(|x| x * x).sum::<f64>().sqrt()
}
