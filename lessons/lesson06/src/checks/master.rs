use candle_core::{DType, Device, Result, Tensor, Var, bail};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::values;
use crate::Lesson06;

const SHAPES: [&[usize]; 3] = [&[2, 3], &[4], &[]];

/// fp32 masters that bf16 cannot represent, their bf16 weights, and bf16 gradients.
fn parameters(draw: &mut Draw) -> Result<(Vec<Var>, Vec<Var>, Vec<Tensor>)> {
    let (mut masters, mut weights, mut grads) = (Vec::new(), Vec::new(), Vec::new());
    for shape in SHAPES {
        let count = shape.iter().product();
        let tensor = |list: Vec<f32>| Tensor::from_vec(list, shape, &Device::Cpu);
        let master = tensor(draw.list(count, 0.3, 1.9))?;
        weights.push(Var::from_tensor(&low(&master)?)?);
        masters.push(Var::from_tensor(&master)?);
        grads.push(low(&tensor(draw.list(count, 0.3, 2.0))?)?);
    }
    Ok((masters, weights, grads))
}

fn low(t: &Tensor) -> Result<Tensor> {
    t.to_dtype(DType::BF16)
}

/// Down to a multiple of 1/8, in the dtype: another rounding than any dtype's.
fn eighths(t: &Tensor, dtype: DType) -> Result<Tensor> {
    ((t.to_dtype(DType::F32)? * 8.0)?.floor()? / 8.0)?.to_dtype(dtype)
}

/// Weights that are stored in another dtype.
fn in_dtype(weights: &[Var], dtype: DType) -> Result<Vec<Var>> {
    weights
        .iter()
        .map(|w| Var::from_tensor(&w.to_dtype(dtype)?))
        .collect()
}

/// Plain SGD on the masters.
fn descend(masters: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    for (master, grad) in masters.iter().zip(grads) {
        master.set(&(master.as_detached_tensor() - (grad.to_dtype(DType::F32)? * lr)?)?)?;
    }
    Ok(())
}

const GIVEN: &str = "three parameters, [2, 3], [4] and []; fp32 masters, bf16 weights and gradients; SGD";

pub fn gives_the_optimizer_fp32_gradients(answer: &Lesson06) -> Verdict {
    let (masters, weights, grads) = parameters(&mut draw())?;
    gives_fp32(answer, &masters, &weights, &grads, GIVEN)?;
    let weights = in_dtype(&weights, DType::F16)?;
    let grads = grads.iter().map(|g| g.to_dtype(DType::F16));
    let text = "three parameters, [2, 3], [4] and []; fp32 masters, fp16 weights and gradients";
    gives_fp32(
        answer,
        &masters,
        &weights,
        &grads.collect::<Result<Vec<_>>>()?,
        text,
    )
}

/// Compares what the optimizer gets with `grads`, in fp32.
fn gives_fp32(answer: &Lesson06, masters: &[Var], weights: &[Var], grads: &[Tensor], text: &str) -> Verdict {
    let dtype = weights[0].dtype();
    let low = |t: &Tensor| t.to_dtype(dtype);
    let (mut seen, expected) = (Vec::new(), in_fp32(grads)?);
    let step = &mut |g: &[Tensor]| {
        seen.extend(all_values(g)?);
        Ok(())
    };
    let case = given(text);
    let done = (answer.master_step)(masters, weights, grads, step, &low);
    // How often it is called, and what follows, are other checks'.
    if seen.is_empty() {
        done?;
    }
    passed_to_step(&case, &seen, &expected)?;
    case.require(
        "gradients are passed to step",
        seen.len() >= 3,
        seen.len().to_string(),
    )
}

/// The numbers that the tensors have now: an answer can write into them later.
fn all_values(tensors: &[Tensor]) -> Result<Vec<Values>> {
    tensors.iter().map(values).collect()
}

fn in_fp32(grads: &[Tensor]) -> Result<Vec<Values>> {
    grads.iter().map(|g| values(&g.to_dtype(DType::F32)?)).collect()
}

