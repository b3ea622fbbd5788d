//! The tensors of a loss; its value and gradients beside those of canopy in f64.

use candle_core::{DType, Device, Result, Tensor, Var};
use grader::{Facts, Values, Verdict, given};
use kit::values;

use crate::{Lesson12, REFERENCE};

/// Name, numbers, shape.
pub type Named = (&'static str, Vec<f32>, Vec<usize>);

const NAMES: [&str; 4] = ["logits", "mean", "log_std", "target"];

/// Three lists are for 12.2. Four are for 12.3, and the first three of them are matrices.
pub fn named(lists: &[&[f32]]) -> Vec<Named> {
    let (count, n) = (lists.len(), lists[lists.len() - 1].len());
    let shape = |i: usize| match (count, i) {
        (4, 0..3) => vec![n, lists[i].len() / n],
        _ => vec![n],
    };
    let all = (0..count).map(|i| (NAMES[4 - count + i], lists[i].to_vec(), shape(i)));
    all.collect()
}

pub fn zeros(shapes: &[&[usize]]) -> Vec<Named> {
    let zeros = |(shape, name): (&&[usize], _)| (name, vec![0.0; shape.iter().product()], shape.to_vec());
    let names = NAMES.into_iter().skip(4 - shapes.len());
    shapes.iter().zip(names).map(zeros).collect()
}

/// Compares the loss.
pub fn loss(answer: &Lesson12, tensors: Vec<Named>) -> Verdict {
    compare(answer, &tensors, false)
}

/// Compares the loss and its gradients by all tensors.
pub fn gradients(answer: &Lesson12, tensors: Vec<Named>) -> Verdict {
    compare(answer, &tensors, true)
}

fn compare(answer: &Lesson12, tensors: &[Named], gradients: bool) -> Verdict {
    let one = |(name, numbers, shape): &Named| format!("{name} {shape:?} {numbers:?}");
    let text = tensors.iter().map(one).collect::<Vec<_>>().join(", ");
    // f32 rounds a sum of large logits to a thousandth.
    let numbers = tensors.iter().flat_map(|(_, numbers, _)| numbers);
    let size = numbers.fold(1f32, |size, x| x.abs().max(size)).min(200.0);
    let facts = |lesson, dtype| Facts::of(facts(lesson, tensors, dtype, gradients), |facts| facts);
    given(text)
        .at_scale(size.into())
        .same(facts(answer, DType::F32), facts(&REFERENCE, DType::F64))
}

fn facts(lesson: &Lesson12, tensors: &[Named], dtype: DType, gradients: bool) -> Result<Facts> {
    let var = |(_, numbers, shape): &Named| {
        let tensor = Tensor::from_slice(numbers, shape.as_slice(), &Device::Cpu)?;
        Var::from_tensor(&tensor.to_dtype(dtype)?)
    };
    let vars = tensors.iter().map(var).collect::<Result<Vec<_>>>()?;
    // Expected numbers are computed in f64, and compared with f32.
    let seen = |tensor: &Tensor| -> Result<Values> {
        let seen = values(tensor)?;
        let dtype = if dtype == DType::F64 { "f32" } else { seen.dtype };
        Ok(Values { dtype, ..seen })
    };
    let loss = match &vars[..] {
        [mean, log_std, target] => (lesson.gaussian_nll)(mean, log_std, target)?,
        t => (lesson.mixture_nll)(&t[0], &t[1], &t[2], &t[3])?,
    };
    let mut facts = Facts::default().values("loss", seen(&loss)?);
    if gradients {
        let gradients = loss.sum_all()?.backward()?;
        let pairs = tensors.iter().map(|named| named.0).zip(&vars);
        let found: Vec<_> = pairs
            .filter_map(|(name, var)| Some((name, gradients.get(var)?)))
            .collect();
        facts = facts.items("tensors with a gradient", found.iter().map(|(name, _)| name));
        for (name, gradient) in found {
            facts = facts.values(format!("gradient of {name}"), seen(gradient)?);
        }
    }
    Ok(facts)
}
