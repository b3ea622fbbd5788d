//! Known wrong answers to exercise 9.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson09>] = &[
    wrong!("9.3", returns_its_chunk_of_the_mean, "This is the sum over the ranks: divide it by their number.",
    reduce_gradients: |c, gradients| {
        let mut mine = vec![0.0; own(c, gradients.len()).len()];
        c.reduce_scatter(&gradients, &mut mine)?;
        Ok(mine)
    }),
    wrong!("9.3", returns_its_chunk_of_the_mean, "The sum is divided by the length of the chunk; divide it by the number of ranks.",
    reduce_gradients: |c, gradients| {
        let mut mine = vec![0.0; own(c, gradients.len()).len()];
        c.reduce_scatter(&gradients, &mut mine)?;
        let n = mine.len() as f32;
        mine.iter_mut().for_each(|g| *g /= n);
        Ok(mine)
    }),
    wrong!("9.3", returns_its_chunk_of_the_mean, "The gradients are divided twice.",
    reduce_gradients: |c, gradients| {
        let mut mine = (REFERENCE.reduce_gradients)(c, gradients)?;
        divide(c, &mut mine);
        Ok(mine)
    }),
    wrong!("9.3", returns_its_chunk_of_the_mean, "These are this rank's own gradients: nothing is summed over the ranks.",
        reduce_gradients: |c, gradients| Ok(gradients[own(c, gradients.len())].to_vec())),
    wrong!("9.3", returns_its_chunk_of_the_mean, "The whole list is returned; the caller gets this rank's chunk only.",
    reduce_gradients: |c, mut gradients| {
        let own = own(c, gradients.len());
        let mean = (REFERENCE.reduce_gradients)(c, gradients.clone())?;
        gradients[own].copy_from_slice(&mean);
        Ok(gradients)
    }),
    wrong!("9.3", sends_only_a_reduce_scatter, "An all-reduce sends twice as much: most of its result is thrown away here.",
    reduce_gradients: |c, mut gradients| {
        c.all_reduce(&mut gradients)?;
        let mut mine = gradients[own(c, gradients.len())].to_vec();
        divide(c, &mut mine);
        Ok(mine)
    }),
    wrong!("9.3", frees_the_whole_list, "The list has room for all gradients: `truncate`, `drain` and `clear` free nothing, and `with_capacity` reserves. Return a new list, as long as the chunk.",
    reduce_gradients: |c, mut gradients| {
        let mean = (REFERENCE.reduce_gradients)(c, gradients.clone())?;
        gradients.clear();
        gradients.extend(mean);
        Ok(gradients)
    }),
    wrong!("9.3", accepts_uneven_and_empty_chunks, "The chunk has length/p numbers, rounded down; its length is that of `chunk`.",
    reduce_gradients: |c, gradients| {
        let mut mine = vec![0.0; gradients.len() / c.world_size()];
        c.reduce_scatter(&gradients, &mut mine)?;
        divide(c, &mut mine);
        Ok(mine)
    }),
    wrong!("9.3", accepts_uneven_and_empty_chunks, "The chunk has length/p numbers, rounded up; its length is that of `chunk`.",
    reduce_gradients: |c, gradients| {
        let mut mine = vec![0.0; gradients.len().div_ceil(c.world_size())];
        c.reduce_scatter(&gradients, &mut mine)?;
        divide(c, &mut mine);
        Ok(mine)
    }),
    wrong!("9.3", passes_on_the_error, "The error of reduce_scatter is ignored: pass it on with `?`.",
    reduce_gradients: |c, gradients| {
        let own = own(c, gradients.len()).len();
        Ok((REFERENCE.reduce_gradients)(c, gradients).unwrap_or(vec![0.0; own]))
    }),
    wrong!("9.3", returns_its_chunk_of_the_mean, "The sum is divided by 2, whatever the number of ranks.",
    reduce_gradients: |c, gradients| {
        let mut mine = vec![0.0; own(c, gradients.len()).len()];
        c.reduce_scatter(&gradients, &mut mine)?;
        mine.iter_mut().for_each(|g| *g /= 2.0);
        Ok(mine)
    }),
    wrong!("9.3", accepts_uneven_and_empty_chunks, "The list is padded to a multiple of the number of ranks, so that the chunks begin elsewhere; they may differ in length.",
    reduce_gradients: |c, mut gradients| {
        gradients.resize(gradients.len().next_multiple_of(c.world_size()), 0.0);
        (REFERENCE.reduce_gradients)(c, gradients)
    }),
    wrong!("9.3", accepts_uneven_and_empty_chunks, "A rank with an empty chunk makes no call, and the others wait for it: every rank makes the same calls.",
    reduce_gradients: |c, gradients| {
        if own(c, gradients.len()).is_empty() {
            return Ok(Vec::new());
        }
        (REFERENCE.reduce_gradients)(c, gradients)
    }),
    wrong!("9.3", sends_only_a_reduce_scatter, "The ranks wait for each other by a barrier, which sends messages; the reduce-scatter waits already.",
    reduce_gradients: |c, gradients| {
        let mine = (REFERENCE.reduce_gradients)(c, gradients)?;
        c.barrier()?;
        Ok(mine)
    }),
];
