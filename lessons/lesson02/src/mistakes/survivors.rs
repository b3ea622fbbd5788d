//! Known wrong answers to exercise 2.8.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.8", finds_the_maximum_of_every_channel, "This is the greatest channel of each point; take the greatest point of each channel.",
    survivors: |x| {
        let mut found: Vec<usize> = x.argmax(1)?.to_vec1::<u32>()?.into_iter().map(|c| c as usize).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }),
    wrong!("2.8", finds_the_maximum_of_every_channel, "These are the points with the least values.",
        survivors: |x| (REFERENCE.survivors)(&x.affine(-1.0, 9.0)?)),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Points above the mean count as well; only the greatest survives the max.",
    survivors: |x| chosen(x, |list| {
        let mean = list.iter().sum::<f64>() / list.len() as f64;
        (0..list.len()).filter(|&p| list[p] >= mean).collect()
    })),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Only the greatest value of all channels counts; each channel has its own.",
    survivors: |x| {
        let all = x.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>()?;
        Ok(equals(&all, top(&all)).first().map(|at| at / x.dims()[1]).into_iter().collect())
    }),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Point 0 is dropped; it is a point like any other.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().filter(|&p| p > 0).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "The last channel is left out.",
        survivors: |x| if x.dim(1)? > 1 { (REFERENCE.survivors)(&x.narrow(1, 0, x.dim(1)? - 1)?) } else { Ok(Vec::new()) }),
    wrong!("2.8", finds_the_maximum_of_every_channel,
        "A point counts if any of its values is above 0; it should have the maximum of a channel.",
        survivors: |x| chosen(x, |list| (0..list.len()).filter(|&p| list[p] > 0.0).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "These are the channels, not the points that have their maximum.",
        survivors: |x| Ok((0..x.dim(1)?).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Indices begin at 0, not at 1.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().map(|p| p + 1).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Points that have the maximum of only one channel are left out.",
    survivors: |x| {
        let all = winners(x, lives)?;
        Ok(sorted(all.clone()).into_iter().filter(|p| all.iter().filter(|q| *q == p).count() > 1).collect())
    }),
    wrong!("2.8", lists_each_point_once_in_order, "A point with the maximum of several channels is listed several times.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.sort_unstable();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "`dedup` removes equal neighbours only; sort first.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.dedup();
        all.sort_unstable();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in the order of the channels, and listed several times; sort them, then `dedup`.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.dedup();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in the order of the channels; sort them.",
    survivors: |x| {
        let mut all = Vec::new();
        winners(x, lives)?.into_iter().for_each(|p| if !all.contains(&p) { all.push(p) });
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in descending order.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().rev().collect())),
    wrong!("2.8", lists_each_point_once_in_order, "The points are sorted as text, which has 10 before 2.",
    survivors: |x| {
        let mut all = (REFERENCE.survivors)(x)?;
        all.sort_by_key(usize::to_string);
        Ok(all)
    }),
    wrong!("2.8", counts_the_first_of_equal_points, "All points with an equal maximum count; only the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)))),
    wrong!("2.8", counts_the_first_of_equal_points, "The last of equal points counts; the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)).last().copied().into_iter().collect())),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel that is 0 for one point is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| list.iter().all(|&v| v > 0.0))?))),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel is taken as dead if it is 0 for point 0; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| list[0] > 0.0)?))),
    wrong!("2.8", counts_tiny_maxima, "A channel whose maximum is small is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| top(list) > 1e-6)?))),
    wrong!("2.8", counts_tiny_maxima, "A channel whose maximum is small is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| top(list) > 1e-3)?))),
    wrong!("2.8", ignores_channels_that_are_zero,
        "Points whose values are all 0 are removed before the others are counted; an index counts all points.",
    survivors: |x| {
        let rows = x.to_vec2::<f32>()?;
        let kept: Vec<usize> = (0..rows.len()).filter(|&p| rows[p].iter().any(|&v| v > 0.0)).collect();
        let all = (REFERENCE.survivors)(x)?;
        Ok(all.into_iter().filter_map(|p| kept.iter().position(|&k| k == p)).collect())
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The order is another in each call: a `HashSet` or `HashMap` has no order. Sort the points.",
    survivors: |x| {
        let mut all = (REFERENCE.survivors)(x)?;
        all.sort_by_key(|&i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Ok(all)
    }),
    wrong!("2.8", accepts_values_without_a_maximum, "An empty list is no error: every channel may be 0.",
    survivors: |x| {
        let all = (REFERENCE.survivors)(x)?;
        if all.is_empty() { candle_core::bail!("no point survives") }
        Ok(all)
    }),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel that is 0 for every point is counted for the first point.",
        survivors: |x| (REFERENCE.survivors)(&(x + 1.0)?)),
    wrong!("2.8", finds_the_maximum_of_every_channel,
        "A channel whose values are all equal is taken as dead; if they are above 0, its first point counts.",
        survivors: |x| Ok(sorted(winners(x, |list| list.iter().any(|&v| v < top(list)))?))),
    wrong!("2.8", counts_the_first_of_equal_points, "If several points have the maximum of a channel, none counts; the first should.",
        survivors: |x| Ok(sorted(winners(x, |list| lives(list) && equals(list, top(list)).len() == 1)?))),
    wrong!("2.8", ignores_channels_that_are_zero, "The search ends at the first channel that is 0; go on with the next one.",
    survivors: |x| {
        let living = channels(x)?.iter().take_while(|list| lives(list)).count();
        if living > 0 { (REFERENCE.survivors)(&x.narrow(1, 0, living)?.contiguous()?) } else { Ok(Vec::new()) }
    }),
    wrong!("2.8", counts_tiny_maxima, "The values are compared as whole numbers; compare them as they are.",
    survivors: |x| {
        chosen(x, |list| {
            let first = (0..list.len()).fold(0, |best, p| if list[p].trunc() > list[best].trunc() { p } else { best });
            vec![first]
        })
    }),
];
