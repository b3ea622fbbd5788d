use candle_core::{DType, Device, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, given};

use super::{shown, values};

/// The shape and the dtype of a parameter.
pub type Kind = (&'static [usize], DType);

/// Two of one shape, so that an answer that mixes them up has a result, and not an error.
pub const ALIKE: [Kind; 2] = [(&[2, 3], DType::F32); 2];

/// An odd number of them; one has no axis.
pub const SHAPES: [Kind; 3] = [(&[4], DType::F32), (&[2, 1, 3], DType::F32), (&[], DType::F32)];

/// Mixed in one call.
pub const DTYPES: [Kind; 5] = [
    (&[2], DType::F64),
    (&[2, 2], DType::F64),
    (&[3], DType::F32),
    (&[2], DType::BF16),
    (&[2], DType::F16),
];

/// Parameters, and their gradients in each step.
pub struct Steps {
    pub params: Vec<Var>,
    pub grads: Vec<Vec<Tensor>>,
    kinds: Vec<Kind>,
    /// The numbers in them, from which the expected results are computed.
    start: Vec<Vec<f64>>,
    slopes: Vec<Vec<Vec<f64>>>,
    settings: String,
}

impl Steps {
    /// Of every two neighbours, one gradient is greater than 1 and one is smaller, and their signs differ. From step to step,
    /// some entries change their sign.
    pub fn new(draw: &mut Draw, kinds: &[Kind], steps: usize) -> Result<Self> {
        let gradient = |draw: &mut Draw, step: usize, k: usize| {
            let size = if k.is_multiple_of(2) {
                draw.number(1.2, 3.0)
            } else {
                draw.number(0.2, 0.8)
            };
            if (k + step * (1 + k / 2)).is_multiple_of(2) {
                size
            } else {
                -size
            }
        };
        let params = tensors(draw, kinds, |draw, _| draw.number(-1.0, 1.0))?;
        let grads = (0..steps)
            .map(|step| tensors(draw, kinds, |draw, k| gradient(draw, step, k)))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            start: numbers(&params)?,
            slopes: grads.iter().map(|g| numbers(g)).collect::<Result<_>>()?,
            params: params.iter().map(Var::from_tensor).collect::<Result<_>>()?,
            grads,
            kinds: kinds.into(),
            settings: String::new(),
        })
    }

    /// Multiplies the gradient of parameter `i` in `step` by `factor`.
    pub fn with_gradient(mut self, step: usize, i: usize, factor: f64) -> Result<Self> {
        let grad = (&self.grads[step][i] * factor)?;
        self.slopes[step][i] = values(&grad)?.numbers;
        self.grads[step][i] = grad;
        Ok(self)
    }

    /// Multiplies parameter `i` and all its gradients by `factor`.
    pub fn with_size(mut self, i: usize, factor: f64) -> Result<Self> {
        let param = (self.params[i].as_tensor() * factor)?;
        self.start[i] = values(&param)?.numbers;
        self.params[i] = Var::from_tensor(&param)?;
        (0..self.grads.len()).try_fold(self, |steps, step| steps.with_gradient(step, i, factor))
    }

    /// Says what else is given. The first parameter is shown until another one is compared.
    pub fn set(mut self, settings: String) -> Self {
        self.settings = settings;
        self.case(0);
        self
    }

    /// The case of parameter `i`, with the numbers to compute its result by hand.
    pub fn case(&self, i: usize) -> Case {
        let count = self.grads.len();
        let plural = if count == 1 { "step" } else { "steps" };
        let mut text = format!("{count} {plural}, {}; ", self.settings);
        let Some((shape, dtype)) = self.kinds.get(i) else {
            return given(text + "no parameters");
        };
        let of = self.params.len();
        text += &format!(
            "parameter {} of {of}, {shape:?} of {}, begins at [{}], gradient ",
            i + 1,
            dtype.as_str(),
            shown(&self.start[i])
        );
        let first = self.slopes.iter().take(3);
        let lists: Vec<String> = first.map(|s| format!("[{}]", shown(&s[i]))).collect();
        text += &lists.join(", then ");
        if count > 3 {
            text.push_str(", …");
        }
        given(text).at_scale(self.rounding(i))
    }

    /// The size of the terms of a result. The low-precision formats round them visibly.
    fn rounding(&self, i: usize) -> f64 {
        if matches!(self.kinds[i].1, DType::F32 | DType::F64) {
            return 0.0;
        }
        let slopes = self.slopes.iter().flat_map(|s| &s[i]);
        self.start[i]
            .iter()
            .chain(slopes)
            .fold(1.0, |m, x| x.abs().max(m))
    }

    /// The end of a call. Without parameters, one error is as wrong as another.
    pub fn ended(&self, result: Result<()>) -> Verdict {
        if self.params.is_empty() {
            return self.case(0).require(
                "result",
                result.is_ok(),
                "an error, though there is nothing to change",
            );
        }
        Ok(result?)
    }

    /// Tests every variable against `rule(w, its gradients)` for each number.
    pub fn check(&self, what: &str, vars: &[Var], rule: impl Fn(f64, &[f64]) -> f64) -> Verdict {
        let (is, asked) = (vars.len(), self.params.len());
        let count = format!("{is} variables for {asked} parameters");
        self.case(0).require(what, is == asked, count)?;
        for (i, var) in vars.iter().enumerate() {
            let numbers = self.start[i].iter().enumerate().map(|(k, &w)| {
                let slopes: Vec<f64> = self.slopes.iter().map(|s| s[i][k]).collect();
                rule(w, &slopes)
            });
            let (shape, dtype) = self.kinds[i];
            let expected = Values::tensor(numbers.collect(), shape, dtype.as_str());
            let case = self.case(i);
            case.close(&format!("{what} {}", i + 1), values(var)?, expected)?;
        }
        Ok(())
    }

    /// Variables of the parameters' shapes and dtypes, all `value`.
    pub fn filled(&self, value: f64) -> Result<Vec<Var>> {
        let fill = |p: &Var| Var::from_tensor(&p.zeros_like()?.affine(1.0, value)?);
        self.params.iter().map(fill).collect()
    }
}

/// Numbers with three decimals, which are short when they are shown; for f64, numbers that f32 cannot hold.
fn tensors(
    draw: &mut Draw,
    kinds: &[Kind],
    mut one: impl FnMut(&mut Draw, usize) -> f64,
) -> Result<Vec<Tensor>> {
    let tensor = |&(shape, dtype): &Kind| {
        let short = |x: f64| {
            if dtype == DType::F64 {
                x
            } else {
                (x * 1000.0).round() / 1000.0
            }
        };
        let count = shape.iter().product();
        let list: Vec<f64> = (0..count).map(|k| short(one(draw, k))).collect();
        Tensor::from_vec(list, shape, &Device::Cpu)?.to_dtype(dtype)
    };
    kinds.iter().map(tensor).collect()
}

fn numbers(tensors: &[Tensor]) -> Result<Vec<Vec<f64>>> {
    tensors.iter().map(|t| Ok(values(t)?.numbers)).collect()
}
