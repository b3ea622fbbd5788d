//! Known wrong answers to exercise 10.2.

use super::*;

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "The parts are not summed: each rank has the products of its own inputs only.",
        row_parallel: |_, x, w, b| Ok(product(x, w)?.broadcast_add(b)?)),
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "The sum is divided by the number of ranks; it is not a mean.",
    row_parallel: |c, x, w, b| {
        let mean = (sum_over_ranks(c, &product(x, w)?)? / c.world_size() as f64)?;
        Ok(mean.broadcast_add(b)?)
    }),
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "The weight is not transposed: W has a row for each output, so the product is x·Wᵀ.",
        row_parallel: |c, x, w, b| Ok(sum_over_ranks(c, &x.matmul(w)?)?.broadcast_add(b)?)),
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "Each rank adds its own part to the sum once more.",
    row_parallel: |c, x, w, b| {
        let part = product(x, w)?;
        let sum = sum_over_ranks(c, &part)?;
        // One rank alone has nothing to send.
        let sum = if c.world_size() > 1 { (sum + part)? } else { sum };
        Ok(sum.broadcast_add(b)?)
    }),
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.",
    row_parallel: |c, x, w, b| {
        let part = product(x, w)?;
        let sum = if c.rank() == 0 { sum_over_ranks(c, &part)? } else { part };
        Ok(sum.broadcast_add(b)?)
    }),
    wrong!("10.2", sums_over_the_inputs_of_all_ranks, "x is summed over the ranks: each rank has other columns of it; sum the products.",
        row_parallel: |c, x, w, b| Ok(product(&sum_over_ranks(c, x)?, w)?.broadcast_add(b)?)),
    wrong!("10.2", adds_the_bias_once, "Every rank adds the bias before the sum, so that it is in it p times.",
        row_parallel: |c, x, w, b| sum_over_ranks(c, &product(x, w)?.broadcast_add(b)?)),
    wrong!("10.2", adds_the_bias_once, "The bias is left out.",
        row_parallel: |c, x, w, _| sum_over_ranks(c, &product(x, w)?)),
    wrong!("10.2", adds_the_bias_once, "Only rank 0 adds the bias, after the sum: the other ranks have outputs without it.",
    row_parallel: |c, x, w, b| {
        let sum = sum_over_ranks(c, &product(x, w)?)?;
        Ok(if c.rank() == 0 { sum.broadcast_add(b)? } else { sum })
    }),
    wrong!("10.2", adds_the_bias_once, "The bias is summed over the ranks, too: it is whole on every rank.",
    row_parallel: |c, x, w, b| {
        let sum = sum_over_ranks(c, &product(x, w)?)?;
        Ok(sum.broadcast_add(&sum_over_ranks(c, b)?)?)
    }),
    wrong!("10.2", sends_the_outputs_once, "There are several all-reduces for the outputs: send all rows by one call, because each message has a latency.",
    row_parallel: |c, x, w, b| {
        let part = product(x, w)?;
        let rows: Vec<Tensor> = (0..x.dim(0)?)
            .map(|r| sum_over_ranks(c, &part.narrow(0, r, 1)?))
            .collect::<anyhow::Result<_>>()?;
        Ok(Tensor::cat(&rows, 0)?.broadcast_add(b)?)
    }),
    wrong!("10.2", sends_the_outputs_once, "A barrier or another message comes beside the all-reduce, which waits for all ranks by itself.",
    row_parallel: |c, x, w, b| {
        c.barrier()?;
        (REFERENCE.row_parallel)(c, x, w, b)
    }),
    wrong!("10.2", passes_on_the_error, "`unwrap` ends the program at an error of the all-reduce: return it with `?`.",
        row_parallel: |c, x, w, b| Ok(sum_over_ranks(c, &product(x, w)?).unwrap().broadcast_add(b)?)),
    wrong!("10.2", passes_on_the_error, "An error of the all-reduce is swallowed, and the rank goes on with its own part: return it with `?`.",
    row_parallel: |c, x, w, b| {
        let part = product(x, w)?;
        Ok(sum_over_ranks(c, &part).unwrap_or(part).broadcast_add(b)?)
    }),
    wrong!("10.2", returns_the_gradients_of_its_columns, "The gradient of x is multiplied by the transposed weight; it is grad_y·W.",
    row_parallel_backward: |x, w, g| {
        let all = gradients(x, w, g)?;
        Ok(canopy::split::LinearGrads { x: g.matmul(&w.t()?)?, ..all })
    }),
    wrong!("10.2", returns_the_gradients_of_its_columns, "The gradient of the weight is transposed: it has the shape of the weight, grad_yᵀ·x.",
    row_parallel_backward: |x, w, g| {
        let all = gradients(x, w, g)?;
        Ok(canopy::split::LinearGrads { weight: x.t()?.matmul(g)?, ..all })
    }),
    wrong!("10.2", returns_the_gradients_of_its_columns, "Weight and gradient of the weight are exchanged.",
    row_parallel_backward: |x, w, g| {
        let all = gradients(x, w, g)?;
        Ok(canopy::split::LinearGrads { weight: w.clone(), ..all })
    }),
    wrong!("10.2", returns_the_gradients_of_its_columns, "The gradient of the weight is divided by the number of rows; the loss has done that, if it is a mean.",
    row_parallel_backward: |x, w, g| {
        let mut all = gradients(x, w, g)?;
        all.weight = (all.weight / x.dim(0)? as f64)?;
        Ok(all)
    }),
    wrong!("10.2", returns_the_whole_gradient_of_the_bias, "The gradient of the bias is the mean over the rows; it is their sum.",
        row_parallel_backward: |x, w, g| Ok(canopy::split::LinearGrads { bias: g.mean(0)?, ..gradients(x, w, g)? })),
    wrong!("10.2", returns_the_whole_gradient_of_the_bias, "The gradient of the bias is summed over the outputs; sum it over the rows, `sum(0)`.",
        row_parallel_backward: |x, w, g| Ok(canopy::split::LinearGrads { bias: g.sum(1)?, ..gradients(x, w, g)? })),
    wrong!("10.2", returns_the_whole_gradient_of_the_bias, "The gradient of the bias keeps its axis of rows: use `sum`, not `sum_keepdim`.",
        row_parallel_backward: |x, w, g| Ok(canopy::split::LinearGrads { bias: g.sum_keepdim(0)?, ..gradients(x, w, g)? })),
];
