use grader::{Verdict, draw, given};

use super::{chances, each_once, told};
use crate::Lesson03;

pub fn visits_each_record_once(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for (n, seed, epoch) in [
        (8, 1, 0),
        (
            draw.whole(20, 60),
            draw.whole(2, 99) as u64,
            draw.whole(0, 30) as u64,
        ),
    ] {
        let input = format!("epoch_order({n}, {seed}, {epoch})");
        given(input.clone());
        let order = (answer.epoch_order)(n, seed, epoch);
        each_once(&input, "order", &order, n, n)?;
    }
    Ok(())
}

pub fn depends_only_on_seed_and_epoch(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let (n, seed, epoch) = (
        draw.whole(15, 30),
        draw.whole(1, 99) as u64,
        draw.whole(1, 9) as u64,
    );
    let case = given(format!(
        "epoch_order({n}, {seed}, {epoch}), again after other epochs, and once more on another thread"
    ));
    let order = answer.epoch_order;
    let first = order(n, seed, epoch);
    (0..3).for_each(|e| drop(order(n, seed, e)));
    case.require(
        "order of the second call",
        order(n, seed, epoch) == first,
        "another order than the first time",
    )?;
    // As after a restart: nothing that a thread keeps to itself is there.
    let resumed = std::thread::scope(|s| s.spawn(|| order(n, seed, epoch)).join());
    let same = resumed.is_ok_and(|order| order == first);
    case.require(
        "order on another thread",
        same,
        "another order than the first time",
    )
}

pub fn draws_every_order_equally_often(answer: &Lesson03) -> Verdict {
    const TIMES: u64 = 24_000;
    let seed = draw().whole(1, 1_000_000) as u64;
    let input = format!("epoch_order(3, {seed}, epoch) for {TIMES} epochs");
    given(input.clone());
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut counts = [0; 6];
    for epoch in 0..TIMES {
        let order = (answer.epoch_order)(3, seed, epoch);
        if let Some(at) = orders.iter().position(|o| order[..] == o[..]) {
            counts[at] += 1;
        }
    }
    let expected = TIMES as usize / 6;
    let classes = chances(&counts, expected as f64);
    if classes.iter().all(|&c| c == 2) {
        return Ok(());
    }
    let mut lines = vec![format!("expected  each order about {expected} times")];
    for (order, count) in orders.iter().zip(counts) {
        lines.push(format!("got       {order:?} {count:>6} times"));
    }
    told(input, "how often each order came", &classes, lines)
}

pub fn changes_from_epoch_to_epoch(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let (n, seed) = (draw.whole(15, 30), draw.whole(1, 99) as u64);
    let case = given(format!("epochs 0, 1 and 2 of {n} records with seed {seed}"));
    let [a, b, c] = [0, 1, 2].map(|epoch| (answer.epoch_order)(n, seed, epoch));
    case.require(
        "orders of the epochs",
        a != b && b != c && a != c,
        "two epochs with the same order",
    )?;
    let case = given(format!("seeds {seed}, {} and {} in epoch 0", seed + 1, seed + 2));
    let [a, b, c] = [0, 1, 2].map(|more| (answer.epoch_order)(n, seed + more, 0));
    case.require(
        "orders of the seeds",
        a != b && b != c && a != c,
        "two seeds with the same order",
    )
}

pub fn has_independent_orders_for_seeds_and_epochs(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // Odd and even: so that each way of mixing the two shows at a pair of its own.
    let (n, seed) = (draw.whole(15, 30), 2 * draw.whole(1, 49) as u64 + 1);
    let epoch = 2 * draw.whole(1, 4) as u64;
    for (a, b) in [
        ((seed, epoch + 1), (seed + 1, epoch)),
        ((seed, epoch), (epoch, seed)),
        ((seed, 1), (seed ^ 1, 0)),
        ((2 * seed, epoch), (seed, 2 * epoch)),
    ] {
        let case = given(format!(
            "seed {} in epoch {} and seed {} in epoch {}",
            a.0, a.1, b.0, b.1
        ));
        let (one, other) = (
            (answer.epoch_order)(n, a.0, a.1),
            (answer.epoch_order)(n, b.0, b.1),
        );
        case.require("the two orders", one != other, "the same order")?;
    }
    Ok(())
}

pub fn accepts_zero_and_one_record(answer: &Lesson03) -> Verdict {
    for n in [0, 1] {
        let input = format!("epoch_order({n}, 3, 4)");
        given(input.clone());
        each_once(&input, "order", &(answer.epoch_order)(n, 3, 4), n, n)?;
    }
    Ok(())
}
