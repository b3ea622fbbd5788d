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
        None => bail!("backward got a loss that does not depend on the parameters"),
    }
}

fn list(numbers: &[f32]) -> Result<Tensor> {
    Tensor::new(numbers, &Device::Cpu)
}

fn shown(scale: f64) -> String {
    if scale > 1e9 {
        format!("{scale:e}")
    } else {
        format!("{scale}")
    }
}

/// The answer with a backward pass that returns `grads`, whatever the loss.
fn with_grads(answer: &Lesson06, scale: f64, grads: &[Tensor]) -> Result<(Vec<Tensor>, bool)> {
    let (_w, loss) = line(&[1.0, 2.0])?;
    (answer.scaled_gradients)(&loss, scale, &mut |_| Ok(grads.to_vec()))
}

pub fn runs_backward_from_the_scaled_loss(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for scale in [
        2f64.powi(draw.whole(3, 12) as i32),
        draw.number(3.0, 900.0).round(),
        0.25,
        65536.0,
        1.0,
    ] {
        let slopes = draw.list(4, 0.2, 2.0);
        let (w, loss) = line(&slopes)?;
        let own = f64::from(loss.to_scalar::<f32>()?);
        let case = given(format!("a loss of {own:.4}, scale {scale}")).at_scale(own * scale);
        let mut seen = None;
        (answer.scaled_gradients)(&loss, scale, &mut |loss| {
            seen = Some(values(loss)?);
            of(&w, loss)
        })?;
        let Some(seen) = seen else {
            return case.require("backward is called", false, "no call");
        };
        case.close("loss passed to backward", seen, (own * scale) as f32)?;
    }
    Ok(())
}

pub fn returns_unscaled_gradients(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    for scale in [draw.number(100.0, 5000.0).round(), 0.25, 2f64.powi(126)] {
        let slopes = draw.list(5, -2.0, 3.0);
        let table = Tensor::from_vec(draw.list(6, -2.0, 3.0), (2, 3), &Device::Cpu)?.t()?;
        let (w, loss) = line(&slopes)?;
        let case = given(format!(
            "backward returns gradients of shapes [5], [3, 2], []; scale {}",
            shown(scale)
        ));
        let (grads, found) = (answer.scaled_gradients)(&loss, scale, &mut |loss| {
            let grad = of(&w, loss)?.remove(0);
            Ok(vec![
                grad,
                (&table * scale)?,
                Tensor::new(scale as f32 * 1.5, &Device::Cpu)?,
            ])
        })?;
        case.close("number of gradients", grads.len(), 3usize)?;
        case.close("gradient 1", values(&grads[0])?, &slopes)?;
        case.close("gradient 2", values(&grads[1])?, values(&table)?)?;
        case.close("gradient 3", values(&grads[2])?, 1.5f32)?;
        // Large ones are another check's.
        if scale < 1e9 {
            case.require("found_inf", !found, "true")?;
        }
    }
    Ok(())
}

pub fn converts_to_fp32_before_dividing(answer: &Lesson06) -> Verdict {
    let mut draw = draw();
    // The quotients are below the smallest fp16 number, beyond the largest, or need more bits than bf16 has.
    let held = |list: &[f32], dtype| Tensor::new(list, &Device::Cpu)?.to_dtype(dtype);
    let small = (draw.number(5.0, 9.0) * 1e-5) as f32;
    for (dtype, numbers, scale) in [
        (DType::F16, [small, 0.3, -60000.0], 65536.0),
        (DType::F16, [small, 300.0, -60000.0], 0.25),
        (DType::F16, [small, 0.3, -7.0], 1.0),
        (DType::BF16, [small, 0.3, -60000.0], 1000.0),
    ] {
        let grad = held(&numbers, dtype)?;
        let shown: Vec<f32> = grad.to_dtype(DType::F32)?.to_vec1()?;
        let case = given(format!(
            "a gradient {shown:?} that backward returns in {}, scale {scale}",
            dtype.as_str()
        ));
        let (grads, _) = with_grads(answer, scale, &[grad])?;
        let [got] = &grads[..] else {
            return case.close("number of gradients", grads.len(), 1usize);
        };
        let got = values(got)?;
        // Relative to the expected value: an absolute tolerance would accept 0.
        let over = got
            .numbers
            .iter()
            .zip(&shown)
            .map(|(g, s)| g * scale / f64::from(*s));
        let got = Values::tensor(over.collect(), &got.shape, got.dtype);
        case.close("gradient, over what it should be", got, &[1.0f32; 3][..])?;
    }
    Ok(())
}

