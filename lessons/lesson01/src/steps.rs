//! Steps of an optimizer, as the checks of 1.3 to 1.5 run them and compare them with the same steps in f64.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};
use grader::{Draw, Facts, Verdict, given};
use kit::{shown, values};

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

/// The dtype of a fact, and what a student reads if it differs.
type Shown = (&'static str, Option<&'static str>);

const UNCHANGED: &str = "The parameter has not changed: its step is 0, or not stored with `set`, for each. A new `Var` is another variable.";
const LATER: &str = "Parameter 1 is right, and one like it is not: change each by its own gradient and state; lr and t are the same for all.";
const FACTOR: &str = "Each entry moves by the right step times one factor (below 0: the wrong way). Look at the sign, and at what multiplies or divides all: lr, μ, 1 − β, 1 − βᵗ, a count.";

/// Parameters, their gradients in each step, and the settings of the steps.
pub struct Steps {
    kinds: Vec<Kind>,
    /// The numbers of each parameter.
    start: Vec<Vec<f64>>,
    /// Those of the gradient of each parameter in each step.
    slopes: Vec<Vec<Vec<f64>>>,
    /// The learning rate of each step.
    pub rates: Vec<f64>,
    /// μ of each step.
    pub momenta: Vec<f64>,
    pub config: AdamConfig,
    /// The steps that Adam has counted, and the numbers in m and v.
    begin: (u64, f64, f64),
    /// Whether the state is compared, and whether the parameters are.
    compared: [bool; 2],
}

impl Steps {
    /// Of every two neighbours, one gradient is greater than 1 and one is smaller, and their signs differ. From step to step,
    /// some entries change their sign. One step is taken for each of the learning rates.
    pub fn new(d: &mut Draw, kinds: &[Kind], rates: &[f64]) -> Self {
        let mut list = |&(shape, dtype): &Kind, one: &dyn Fn(&mut Draw, usize) -> f64| {
            // Three decimals are short when they are shown; f64 gets numbers that f32 cannot hold.
            let short = |x: f64| {
                if dtype == DType::F64 {
                    x
                } else {
                    (x * 1e3).round() / 1e3
                }
            };
            let count = shape.iter().product();
            (0..count).map(|k| short(one(d, k))).collect::<Vec<f64>>()
        };
        let start = kinds
            .iter()
            .map(|k| list(k, &|d, _| d.number(-1.0, 1.0)))
            .collect();
        let slope = |step: usize| {
            move |d: &mut Draw, k: usize| {
                let size = if k.is_multiple_of(2) {
                    d.number(1.2, 3.0)
                } else {
                    d.number(0.2, 0.8)
                };
                let up = (k + step * (1 + k / 2)).is_multiple_of(2);
                if up { size } else { -size }
            }
        };
        Self {
            kinds: kinds.into(),
            start,
            slopes: (0..rates.len())
                .map(|step| kinds.iter().map(|k| list(k, &slope(step))).collect())
                .collect(),
            rates: rates.into(),
            momenta: vec![0.9; rates.len()],
            config: AdamConfig::default(),
            begin: (0, 0.0, 0.0),
            compared: [true, true],
        }
    }

    /// Multiplies the gradient of parameter `i` in `step` by `factor`.
    pub fn gradient(mut self, step: usize, i: usize, factor: f64) -> Self {
        self.slopes[step][i].iter_mut().for_each(|g| *g *= factor);
        self
    }

    /// Multiplies the first parameter and all its gradients by `factor`.
    pub fn size(mut self, factor: f64) -> Self {
        self.start[0].iter_mut().for_each(|w| *w *= factor);
        (0..self.rates.len()).fold(self, |steps, step| steps.gradient(step, 0, factor))
    }

    pub fn momenta(mut self, momenta: &[f64]) -> Self {
        self.momenta = momenta.into();
        self
    }

    pub fn config(mut self, config: AdamConfig) -> Self {
        self.config = config;
        self
    }

    pub fn begin(mut self, step: u64, mean: f64, square: f64) -> Self {
        self.begin = (step, mean, square);
        self
    }

    /// What Adam begins with, if that is not 0.
    pub fn begins(&self) -> String {
        let (step, m, v) = self.begin;
        if step == 0 {
            String::new()
        } else {
            format!(", state.step {step}, m {m}, v {v}")
        }
    }

    /// Compares the parameters, not the state.
    pub fn parameters_only(mut self) -> Self {
        self.compared = [false, true];
        self
    }

    /// Compares the state, not the parameters.
    pub fn state_only(mut self) -> Self {
        self.compared = [true, false];
        self
    }

