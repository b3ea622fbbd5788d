//! Known wrong answers to exercise 10.1.

use super::*;

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.1", computes_its_own_outputs, "The weight is not transposed: W has a row for each output, so the product is x·Wᵀ.",
        column_parallel: |x, w, b| Ok(x.matmul(w)?.broadcast_add(b)?)),
    wrong!("10.1", computes_its_own_outputs, "The result is transposed: it has a row for each row of x.",
        column_parallel: |x, w, b| Ok((REFERENCE.column_parallel)(x, w, b)?.t()?)),
    wrong!("10.1", adds_its_part_of_the_bias, "The bias is left out.",
        column_parallel: |x, w, _| product(x, w)),
    wrong!("10.1", adds_its_part_of_the_bias, "The bias is subtracted; it is added.",
        column_parallel: |x, w, b| Ok(product(x, w)?.broadcast_sub(b)?)),
    wrong!("10.1", adds_its_part_of_the_bias, "The bias is added twice.",
        column_parallel: |x, w, b| Ok((REFERENCE.column_parallel)(x, w, b)?.broadcast_add(b)?)),
    wrong!("10.1", sums_the_gradient_of_x, "The gradient of x is not summed: every rank has read all of x, so each knows only a part.",
        column_parallel_backward: |_, x, w, g| gradients(x, w, g)),
    wrong!("10.1", sums_the_gradient_of_x, "The gradient of x is averaged over the ranks; it is the sum.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.x = (&all.x / c.world_size() as f64)?;
        Ok(())
    })),
    wrong!("10.1", sums_the_gradient_of_x, "The gradient of x is summed twice, so that it is p times as large.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.x = sum_over_ranks(c, &all.x)?;
        Ok(())
    })),
    wrong!("10.1", sums_the_gradient_of_x, "Only rank 0 has the sum of the gradient of x; every rank needs it.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        if c.rank() > 0 {
            all.x = g.matmul(w)?;
        }
        Ok(())
    })),
    wrong!("10.1", sums_the_gradient_of_x, "Only rank 0 calls the all-reduce: all ranks must make the same calls, or it waits in vain.",
    column_parallel_backward: |c, x, w, g| {
        let mut all = gradients(x, w, g)?;
        if c.rank() == 0 {
            all.x = sum_over_ranks(c, &all.x)?;
        }
        Ok(all)
    }),
    wrong!("10.1", sums_the_gradient_of_x, "The gradient of x is multiplied by the transposed weight; it is grad_y·W.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.x = g.matmul(&w.t()?)?;
        Ok(())
    })),
    wrong!("10.1", sums_the_gradient_of_x, "grad_y is summed over the ranks: it is the gradient of this rank's outputs, and other ranks have other outputs.",
        column_parallel_backward: |c, x, w, g| gradients(x, w, &sum_over_ranks(c, g)?)),
    wrong!("10.1", keeps_its_own_gradients, "The gradients of weight and bias are summed over the ranks, too, as in data parallelism; here each rank has other rows of W.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.weight = sum_over_ranks(c, &all.weight)?;
        all.bias = sum_over_ranks(c, &all.bias)?;
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the bias is summed over the ranks; each rank has the bias of other outputs.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.bias = sum_over_ranks(c, &all.bias)?;
        Ok(())
    })),
    wrong!("10.1", sends_one_all_reduce, "All three gradients are sent by one call; only the gradient of x is summed over the ranks.",
    column_parallel_backward: |c, x, w, g| {
        let mut all = gradients(x, w, g)?;
        let flat = [all.x.flatten_all()?, all.weight.flatten_all()?, all.bias.flatten_all()?];
        let sum = sum_over_ranks(c, &Tensor::cat(&flat, 0)?)?;
        all.x = sum.narrow(0, 0, all.x.elem_count())?.reshape(all.x.shape())?;
        Ok(all)
    }),
    wrong!("10.1", keeps_its_own_gradients, "The gradients of weight and bias are divided by the number of rows; the loss has done that, if it is a mean.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        let rows = x.dim(0)? as f64;
        (all.weight, all.bias) = ((&all.weight / rows)?, (&all.bias / rows)?);
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the weight is summed over the ranks; each rank has other rows of W.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        // Rows that another rank does not have count as 0.
        let rows = w.dim(0)?;
        let most = 16;
        let none = Tensor::zeros((most - rows, w.dim(1)?), w.dtype(), w.device())?;
        let wide = sum_over_ranks(c, &Tensor::cat(&[&all.weight, &none], 0)?)?;
        all.weight = wide.narrow(0, 0, rows)?;
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradients of weight and bias are divided by the number of ranks, as in data parallelism; here they are not shared.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        let share = 1.0 / c.world_size() as f64;
        (all.weight, all.bias) = ((&all.weight * share)?, (&all.bias * share)?);
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the weight is transposed: it has the shape of the weight, grad_yᵀ·x.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.weight = x.t()?.matmul(g)?;
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the bias is the mean over the rows; it is their sum.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.bias = g.mean(0)?;
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the bias is grad_y itself; sum it over the rows.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.bias = g.clone();
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the bias is summed over the outputs; sum it over the rows, `sum(0)`.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.bias = g.sum(1)?;
        Ok(())
    })),
    wrong!("10.1", keeps_its_own_gradients, "The gradient of the bias keeps its axis of rows: use `sum`, not `sum_keepdim`.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        all.bias = g.sum_keepdim(0)?;
        Ok(())
    })),
    wrong!("10.1", sends_one_all_reduce, "There is one all-reduce for each row of the gradient: each message has a latency.",
    column_parallel_backward: |c, x, w, g| {
        let mut all = gradients(x, w, g)?;
        let rows: Vec<Tensor> = (0..x.dim(0)?)
            .map(|r| sum_over_ranks(c, &all.x.narrow(0, r, 1)?))
            .collect::<anyhow::Result<_>>()?;
        all.x = Tensor::cat(&rows, 0)?;
        Ok(all)
    }),
    wrong!("10.1", sends_one_all_reduce, "A second all-reduce sends what nobody uses: the gradients of weight and bias stay on this rank.",
    column_parallel_backward: |c, x, w, g| with(c, (x, w, g), |all| {
        c.all_reduce(&mut [0.0; 8])?;
        let _ = all;
        Ok(())
    })),
    wrong!("10.1", returns_the_error_of_the_sum, "`unwrap` ends the program at an error of the all-reduce: return it with `?`.",
        column_parallel_backward: |c, x, w, g| Ok(canopy::split::LinearGrads { x: sum_over_ranks(c, &g.matmul(w)?).unwrap(), ..gradients(x, w, g)? })),
    wrong!("10.1", returns_the_error_of_the_sum, "An error of the all-reduce is swallowed, and the rank goes on with its own part: return it with `?`.",
    column_parallel_backward: |c, x, w, g| {
        let mut all = gradients(x, w, g)?;
        if let Ok(sum) = sum_over_ranks(c, &all.x) {
            all.x = sum;
        }
        Ok(all)
    }),
];
