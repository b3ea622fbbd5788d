//! 9.6: batch sizes that agree.

use canopy::shard::BatchWanted;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::said;

use crate::{Lesson09, REFERENCE, answers};

/// Train, micro and accumulation as they are given; the number of ranks; whether an error must contain all of them.
type Input = ([Option<usize>; 3], usize, bool);

/// The sizes on 4 ranks; 0: not given.
fn on_4(sizes: [usize; 3]) -> Input {
    (sizes.map(|n| (n > 0).then_some(n)), 4, false)
}

fn settled(answer: &Lesson09, (sizes, ranks, names): Input) -> Verdict {
    let [train, micro, accumulation] = sizes;
    let wanted = BatchWanted {
        train,
        micro,
        accumulation,
    };
    let facts = |answer: &Lesson09| {
        let result = (answer.settle_batch)(wanted, ranks);
        let error = result.as_ref().err().map(said).unwrap_or_default();
        let numbers: Vec<&str> = error.split(|c: char| !c.is_ascii_digit()).collect();
        let all = sizes.into_iter().flatten().chain([ranks]);
        let named = all.filter(|n| names && numbers.contains(&n.to_string().as_str()));
        let text = result.map_or("an error".to_owned(), |sizes| format!("{sizes:?}"));
        let facts = Facts::default().text("result", text);
        facts.items("given numbers that the error contains", named)
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
                [[t, m, None], [t, None, a], [None, m, a], [t, m, a]].map(|sizes| (sizes, ranks, false))
            };
            [of([4, 3, 4]), of(drawn)].concat()
        };
        accumulates_nothing_by_default: "accumulation is 1",
            "With `train` or `micro` alone, accumulation is 1, and the other follows: train = micro × ranks." => |d| {
            let (micro, ranks) = (d.whole(2, 99), d.whole(2, 64));
            vec![
                on_4([48, 0, 0]), on_4([0, 4, 0]), ([Some(micro), None, None], 1, false),
                ([Some(micro * ranks), None, None], ranks, false), ([None, Some(micro), None], ranks, false),
            ]
        };
        rejects_contradictions: "the sizes contradict each other",
            "If three are given and train is not micro × accumulation × ranks, return an error; change none." =>
            |_| [[48, 4, 2], [48, 4, 6], [48, 2, 3], [12, 4, 3], [49, 4, 3]].map(on_4).into();
        rejects_remainders: "a division has a remainder",
            "If the division for a missing size has a remainder, return an error: do not round." => |d| {
            let ranks = d.whole(3, 9);
            let train = ranks * d.whole(3, 9) + d.whole(1, ranks - 1);
            // Also fewer samples than ranks, and than a micro-batch on each rank.
            let mut all: Vec<Input> = [[50, 4, 0], [50, 0, 3], [50, 0, 0], [3, 0, 0], [8, 4, 0]].map(on_4).into();
            all.push(([Some(train), None, None], ranks, false));
            all
        };
        rejects_what_is_missing_or_zero: "It is an error if neither is given",
            "Without `train` and `micro`, or if a size or `world_size` is 0, return an error; do not divide." => |_| {
            let [none, zero, three, four, train] = [None, Some(0), Some(3), Some(4), Some(48)];
            let on_4 = [
                [none, none, none], [none, none, three], [zero, none, none], [none, zero, none],
                [train, zero, three], [train, none, zero], [none, four, zero], [zero, four, zero],
            ];
            on_4.map(|sizes| (sizes, 4, false)).into_iter().chain([([train, none, none], 0, false)]).collect()
        };
        names_the_sizes: "contain all given sizes",
            "A user must see what does not agree: the error contains each given size and the number of ranks." => |d| {
            let ranks = d.whole(5, 9);
            let drawn = ([Some(ranks * 20 + 3), None, None], ranks, true);
            let on_4 = [[48, 5, 2], [50, 7, 0], [50, 0, 3]].map(on_4).map(|(sizes, ranks, _)| (sizes, ranks, true));
            on_4.into_iter().chain([drawn]).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.6" settle_batch;
    1 "Accumulation is 1 unless it is given; if train and micro are given, it follows from them.";
    2 "All three sizes together are an error here; they are right if they agree.";
    3 "With train alone, micro is 1 here and accumulation follows; accumulation is 1 and micro follows.";
    4 "train or micro alone is an error here; accumulation is 1 then.";
    5 "train is computed anew from micro and accumulation, although another one was given.";
    6 "Accumulation alone, or nothing, is accepted: without train and micro the batch is unknown.";
    7 "A size of 0 is accepted, or divided by: test for zeros first.";
    8 "If the division has a remainder, train is made smaller; the user asked for another one.";
    9 "Divisions are rounded down: samples of the batch are lost.";
    10 "Sizes that contradict each other are accepted: test that train = micro × accumulation × ranks.";
};
