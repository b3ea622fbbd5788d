use grader::{Draw, Verdict, draw, given};

use crate::Lesson08;

/// `n` record numbers that differ from their positions, and from each other.
fn order(draw: &mut Draw, n: usize) -> Vec<usize> {
    let first = draw.whole(100, 200);
    (0..n).map(|i| first + (i * 7 + 3) % 97).collect()
}

fn check(answer: &Lesson08, order: &[usize], world: usize, drop_tail: bool, each: usize) -> Verdict {
    // The last rank has nothing of a tail, so that an answer that hands it out differs from one that extends the order.
    let mut ranks: Vec<usize> = (0..world).collect();
    if drop_tail {
        ranks.reverse();
    }
    for rank in ranks {
        let case = given(format!(
            "order {order:?}, rank {rank} of {world}, drop_tail {drop_tail}"
        ));
        // The order, repeated; record i of rank r is at position r + i·world.
        let endless: Vec<usize> = order
            .iter()
            .cycle()
            .take(if order.is_empty() { 0 } else { each * world })
            .copied()
            .collect();
        let expected: Vec<usize> = endless.chunks(world).map(|c| c[rank]).collect();
        case.close(
            "share",
            &(answer.share_of_epoch)(order, rank, world, drop_tail),
            &expected,
        )?;
    }
    Ok(())
}

pub fn strides_by_world_size(answer: &Lesson08) -> Verdict {
    check(answer, &[5, 3, 8, 1, 9, 4], 2, false, 3)?;
    let mut draw = draw();
    let (world, each) = (draw.whole(2, 5), draw.whole(2, 4));
    let order = order(&mut draw, world * each);
    check(answer, &order, world, false, each)?;
    check(answer, &order, world, true, each)?;
    check(answer, &order, 1, false, order.len())
}

pub fn drops_the_tail_if_asked(answer: &Lesson08) -> Verdict {
    check(answer, &[5, 6, 7, 8, 9], 2, true, 2)?;
    check(answer, &[5, 6, 7, 8, 9, 2, 3, 1], 3, true, 2)?;
    let mut draw = draw();
    let (world, each) = (draw.whole(3, 9), draw.whole(2, 4));
    let over = draw.whole(1, world - 1);
    let order = order(&mut draw, world * each + over);
    check(answer, &order, world, true, each)
}

pub fn wraps_around_if_uneven(answer: &Lesson08) -> Verdict {
    // One record is missing for the last rank, then two.
    check(answer, &[5, 6, 7, 8, 9, 2, 3, 1], 3, false, 3)?;
    check(answer, &[5, 6, 7, 8, 9, 2, 3], 3, false, 3)?;
    let mut draw = draw();
    let (world, each) = (draw.whole(3, 9), draw.whole(2, 4));
    let over = draw.whole(1, world - 1);
    let order = order(&mut draw, world * each + over);
    check(answer, &order, world, false, each + 1)
}

pub fn repeats_a_short_order(answer: &Lesson08) -> Verdict {
    check(answer, &[4], 3, false, 1)?;
    let mut draw = draw();
    let n = draw.whole(2, 3);
    let order = order(&mut draw, n);
    check(answer, &order, draw.whole(2 * n + 1, 9), false, 1)
}

pub fn is_empty_for_an_empty_order(answer: &Lesson08) -> Verdict {
    check(answer, &[], 2, false, 0)?;
    check(answer, &[], 3, true, 0)?;
    let order: Vec<usize> = order(&mut draw(), 3);
    check(answer, &order, 4, true, 0)
}

/// Every length up to 20 on up to 9 ranks. Some records are there twice.
pub fn accepts_any_number_of_ranks(answer: &Lesson08) -> Verdict {
    let first = draw().whole(1, 9);
    for world in 1..=9 {
        for n in 0..=20 {
            let order: Vec<usize> = (0..n).map(|i| first + i * i % 11).collect();
            check(answer, &order, world, false, n.div_ceil(world))?;
            check(answer, &order, world, true, n / world)?;
        }
    }
    // More records than a u16 can count.
    let order: Vec<usize> = (0..70_001).map(|i| first + 3 * i).collect();
    let case = given("70001 records, rank 6 of 7, drop_tail false");
    let expected: Vec<usize> = (0..10_001).map(|i| order[(6 + 7 * i) % order.len()]).collect();
    case.close("share", &(answer.share_of_epoch)(&order, 6, 7, false), &expected)
}
