//! 9.6: batch sizes that agree.

use canopy::shard::BatchWanted;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::said;

use crate::{Lesson09, REFERENCE, answers};

/// Train, micro and accumulation as they are given, and the number of ranks.
type Input = ([Option<usize>; 3], usize);

/// The sizes on 4 ranks; 0: not given.
fn on_4(sizes: [usize; 3]) -> Input {
    (sizes.map(|n| (n > 0).then_some(n)), 4)
}

fn settled(answer: &Lesson09, (sizes, ranks): Input) -> Verdict {
    let [train, micro, accumulation] = sizes;
    let wanted = BatchWanted {
        train,
        micro,
        accumulation,
    };
    let all: Vec<usize> = sizes.into_iter().flatten().chain([ranks]).collect();
    // An error of missing sizes or of zeros may say anything.
    let names = train.or(micro).is_some() && !all.contains(&0);
    let facts = |answer: &Lesson09| {
        let result = (answer.settle_batch)(wanted, ranks);
        let error = result.as_ref().err().map(said).unwrap_or_default();
        let numbers: Vec<&str> = error.split(|c: char| !c.is_ascii_digit()).collect();
        let named = all
            .iter()
            .filter(|n| names && numbers.contains(&n.to_string().as_str()));
        Facts::default()
            .text("result", result.map_or("an error".to_owned(), |sizes| format!("{sizes:?}")))
            .items("given numbers that the error contains", named)
            .cause("A user must see what does not agree: the error contains each given size and the number of ranks.")
            .asked("contains all given sizes")
    };
    let text = format!("{wanted:?}, ranks: {ranks}");
    given(text).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.6";
    by settled {
        fills_in_the_third_size: "the third follows",
            "Two sizes give the third: train = micro × accumulation × ranks. Three that agree are right." => |d| {
            let drawn = [d.whole(5, 9), d.whole(2, 4), d.whole(2, 9)];
            let of = |[micro, accumulation, ranks]: [usize; 3]| {
                let [t, m, a] = [micro * accumulation * ranks, micro, accumulation].map(Some);
                [[t, m, None], [t, None, a], [None, m, a], [t, m, a]].map(|sizes| (sizes, ranks))
            };
            [of([4, 3, 4]), of(drawn)].concat()
        };
        accumulates_nothing_by_default: "accumulation is 1",
            "With `train` or `micro` alone, accumulation is 1, and the other follows: train = micro × ranks." => |d| {
            let (micro, ranks) = (d.whole(2, 99), d.whole(2, 64));
            vec![
                on_4([48, 0, 0]), on_4([0, 4, 0]), ([Some(micro), None, None], 1),
                ([Some(micro * ranks), None, None], ranks), ([None, Some(micro), None], ranks),
            ]
        };
        rejects_contradictions: "if no sizes agree",
            "If three are given and train is not micro × accumulation × ranks, return an error; change none." =>
            |_| [[48, 4, 2], [48, 4, 6], [48, 2, 3], [12, 4, 3], [49, 4, 3]].map(on_4).into();
        rejects_remainders: "if no sizes agree",
            "If the division for a missing size has a remainder, return an error: do not round." => |d| {
            let ranks = d.whole(3, 9);
            let train = ranks * d.whole(3, 9) + d.whole(1, ranks - 1);
            // Also fewer samples than ranks, and than a micro-batch on each rank.
            let mut all: Vec<Input> = [[50, 4, 0], [50, 0, 3], [50, 0, 0], [3, 0, 0], [8, 4, 0]].map(on_4).into();
            all.push(([Some(train), None, None], ranks));
            all
        };
        rejects_what_is_missing_or_zero: "Returns an error if neither `train` nor `micro` is given",
            "Without `train` and `micro`, or if a size or `world_size` is 0, return an error; do not divide." => |_| {
            let [none, zero, three, four, train] = [None, Some(0), Some(3), Some(4), Some(48)];
            let on_4 = [
                [none, none, none], [none, none, three], [zero, none, none], [none, zero, none],
                [train, zero, three], [train, none, zero], [none, four, zero], [zero, four, zero],
            ];
            on_4.map(|sizes| (sizes, 4)).into_iter().chain([([train, none, none], 0)]).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.6" settle_batch;
    1 "Accumulation is 1 unless it is given; if train and micro are given, it follows from them.";
    2 "With train alone, micro is 1 here and accumulation follows; accumulation is 1 and micro follows.";
    3 "train is computed anew from micro and accumulation, although another one was given.";
    4 "If the division has a remainder, train is made smaller; the user asked for another one.";
};