    /// Runs `answer` and, in f64, `exact`, and compares the parameters and the named parts of the state.
    pub fn compare(&self, settings: &str, parts: &[&str], answer: Step, exact: Step) -> Verdict {
        self.case(settings, 0);
        let (params, state) = self.run(answer, None)?;
        let (wide, wide_state) = self.run(exact, Some(DType::F64))?;
        let seen = |i: usize, params: &[Var], state: &AdamState, (dtype, why): Shown| -> Result<Facts> {
            let mut facts = Facts::default();
            let fact = |var: &Var| -> Result<grader::Values> {
                let mut values = values(var)?;
                values.dtype = dtype;
                Ok(values)
            };
            if self.compared[1] {
                facts = facts.values(format!("parameter {}", i + 1), fact(&params[i])?);
                if let Some(why) = why {
                    facts = facts.cause(why);
                }
            }
            for (part, vars) in parts
                .iter()
                .zip([&state.mean, &state.square])
                .take(2 * usize::from(self.compared[0]))
            {
                facts = facts.values(format!("{part} of parameter {}", i + 1), fact(&vars[i])?);
            }
            Ok(facts)
        };
        for i in 0..self.kinds.len() {
            let dtype = self.kinds[i].1.as_str();
            let why = self.why(i, &values(&params[i])?.numbers, &values(&wide[i])?.numbers);
            self.case(settings, i).same(
                seen(i, &params, &state, (params[i].dtype().as_str(), None))?,
                seen(i, &wide, &wide_state, (dtype, why))?,
            )?;
        }
        if self.compared != [true, true] {
            return Ok(());
        }
        let count = self.begin.0 + self.rates.len() as u64;
        let steps = if parts.len() == 2 { state.step } else { count };
        self.case(settings, 0).close("state.step", steps, count)
    }

    /// What parameter `i` has wrong, as far as its moves show that; the parameters before it are right.
    fn why(&self, i: usize, got: &[f64], right: &[f64]) -> Option<&'static str> {
        let moves = self.start[i].iter().zip(got.iter().zip(right));
        let factors: Vec<f64> = moves.map(|(w, (got, right))| (got - w) / (right - w)).collect();
        let all = |factor: f64| factors.iter().all(|f| (f - factor).abs() < 1e-3);
        match factors[..] {
            [_, ..] if all(0.0) && self.kinds[i].1 == DType::F32 => Some(UNCHANGED),
            _ if i > 0 && self.kinds[i] == self.kinds[0] => Some(LATER),
            [factor, _, ..] if self.rates.len() == 1 && all(factor) && !all(1.0) => Some(FACTOR),
            _ => None,
        }
    }

    fn run(&self, step: Step, dtype: Option<DType>) -> Result<(Vec<Var>, AdamState)> {
        let tensor = |(numbers, &(shape, own)): (&Vec<f64>, &Kind)| {
            // Rounded as the answer gets it.
            let rounded = Tensor::from_slice(numbers, shape, &Device::Cpu)?.to_dtype(own)?;
            rounded.to_dtype(dtype.unwrap_or(own))
        };
        let tensors = |lists: &[Vec<f64>]| {
            lists
                .iter()
                .zip(&self.kinds)
                .map(tensor)
                .collect::<Result<Vec<_>>>()
        };
        let params = tensors(&self.start)?
            .iter()
            .map(Var::from_tensor)
            .collect::<Result<Vec<_>>>()?;
        let filled = |value: f64| {
            let fill = |p: &Var| Var::from_tensor(&p.zeros_like()?.affine(1.0, value)?);
            params.iter().map(fill).collect::<Result<Vec<_>>>()
        };
        let mut state = AdamState {
            step: self.begin.0,
            mean: filled(self.begin.1)?,
            square: filled(self.begin.2)?,
        };
        for (k, slopes) in self.slopes.iter().enumerate() {
            step(&params, &tensors(slopes)?, &mut state, k)?;
        }
        Ok((params, state))
    }

    /// The case of parameter `i`, with the numbers to compute its result by hand.
    fn case(&self, settings: &str, i: usize) -> grader::Case {
        let count = self.rates.len();
        let plural = if count == 1 { "step" } else { "steps" };
        let mut text = format!("{count} {plural}, lr {}{settings}; ", shown(&self.rates));
        let Some((shape, dtype)) = self.kinds.get(i) else {
            return given(text + "no parameters");
        };
        text += &format!(
            "parameter {} of {}, {shape:?} of {}, begins at [{}], gradient ",
            i + 1,
            self.kinds.len(),
            dtype.as_str(),
            shown(&self.start[i])
        );
        let lists: Vec<String> = self
            .slopes
            .iter()
            .take(3)
            .map(|s| format!("[{}]", shown(&s[i])))
            .collect();
        text += &lists.join(", then ");
        if count > 3 {
            text.push_str(", …");
        }
        // The low-precision formats round the terms of a result visibly.
        let terms = self.slopes.iter().flat_map(|s| &s[i]).chain(&self.start[i]);
        let size = terms.fold(1.0, |m: f64, x| x.abs().max(m));
        let wide = matches!(dtype, DType::F32 | DType::F64);
        given(text).at_scale(if wide { 0.0 } else { size })
    }
}

/// Step `k` of an optimizer: parameters, gradients, state, k.
pub type Step<'a> = &'a dyn Fn(&[Var], &[Tensor], &mut AdamState, usize) -> Result<()>;
