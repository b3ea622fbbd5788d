//! 6.3: gradients of a scaled loss.

use candle_core::{DType, Device, Result, Tensor, Var, bail};
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::values;

use crate::{Lesson06, REFERENCE, answers};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A gradient that `backward` returns: numbers, shape and dtype.
type Gradient = (Vec<f64>, Vec<usize>, DType);

/// The loss, the scale, and what `backward` returns.
type Input = (f64, f64, Vec<Gradient>);

/// Each list a gradient in f32.
fn lists(scale: f64, lists: &[&[f64]]) -> Input {
    let gradient = |list: &&[f64]| (list.to_vec(), vec![list.len()], DType::F32);
    (1.5, scale, lists.iter().map(gradient).collect())
}

fn scaled<const COUNT: usize>(answer: &Lesson06, input: Input) -> Verdict {
    let of = |lesson: &Lesson06| Facts::of(facts::<COUNT>(lesson, &input), |facts| facts);
    let (loss, scale, grads) = &input;
    let text = format!("loss {loss}, scale {scale:?}; backward returns {grads:?}");
    given(text).same(of(answer), of(&REFERENCE))
}

/// The first `COUNT` of these: the losses that `backward` gets, the gradients, `found_inf`.
fn facts<const COUNT: usize>(lesson: &Lesson06, (loss, scale, returned): &Input) -> Result<Facts> {
    let parameter = Var::new(*loss as f32, &Device::Cpu)?;
    let loss = (parameter.as_tensor() * 1.0)?;
    let mut losses: Vec<f32> = Vec::new();
    let (grads, found) = (lesson.scaled_gradients)(&loss, *scale, &mut |loss| {
        losses.push(loss.to_scalar()?);
        if loss.backward()?.get(&parameter).is_none() {
            bail!("backward got a loss that does not depend on the parameters");
        }
        let tensor = |(numbers, shape, dtype): &Gradient| {
            Tensor::from_slice(numbers, &shape[..], &Device::Cpu)?.to_dtype(*dtype)
        };
        returned.iter().map(tensor).collect()
    })?;
    let mut facts = Facts::default().values("losses passed to backward", &losses);
    if COUNT > 1 {
        let kinds = grads.iter().map(|g| (g.dtype(), g.dims()));
        facts = facts.items("dtypes and shapes of the gradients", kinds);
        for grad in &grads {
            // Times the scale: a tolerance for ordinary numbers would accept 0 for a tiny one.
            let mut list = values(&(grad.to_dtype(DType::F64)? * *scale)?)?;
            list.dtype = "f32";
            facts = facts.values("gradient × scale", list);
        }
    }
    if COUNT > 2 {
        facts = facts.items("found_inf", [found]);
    }
    Ok(facts)
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.3";
    by scaled::<1> {
        runs_backward_from_the_scaled_loss: "Call `backward` once, with `loss` times `scale`",
            "Call `backward` once, with `loss` times `scale`: that tensor itself, a scalar of the same graph." => |d| {
            let scales = [2f64.powi(d.whole(3, 12) as i32), d.number(3.0, 900.0).round(), 0.25, 65536.0, 1.0];
            let all = scales.map(|scale| (d.number(0.2, 2.0), scale, lists(scale, &[&[2.0]]).2));
            [&all[..], &[lists(4.0, &[&[INF]])]].concat()
        };
    }
    by scaled::<2> {
        returns_unscaled_gradients: "divide it by `scale`",
            "Divide each gradient once by `scale`; return all in f32, in the same order and shapes." => |d| {
            let mut one = |scale: f64, shape: &[usize]| {
                let numbers = d.list(shape.iter().product(), -2.0, 3.0);
                (numbers.iter().map(|&x| f64::from(x) * scale).collect(), shape.to_vec(), DType::F32)
            };
            let mut drawn = |scale| (1.5, scale, [&[5][..], &[3, 2], &[]].map(|shape| one(scale, shape)).into());
            let alike = lists(8.0, &[&[16.0, -4.0], &[2.0, 24.0], &[40.0, 1.0]]);
            vec![alike, drawn(1234.0), drawn(0.25), drawn(2f64.powi(126))]
        };
        converts_to_fp32_before_dividing: "Convert each gradient to f32",
            "For any scale, convert each gradient to f32 first, divide then, and return it in f32." => |d| {
            // The quotients are too small for fp16, too large, or need more bits than bf16 has. Each is a gradient of
            // its own, and so is its tolerance.
            let small = d.number(5.0, 9.0) * 1e-5;
            let each = |dtype, scale, list: [f64; 3]| (1.5, scale, list.map(|x| (vec![x], vec![1], dtype)).into());
            vec![
                each(DType::F16, 65536.0, [small, 0.3, -60000.0]),
                each(DType::F16, 0.25, [small, 300.0, -60000.0]),
                each(DType::F16, 1.0, [small, 0.3, -7.0]),
                each(DType::BF16, 1000.0, [small, 0.3, -60000.0]),
            ]
        };
        returns_gradients_that_overflowed: "All gradients of `loss`",
            "Return every gradient divided, also after an overflow: the caller decides what to do." =>
            |_| vec![lists(8.0, &[&[8.0, 16.0], &[INF, 8.0], &[24.0, NAN], &[32.0, 40.0], &[48.0, 56.0], &[64.0]])];
    }
    by scaled::<3> {
        finds_inf_and_nan: "whether any is infinite or NaN",
            "One number that is +inf, -inf or NaN, anywhere in any gradient, is enough; finite ones alone are not." => |_| {
            const FINE: &[f64] = &[3.0, -4.0, 5.0];
            let in_fp16 = (1.5, 8.0, vec![(vec![3.0, 1e9], vec![2], DType::F16)]);
            let all: [&[&[f64]]; 12] = [
                &[&[3.0]], &[&[INF]], &[&[NAN]], &[FINE, FINE, FINE],
                &[&[3.0, INF, 5.0], FINE, FINE], &[FINE, &[3.0, -4.0, -INF], FINE], &[FINE, FINE, &[INF, -4.0, 5.0]],
                &[&[NAN, -4.0, 5.0], FINE, FINE], &[FINE, &[3.0, -4.0, NAN], FINE], &[FINE, FINE, &[3.0, NAN, 5.0]],
                &[FINE, &[INF, -INF, 0.0], FINE], &[&[INF, 0.0], &[-INF, 0.0], FINE],
            ];
            all.iter().map(|given| lists(8.0, given)).chain([in_fp16]).collect()
        };
        accepts_large_finite_gradients: "whether any is infinite or NaN",
            "Large finite numbers are no overflow: look at each; a sum or a square may be infinite." => |_| {
            let all: [&[&[f64]]; 5] = [
                &[&[70000.0]], &[&[1e30]], &[&[3e38, 3e38]], &[&[3e38], &[3e38]], &[&[3e38, -3e38, 3e38], &[-3e38]],
            ];
            all.map(|given| lists(1.0, given)).into()
        };
        returns_errors_of_the_backward_pass: "Call `backward` once", "Return an error of `backward` with `?`." =>
            // There are too few numbers for the shape: `backward` fails.
            |_| vec![(1.5, 4.0, vec![(vec![1.0], vec![2], DType::F32)])];
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.3" scaled_gradients;
    1 "An error of `backward` is ignored as if there were no gradients.";
    2 "`detach`, or a new tensor from a number, cuts the path back to the parameters. Multiply `loss` itself.";
    3 "The gradients are divided in their own dtype: in fp16 the quotient is 0. Convert them to fp32 first.";
    4 "The gradients are those of the scaled loss; divide them by the scale.";
    5 "The sum is checked, which can overflow although no gradient does. Multiply by 0 first, or check each number.";
    6 "The gradients are returned in fp16; return fp32.";
};
