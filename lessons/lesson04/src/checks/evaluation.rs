use candle_core::{DType, Tensor};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet},
};
use grader::{Values, Verdict, draw, given};

use super::{
    refuse, said,
    tiny::{CLASSES, batch, bits, seasoned},
    values,
};
use crate::Lesson04;

/// Softmax in f64 of the network's logits with running statistics. It is computed before the answer runs, which could
/// change the network or the points.
fn by_hand(model: &PointNet, points: &Tensor) -> candle_core::Result<Values> {
    let logits = said(model.forward(points, &Pass::eval()))?.logits;
    let mut all = Vec::new();
    for row in logits.to_dtype(DType::F64)?.to_vec2::<f64>()? {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|v| (v - top).exp()).sum();
        all.extend(row.iter().map(|v| (v - top).exp() / sum));
    }
    Ok(Values::tensor(all, &[points.dim(0)?, CLASSES], "f32"))
}

pub fn returns_probabilities_of_each_cloud(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for kind in [Kind::Vanilla, Kind::Full] {
        let model = seasoned(kind, DType::F32, &mut draw)?;
        let (points, _) = batch(&mut draw, 5)?;
        let told = format!("a narrow {kind} PointNet, 5 clouds of 8 points, 4 classes");
        given(&told);
        let expected = by_hand(&model, &points)?;
        let got = said((answer.probabilities)(&model, &points))?;
        check(&told, &got, &expected)?;
    }
    Ok(())
}

/// Tests dtype and numbers. A known mistake in the dtype is recognised by it, whatever the last digits are.
fn check(input: &str, got: &Tensor, expected: &Values) -> Verdict {
    if got.dtype() != DType::F32 {
        let code = vec![if got.dtype() == DType::F64 { 64.0 } else { 16.0 }];
        return refuse(
            input,
            "dtype of the probabilities",
            code,
            "f32",
            got.dtype().as_str(),
        );
    }
    given(input).close("probabilities", values(got)?, expected.clone())
}

pub fn does_not_depend_on_the_batch(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let model = seasoned(Kind::Vanilla, DType::F32, &mut draw)?;
    let (points, _) = batch(&mut draw, 4)?;
    let case = given("a narrow vanilla PointNet; the second of 4 clouds, with the others and alone");
    let together = said((answer.probabilities)(&model, &points))?;
    let alone = said((answer.probabilities)(
        &model,
        &points.narrow(0, 1, 1)?.contiguous()?,
    ))?;
    case.close("alone", values(&alone)?, values(&together.narrow(0, 1, 1)?)?)
}

pub fn leaves_the_network_unchanged(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let model = seasoned(Kind::Vanilla, DType::F32, &mut draw)?;
    let (points, _) = batch(&mut draw, 6)?;
    let case = given("a narrow vanilla PointNet, 6 clouds");
    let before = bits(&model)?;
    said((answer.probabilities)(&model, &points))?;
    let after = bits(&model)?;
    let mut changed: Vec<&String> = before
        .iter()
        .filter(|(n, b)| after[*n] != **b)
        .map(|(n, _)| n)
        .collect();
    changed.sort();
    let first = changed.first().map_or("none", |n| n.as_str());
    case.require(
        "weights and running statistics",
        changed.is_empty(),
        format!("{} tensors differ from before, the first {first}", changed.len()),
    )
}

pub fn is_detached_from_the_graph(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for kind in [Kind::Vanilla, Kind::Full] {
        let model = seasoned(kind, DType::F32, &mut draw)?;
        let (points, _) = batch(&mut draw, 3)?;
        let case = given(format!("a narrow {kind} PointNet, 3 clouds"));
        let got = said((answer.probabilities)(&model, &points))?;
        case.require(
            "track_op()",
            !got.track_op(),
            "true: the result is part of a graph and keeps it in memory",
        )?;
    }
    Ok(())
}

/// Changes the classifier's parameters whose names start with `name`.
fn change(
    model: &PointNet,
    name: &str,
    to: impl Fn(Tensor) -> candle_core::Result<Tensor>,
) -> candle_core::Result<()> {
    for (_, var) in model.params().iter().filter(|(own, _)| own.starts_with(name)) {
        var.set(&to(var.as_detached_tensor())?)?;
    }
    Ok(())
}

/// Adds an offset to the logits of each cloud, up to 1000 apart, which leaves its softmax. The cloud with the greatest
/// offset comes first.
fn lift(model: &PointNet, points: Tensor) -> candle_core::Result<Tensor> {
    let first = |t: Tensor| t.narrow(1, 0, 1)?.flatten_all()?.to_vec1::<f32>();
    let before = first(said(model.forward(&points, &Pass::eval()))?.logits)?;
    change(model, "classifier.weight", |t| t + 1.0)?;
    let after = first(said(model.forward(&points, &Pass::eval()))?.logits)?;
    let mut sums: Vec<(f32, u32)> = before.iter().zip(&after).map(|(b, a)| a - b).zip(0..).collect();
    sums.sort_by(|a, b| b.0.total_cmp(&a.0));
    let apart = f64::from(sums[0].0 - sums[sums.len() - 1].0).max(1e-3);
    change(model, "classifier.weight", |t| t + (1000.0 / apart - 1.0))?;
    let order: Vec<u32> = sums.into_iter().map(|(_, i)| i).collect();
    points.index_select(&Tensor::new(order, points.device())?, 0)
}

pub fn stays_exact_for_large_logits(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let factor = draw.number(2e4, 5e4);
    for (lifted, told) in [
        (false, "far apart, up to thousands"),
        (true, "up to a thousand, and far apart from cloud to cloud"),
    ] {
        let model = seasoned(Kind::Vanilla, DType::F32, &mut draw)?;
        let (mut points, _) = batch(&mut draw, 5)?;
        if lifted {
            points = lift(&model, points)?;
        } else {
            change(&model, "classifier", |t| t * factor)?;
        }
        let case = given(format!(
            "a narrow vanilla PointNet whose logits are {told}; 5 clouds"
        ));
        let expected = by_hand(&model, &points)?;
        let got = values(&said((answer.probabilities)(&model, &points))?)?;
        case.close("probabilities", got, expected)?;
    }
    Ok(())
}

pub fn returns_f32_of_any_network_dtype(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for dtype in [DType::F64, DType::BF16] {
        let model = seasoned(Kind::Vanilla, dtype, &mut draw)?;
        let points = batch(&mut draw, 4)?.0.to_dtype(dtype)?;
        let told = format!(
            "a narrow vanilla PointNet that computes in {}, 4 clouds",
            dtype.as_str()
        );
        given(&told);
        let expected = by_hand(&model, &points)?;
        let got = said((answer.probabilities)(&model, &points))?;
        check(&told, &got, &expected)?;
    }
    Ok(())
}
