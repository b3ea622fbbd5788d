use candle_core::{DType, Tensor};
use canopy::{
    kernels::Pass,
    model::{Kind, PointNet},
};
use grader::{Values, Verdict, draw, given};

use super::{
    said,
    tiny::{CLASSES, batch, bits, seasoned},
    values,
};
use crate::Lesson04;

/// Softmax in f64 of the network's logits with running statistics.
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
        let case = given(format!(
            "a narrow {kind} PointNet, 5 clouds of 8 points, 4 classes"
        ));
        let got = said((answer.probabilities)(&model, &points))?;
        case.close("probabilities", values(&got)?, by_hand(&model, &points)?)?;
    }
    Ok(())
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

/// Multiplies the classifier, so that logits go into the thousands, and adds an offset for each cloud.
fn enlarge(model: &PointNet, factor: f64, offset: f64) -> candle_core::Result<()> {
    for (name, var) in model.params() {
        if name.starts_with("classifier") {
            var.set(&(var.as_detached_tensor() * factor)?)?;
        }
        if name == "classifier.weight" {
            var.set(&(var.as_detached_tensor() + offset)?)?;
        }
    }
    Ok(())
}

pub fn stays_exact_for_large_logits(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let factor = draw.number(2e4, 5e4);
    for (factor, offset, told) in [
        (factor, 0.0, "far apart, up to thousands"),
        // A cloud's logits all grow by as much: the softmax remains, another cloud's maximum does not help.
        (1.0, factor, "in the thousands, and far apart from cloud to cloud"),
    ] {
        let model = seasoned(Kind::Vanilla, DType::F32, &mut draw)?;
        enlarge(&model, factor, offset)?;
        let (points, _) = batch(&mut draw, 5)?;
        let case = given(format!(
            "a narrow vanilla PointNet whose logits are {told}; 5 clouds"
        ));
        let got = values(&said((answer.probabilities)(&model, &points))?)?;
        case.close("probabilities", got, by_hand(&model, &points)?)?;
    }
    Ok(())
}

pub fn returns_f32_of_any_network_dtype(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    for dtype in [DType::F64, DType::BF16] {
        let model = seasoned(Kind::Vanilla, dtype, &mut draw)?;
        let points = batch(&mut draw, 4)?.0.to_dtype(dtype)?;
        let case = given(format!(
            "a narrow vanilla PointNet that computes in {}, 4 clouds",
            dtype.as_str()
        ));
        let got = said((answer.probabilities)(&model, &points))?;
        case.close("probabilities", values(&got)?, by_hand(&model, &points)?)?;
    }
    Ok(())
}
