//! Known wrong answers to exercise 4.7.

use super::*;

/// A wrong way to resume.
macro_rules! resuming {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.7", $caught_by, $cause, resume_batches: |s, m, o, r, n| {
            resumed(s, (m, o), (r, n), Resuming { $($turned)*, ..RESUMING })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    resuming!(restores_weights, "The weights are not restored.", tensors: |name| name.contains("running")),
    resuming!(restores_running_statistics, "Running means and variances are not restored: they are not parameters, but belong to the run.",
        tensors: |name| !name.contains("running")),
    resuming!(restores_running_statistics, "Only the means of the running statistics are restored.", tensors: |name| !name.contains("running_var")),
    resuming!(restores_the_optimizer, "The optimizer state is not restored.", optimizer: false),
    resuming!(restores_the_optimizer, "The optimizer's step count restarts at 0, so that Adam's bias correction is wrong.",
        fresh: |name| name == "step"),
    resuming!(restores_the_optimizer, "Adam's means of squares are not restored.", fresh: |name| name.starts_with("exp_avg_sq")),
    resuming!(restores_the_optimizer, "Adam's means are not restored, only its step count.", fresh: |name| name != "step"),
    wrong!("4.7", restores_weights, "Nothing is restored if the epoch is completed; the next epoch needs these tensors.", resume_batches: |s, m, o, r, n| {
        if s.batch >= r.len() / n { Ok(Vec::new()) } else { (REFERENCE.resume_batches)(s, m, o, r, n) }
    }),
    resuming!(returns_the_rest_of_the_epoch, "`epoch_order` is called with seed and epoch swapped.",
        at: |s| (s.seed as usize, s.batch), seed: |s| s.epoch as u64),
    resuming!(returns_the_rest_of_the_epoch, "The records are not in the order of the epoch, but as they are listed.", order: |_, n| (0..n).collect()),
    resuming!(returns_the_rest_of_the_epoch, "The order is used the wrong way round: the record at its place i is `records[order[i]]`.", order: |order, n| {
        let mut inverse = vec![0; n];
        order.iter().enumerate().for_each(|(i, &o)| inverse[o] = i);
        inverse
    }),
    resuming!(returns_the_rest_of_the_epoch, "The epoch starts again: some clouds are seen twice.", at: |s| (s.epoch, 0)),
    resuming!(returns_the_rest_of_the_epoch, "One batch too many is skipped.", at: |s| (s.epoch, s.batch + 1)),
    resuming!(returns_the_rest_of_the_epoch, "The order is that of epoch 0; each epoch has its own.", at: |s| (0, s.batch)),
    resuming!(returns_the_rest_of_the_epoch, "The order is that of the next epoch.", at: |s| (s.epoch + 1, s.batch)),
    resuming!(returns_the_rest_of_the_epoch, "The order is drawn with another seed than that of the run.", seed: |_| 0),
    resuming!(returns_the_rest_of_the_epoch, "These are positions in the list of records, not the records.", records: false),
    resuming!(returns_the_rest_of_the_epoch, "`saved.batch` counts batches; that many records are skipped.", left: |all, done| {
        let size = all.first().map_or(1, Vec::len);
        let rest: Vec<usize> = all.into_iter().flatten().skip(done).collect();
        rest.chunks_exact(size).map(<[usize]>::to_vec).collect()
    }),
    resuming!(returns_the_rest_of_the_epoch, "The last batch that is done is returned again.", at: |s| (s.epoch, s.batch.saturating_sub(1))),
    resuming!(returns_the_rest_of_the_epoch, "These are the batches that are done; return the others.",
        left: |all, done| all.into_iter().take(done).collect()),
    resuming!(returns_the_rest_of_the_epoch, "The remaining batches are in reverse order.",
        left: |all, done| all.into_iter().skip(done).rev().collect()),
    resuming!(returns_the_rest_of_the_epoch, "Only the next batch is returned; return all remaining ones.",
        left: |all, done| all.into_iter().skip(done).take(1).collect()),
    resuming!(returns_the_rest_of_the_epoch, "The records are sorted first; take them as they are listed.", listed: |records| {
        let mut all = records.to_vec();
        all.sort_unstable();
        all
    }),
    wrong!("4.7", restores_weights, "Nothing is restored at the start of an epoch; a run also stops between two epochs.", resume_batches: |s, m, o, r, n| {
        let wanted = s.batch > 0;
        resumed(s, (m, o), (r, n), Resuming { tensors: if wanted { |_| true } else { |_| false }, optimizer: wanted, ..RESUMING })
    }),
    resuming!(returns_errors_of_other_tensors, "The error of `from_map` or `load_state` is ignored: the run would go on with other weights.", forgives: (true, true)),
    resuming!(returns_errors_of_other_tensors, "The error of `load_state` is ignored: the run would go on without the optimizer's state.", forgives: (false, true)),
    resuming!(drops_an_incomplete_batch, "The last batch is kept although it is not full.", drop_last: false),
    resuming!(drops_an_incomplete_batch, "The completed records were left out before `batches` divided the rest: it keeps an incomplete batch if that is the only one.",
    drop_last: false, left: |all, done| {
        let size = all.first().map_or(1, Vec::len);
        let rest: Vec<usize> = all.into_iter().skip(done).flatten().collect();
        batches(&rest, size, true)
    }),
    resuming!(drops_an_incomplete_batch, "The last batch is filled up with records that were seen before; drop it.", drop_last: false,
    left: |mut all, done| {
        let (size, first) = (all.first().map_or(0, Vec::len), all.first().cloned().unwrap_or_default());
        if let Some(last) = all.last_mut() {
            let missing = size - last.len();
            last.extend(&first[..missing]);
        }
        all.into_iter().skip(done).collect()
    }),
    wrong!("4.7", drops_an_incomplete_batch, "If no batch is left, the next epoch's are returned; return none.", resume_batches: |s, m, o, r, n| {
        let rest = (REFERENCE.resume_batches)(s, m, o, r, n)?;
        if !rest.is_empty() {
            return Ok(rest);
        }
        resumed(s, (m, o), (r, n), Resuming { at: |s| (s.epoch + 1, 0), ..RESUMING })
    }),
    // It overwrites the checkpoint instead.
    wrong!("4.7", restores_the_optimizer, "Adam's means are not restored, only its step count.", resume_batches: |s, m, o, r, n| {
        for (name, fresh) in o.state()? {
            if fresh.rank() > 0 {
                s.optimizer[&name].slice_set(&fresh, 0, 0)?;
            }
        }
        (REFERENCE.resume_batches)(s, m, o, r, n)
    }),
];