fn passed_to_step(case: &Case, seen: &[Values], expected: &[Values]) -> Verdict {
    for (i, (got, expected)) in seen.iter().zip(expected).enumerate() {
        let what = format!("gradient {} passed to step", i + 1);
        case.close(&what, got.clone(), expected.clone())?;
    }
    Ok(())
}

pub fn does_not_round_gradients(answer: &Lesson06) -> Verdict {
    let (masters, weights, _) = parameters(&mut draw())?;
    let grads = masters
        .iter()
        .map(|m| low(&(m.as_tensor() * 0.01)?))
        .collect::<Result<Vec<_>>>()?;
    let (mut seen, expected) = (Vec::new(), in_fp32(&grads)?);
    let step = &mut |g: &[Tensor]| {
        seen.extend(all_values(g)?);
        Ok(())
    };
    let case =
        given("weights and gradients in bf16, gradients below 1/8; low rounds down to multiples of 1/8");
    (answer.master_step)(&masters, &weights, &grads, step, &|t| eighths(t, DType::BF16))?;
    passed_to_step(&case, &seen, &expected)
}

pub fn calls_the_optimizer_once(answer: &Lesson06) -> Verdict {
    let (masters, weights, grads) = parameters(&mut draw())?;
    let infinite = grads.iter().map(|g| g / 0.0).collect::<Result<Vec<_>>>()?;
    for (grads, text) in [(grads, ""), (infinite, "; gradients that are infinite")] {
        let (mut calls, expected) = (Vec::new(), in_fp32(&grads)?);
        let step = &mut |g: &[Tensor]| {
            calls.push(all_values(g)?);
            Ok(())
        };
        let case = given(format!("{GIVEN}{text}"));
        (answer.master_step)(&masters, &weights, &grads, step, &low)?;
        let counts: Vec<usize> = calls.iter().map(Vec::len).collect();
        case.close("number of gradients in each call of step", &counts, &vec![3usize])?;
        // Infinite ones as well: what to do about them is the caller's.
        passed_to_step(&case, &calls.concat(), &expected)?;
    }
    Ok(())
}

pub fn rounds_masters_into_weights(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (masters, weights, grads) = parameters(&mut draw)?;
    let lr = draw.number(0.1, 0.3);
    let step = &mut |g: &[Tensor]| descend(&masters, g, lr);
    let case = given(format!("{GIVEN}, lr {lr:.3}"));
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    for (i, (master, weight)) in masters.iter().zip(&weights).enumerate() {
        // Exact: bf16 numbers as integers of their own.
        case.close(
            &format!("weight {}", i + 1),
            exact(weight)?,
            exact(&low(master)?)?,
        )?;
    }
    Ok(())
}

/// The values, to be compared without a tolerance.
fn exact(tensor: &Tensor) -> Result<grader::Values> {
    Ok(grader::Values {
        dtype: "integer",
        ..values(tensor)?
    })
}

pub fn does_not_round_the_masters(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (masters, weights, grads) = parameters(&mut draw)?;
    let lr = draw.number(0.1, 0.3);
    let expected = masters
        .iter()
        .zip(&grads)
        .map(|(m, g)| m.as_detached_tensor() - (g.to_dtype(DType::F32)? * lr)?)
        .collect::<Result<Vec<_>>>()?;
    let step = &mut |g: &[Tensor]| descend(&masters, g, lr);
    let case = given(format!("{GIVEN}, lr {lr:.3}"));
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    for (i, (master, expected)) in masters.iter().zip(&expected).enumerate() {
        case.close(&format!("master {}", i + 1), values(master)?, values(expected)?)?;
    }
    Ok(())
}

