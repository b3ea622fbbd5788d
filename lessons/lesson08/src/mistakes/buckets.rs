//! Known wrong answers to exercise 8.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson08>] = &[
    wrong!("8.3", fills_from_the_last_parameter, "The buckets start with the first parameter; gradients arrive from the last layer first.",
        buckets: |p, s| filled(p, s, Fill { order: |n| (0..n).collect(), ..FILL })),
    wrong!("8.3", fills_from_the_last_parameter, "The parameters within a bucket are in the order of the model; they should be in the order of their gradients.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.iter_mut().for_each(|b| b.params.sort_unstable());
        made
    }),
    wrong!("8.3", closes_at_the_byte_limit, "A bucket that is exactly full stays open: close it when its bytes reach the limit.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", closes_at_the_byte_limit,
        "A bucket is closed before the parameter that would fill it; it should contain that one, too.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes == limit, too_full: |bytes, limit| bytes > limit, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "All buckets have the limit of the first one.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.first, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The first bucket has the limit of the others, so that sending starts late.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, _| sizes.others, ..FILL })),
    wrong!("8.3", keeps_the_first_bucket_small, "The limits are swapped.",
        buckets: |p, s| filled(p, BucketSizes { first: s.others, others: s.first }, FILL)),
    wrong!("8.3", separates_dtypes, "Dtypes share a bucket: a message has a single dtype.",
        buckets: |p, s| filled(p, s, Fill { kind: |_| "f32", ..FILL })),
    wrong!("8.3", separates_dtypes, "Only the very first bucket is small; each kind has a first one.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, _, all| if all == 0 { sizes.first } else { sizes.others }, ..FILL })),
    wrong!("8.3", separates_dtypes, "Every bucket has the kind f32, whatever it contains.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.kind = "f32"; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are only those of its last parameter.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| {
            b.bytes = b.params.last().map_or(0, |&i| p[i].0);
            b
        }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are always 0.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().map(|mut b| { b.bytes = 0; b }).collect()),
    wrong!("8.3", counts_the_bytes, "The bytes of a bucket are its limit; it may contain more or fewer.",
        buckets: |p, s| (REFERENCE.buckets)(p, s).into_iter().enumerate().map(|(i, mut b)| {
            b.bytes = if i == 0 { s.first } else { s.others };
            b
        }).collect()),
    wrong!("8.3", orders_the_remaining_buckets, "Buckets that are open at the end are lost: the first parameters of the model are never sent.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.clear(), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets,
        "The open buckets are in the order in which they were opened; the one whose last gradient is ready first comes first.",
        buckets: |p, s| filled(p, s, Fill { rest: |_| (), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are in reverse order: gradients of smaller indices are ready later.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| b.params.last().copied()), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "There is an empty bucket at the end.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.push(canopy::parallel::Bucket { params: Vec::new(), bytes: 0, kind: "f32" });
        made
    }),
    wrong!("8.3", fills_from_the_last_parameter, "The buckets are in reverse order: the one that is closed first is sent first.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.reverse();
        made
    }),
    wrong!("8.3", closes_at_the_byte_limit, "The limits are bytes, but they are treated as MiB.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| bytes >= limit << 20, ..FILL })),
    wrong!("8.3", closes_at_the_byte_limit, "What is left at the end joins a bucket that is closed; it is a bucket of its own.",
        buckets: merged),
    wrong!("8.3", keeps_the_first_bucket_small, "The first bucket has a single parameter; it is closed at `sizes.first` bytes.",
        buckets: |p, s| filled(p, s, Fill { limit: |sizes, of_kind, _| if of_kind == 0 { 0 } else { sizes.others }, ..FILL })),
    wrong!("8.3", separates_dtypes, "A parameter of another kind closes the open bucket; each kind has an open bucket of its own.",
        buckets: one_open),
    wrong!("8.3", separates_dtypes, "The bytes of all kinds are counted together; each bucket counts its own.",
        buckets: counted_together),
    wrong!("8.3", keeps_the_order_of_closing, "The buckets are grouped by kind; they should be in the order in which they are closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.kind));
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing, "The buckets are grouped by kind; they should be in the order in which they are closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| b.kind);
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing,
    "All buckets are sorted by their last parameter; those that are still open at the end come after the closed ones.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied()));
        made
    }),
    wrong!("8.3", keeps_the_order_of_closing,
    "The buckets are in the order in which they were opened; they should be in that in which they were closed.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.sort_by_key(|b| std::cmp::Reverse(b.params.first().copied()));
        made
    }),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are sorted by the names of their kinds; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| b.kind), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets, "The open buckets are sorted by their bytes; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.sort_by_key(|b| std::cmp::Reverse(b.bytes)), ..FILL })),
    wrong!("8.3", orders_the_remaining_buckets,
        "The open buckets are in the reverse order of their opening; sort them by their last parameter.",
        buckets: |p, s| filled(p, s, Fill { rest: |open| open.reverse(), ..FILL })),
    wrong!("8.3", puts_each_parameter_into_one_bucket, "Parameters of 0 bytes are in no bucket; each parameter must be in one.",
        buckets: without_the_empty),
    wrong!("8.3", orders_the_remaining_buckets,
        "The open buckets are in another order in each call, as those of a `HashMap` are: sort them, because all ranks send in the same order.",
        buckets: by_chance),
    wrong!("8.3", closes_at_the_byte_limit, "The buckets that are open at the end come before the closed ones; they come after them.",
    buckets: |p, s| {
        let closed = filled(p, s, Fill { rest: Vec::clear, ..FILL }).len();
        let mut made = filled(p, s, FILL);
        made.rotate_left(closed);
        made
    }),
    wrong!("8.3", fills_from_the_last_parameter,
    "The indices are counted from the last parameter: call `enumerate` before `rev`, not after it.",
    buckets: |p, s| {
        let mut made = (REFERENCE.buckets)(p, s);
        made.iter_mut().flat_map(|b| &mut b.params).for_each(|i| *i = p.len() - 1 - *i);
        made
    }),
    wrong!("8.3", puts_each_parameter_into_one_bucket,
        "A limit of 0 counts as no limit; a bucket reaches it with its first parameter.",
        buckets: |p, s| filled(p, s, Fill { full: |bytes, limit| limit > 0 && bytes >= limit, ..FILL })),
];
