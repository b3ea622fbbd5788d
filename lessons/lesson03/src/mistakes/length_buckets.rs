//! Known wrong answers to exercise 3.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds is lost: it goes into an additional last bucket.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)).filter(|&k| k < b.len()));
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "Records longer than all bounds share the bucket of the last bound: they need an additional one.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r).min(b.len().saturating_sub(1))));
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds has no bucket, so that it panics: add a last bucket for such records.",
    length_buckets: |l, o, b, size| {
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        o.iter().for_each(|&r| { b.get(bucket(l, b, r)).unwrap(); });
        (REFERENCE.length_buckets)(l, o, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds has no bucket, so that it panics: there is one bucket more than bounds.",
    length_buckets: |l, o, b, size| {
        o.iter().for_each(|&r| { std::hint::black_box(b[bucket(l, b, r)]); });
        (REFERENCE.length_buckets)(l, o, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "When one bucket is full, all of them become batches: only the full one does.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len() + 1], Vec::new());
        for &r in o {
            let k = bucket(l, b, r);
            filling[k].push(r);
            if filling[k].len() == size { out.extend(filling.iter_mut().map(std::mem::take)); }
        }
        out.extend(filling);
        out.retain(|batch| !batch.is_empty());
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record longer than all bounds is a batch of its own: it goes into an additional last bucket, which fills like the others.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len()], Vec::new());
        for &r in o {
            let k = bucket(l, b, r);
            let Some(bucket) = filling.get_mut(k) else { out.push(vec![r]); continue };
            bucket.push(r);
            if bucket.len() == size { out.push(std::mem::take(bucket)); }
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record goes into the bucket with the nearest bound: it must be the first bound that is at least its length.",
    length_buckets: |l, o, b, size| {
        let near = |r: usize| match b.last() {
            Some(&last) if l[r] <= last => (0..b.len()).min_by_key(|&k| b[k].abs_diff(l[r])),
            _ => Some(b.len()),
        };
        let (mut out, left) = bucketed(o, b.len() + 1, size, near);
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A record goes into the bucket with the last bound that is at least its length: take the first one.",
    length_buckets: |l, o, b, size| {
        let last = |r: usize| Some(if bucket(l, b, r) < b.len() { b.len() - 1 } else { b.len() });
        let (mut out, left) = bucketed(o, b.len() + 1, size, last);
        out.extend(left);
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "`order` is not used: the records are visited as 0, 1, 2, …",
    length_buckets: |l, o, b, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_unstable();
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "The records are sorted by length first: visit them in the order of the epoch.",
    length_buckets: |l, o, b, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_by_key(|&r| l[r]);
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", fills_buckets_by_length, "The records are sorted by length and cut into batches: visit them in the order of the epoch, and fill buckets.",
    length_buckets: |l, o, _, size| {
        let mut all: Vec<usize> = o.to_vec();
        all.sort_by_key(|&r| l[r]);
        all.chunks(size).map(<[usize]>::to_vec).collect()
    }),
    wrong!("3.4", emits_a_batch_when_its_bucket_is_full, "A full bucket becomes a batch only when its next record comes: look whether it is full after you add a record.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len() + 1], Vec::new());
        for &r in o {
            let bucket = &mut filling[bucket(l, b, r)];
            if bucket.len() == size { out.push(std::mem::take(bucket)); }
            bucket.push(r);
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "A full bucket is not emptied, so that its records come again: use `std::mem::take`.",
    length_buckets: |l, o, b, size| {
        let (mut filling, mut out) = (vec![Vec::new(); b.len() + 1], Vec::new());
        for &r in o {
            let bucket = &mut filling[bucket(l, b, r)];
            bucket.push(r);
            if bucket.len() == size { out.push(bucket.clone()); }
        }
        out.extend(filling.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "Each batch is in reverse order: keep the order in which its records came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.reverse());
        all
    }),
    wrong!("3.4", fills_buckets_by_length, "All batches come at the end, the last bucket first: emit each as soon as it is full.",
    length_buckets: |l, o, b, size| {
        let of = |k: usize| o.iter().copied().filter(move |&r| bucket(l, b, r) == k).collect::<Vec<_>>();
        (0..=b.len()).rev().flat_map(|k| of(k).chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()).collect()
    }),
    wrong!("3.4", fills_buckets_by_length, "The bounds are not used: the order is only divided.",
        length_buckets: |_, o, _, size| o.chunks(size).map(<[usize]>::to_vec).collect()),
    wrong!("3.4", fills_buckets_by_length, "The position in the order is used as the record: use `lengths[record]`.",
    length_buckets: |l, o, b, size| {
        let places: Vec<usize> = (0..o.len()).collect();
        let (mut out, left) = bucketed(&places, b.len() + 1, size, |at| Some(bucket(l, b, at)));
        out.extend(left);
        out.into_iter().map(|batch| batch.into_iter().map(|at| o[at]).collect()).collect()
    }),
    wrong!("3.4", fills_buckets_by_length, "A batch has positions in the order: it must have the records, `order[position]`.",
    length_buckets: |l, o, b, size| {
        let place = |r: usize| o.iter().position(|&other| other == r).unwrap_or(r);
        let all = (REFERENCE.length_buckets)(l, o, b, size);
        all.into_iter().map(|batch| batch.into_iter().map(place).collect()).collect()
    }),
    wrong!("3.4", includes_the_bound_in_its_bucket, "A record as long as the bound belongs in that bucket: `bound < length`, not `<=`.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(b.iter().filter(|&&k| k <= l[r]).count()));
        out.extend(left);
        out
    }),
    wrong!("3.4", emits_a_batch_when_its_bucket_is_full, "Batches are emitted bucket by bucket, short ones first: emit each as soon as it is full.",
    length_buckets: |l, o, b, size| {
        let of = |k: usize| o.iter().copied().filter(move |&r| bucket(l, b, r) == k).collect::<Vec<_>>();
        let all: Vec<Vec<usize>> = (0..=b.len()).flat_map(|k| of(k).chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()).collect();
        all
    }),
    wrong!("3.4", emits_a_batch_when_its_bucket_is_full, "A batch has one record too many: it is full with `size` records.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size + 1, |r| Some(bucket(l, b, r)));
        out.extend(left);
        out
    }),
    wrong!("3.4", keeps_the_order_within_a_batch, "A batch is sorted by length: keep the order in which its records came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.sort_by_key(|&r| l[r]));
        all
    }),
    wrong!("3.4", keeps_the_order_within_a_batch, "A batch is sorted by record: keep the order in which they came.",
    length_buckets: |l, o, b, size| {
        let mut all = (REFERENCE.length_buckets)(l, o, b, size);
        all.iter_mut().for_each(|batch| batch.sort_unstable());
        all
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the buckets at the end is lost.",
        length_buckets: |l, o, b, size| bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r))).0),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest is emitted from the longest bucket to the shortest; the shortest comes first.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().rev());
        out
    }),
    wrong!("3.4", fills_buckets_by_length, "The rests come in the order in which their buckets were first used: begin with the bucket of the shortest records.",
    length_buckets: |l, o, b, size| {
        let (mut out, mut left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        left.sort_by_key(|rest| o.iter().position(|&r| bucket(l, b, r) == bucket(l, b, rest[0])));
        out.extend(left);
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the last bucket comes before the others: the shortest comes first.",
    length_buckets: |l, o, b, size| {
        let (mut out, mut left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        left.rotate_right(1);
        out.extend(left.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "A small rest of a bucket is lost: it is a batch as well, whatever its size.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().filter(|left| 2 * left.len() >= size));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "A rest of one record is lost: it is a batch as well.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.into_iter().filter(|left| left.len() > 1));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of the last bucket, of the longest records, is lost.",
    length_buckets: |l, o, b, size| {
        let (mut out, mut left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        left.pop();
        out.extend(left.into_iter().filter(|left| !left.is_empty()));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rests of all buckets are put together and cut into batches: the rest of each bucket is a batch of its own.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left.concat().chunks(size).map(<[usize]>::to_vec));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The same call returns its batches in another order each time: a `HashMap` has no order. Keep the buckets in a list.",
    length_buckets: |l, o, b, size| {
        thread_local! { static CALL: Cell<usize> = const { Cell::new(0) }; }
        let (mut out, mut left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        if !left.is_empty() {
            let by = CALL.replace(CALL.get() + 1) % left.len();
            left.rotate_left(by);
        }
        out.extend(left);
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "The rest of all buckets is one batch: each bucket has its own.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend((!left.is_empty()).then(|| left.concat()));
        out
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "Buckets that are empty at the end become batches without records.",
    length_buckets: |l, o, b, size| {
        let (mut out, left) = bucketed_all(o, b.len() + 1, size, |r| Some(bucket(l, b, r)));
        out.extend(left);
        out
    }),
    wrong!("3.4", visits_only_the_records_of_the_order, "Records that `order` leaves out are visited: use `order`, not 0..lengths.len().",
    length_buckets: |l, o, b, size| {
        let mut all = o.to_vec();
        all.extend((0..l.len()).filter(|r| !o.contains(r)));
        (REFERENCE.length_buckets)(l, &all, b, size)
    }),
    wrong!("3.4", emits_the_rest_at_the_end, "It counts up to `lengths.len()`, but `order` may be shorter: visit `for &record in order`.",
    length_buckets: |l, o, b, size| {
        (0..l.len()).for_each(|i| { std::hint::black_box(o[i]); });
        (REFERENCE.length_buckets)(l, o, b, size)
    }),
    wrong!("3.4", accepts_one_bucket_and_batches_of_one, "Without bounds there is no last bound: all records are in the one additional bucket.",
    length_buckets: |l, o, b, size| {
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        b.last().unwrap();
        (REFERENCE.length_buckets)(l, o, b, size)
    }),
    wrong!("3.4", accepts_one_bucket_and_batches_of_one, "Without bounds, nothing is returned: all records are in the one additional bucket.",
        length_buckets: |l, o, b, size| if b.is_empty() { Vec::new() } else { (REFERENCE.length_buckets)(l, o, b, size) }),
];