pub fn finds_inf_and_nan(answer: &Lesson06) -> Verdict {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    found(
        answer,
        &[
            ("inf alone", &[&[inf]]),
            ("NaN alone", &[&[nan]]),
            ("a finite one", &[&[3.0]]),
        ],
    )?;
    let fine: &[f32] = &[3.0, -4.0, 5.0];
    found(
        answer,
        &[
            ("inf in the first", &[&[3.0, inf, 5.0], fine, fine]),
            ("-inf in the second", &[fine, &[3.0, -4.0, -inf], fine]),
            ("inf in the last", &[fine, fine, &[inf, -4.0, 5.0]]),
            ("NaN in the first", &[&[nan, -4.0, 5.0], fine, fine]),
            ("NaN in the second", &[fine, &[3.0, -4.0, nan], fine]),
            ("NaN in the last", &[fine, fine, &[3.0, nan, 5.0]]),
            ("inf and -inf in one", &[fine, &[inf, -inf, 0.0], fine]),
            ("inf and -inf in two", &[&[inf, 0.0], &[-inf, 0.0], fine]),
            ("none", &[fine, fine, fine]),
        ],
    )?;
    let half = Tensor::new(&[3.0f32, 1e9], &Device::Cpu)?.to_dtype(DType::F16)?;
    let case = given("a gradient [3, inf] that backward returns in f16, scale 8");
    let (_, found) = with_grads(answer, 8.0, &[half])?;
    case.require("found_inf", found, "false")
}

/// Gradients under a name.
type Named<'a> = (&'a str, &'a [&'a [f32]]);

/// Compares `found_inf` of each.
fn found(answer: &Lesson06, each: &[Named]) -> Verdict {
    let names: Vec<&str> = each.iter().map(|(name, _)| *name).collect();
    let count = each.first().map_or(0, |(_, grads)| grads.len());
    let case = given(format!(
        "{count} gradient(s), scale 8, with each of: {}",
        names.join("; ")
    ));
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for (_, grads) in each {
        let tensors = grads.iter().map(|g| list(g)).collect::<Result<Vec<_>>>()?;
        got.push(usize::from(with_grads(answer, 8.0, &tensors)?.1));
        let bad = grads.iter().any(|g| g.iter().any(|v| !v.is_finite()));
        expected.push(usize::from(bad));
    }
    case.close("found_inf in each (1 is true)", &got, &expected)
}

pub fn returns_gradients_that_overflowed(answer: &Lesson06) -> Verdict {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    // Six: what is left out, or cut off at the first that is not finite, is another number of them.
    let grads = [
        [8.0, 16.0],
        [inf, 8.0],
        [24.0, nan],
        [32.0, 40.0],
        [48.0, 56.0],
        [64.0, 72.0],
    ];
    let tensors = grads.iter().map(|g| list(g)).collect::<Result<Vec<_>>>()?;
    let case = given(format!("backward returns the gradients {grads:?}, scale 8"));
    let (got, _) = with_grads(answer, 8.0, &tensors)?;
    case.close("number of gradients", got.len(), grads.len())?;
    for (i, (got, expected)) in got.iter().zip(&grads).enumerate() {
        let expected = expected.map(|v| v / 8.0);
        case.close(&format!("gradient {}", i + 1), values(got)?, &expected[..])?;
    }
    Ok(())
}

pub fn accepts_large_finite_gradients(answer: &Lesson06) -> Verdict {
    let many = draw().whole(40, 60);
    let case = given(format!(
        "scale 1, and gradients with each of: 70000; 1e30; {many} times 3e38 in one; 3e38 in each of {many}; 3e38 and -3e38"
    ));
    let each = [
        vec![list(&[70000.0])?],
        vec![list(&[1e30])?],
        vec![list(&vec![3e38; many])?],
        vec![list(&[3e38])?; many],
        vec![list(&[3e38, -3e38, 3e38])?, list(&[-3e38])?],
    ];
    let mut got = Vec::new();
    for grads in &each {
        got.push(usize::from(with_grads(answer, 1.0, grads)?.1));
    }
    case.close("found_inf in each (1 is true)", &got, &vec![0usize; each.len()])
}

pub fn looks_at_the_returned_gradients(answer: &Lesson06) -> Verdict {
    let case = given("backward returns a gradient 2e38, which is infinite over the scale 0.25");
    let (_, found) = with_grads(answer, 0.25, &[list(&[1.0, 2e38])?])?;
    case.require("found_inf", found, "false")
}

pub fn accepts_no_gradients(answer: &Lesson06) -> Verdict {
    let case = given("backward returns an empty list");
    let (grads, found) = with_grads(answer, 8.0, &[])?;
    case.close("number of gradients", grads.len(), 0usize)?;
    case.require("found_inf", !found, "true")
}

pub fn runs_backward_once(answer: &Lesson06) -> Verdict {
    let slope = draw().number(0.5, 2.0) as f32;
    for times in [1.0, f32::INFINITY] {
        let (w, loss) = line(&[slope])?;
        let text = if times == 1.0 {
            ""
        } else {
            " whose gradient overflows"
        };
        let case = given(format!("a loss{text}, scale 4"));
        let mut passes = 0usize;
        (answer.scaled_gradients)(&loss, 4.0, &mut |loss| {
            passes += 1;
            of(&w, loss)?.iter().map(|g| g * f64::from(times)).collect()
        })?;
        case.close("calls of backward", passes, 1usize)?;
    }
    Ok(())
}

pub fn returns_errors_of_the_backward_pass(answer: &Lesson06) -> Verdict {
    let (_w, loss) = line(&[1.5])?;
    let case = given("a backward pass that fails with \"out of memory\"");
    let got = (answer.scaled_gradients)(&loss, 4.0, &mut |_| bail!("out of memory"));
    let Err(error) = got else {
        return case.require("an error", false, "Ok");
    };
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    case.require("the error of backward", text.contains("out of memory"), first)
}
