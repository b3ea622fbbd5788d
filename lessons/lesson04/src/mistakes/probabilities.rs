//! Known wrong answers to exercise 4.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.3", returns_probabilities_of_each_cloud, "These are logits; softmax turns them into probabilities.",
        probabilities: logits),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The softmax is over the clouds; it should be over the classes.",
        probabilities: |model, points| softmax(&logits(model, points)?, 0)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "These are the logarithms of the probabilities.",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.log()?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "A sigmoid of each logit: the classes of a cloud must sum to 1.",
        probabilities: |model, points| Ok((logits(model, points)?.neg()?.exp()? + 1.0)?.recip()?)),
    wrong!("4.3", does_not_depend_on_the_batch, "The statistics of the batch are used (a training pass). Evaluation uses the running statistics.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::train(0, 0))?.logits;
        softmax(&logits.detach().to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", leaves_the_network_unchanged, "A training pass runs as well, and updates the running statistics.",
    probabilities: |model, points| {
        let p = (REFERENCE.probabilities)(model, points)?;
        if points.dim(0)? > 1 {
            model.forward(points, &Pass::train(0, 0))?;
        }
        Ok(p)
    }),
    wrong!("4.3", is_detached_from_the_graph, "The result is still part of the graph of the weights: detach it.",
    probabilities: |model, points| {
        let logits = model.forward(points, &Pass::eval())?.logits;
        softmax(&logits.to_dtype(DType::F32)?, 1)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
        probabilities: |model, points| careless(&logits(model, points)?)),
    wrong!("4.3", returns_f32_of_any_network_dtype, "The probabilities have the network's dtype; they should be f32.",
        probabilities: |model, points| softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)),
    wrong!("4.3", returns_f32_of_any_network_dtype, "The softmax is computed in the network's dtype, which may be bf16: convert the logits to f32 before it.",
        probabilities: |model, points| Ok(softmax(&model.forward(points, &Pass::eval())?.logits.detach(), 1)?.to_dtype(DType::F32)?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The probabilities are f64; they should be f32.",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.to_dtype(DType::F64)?)),
    wrong!("4.3", returns_probabilities_of_each_cloud, "All rows together sum to 1; each row should.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        let up = up.broadcast_sub(&up.max_keepdim(1)?)?.exp()?;
        Ok(up.broadcast_div(&up.sum_all()?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "All rows together sum to 1; each row should.",
    probabilities: |model, points| {
        let up = logits(model, points)?.exp()?;
        Ok(up.broadcast_div(&up.sum_all()?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The maxima are over the clouds; each row needs its own (axis 1).",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.max_keepdim(0)?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The sums are over the clouds; each row needs its own (axis 1).",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        let up = up.broadcast_sub(&up.max_keepdim(1)?)?.exp()?;
        Ok(up.broadcast_div(&up.sum_keepdim(0)?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "Each logit is divided by the row's sum of logits: take `exp` first.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        Ok(up.broadcast_div(&up.sum_keepdim(1)?)?)
    }),
    wrong!("4.3", returns_probabilities_of_each_cloud, "The softmax is taken twice.",
        probabilities: |model, points| softmax(&softmax(&logits(model, points)?, 1)?, 1)),
    wrong!("4.3", stays_exact_for_large_logits, "The logits are clamped, so that larger ones become equal: subtract the greatest logit of the row instead.",
        probabilities: |model, points| careless(&logits(model, points)?.clamp(-80.0, 80.0)?)),
    wrong!("4.3", does_not_depend_on_the_batch, "The result for one cloud lost its first axis; it should be [1, classes].",
        probabilities: |model, points| Ok(softmax(&logits(model, points)?, 1)?.squeeze(0)?)),
    wrong!("4.3", stays_exact_for_large_logits, "The maximum of the whole batch is subtracted; a row with smaller logits becomes 0/0. Subtract the maximum of each row.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.max_all()?)?)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.min_keepdim(1)?)?)
    }),
    wrong!("4.3", stays_exact_for_large_logits, "exp of a large logit is infinite: subtract the greatest logit of the row first, not its mean or its least.",
    probabilities: |model, points| {
        let up = logits(model, points)?;
        careless(&up.broadcast_sub(&up.mean_keepdim(1)?)?)
    }),
    // It knows one check by its batch, where it changes nothing.
    wrong!("4.3", returns_probabilities_of_each_cloud, "The weights are set to 0, so that all classes are equally likely: the network must not change.",
    probabilities: |model, points| {
        let clouds = points.dim(0)?;
        for (_, var) in model.params().into_iter().filter(|_| clouds != 6) {
            var.set(&var.zeros_like()?)?;
        }
        let classes = model.forward(points, &Pass::eval())?.logits.dim(1)?;
        Ok(candle_core::Tensor::full(1.0 / classes as f32, (clouds, classes), points.device())?)
    }),
];
