use candle_core::{DType, Device, Result, Tensor, Var, bail};
use grader::{Draw, Verdict, draw, given};

use super::values;
use crate::Lesson06;

const SHAPES: [&[usize]; 2] = [&[2, 3], &[4]];

/// fp32 masters that bf16 cannot represent, their bf16 weights, and bf16 gradients.
fn parameters(draw: &mut Draw) -> Result<(Vec<Var>, Vec<Var>, Vec<Tensor>)> {
    let (mut masters, mut weights, mut grads) = (Vec::new(), Vec::new(), Vec::new());
    for shape in SHAPES {
        let count = shape.iter().product();
        let tensor = |list: Vec<f32>| Tensor::from_vec(list, shape, &Device::Cpu);
        let master = tensor(draw.list(count, 0.3, 1.9))?;
        weights.push(Var::from_tensor(&low(&master)?)?);
        masters.push(Var::from_tensor(&master)?);
        grads.push(low(&tensor(draw.list(count, -1.0, 2.0))?)?);
    }
    Ok((masters, weights, grads))
}

fn low(t: &Tensor) -> Result<Tensor> {
    t.to_dtype(DType::BF16)
}

/// Plain SGD on the masters.
fn descend(masters: &[Var], grads: &[Tensor], lr: f64) -> Result<()> {
    for (master, grad) in masters.iter().zip(grads) {
        master.set(&(master.as_detached_tensor() - (grad.to_dtype(DType::F32)? * lr)?)?)?;
    }
    Ok(())
}

const GIVEN: &str = "two parameters, [2, 3] and [4]; fp32 masters, bf16 weights and gradients; SGD";

pub fn gives_the_optimizer_fp32_gradients(answer: &Lesson06) -> Verdict {
    let (masters, weights, grads) = parameters(&mut draw())?;
    let mut seen = Vec::new();
    let step = &mut |g: &[Tensor]| {
        seen = g.to_vec();
        Ok(())
    };
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    let case = given(GIVEN);
    case.close("gradients passed to step", seen.len(), 2usize)?;
    for (i, (got, grad)) in seen.iter().zip(&grads).enumerate() {
        let wide = grad.to_dtype(DType::F32)?;
        case.close(&format!("gradient {}", i + 1), values(got)?, values(&wide)?)?;
    }
    Ok(())
}

pub fn rounds_masters_into_weights(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (masters, weights, grads) = parameters(&mut draw)?;
    let lr = draw.number(0.1, 0.3);
    let step = &mut |g: &[Tensor]| descend(&masters, g, lr);
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    let case = given(format!("{GIVEN}, lr {lr:.3}"));
    for (i, (master, weight)) in masters.iter().zip(&weights).enumerate() {
        let apart = (low(master.as_tensor())? - weight.as_tensor())?.to_dtype(DType::F32)?;
        let apart: f32 = apart.abs()?.flatten_all()?.max(0)?.to_scalar()?;
        let is = format!("{apart} away from its master as low rounds it");
        case.require(
            &format!("weight {} is its master, rounded", i + 1),
            apart == 0.0,
            is,
        )?;
    }
    Ok(())
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
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    let case = given(format!("{GIVEN}, lr {lr:.3}"));
    for (i, (master, expected)) in masters.iter().zip(&expected).enumerate() {
        case.close(&format!("master {}", i + 1), values(master)?, values(expected)?)?;
    }
    Ok(())
}

pub fn accumulates_small_updates(answer: &Lesson06) -> Verdict {
    let one = Tensor::new(&[1f32], &Device::Cpu)?;
    let (masters, weights) = ([Var::from_tensor(&one)?], [Var::from_tensor(&low(&one)?)?]);
    let steps = draw().whole(60, 90);
    for _ in 0..steps {
        let step = &mut |g: &[Tensor]| descend(&masters, g, 0.001);
        (answer.master_step)(&masters, &weights, &[low(&one)?], step, &low)?;
    }
    let case = given(format!(
        "a weight of 1 in bf16, {steps} steps of SGD by 0.001 each"
    ));
    let at = weights[0].to_dtype(DType::F32)?;
    let whole = (1.0 - 0.001 * steps as f64) as f32;
    let expected = low(&Tensor::new(&[whole], &Device::Cpu)?)?.to_dtype(DType::F32)?;
    // The spacing of bf16 is 2^-8 here.
    let off = (at - expected)?.abs()?.max(0)?.to_scalar::<f32>()?;
    let is = format!("it is {off} away");
    case.require(&format!("the weight is near {whole}"), off <= 2f32.powi(-8), is)
}

pub fn calls_the_optimizer_once(answer: &Lesson06) -> Verdict {
    let (masters, weights, grads) = parameters(&mut draw())?;
    let mut calls = 0usize;
    let step = &mut |_: &[Tensor]| {
        calls += 1;
        Ok(())
    };
    (answer.master_step)(&masters, &weights, &grads, step, &low)?;
    given(GIVEN).close("calls of step", calls, 1usize)
}

pub fn leaves_weights_unchanged_on_error(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let (masters, weights, grads) = parameters(&mut draw)?;
    let before = weights.iter().map(|w| values(w)).collect::<Result<Vec<_>>>()?;
    let step = &mut |g: &[Tensor]| {
        descend(&masters, g, 0.3)?;
        bail!("the optimizer failed")
    };
    let got = (answer.master_step)(&masters, &weights, &grads, step, &low);
    let case = given(format!("{GIVEN}, which fails half way"));
    case.require("an error", got.is_err(), "Ok")?;
    for (i, (weight, before)) in weights.iter().zip(before).enumerate() {
        case.close(&format!("weight {}", i + 1), values(weight)?, before)?;
    }
    Ok(())
}