pub fn accumulates_small_updates(answer: &Lesson06) -> Verdict {
    let one = Tensor::new(&[1f32], &Device::Cpu)?;
    let (masters, weights) = ([Var::from_tensor(&one)?], [Var::from_tensor(&low(&one)?)?]);
    let steps = draw().whole(60, 90);
    let case = given(format!(
        "a weight of 1 in bf16, {steps} steps with the gradient 1 and lr 0.001"
    ));
    for _ in 0..steps {
        let step = &mut |g: &[Tensor]| descend(&masters, g, 0.001);
        (answer.master_step)(&masters, &weights, &[low(&one)?], step, &low)?;
    }
    let expected = [1.0 - 0.001 * steps as f32];
    case.close("master", values(&masters[0])?, &expected[..])?;
    let rounded = low(&Tensor::new(&expected[..], &Device::Cpu)?)?;
    case.close("weight", values(&weights[0])?, values(&rounded)?)
}

pub fn rounds_by_low(answer: &Lesson06) -> Verdict {
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let (masters, weights, grads) = parameters(&mut draw())?;
        let weights = in_dtype(&weights, dtype)?;
        let grads = grads
            .iter()
            .map(|g| g.to_dtype(dtype))
            .collect::<Result<Vec<_>>>()?;
        // Just below a multiple of 1/8, so that rounding to bf16 first changes it.
        for master in &masters {
            let eighth = ((master.as_detached_tensor() * 8.0)?.ceil()? / 8.0)?;
            master.set(&(eighth - 1e-6)?)?;
        }
        let case = given(format!(
            "weights and gradients in {}, low rounds down to multiples of 1/8; a step of 0",
            dtype.as_str()
        ));
        (answer.master_step)(&masters, &weights, &grads, &mut |_| Ok(()), &|t| {
            eighths(t, dtype)
        })?;
        for (i, (master, weight)) in masters.iter().zip(&weights).enumerate() {
            let expected = eighths(master, dtype)?;
            case.close(&format!("weight {}", i + 1), values(weight)?, values(&expected)?)?;
        }
    }
    Ok(())
}

pub fn rounds_every_master(answer: &Lesson06) -> Verdict {
    for (times, text) in [(0.0, "gradients of 0"), (f64::INFINITY, "infinite gradients")] {
        let (masters, weights, grads) = parameters(&mut draw())?;
        let grads = grads.iter().map(|g| g * times).collect::<Result<Vec<_>>>()?;
        let step = &mut |_: &[Tensor]| {
            let half = |m: &Var| m.set(&(m.as_detached_tensor() * 0.5)?);
            masters.iter().try_for_each(half)
        };
        let case = given(format!("{text}; step halves the masters (weight decay)"));
        (answer.master_step)(&masters, &weights, &grads, step, &low)?;
        for (i, (master, weight)) in masters.iter().zip(&weights).enumerate() {
            case.close(
                &format!("weight {}", i + 1),
                values(weight)?,
                values(&low(master)?)?,
            )?;
        }
    }
    Ok(())
}

pub fn leaves_weights_unchanged_on_error(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (masters, weights, grads) = parameters(&mut draw)?;
    let before = weights.iter().map(|w| values(w)).collect::<Result<Vec<_>>>()?;
    let step = &mut |g: &[Tensor]| {
        descend(&masters, g, 0.3)?;
        bail!("the optimizer failed")
    };
    let case = given(format!("{GIVEN}, which fails after it has changed the masters"));
    let got = (answer.master_step)(&masters, &weights, &grads, step, &low);
    case.require("an error", got.is_err(), "Ok")?;
    for (i, (weight, before)) in weights.iter().zip(before).enumerate() {
        case.close(&format!("weight {}", i + 1), values(weight)?, before)?;
    }
    let text = got.err().map(|e| e.to_string()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    case.require("the error of step", text.contains("the optimizer failed"), first)
}

pub fn returns_errors_of_low(answer: &Lesson06) -> Verdict {
    let (masters, weights, grads) = parameters(&mut draw())?;
    let case = given("low fails with \"no such format\"");
    let fails = |_: &Tensor| -> Result<Tensor> { bail!("no such format") };
    let got = (answer.master_step)(&masters, &weights, &grads, &mut |_| Ok(()), &fails);
    let Err(error) = got else {
        return case.require("an error", false, "Ok");
    };
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    case.require("the error of low", text.contains("no such format"), first)
}
