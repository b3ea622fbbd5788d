//! Known wrong answers to exercise 8.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson08>] = &[
    wrong!("8.4", averages_over_ranks, "The gradients are summed, but not divided: each step is p times as long.",
        average_gradients: |c, g| averaged(c, g, |v, _| v, shaped)),
    wrong!("8.4", averages_over_ranks, "The sum is always halved; divide it by the number of ranks.",
        average_gradients: |c, g| averaged(c, g, |v, p| if p > 1 { v / 2.0 } else { v }, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients are divided, but never summed over the ranks.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", averages_over_ranks, "Only rank 0 calls all_reduce: all ranks must make the same calls, or it waits forever.",
        average_gradients: |c, g| if c.rank() == 0 { (REFERENCE.average_gradients)(c, g) } else { Ok(()) }),
    wrong!("8.4", averages_over_ranks, "Each tensor is filled from the beginning of the list; start where the last one ended.",
        average_gradients: from_the_beginning),
    wrong!("8.4", keeps_ranks_identical_after_a_step,
    "Every rank adds a share of its own gradient to the mean, so that the ranks diverge.",
    average_gradients: |c, grads| {
        let own = grads.to_vec();
        (REFERENCE.average_gradients)(c, grads)?;
        for (g, own) in grads.iter_mut().zip(own) {
            *g = ((&*g * 0.5)? + (own * 0.5)?)?;
        }
        Ok(())
    }),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each gradient: each message has a latency.",
        average_gradients: |c, g| g.iter_mut().try_for_each(|g| (REFERENCE.average_gradients)(c, std::slice::from_mut(g)))),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each single number.",
        average_gradients: one_by_one),
    wrong!("8.4", averages_over_ranks, "The gradients are returned as lists: their shapes are lost.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.to_dtype(like.dtype()))),
    wrong!("8.4", preserves_shapes_and_dtypes, "The gradients are always returned as f32; keep their dtype.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32, |flat, like| flat.reshape(like.shape()))),
    wrong!("8.4", preserves_shapes_and_dtypes, "`to_vec1::<f32>` requires f32: convert other dtypes first.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            g.flatten_all()?.to_vec1::<f32>()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_non_contiguous_gradients, "A gradient that is not contiguous is rejected; `flatten_all` makes it contiguous.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            anyhow::ensure!(g.is_contiguous(), "a gradient is not contiguous");
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_non_contiguous_gradients, "The numbers are read in the order of memory, not in that of the shape.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            if !g.is_contiguous() {
                *g = g.t()?.contiguous()?.reshape(g.shape())?;
            }
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are divided twice.",
        average_gradients: |c, g| averaged(c, g, |v, p| v / p as f32 / p as f32, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients become 0: 1 / p is a division of whole numbers.",
        average_gradients: |c, g| averaged(c, g, |v, p| v * (1 / p) as f32, shaped)),
    wrong!("8.4", averages_over_ranks, "The gradients are as before: the means must replace them in the slice, `*g = …`.",
    average_gradients: |c, grads| {
        let mut copies = grads.to_vec();
        (REFERENCE.average_gradients)(c, &mut copies)
    }),
    wrong!("8.4", averages_over_ranks, "The sums are divided by the number of gradients; divide them by that of the ranks.",
    average_gradients: |c, grads| {
        (REFERENCE.average_gradients)(c, grads)?;
        if c.world_size() > 1 {
            let factor = c.world_size() as f64 / grads.len() as f64;
            for g in grads.iter_mut() {
                *g = (&*g * factor)?;
            }
        }
        Ok(())
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are written to the list in another order than they are read from it.",
        average_gradients: last_first),
    wrong!("8.4", averages_over_ranks, "Numbers that are not finite become 0, so that a rank that diverges goes unnoticed.",
        average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            let own: Vec<f32> = g.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
            let finite = own.into_iter().map(|v| if v.is_finite() { v } else { 0.0 });
            *g = shaped(Tensor::from_vec(finite.collect::<Vec<f32>>(), g.elem_count(), g.device())?, g)?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "The gradients are divided by their numbers of elements, too; the mean is only over the ranks.",
    average_gradients: |c, grads| {
        (REFERENCE.average_gradients)(c, grads)?;
        for g in grads.iter_mut() {
            *g = (&*g / g.elem_count() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", calls_all_reduce_once, "There is one call for each dtype; f32 is the dtype of the message, so that one is enough.",
        average_gradients: one_for_each_dtype),
    wrong!("8.4", accepts_any_number_of_axes, "A gradient without axes, a single number, is an error: `flatten_all` accepts any number of axes.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.rank() > 0), "no axes");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", accepts_any_number_of_axes, "Only gradients of up to two axes are accepted: `flatten_all` accepts any number.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.rank() < 3), "too many axes");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "`to_vec1` accepts only one axis: call `flatten_all` before it.",
    average_gradients: |c, grads| {
        for g in grads.iter() {
            g.to_dtype(DType::F32)?.to_vec1::<f32>()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", calls_all_reduce_once, "Gradients of different dtypes cannot be concatenated: convert each to f32 first.",
    average_gradients: |c, grads| {
        anyhow::ensure!(grads.iter().all(|g| g.dtype() == grads[0].dtype()), "dtype mismatch");
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", preserves_shapes_and_dtypes, "All gradients get the dtype of the first one; each keeps its own.",
    average_gradients: |c, grads| {
        let first = grads[0].dtype();
        (REFERENCE.average_gradients)(c, grads)?;
        for g in grads.iter_mut() {
            *g = g.to_dtype(first)?;
        }
        Ok(())
    }),
    wrong!("8.4", does_not_overflow_f16, "The sum is converted to f16, where it is infinite, before it is divided: divide in f32.",
    average_gradients: |c, grads| {
        averaged(c, grads, |v, _| v, shaped)?;
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        Ok(())
    }),
    wrong!("8.4", passes_on_the_error, "The error of all_reduce is ignored, and the gradients are those of one rank: pass it on with `?`.",
    average_gradients: |c, grads| {
        let _ = (REFERENCE.average_gradients)(c, grads);
        Ok(())
    }),
    wrong!("8.4", divides_in_f32, "Each gradient is divided in its own dtype before it is sent, and f16 and bf16 round: convert to f32 first, then divide.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            *g = (&*g / c.world_size() as f64)?;
        }
        averaged(c, grads, |v, _| v, shaped)
    }),
    wrong!("8.4", calls_all_reduce_once, "A long list is sent in several calls; one call sends a list of any length.",
    average_gradients: |c, grads| {
        let numbers: usize = grads.iter().map(Tensor::elem_count).sum();
        for _ in 0..numbers >> 18 {
            c.all_reduce(&mut [0.0])?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "The numbers are rounded to bf16 before they are sent; send them as f32.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut() {
            *g = g.to_dtype(DType::BF16)?.to_dtype(g.dtype())?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
    wrong!("8.4", averages_over_ranks, "Only the gradients of rank 0 are summed; every rank sends its own.",
    average_gradients: |c, grads| {
        for g in grads.iter_mut().filter(|_| c.rank() > 0) {
            *g = g.zeros_like()?;
        }
        (REFERENCE.average_gradients)(c, grads)
    }),
];
