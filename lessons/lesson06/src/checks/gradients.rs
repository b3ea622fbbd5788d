use candle_core::{DType, Device, Result, Tensor, Var, bail};
use grader::{Values, Verdict, draw, given};

use super::values;
use crate::Lesson06;

/// A loss Σ aᵢ·wᵢ, so that aᵢ is the gradient of wᵢ.
fn line(slopes: &[f32]) -> Result<(Var, Tensor)> {
    let w = Var::from_vec(vec![0.5f32; slopes.len()], slopes.len(), &Device::Cpu)?;
    let loss = (w.as_tensor() * Tensor::new(slopes, &Device::Cpu)?)?.sum_all()?;
    Ok((w, loss))
}

fn of(w: &Var, loss: &Tensor) -> Result<Vec<Tensor>> {
    let grads = loss.backward()?;
    match grads.get(w) {
        Some(grad) => Ok(vec![grad.clone()]),
        None => bail!("walk got a loss that does not depend on the parameters"),
    }
}

pub fn runs_backward_from_the_scaled_loss(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let scale = 2f64.powi(draw.whole(3, 12) as i32);
    let slopes = draw.list(4, 0.2, 2.0);
    let (w, loss) = line(&slopes)?;
    let mut seen = f64::NAN;
    (answer.scaled_gradients)(&loss, scale, &mut |loss| {
        seen = f64::from(loss.to_scalar::<f32>()?);
        of(&w, loss)
    })?;
    let own = f64::from(loss.to_scalar::<f32>()?);
    let case = given(format!("a loss of {own:.4}, scale {scale}")).at_scale(own * scale);
    case.close("loss passed to walk", seen as f32, (own * scale) as f32)
}

pub fn returns_unscaled_gradients(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    let scale = draw.number(100.0, 5000.0);
    let slopes = draw.list(5, -2.0, 3.0);
    let (w, loss) = line(&slopes)?;
    let (grads, found) = (answer.scaled_gradients)(&loss, scale, &mut |loss| {
        let grad = of(&w, loss)?.remove(0);
        Ok(vec![(&grad * 2.0)?, grad])
    })?;
    let case = given(format!(
        "a loss with the gradient {slopes:?}, scale {scale:.2}; walk returns it doubled, then as it is"
    ));
    case.close("number of gradients", grads.len(), 2usize)?;
    let twice: Vec<f32> = slopes.iter().map(|s| 2.0 * s).collect();
    case.close("first gradient", values(&grads[0])?, &twice)?;
    case.close("second gradient", values(&grads[1])?, &slopes)?;
    case.require("found_inf", !found, "true")
}

pub fn converts_to_fp32_before_dividing(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // Times 2^14 it is a normal fp16 number; without the scale it underflows to 0.
    let small = f64::from((draw.number(5.0, 9.0) * 1e-9) as f32);
    let (w, loss) = line(&[small as f32])?;
    let (grads, _) = (answer.scaled_gradients)(&loss, 16384.0, &mut |loss| {
        of(&w, loss)?.iter().map(|g| g.to_dtype(DType::F16)).collect()
    })?;
    let case = given(format!(
        "a gradient of {small:.3e} that walk returns in fp16, scale 16384"
    ));
    let held = half(small * 16384.0) / 16384.0;
    // Relative to the expected value: an absolute tolerance would accept 0.
    let first = grads.first().map(values).transpose()?;
    let Some(got) = first else {
        return case.require("one gradient", false, "none");
    };
    let relative = got.numbers.iter().map(|g| g / held).collect();
    let got = Values::tensor(relative, &[1], got.dtype);
    case.close("gradient, over what it should be", got, &[1.0f32][..])
}

/// Rounded to the 11 bits of a normal fp16 number.
fn half(x: f64) -> f64 {
    let spacing = 2f64.powi(x.log2().floor() as i32 - 10);
    (x / spacing).round_ties_even() * spacing
}

pub fn finds_inf_and_nan(answer: &Lesson06) -> Verdict {
    one_bad(answer, f32::NEG_INFINITY, 0, 1)?;
    one_bad(answer, f32::NAN, 0, 1)?;
    for at in [0, 2, 1] {
        for bad in [f32::INFINITY, f32::NAN] {
            one_bad(answer, bad, at, 3)?;
        }
    }
    Ok(())
}

/// Of `count` gradients, number `at` has `bad` in it.
fn one_bad(answer: &Lesson06, bad: f32, at: usize, count: usize) -> Verdict {
    let (w, loss) = line(&[1.0, 2.0])?;
    let place = draw().whole(0, 1);
    let (grads, found) = (answer.scaled_gradients)(&loss, 8.0, &mut |loss| {
        let grad = of(&w, loss)?.remove(0);
        let mut numbers = [3.0f32, -4.0];
        numbers[place] = bad;
        let bad = Tensor::new(&numbers, &Device::Cpu)?;
        let pick = |i| if i == at { bad.clone() } else { grad.clone() };
        Ok((0..count).map(pick).collect())
    })?;
    let case = given(format!(
        "{count} gradients, number {at} from 0 has {bad} at [{place}]"
    ));
    case.require("found_inf", found, "false")?;
    case.close("number of gradients", grads.len(), count)
}

pub fn accepts_large_finite_gradients(answer: &Lesson06) -> Verdict {
    many_large(answer, 1)?;
    many_large(answer, draw().whole(40, 60))
}

fn many_large(answer: &Lesson06, count: usize) -> Verdict {
    let (w, loss) = line(&[1.0, 2.0])?;
    let (_, found) = (answer.scaled_gradients)(&loss, 1.0, &mut |loss| {
        of(&w, loss)?;
        Ok(vec![Tensor::full(3e38f32, count, &Device::Cpu)?])
    })?;
    given(format!("a gradient of {count} number(s), each 3e38, scale 1")).require("found_inf", !found, "true")
}

pub fn runs_backward_once(answer: &Lesson06) -> Verdict {
    let slope = draw().number(0.5, 2.0) as f32;
    let (w, loss) = line(&[slope])?;
    let mut walks = 0usize;
    (answer.scaled_gradients)(&loss, 4.0, &mut |loss| {
        walks += 1;
        of(&w, loss)
    })?;
    given("a loss, scale 4").close("calls of walk", walks, 1usize)
}

pub fn returns_errors_of_the_backward_pass(answer: &Lesson06) -> Verdict {
    let (_w, loss) = line(&[draw().number(0.5, 2.0) as f32])?;
    let got = (answer.scaled_gradients)(&loss, 4.0, &mut |_| bail!("out of memory"));
    given("a walk that fails").require("an error", got.is_err(), "Ok")
}
