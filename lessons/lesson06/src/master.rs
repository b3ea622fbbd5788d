//! 6.5: a step with master weights.

use candle_core::{DType, Device, Result, Tensor, Var, bail};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, Low, REFERENCE, answers};

const EIGHTHS: &str = "low rounds down to multiples of 1/8";
const STEP_FAILS: &str = "step fails after it has changed the masters";
const LOW_FAILS: &str = "low fails";

/// Masters and gradients, 11 numbers each, in the shapes [2, 3], [4] and []; the dtype of weights and gradients; a and
/// b of `step`, which sets a master w to a·w − b·g, with its gradient g clipped to 8; and what else is special.
type Input = (Vec<f32>, Vec<f32>, DType, (f64, f64), &'static str);

const SGD: (f64, f64) = (1.0, 0.25);

fn vars(numbers: &[f32], dtype: DType) -> Result<[Var; 3]> {
    let flat = Tensor::new(numbers, &Device::Cpu)?.to_dtype(dtype)?;
    let var = |start: usize, shape: &[usize]| {
        let part = flat.narrow(0, start, shape.iter().product())?;
        Var::from_tensor(&part.reshape(shape)?)
    };
    Ok([var(0, &[2, 3])?, var(6, &[4])?, var(10, &[])?])
}

fn numbers<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Result<Vec<f32>> {
    let flat = tensors.map(|t| t.to_dtype(DType::F32)?.flatten_all()?.to_vec1());
    Ok(flat.collect::<Result<Vec<_>>>()?.concat())
}

fn stepped<const COUNT: usize>(answer: &Lesson06, input: Input) -> Verdict {
    let (masters, grads, dtype, (a, b), but) = &input;
    given(format!(
        "shapes [2, 3], [4], []: masters {masters:?}, gradients in {dtype:?} {grads:?}; step: w ← {a}·w − {b}·g; {but}"
    ))
    .same(
        facts::<COUNT>(answer, &input)?,
        facts::<COUNT>(&REFERENCE, &input)?,
    )
}

/// How the call ends, and the first `COUNT` of these: the gradients that `step` gets, the masters, the weights.
fn facts<const COUNT: usize>(lesson: &Lesson06, input: &Input) -> Result<Facts> {
    let &(ref masters, ref grads, dtype, (a, b), but) = input;
    let (masters, weights) = (vars(masters, DType::F32)?, vars(masters, dtype)?);
    let grads = vars(grads, dtype)?.map(|g| g.as_detached_tensor());
    let (mut calls, mut passed) = (Vec::new(), Vec::new());
    let step = &mut |grads: &[Tensor]| {
        let kinds = grads.iter().map(|g| (g.dtype(), g.dims().to_vec()));
        calls.push(kinds.collect::<Vec<_>>());
        // Read at once: an answer can write into them later.
        passed.extend(numbers(grads.iter())?);
        let pairs = masters.iter().zip(grads);
        for (w, g) in pairs.filter(|(w, g)| w.dims() == g.dims()) {
            let by = (g.to_dtype(DType::F32)?.clamp(-8f32, 8f32)? * b)?;
            w.set(&(w.as_detached_tensor().affine(a, 0.0)? - by)?)?;
        }
        match but {
            STEP_FAILS => bail!("the optimizer failed"),
            _ => Ok(()),
        }
    };
    let low: Low = &|t| match but {
        LOW_FAILS => bail!("no such format"),
        EIGHTHS => ((t.to_dtype(DType::F32)? * 8.0)?.floor()? / 8.0)?.to_dtype(dtype),
        _ => t.to_dtype(dtype),
    };
    let end = (lesson.master_step)(&masters, &weights, &grads, step, low);
    let mut facts = Facts::of(end, |()| Facts::default());
    if COUNT > 0 {
        facts = facts.items("calls of step", calls);
        facts = facts.values("gradients passed to step", &passed);
    }
    let vars = [("masters", masters), ("weights", weights)];
    for (what, vars) in vars.iter().take(COUNT.max(1) - 1) {
        facts = facts.values(*what, &numbers(vars.iter().map(|v| &**v))?);
    }
    Ok(facts)
}

/// Masters that bf16 cannot represent.
fn drawn(d: &mut Draw, dtype: DType, but: &'static str) -> Input {
    (d.list(11, 0.3, 1.9), d.list(11, 0.3, 2.0), dtype, SGD, but)
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.5";
    by stepped::<1> {
        gives_the_optimizer_fp32_gradients: "with all gradients in fp32",
            "Call `step` once, with all gradients in their order, converted to fp32, and not changed." => |d| vec![
                drawn(d, DType::BF16, ""),
                drawn(d, DType::F16, ""),
                drawn(d, DType::BF16, EIGHTHS),
                (d.list(11, 0.3, 1.9), vec![f32::INFINITY; 11], DType::BF16, SGD, ""),
            ];
    }
    by stepped::<2> {
        does_not_round_the_masters: "only `step` changes the masters",
            "`step` changes the masters; do not change them yourself, neither before nor after." =>
            |d| vec![drawn(d, DType::BF16, "")];
    }
    by stepped::<3> {
        rounds_masters_into_weights: "set each weight to",
            "After the step, set every weight to `low` of its master, whatever gradient and weight were." => |d| vec![
                drawn(d, DType::BF16, ""),
                drawn(d, DType::F16, ""),
                (d.list(11, 0.3, 1.9), vec![0.0; 11], DType::BF16, (0.5, 0.0), ""),
                (d.list(11, 0.3, 1.9), vec![f32::INFINITY; 11], DType::BF16, (0.5, 0.0), ""),
                // The weights are 1, and such a step from there is less than half their spacing.
                (vec![0.9985; 11], vec![1.0; 11], DType::BF16, (1.0, 0.001), ""),
            ];
        rounds_by_low: "`low(master)`",
            "Round by `low` alone, in any dtype: convert neither its argument nor its result." => |d| {
            // Just below a multiple of 1/8, so that rounding to bf16 first changes it.
            let masters: Vec<f32> = d.list(11, 0.3, 1.9).iter().map(|x| (x * 8.0).ceil() / 8.0 - 1e-6).collect();
            let input = |dtype| (masters.clone(), vec![1.0; 11], dtype, (1.0, 0.0), EIGHTHS);
            [DType::F32, DType::BF16, DType::F16].map(input).into()
        };
        leaves_weights_unchanged_on_error: "Unless it fails",
            "Return an error of `step` with `?`, and set no weight." => |d| vec![drawn(d, DType::BF16, STEP_FAILS)];
    }
    by stepped::<0> {
        returns_errors_of_low: "`low(master)`", "Return an error of `low` with `?`." =>
            |d| vec![drawn(d, DType::BF16, LOW_FAILS)];
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.5" master_step;
    1 "The optimizer gets gradients in bf16; convert them to fp32, and do not round them.";
    2 "The weights are those from before the step: after it, set each to `low` of its master.";
    3 "The error of the step is ignored.";
    4 "`step` is called twice: the optimizer takes two steps.";
    5 "The master is cast to the weight's dtype, and `low` is not used.";
    6 "Only the first weight is set.";
    7 "The masters are rounded as well; they must keep all their bits.";
};
