use canopy::{precision::BytesPerParameter, shard::Stage};
use grader::{Draw, Verdict, draw, given};

use crate::Lesson09;

/// Four different numbers of bytes, so that no two can be mistaken for each other.
fn bytes(draw: &mut Draw) -> BytesPerParameter {
    let first = draw.whole(1, 4) as u32;
    BytesPerParameter {
        weight: first,
        master: 10 * first + 1,
        gradient: 100 * first + 3,
        optimizer: 1000 * first + 7,
    }
}

fn check(
    answer: &Lesson09,
    parameters: u64,
    each: BytesPerParameter,
    stage: Stage,
    ranks: u64,
    expected: [u64; 3],
) -> Verdict {
    let BytesPerParameter {
        weight,
        master,
        gradient,
        optimizer,
    } = each;
    let case = given(format!(
        "{parameters} parameters, {stage}, {}, bytes per parameter: weight {weight}, master {master}, \
         gradient {gradient}, optimizer {optimizer}",
        super::ranks(ranks as usize)
    ));
    let got = (answer.bytes_per_rank)(parameters, each, stage, ranks);
    case.close("weights, gradients, optimizer", &got.to_vec(), &expected.to_vec())
}

/// The expected bytes if a share is `share` parameters.
fn kept(parameters: u64, each: BytesPerParameter, stage: Stage, share: u64) -> [u64; 3] {
    let [weight, master, gradient, optimizer] =
        [each.weight, each.master, each.gradient, each.optimizer].map(u64::from);
    let n = parameters;
    match stage {
        Stage::Zero0 => [n * weight + n * master, n * gradient, n * optimizer],
        Stage::Zero1 => [n * weight + share * master, n * gradient, share * optimizer],
        Stage::Zero2 => [n * weight + share * master, share * gradient, share * optimizer],
        Stage::Zero3 => [
            share * weight + share * master,
            share * gradient,
            share * optimizer,
        ],
    }
}

pub fn keeps_everything_without_sharding(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    let each = bytes(&mut draw);
    let n = draw.whole(10, 99) as u64;
    for ranks in [1, 2, 7] {
        check(
            answer,
            n,
            each,
            Stage::Zero0,
            ranks,
            kept(n, each, Stage::Zero0, n),
        )?;
    }
    // One rank alone has everything in every stage.
    for stage in Stage::ALL {
        check(answer, n, each, stage, 1, kept(n, each, stage, n))?;
    }
    Ok(())
}

pub fn shares_more_with_each_stage(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    let each = bytes(&mut draw);
    let (share, ranks) = (draw.whole(10, 99) as u64, draw.whole(2, 9) as u64);
    for stage in [Stage::Zero1, Stage::Zero2, Stage::Zero3] {
        let n = share * ranks;
        check(answer, n, each, stage, ranks, kept(n, each, stage, share))?;
    }
    Ok(())
}

pub fn rounds_shares_up(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    let each = bytes(&mut draw);
    for (n, ranks, share) in [(10, 4, 3), (9, 2, 5), (3, 8, 1), (0, 4, 0)] {
        for stage in [Stage::Zero1, Stage::Zero2, Stage::Zero3] {
            check(answer, n, each, stage, ranks, kept(n, each, stage, share))?;
        }
    }
    Ok(())
}

pub fn counts_large_models(answer: &Lesson09) -> Verdict {
    // Mixed precision with Adam.
    let each = BytesPerParameter {
        weight: 2,
        master: 4,
        gradient: 2,
        optimizer: 8,
    };
    for (n, ranks) in [(7_500_000_000, 64), (1_000_000_000_000, 1024)] {
        for stage in Stage::ALL {
            let share = u64::div_ceil(n, ranks);
            check(answer, n, each, stage, ranks, kept(n, each, stage, share))?;
        }
    }
    // A share that f64 and f32 cannot hold exactly.
    let n = 1_000_000_000_001;
    check(answer, n, each, Stage::Zero3, 1, kept(n, each, Stage::Zero3, n))?;
    let share = 333_333_333_334;
    check(
        answer,
        n,
        each,
        Stage::Zero3,
        3,
        kept(n, each, Stage::Zero3, share),
    )
}

fn sent(answer: &Lesson09, parameters: u64, stage: Stage, ranks: u64, expected: u64) -> Verdict {
    let case = given(format!(
        "{parameters} parameters, {stage}, {}",
        super::ranks(ranks as usize)
    ));
    let got = (answer.numbers_sent)(parameters, stage, ranks);
    case.close("numbers that a rank sends", got, expected)
}

pub fn counts_two_passes(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    let (share, ranks) = (draw.whole(10, 99) as u64, draw.whole(3, 9) as u64);
    for stage in [Stage::Zero0, Stage::Zero1, Stage::Zero2] {
        sent(answer, 12, stage, 3, 16)?;
        let expected = (1..ranks).map(|_| 2 * share).sum();
        sent(answer, share * ranks, stage, ranks, expected)?;
    }
    Ok(())
}

pub fn gathers_once_more_in_stage_3(answer: &Lesson09) -> Verdict {
    let mut draw = draw();
    sent(answer, 12, Stage::Zero3, 3, 24)?;
    let (share, ranks) = (draw.whole(10, 99) as u64, draw.whole(3, 9) as u64);
    let expected = (1..ranks).map(|_| 3 * share).sum();
    sent(answer, share * ranks, Stage::Zero3, ranks, expected)
}

pub fn rounds_chunks_up(answer: &Lesson09) -> Verdict {
    for (n, ranks, share) in [(3, 8, 1), (10, 4, 3), (9, 2, 5), (0, 4, 0)] {
        sent(answer, n, Stage::Zero2, ranks, 2 * share * (ranks - 1))?;
        sent(answer, n, Stage::Zero3, ranks, 3 * share * (ranks - 1))?;
    }
    // More than 32 bits.
    sent(answer, 1_000_000_000_000, Stage::Zero3, 1000, 2_997_000_000_000)
}

pub fn is_free_for_one_rank(answer: &Lesson09) -> Verdict {
    let n = draw().whole(10, 99) as u64;
    for stage in Stage::ALL {
        sent(answer, n, stage, 1, 0)?;
    }
    Ok(())
}
