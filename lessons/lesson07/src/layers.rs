//! Parameters of several shapes, and steps of an optimizer that uses their norms, compared with the same steps in f64.

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::optim::AdamState;
use grader::{Case, Draw, Verdict, given};
use kit::{shown, values};

/// Those with at most one axis are number 2 and 5.
pub const SHAPES: [&[usize]; 5] = [&[2, 2, 3], &[5], &[3, 4], &[3, 1], &[]];

/// So small that a number like 1e-12 beside a norm is seen.
pub const TINY: f64 = 1.0 / (1u64 << 40) as f64;

/// Numbers for each shape, in filters of these sizes, which are powers of two.
pub fn numbers(d: &mut Draw, sizes: [f64; 3]) -> Vec<Vec<f64>> {
    let list = |shape: &[usize]| {
        let size: usize = shape.iter().skip(1).product();
        let mut list = d.list(shape.iter().product(), -1.0, 1.0);
        // Never short by chance.
        list.iter_mut().step_by(size).for_each(|x| *x = 2.0);
        let numbers = list.into_iter().enumerate();
        numbers.map(|(k, x)| f64::from(x) * sizes[k / size % 3]).collect()
    };
    SHAPES.map(list).to_vec()
}

pub fn tensors(lists: &[Vec<f64>], dtype: DType) -> Result<Vec<Tensor>> {
    let tensor = |(list, shape)| Tensor::from_slice(list, shape, &Device::Cpu)?.to_dtype(dtype);
    lists.iter().map(Vec::as_slice).zip(SHAPES).map(tensor).collect()
}

pub fn variables(lists: &[Vec<f64>], dtype: DType) -> Result<Vec<Var>> {
    tensors(lists, dtype)?.iter().map(Var::from_tensor).collect()
}

/// The numbers of the parameters, and of their gradients in each step.
pub struct Steps(Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>);

/// Step `k` of an optimizer: parameters, gradients, state, k.
pub type Step<'a> = &'a dyn Fn(&[Var], &[Tensor], &mut AdamState, usize) -> Result<()>;

impl Steps {
    /// The gradients change direction and shrink from step to step, as in training.
    pub fn new(d: &mut Draw, steps: i32) -> Self {
        let start = numbers(d, [1.0, 0.5, 0.25]);
        let shrunk = |k| [0.5, 0.25, -1.0].map(|size| size * 0.5f64.powi(k));
        let slopes = (0..steps).map(|k| numbers(d, shrunk(k))).collect();
        // The norms are far apart.
        Self(start, slopes)
            .times([2], 64.0, 1.0 / 256.0)
            .times([3], 1.0, 16.0)
    }

    /// Multiplies parameters and their gradients of the last step by a factor each.
    pub fn times<const N: usize>(mut self, which: [usize; N], weights: f64, gradients: f64) -> Self {
        for i in which {
            self.0[i].iter_mut().for_each(|w| *w *= weights);
            let last = self.1.last_mut().into_iter().flat_map(|step| &mut step[i]);
            last.for_each(|g| *g *= gradients);
        }
        self
    }

    /// Runs `answer` and, in f64, `exact`, and compares the parameters and the named parts of the state.
    pub fn compare(&self, settings: &str, parts: &[&str], answer: Step, exact: Step) -> Verdict {
        self.case(settings, 0);
        let (got, expected) = (self.run(answer, DType::F32)?, self.run(exact, DType::F64)?);
        for i in 0..SHAPES.len() {
            let case = self.case(settings, i);
            for (k, part) in parts.iter().enumerate() {
                let mut expected = values(&expected.0[k][i])?;
                expected.dtype = "f32";
                case.close(&format!("{part} {}", i + 1), values(&got.0[k][i])?, expected)?;
            }
        }
        self.case(settings, 0).close("state.step", got.1, expected.1)
    }

    /// The parameters, the means, the squares, and the number of steps.
    fn run(&self, step: Step, dtype: DType) -> Result<([Vec<Var>; 3], u64)> {
        let params = variables(&self.0, dtype)?;
        let zeros = || {
            params
                .iter()
                .map(|p| Var::from_tensor(&p.zeros_like()?))
                .collect::<Result<_>>()
        };
        let (mean, square) = (zeros()?, zeros()?);
        let mut state = AdamState {
            mean,
            square,
            step: 0,
        };
        for (k, slopes) in self.1.iter().enumerate() {
            step(&params, &tensors(slopes, dtype)?, &mut state, k)?;
        }
        Ok(([params, state.mean, state.square], state.step))
    }

    /// The case of parameter `i`, with the numbers to compute its result by hand.
    fn case(&self, settings: &str, i: usize) -> Case {
        let slopes: Vec<String> = self.1.iter().map(|step| shown(&step[i])).collect();
        let (number, shape, start) = (i + 1, SHAPES[i], shown(&self.0[i]));
        let slopes = slopes.join("], then [");
        given(format!(
            "{settings}; parameter {number} of 5, {shape:?}, begins at [{start}], gradient [{slopes}]"
        ))
    }
}
