use candle_core::{Device, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, given};

use super::values;

/// Two parameters of other shapes, and gradients for some steps.
pub struct Steps {
    pub params: Vec<Var>,
    pub grads: Vec<Vec<Tensor>>,
    /// Their numbers, from which the expected results are computed.
    pub start: Vec<Vec<f64>>,
    slopes: Vec<Vec<Vec<f64>>>,
}

const SHAPES: [&[usize]; 2] = [&[2, 3], &[4]];

impl Steps {
    pub fn new(draw: &mut Draw, steps: usize) -> Result<Self> {
        let mut tensors = |low: f64, high: f64| -> Result<(Vec<Vec<f64>>, Vec<Tensor>)> {
            let lists = SHAPES.map(|shape| draw.list(shape.iter().product(), low, high));
            let tensor =
                |(list, shape): (&Vec<f32>, &&[usize])| Tensor::from_slice(list, *shape, &Device::Cpu);
            let made = lists.iter().zip(&SHAPES).map(tensor).collect::<Result<_>>()?;
            let wide = lists.iter().map(|l| l.iter().map(|&x| f64::from(x)).collect());
            Ok((wide.collect(), made))
        };
        let (start, params) = tensors(-1.0, 1.0)?;
        let (mut slopes, mut grads) = (Vec::new(), Vec::new());
        for step in 0..steps {
            // Gradients that change direction and shrink, as in training.
            let size = 1.0 / (1.0 + step as f64);
            let (slope, grad) = tensors(-0.4 * size, 1.6 * size)?;
            slopes.push(slope);
            grads.push(grad);
        }
        let params = params.iter().map(Var::from_tensor).collect::<Result<_>>()?;
        Ok(Self {
            params,
            grads,
            start,
            slopes,
        })
    }

    /// The input, shortened: the first gradients are enough to compute the result by hand.
    pub fn given(&self, settings: &str) -> Case {
        let steps = self.grads.len();
        let numbers = |list: &[f64]| {
            let list: Vec<String> = list.iter().map(|&x| grader::number(x)).collect();
            list.join(", ")
        };
        given(format!(
            "{steps} step(s), {settings}; two parameters, [2, 3] and [4]; the second begins at [{}] with gradient [{}]",
            numbers(&self.start[1]),
            numbers(&self.slopes[0][1])
        ))
    }

    /// Tests both variables against `rule(w, gradients so far)` for each number.
    pub fn check(&self, case: &Case, what: &str, vars: &[Var], rule: impl Fn(f64, &[f64]) -> f64) -> Verdict {
        for (i, var) in vars.iter().enumerate() {
            let numbers = self.start[i].iter().enumerate().map(|(k, &w)| {
                let slopes: Vec<f64> = self.slopes.iter().map(|s| s[i][k]).collect();
                rule(w, &slopes)
            });
            let expected = Values::tensor(numbers.collect(), SHAPES[i], "f32");
            case.close(&format!("{what} {}", i + 1), values(var)?, expected)?;
        }
        Ok(())
    }

    pub fn zeros(&self) -> Result<Vec<Var>> {
        let zero = |p: &Var| Var::zeros(p.shape(), p.dtype(), p.device());
        self.params.iter().map(zero).collect()
    }
}
