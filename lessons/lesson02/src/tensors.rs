//! Tensors that an answer of 2.2 to 2.5 is given, and its results beside canopy's.

use candle_core::{Device, Result, Tensor, Var};
use grader::{Facts, Verdict, given};
use kit::values;

use crate::{Lesson02, REFERENCE};

/// The tensors of a call, by name: numbers and shape.
#[derive(Clone, Default)]
pub struct Input {
    pub tensors: Vec<(&'static str, Vec<f32>, Vec<usize>)>,
    compares_gradients: bool,
}

/// A function of the contract, with its tensors as a list.
pub type Function = fn(&Lesson02, &[Var]) -> Result<Tensor>;

impl Input {
    pub fn with(mut self, name: &'static str, numbers: Vec<f32>, shape: &[usize]) -> Self {
        self.tensors.push((name, numbers, shape.to_vec()));
        self
    }

    /// Compares the gradients of all tensors as well, and not the result alone.
    pub fn gradients(mut self) -> Self {
        self.compares_gradients = true;
        self
    }

    pub fn vars(&self) -> Result<Vec<Var>> {
        let var = |(_, numbers, shape): &(_, Vec<f32>, Vec<usize>)| {
            Var::from_slice(numbers, shape.as_slice(), &Device::Cpu)
        };
        self.tensors.iter().map(var).collect()
    }

    pub fn compare(&self, answer: &Lesson02, function: Function) -> Verdict {
        let one = |(name, numbers, shape): &(_, _, _)| format!("{name} {shape:?} {numbers:?}");
        let mut text = self.tensors.iter().map(one).collect::<Vec<_>>().join(", ");
        if self.compares_gradients {
            text += "; backward from 1·y₁ + 2·y₂ + 3·y₃ + …, where y₁, y₂, … are the numbers of the result";
        }
        let numbers = self.tensors.iter().flat_map(|(_, numbers, _)| numbers);
        let size = numbers.fold(0.0, |m, &x| f64::from(x.abs()).max(m));
        let case = given(text).at_scale(size);
        case.same(self.facts(answer, function)?, self.facts(&REFERENCE, function)?)
    }

    fn facts(&self, lesson: &Lesson02, function: Function) -> Result<Facts> {
        let vars = self.vars()?;
        let result = function(lesson, &vars)?;
        let mut facts = Facts::default().values("result", values(&result)?);
        if !self.compares_gradients {
            return Ok(facts);
        }
        // Each number of the result counts another time, so that none takes the place of another.
        let times = Tensor::arange(1f32, 1.0 + result.elem_count() as f32, &Device::Cpu)?;
        let gradients = (result.flatten_all()? * times)?.sum_all()?.backward()?;
        for ((name, ..), var) in self.tensors.iter().zip(&vars) {
            let what = format!("gradient of {name}");
            facts = match gradients.get(var) {
                Some(gradient) => facts.values(what, values(gradient)?),
                None => facts.text(what, "none: the result does not depend on it"),
            };
        }
        Ok(facts)
    }
}
