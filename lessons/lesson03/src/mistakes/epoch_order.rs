//! Known wrong answers to exercise 3.1.

use super::*;

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.1", visits_each_record_once,
    "Each position draws from all n again, so that an index can occur twice. Start with 0..n and only swap.",
        epoch_order: drawn),
    wrong!("3.1", visits_each_record_once, "The last record is never visited: 0..n already has n records.",
        epoch_order: |n, s, e| order_by(n.saturating_sub(1), Philox::new(s, e))),
    wrong!("3.1", visits_each_record_once, "Records are numbered from 0, so n itself is out of range.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s, e)).into_iter().map(|i| i + 1).collect()),
    wrong!("3.1", visits_each_record_once, "Records are missing, because repeated draws are dropped. Start with 0..n and only swap.",
    epoch_order: |n, s, e| {
        let mut order: Vec<usize> = drawn(n, s, e);
        let mut seen = HashSet::new();
        order.retain(|&i| seen.insert(i));
        order
    }),
    wrong!("3.1", depends_only_on_seed_and_epoch,
    "The order depends on something else: a generator that is kept between calls, the time, or a random hash map. Create the generator in each call, from seed and epoch.",
    epoch_order: |n, s, e| order_by(n, Philox::new(s ^ CALLS.fetch_add(1, SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15), e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "This is 0..n as it is: shuffle it.",
        epoch_order: |n, _, _| (0..n).collect()),
    wrong!("3.1", changes_from_epoch_to_epoch, "This is 0..n reversed or rotated: neighbours stay neighbours.",
    epoch_order: |n, s, e| {
        let from = Philox::new(s, e).below(n.max(1));
        (0..n).map(|i| (from + i) % n).collect()
    }),
    wrong!("3.1", changes_from_epoch_to_epoch, "Neither seed nor epoch is used: every call has the same order.",
        epoch_order: |n, _, _| order_by(n, Philox::new(1, 2))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The epoch is not used: every epoch has the same order.",
        epoch_order: |n, s, _| order_by(n, Philox::new(s, 0))),
    wrong!("3.1", changes_from_epoch_to_epoch, "The seed is not used: every run has the same orders.",
        epoch_order: |n, _, e| order_by(n, Philox::new(0, e))),
    wrong!("3.1", changes_from_epoch_to_epoch, "Epoch 0 is not shuffled: it is an epoch like any other.",
        epoch_order: |n, s, e| if e == 0 { (0..n).collect() } else { order_by(n, Philox::new(s, e)) }),
    wrong!("3.1", changes_from_epoch_to_epoch, "Epoch 0 has the same order whatever the seed: seed times epoch is 0 there.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_mul(e), 0))),
    wrong!("3.1", draws_every_order_equally_often,
    "Each position is swapped with any of the n positions, which favours some orders. Swap only with positions that are not final yet.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = random.below(n);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Each position, from the last to the first, is swapped with any of the n positions, which favours some orders. Draw only from the i + 1 positions that are not final yet.",
        epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (0..n).rev() {
            let j = random.below(n);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Two random positions are swapped n times, which favours some orders. Go through the positions, and give each one of the records that are left.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for _ in 0..n {
            let (i, j) = (random.below(n), random.below(n));
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "A position never keeps its record: it may also be swapped with itself, so draw from i + 1 positions.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| r.below(i))),
    wrong!("3.1", draws_every_order_equally_often,
        "The last record never moves: the loop leaves out the last position.",
        epoch_order: |n, s, e| {
        let mut order = order_by(n.saturating_sub(1), Philox::new(s, e));
        order.extend(n.checked_sub(1));
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "The loop ends one swap too early: down to position 1, which is swapped with 0 or 1.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |r, i| if i > 1 { r.below(i + 1) } else { i })),
    wrong!("3.1", draws_every_order_equally_often,
        "The loop ends one swap too early: the last two positions are swapped as well, or not.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n.saturating_sub(2) {
            let j = i + random.below(n - i);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "The first record never moves: position 0 is left out.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 1..n {
            let j = i + random.below(n - i);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Position i is swapped with one of the first n − i positions, which favours some orders. Add i to the draw, so that it is swapped with one from i on.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = random.below(n - i);
            order.swap(i, j);
        }
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Neighbouring epochs have related orders: they share random numbers, are computed by a formula, or one is the other one rotated. Shuffle anew, with `Philox::new(seed, epoch)`.",
        epoch_order: |n, s, e| by_shifted_keys(n, |i| Philox::new(s, e.wrapping_add(i)))),
    wrong!("3.1", draws_every_order_equally_often,
        "Neighbouring seeds have related orders: they share random numbers, or are computed by a formula. Shuffle anew, with `Philox::new(seed, epoch)`.",
        epoch_order: |n, s, e| by_shifted_keys(n, |i| Philox::new(s.wrapping_add(i), e))),
    wrong!("3.1", draws_every_order_equally_often,
        "Every swap draws the same number, because the generator is created again for each. Create it once, before the loop.",
        epoch_order: |n, s, e| shuffled(n, &mut Philox::new(s, e), |_, i| Philox::new(s, e).below(i + 1))),
    wrong!("3.1", draws_every_order_equally_often,
        "A comparison by chance does not sort: orders are not equally likely, and the sort may panic. Draw one key for each record, or swap.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|_, _| if random.below(2) == 0 { Ordering::Less } else { Ordering::Greater });
        order
    }),
    wrong!("3.1", draws_every_order_equally_often,
        "Records are sorted by random keys that are often equal, and equal keys keep the order. Draw keys from a large range, such as `next_u64()`, or swap.",
        epoch_order: |n, s, e| by_keys(n, n, s, e)),
    // The cause is the same for a generator that is moved on, and for orders that are shuffled again for each epoch.
    wrong!("3.1", takes_no_longer_for_a_late_epoch,
        "It runs through all epochs before this one, or through their random numbers. Start directly, with `Philox::new(seed, epoch)`.",
    epoch_order: |n, s, e| {
        // Only with the seed of the check: elsewhere it would take minutes.
        let before = if s == 1000 { e.min(1 << 16) } else { 0 };
        (0..before).for_each(|e| drop(std::hint::black_box(order_by(n, Philox::new(s, e)))));
        order_by(n, Philox::new(s, e))
    }),
    wrong!("3.1", takes_no_longer_for_a_late_epoch,
        "epoch · n overflows: do not compute with the epoch. Pass it to `Philox::new`.",
    epoch_order: |n, s, e| {
        e.checked_mul(n as u64).expect("attempt to multiply with overflow");
        order_by(n, Philox::new(s, e))
    }),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed + epoch: a run with the next seed has the same orders, one epoch earlier. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_add(e), 0))),
    wrong!("3.1", takes_no_longer_for_a_late_epoch, "The sum of seed and epoch overflows. Do not add them: pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.checked_add(e).expect("attempt to add with overflow"), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed xor epoch: a run with another seed has the same orders in other epochs. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s ^ e, 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed and epoch are mixed so that they can change places: seed 2 in epoch 4 has the order of seed 4 in epoch 2. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_add(1).wrapping_mul(e.wrapping_add(1)), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed and epoch are packed into one number, such as seed · 1000 + epoch: a late epoch has an order of the next seed. Pass both to `Philox::new`.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s.wrapping_mul(1000).wrapping_add(e), 0))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed or epoch is cut to fewer bits: pass both to `Philox::new` as they are.",
        epoch_order: |n, s, e| order_by(n, Philox::new(u64::from(s as u32), u64::from(e as u32)))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed or epoch is cut to fewer bits: pass both to `Philox::new` as they are.",
        epoch_order: |n, s, e| order_by(n, Philox::new(s, u64::from(e as u32)))),
    wrong!("3.1", has_independent_orders_for_seeds_and_epochs,
        "Seed or epoch is cut to fewer bits: pass both to `Philox::new` as they are.",
        epoch_order: |n, s, e| order_by(n, Philox::new(u64::from(s as u32), e))),
    wrong!("3.1", mixes_the_whole_epoch,
        "A record stays near its number: the shuffle works in blocks, or with a buffer. Shuffle all of 0..n at once.",
    epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let mut order: Vec<usize> = (0..n).collect();
        order.chunks_mut(100).for_each(|block| random.shuffle(block));
        order
    }),
    wrong!("3.1", mixes_the_whole_epoch,
        "Records that follow each other mostly ascend: they are sorted by random keys of which many are equal. Draw keys from a larger range, or swap.",
        epoch_order: |n, s, e| by_keys(n, 256, s, e)),
    wrong!("3.1", accepts_zero_and_one_record, "`below(0)` is called if n is 0: there is nothing to draw then.",
        epoch_order: |n, s, e| { if n == 0 { Philox::new(s, e).below(n); } order_by(n, Philox::new(s, e)) }),
    wrong!("3.1", accepts_zero_and_one_record, "`n - 1` underflows if n is 0.",
    epoch_order: |n, s, e| {
        let last = n.checked_sub(1).expect("attempt to subtract with overflow");
        order_by(last + 1, Philox::new(s, e))
    }),
];
