//! 13.2: the rungs of successive halving.

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson13, REFERENCE, answers};

/// Trials, `fewest`, `most`, eta.
type Input = (usize, u64, u64, u64);

fn ladder(answer: &Lesson13, (trials, fewest, most, eta): Input) -> Verdict {
    let of = |lesson: &Lesson13| {
        let rungs = (lesson.rungs)(trials, fewest, most, eta);
        Facts::default().items(
            "(epochs, trials) of each rung",
            rungs.iter().map(|r| (r.epochs, r.trials)),
        )
    };
    given(format!(
        "{trials} trials, fewest {fewest}, most {most}, eta {eta}"
    ))
    .same(of(answer), of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.2";
    by ladder {
        multiplies_epochs_and_divides_trials: "`min(most, fewest·eta^k)` epochs",
            "Each rung has eta times the epochs of the rung below, counted from the start of a trial, and 1/eta of its trials." => |d| {
            let few = d.whole(2, 5) as u64;
            vec![(27, 1, 27, 3), (16, few, 8 * few, 2), (64, few, 16 * few, 4)]
        };
        rounds_the_trials_down: "`⌊trials/eta^k⌋` trials",
            "Divide as whole numbers, which rounds down: of 20 trials, 6 are promoted with eta 3, and then 2." => |d| {
            let more = d.whole(1, 7);
            vec![(20, 1, 9, 3), (8 + more, 2, 16, 2), (63, 1, 16, 4), (47, 1, 8, 2)]
        };
        caps_the_epochs_of_the_last_rung: "first with `most` epochs",
            "If fewest·eta^k goes beyond `most`, this rung has `most` epochs, and is the last." => |d| {
            let (fewest, eta) = (d.whole(2, 4) as u64, d.whole(2, 4) as u64);
            vec![(30, 2, 15, 2), (100, 1, 20, 3), (90, fewest, fewest * eta + 1, eta), (90, fewest, fewest * eta * eta - 1, eta)]
        };
        ends_at_the_first_rung_with_most_epochs: "The last rung is the first with `most` epochs",
            "End with the first rung that has `most` epochs, even if it is rung 0, or if many trials are left." => |d| {
            let most = d.whole(3, 9) as u64;
            vec![(d.whole(5, 9), most, most, 2), (81, 3, 9, 3), (50, most, most + 1, 4), (1, most, most, 3)]
        };
        ends_when_no_trial_is_left: "after which no trial is left",
            "A rung of ⌊trials/eta^k⌋ = 0 trials does not exist: the rung before it is the last, below `most` epochs." => |d| {
            let eta = d.whole(2, 4);
            vec![(5, 1, 81, 3), (eta, 1, 100, eta as u64), (eta - 1, 2, 100, eta as u64), (1, 1, 50, 2), (7, 1, 1000, 2)]
        };
        accepts_any_search: "The last rung is the first with `most` epochs, or an earlier one",
            "Stop at `most` epochs or when no trial is left, whichever is first; then there is nothing to add." => |d| {
            let mut one = || {
                let fewest = d.whole(1, 6) as u64;
                (d.whole(1, 120), fewest, fewest + d.whole(0, 90) as u64, d.whole(2, 5) as u64)
            };
            (0..40).map(|_| one()).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.2" rungs;
    1 "The rung with `most` epochs is missing if fewest·eta^k skips it: cap the epochs, then end.";
    2 "The last rung has more than `most` epochs.";
    3 "The trials are rounded up: 1/eta of them is the most that may go on.";
    4 "One trial always goes on; it needs eta trials in a rung to promote one.";
    5 "There are two rungs with `most` epochs: end with the first.";
    6 "The epochs are those beyond the rung below; count them from the start of a trial.";
    7 "There are rungs without trials: end before the first.";
    8 "The last rung is missing if it has fewer than eta trials: nobody is promoted from it, but it trains.";
};
