use candle_core::{Device, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, given};

use super::values;

/// Three parameters, the second a vector, and gradients for some steps.
pub struct Steps {
    pub params: Vec<Var>,
    /// `[step][parameter]`
    pub grads: Vec<Vec<Tensor>>,
    start: Vec<Vec<f64>>,
    slopes: Vec<Vec<Vec<f64>>>,
}

const SHAPES: [&[usize]; 3] = [&[2, 3], &[4], &[3, 2]];

impl Steps {
    /// Weights and gradients of very different lengths; what `zero` names by (is a gradient, parameter) is 0.
    pub fn new(draw: &mut Draw, steps: usize, zero: &[(bool, usize)]) -> Result<Self> {
        let mut list = |gradient: bool, i: usize, low: f64, high: f64| {
            let count = SHAPES[i].iter().product();
            let list = draw.list(count, low, high);
            if zero.contains(&(gradient, i)) {
                vec![0.0; count]
            } else {
                list
            }
        };
        let tensor = |list: &Vec<f32>, i: usize| Tensor::from_slice(list, SHAPES[i], &Device::Cpu);
        let wide = |list: &Vec<f32>| list.iter().map(|&x| f64::from(x)).collect();
        let (mut params, mut start) = (Vec::new(), Vec::new());
        for (i, size) in [3.0, 1.0, 0.5].into_iter().enumerate() {
            let weights = list(false, i, -size, 1.5 * size);
            params.push(Var::from_tensor(&tensor(&weights, i)?)?);
            start.push(wide(&weights));
        }
        let (mut grads, mut slopes) = (Vec::new(), Vec::new());
        for step in 0..steps {
            // Gradients that change direction and shrink, as in training.
            let size = 1.0 / (1.0 + step as f64);
            let lists: Vec<Vec<f32>> = (0..3).map(|i| list(true, i, -0.4 * size, 1.6 * size)).collect();
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

    /// The input, shortened.
    pub fn given(&self, settings: &str) -> Case {
        let numbers = |list: &[f64]| {
            let list: Vec<String> = list.iter().map(|&x| grader::number(x)).collect();
            list.join(", ")
        };
        given(format!(
            "{} step(s), {settings}; parameters [2, 3], [4] and [3, 2]; the first is [{}], its gradient [{}]",
            self.grads.len(),
            numbers(&self.start[0]),
            self.slopes.first().map_or(String::new(), |s| numbers(&s[0])),
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
