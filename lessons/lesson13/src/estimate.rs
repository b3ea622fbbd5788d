//! 13.6: the honest estimate of the best trial.

use canopy_data::Philox;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson13, REFERENCE, answers};

/// Which clouds each trial classifies correctly, the draws, the seed of the generator.
type Input = (Vec<Vec<bool>>, usize, u64);

fn estimated(answer: &Lesson13, (correct, draws, seed): Input) -> Verdict {
    let of = |lesson: &Lesson13| {
        let estimate = (lesson.corrected_estimate)(&correct, draws, &mut Philox::new(seed, 0));
        Facts::default()
            .values("best", estimate.best)
            .cause("`best` is the index of the trial with the most correct of all clouds, the first of equal trials.")
            .asked("Estimates the best trial's accuracy")
            .values("apparent", estimate.apparent)
            .cause("`apparent` is the accuracy of `best` on all clouds.")
            .asked("Estimates the best trial's accuracy")
            .values("corrected", estimate.corrected)
    };
    let text = |trial: &Vec<bool>| -> String { trial.iter().map(|&is| if is { '1' } else { '0' }).collect() };
    let text = correct.iter().map(text).collect::<Vec<_>>().join(" ");
    given(format!("{draws} draws by Philox::new({seed}, 0), correct {text}")).same(of(answer), of(&REFERENCE))
}

/// Trials that classify each of `n` clouds correctly with probability `accuracy`.
fn drawn(d: &mut Draw, trials: usize, n: usize, accuracy: f64) -> Vec<Vec<bool>> {
    let mut trial = |_| (0..n).map(|_| d.number(0.0, 1.0) < accuracy).collect();
    (0..trials).map(&mut trial).collect()
}

fn seed(d: &mut Draw) -> u64 {
    d.whole(1, 9_999) as u64
}

/// Trials that are correct on the clouds marked by 1.
fn table(trials: &[&str]) -> Vec<Vec<bool>> {
    trials
        .iter()
        .map(|trial| trial.bytes().map(|cloud| cloud == b'1').collect())
        .collect()
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.6";
    by estimated {
        scores_a_trial_on_the_clouds_not_drawn: "its accuracy on the clouds not drawn",
            "Score on the clouds not drawn: the correct share of these alone. Draw on with the same `random`, and take the mean over the draws." => |d| {
            [10, 12, 17, 14, 16, 11, 13, 15].map(|n| (drawn(d, 1, n, 0.6), n % 3 + 1, seed(d))).into()
        };
        leaves_out_draws_without_a_cloud_to_score: "mean over draws that leave a cloud out",
            "If all clouds are drawn, none is left to score: skip this draw, and do not count it in the mean." => |d| {
            [(2, 12), (3, 20), (2, 30), (3, 40)].map(|(n, draws)| (vec![vec![true; n], vec![false; n]], draws, seed(d))).into()
        };
        selects_anew_in_each_draw: "select the trial with the most correct of these",
            "In each draw, find the trial with the most correct of the clouds drawn: it need not be `best`." => |d| {
            [(3, 12, 6), (6, 10, 20), (20, 15, 12)].map(|(trials, n, draws)| (drawn(d, trials, n, 0.6), draws, seed(d))).into()
        };
        counts_clouds_as_often_as_drawn: "select the trial with the most correct of these",
            "A cloud that is drawn twice counts twice when you select, and not at all when you score." => |d| {
            (0..8).map(|_| (drawn(d, 4, 6, 0.5), 12, seed(d))).collect()
        };
        selects_the_first_of_equal_trials: "Of equal trials, the first is selected",
            "Of equal trials, select the first, on all clouds as in each draw: `max_by_key` returns the last." => |d| {
            let same = drawn(d, 1, 9, 0.5).remove(0);
            vec![
                (table(&["011011", "011011", "110110"]), 4, seed(d)), (table(&["10010", "01100", "00011", "10100"]), 12, seed(d)),
                (vec![same.clone(), same], 6, seed(d)), (table(&["000000", "000000"]), 4, seed(d)),
            ]
        };
        is_apparent_if_no_draw_counts: "or else `apparent`",
            "Without a draw that counts there is no mean: return `apparent`, not NaN." => |d| {
            vec![(table(&["1"]), 5, seed(d)), (table(&["0", "1"]), 3, seed(d)), (drawn(d, 4, 9, 0.5), 0, seed(d))]
        };
        estimates_any_search: "`corrected` is the mean over draws",
            "`corrected` is the sum of the accuracies, divided by the number of draws that count." => |d| {
            let mut all: Vec<Input> = (0..8).map(|_| (drawn(d, 5, 5, 0.7), 16, seed(d))).collect();
            all.extend([(16, 40, 50), (2, 64, 30)].map(|(trials, n, draws)| (drawn(d, trials, n, 0.8), draws, seed(d))));
            all
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.6" corrected_estimate;
    1 "Of equal trials, the last is selected; it must be the first.";
    2 "The best trial of all clouds is scored in each draw; select anew from the clouds drawn.";
    3 "The selected trial is scored on the clouds that selected it; score it on those not drawn.";
    4 "The selected trial is scored on all clouds; those drawn have selected it already.";
    5 "A cloud that is drawn twice counts once; each time counts when you select.";
    6 "A draw that leaves no cloud out counts as 0; leave it out of the mean.";
    7 "The clouds of all draws are pooled; each draw has its accuracy, and all draws the same weight.";
    8 "The mean of no draw is NaN: return `apparent`.";
};
