//! Parameters of several shapes, and steps of an optimizer that uses their norms.

use candle_core::{DType, Device, Error, Result, Tensor, Var};
use canopy::optim::AdamState;
use grader::{Case, Draw, Facts, Verdict, given};
use kit::{shown, values};

use crate::{Lesson07, REFERENCE};

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

pub fn tensors(lists: &[Vec<f64>]) -> Result<Vec<Tensor>> {
    let tensor = |(list, shape)| Tensor::from_slice(list, shape, &Device::Cpu)?.to_dtype(DType::F32);
    lists.iter().map(Vec::as_slice).zip(SHAPES).map(tensor).collect()
}

pub fn variables(lists: &[Vec<f64>]) -> Result<Vec<Var>> {
    tensors(lists)?.iter().map(Var::from_tensor).collect()
}

/// The numbers of the parameters, and of their gradients in each step.
pub struct Steps(Vec<Vec<f64>>, Vec<Vec<Vec<f64>>>);

/// Step `k` of a lesson's optimizer: lesson, parameters, gradients, state, k.
pub type Step<'a> = &'a dyn Fn(&Lesson07, &[Var], &[Tensor], &mut AdamState, usize) -> Result<()>;

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

    /// Compares the parameters and the named parts of the state after the steps of `answer` with those of canopy.
    pub fn compare(&self, settings: &str, parts: &[&str], answer: &Lesson07, step: Step) -> Verdict {
        self.case(settings, 0);
        let (got, expected) = (self.run(answer, step)?, self.run(&REFERENCE, step)?);
        for i in 0..SHAPES.len() {
            let case = self.case(settings, i);
            for (k, part) in parts.iter().enumerate() {
                let [got, expected] = [&got, &expected].map(|ran| values(&ran.0[k][i]));
                case.close(&format!("{part} {}", i + 1), got?, expected?)?;
            }
        }
        let count = |steps: u64| {
            Facts::default()
                .values("state.step", steps)
                .cause("Each call is one step: add 1 to `state.step`, once for all parameters.")
                .asked("as in 1.5")
        };
        self.case(settings, 0).same(count(got.1), count(expected.1))
    }

    /// The parameters, the means, the squares, and the number of steps.
    fn run(&self, lesson: &Lesson07, step: Step) -> Result<([Vec<Var>; 3], u64)> {
        let params = variables(&self.0)?;
        let mut state = AdamState::zeros_like(params.iter()).map_err(Error::msg)?;
        for (k, slopes) in self.1.iter().enumerate() {
            step(lesson, &params, &tensors(slopes)?, &mut state, k)?;
        }
        Ok(([params, state.mean, state.square], state.step))
    }

    /// The case of parameter `i`, with the numbers to compute its result by hand.
    fn case(&self, settings: &str, i: usize) -> Case {
        let (number, shape, start) = (i + 1, SHAPES[i], shown(&self.0[i]));
        let slopes: Vec<String> = self.1.iter().map(|step| shown(&step[i])).collect();
        let slopes = slopes.join("], then [");
        given(format!(
            "{settings}; parameter {number} of 5, {shape:?}, begins at [{start}], gradient [{slopes}]"
        ))
    }
}
