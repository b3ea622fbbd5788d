//! 13.3: whom ASHA promotes.

use canopy::search::Scored;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson13, REFERENCE, answers};

/// The trials of each rung in the order of completion, eta.
type Input = (Vec<Vec<Scored>>, usize);

fn promoted(answer: &Lesson13, (rungs, eta): Input) -> Verdict {
    let of = |lesson: &Lesson13| {
        let promotion = (lesson.promotion)(&rungs, eta);
        Facts::default().text("rung and trial", format!("{promotion:?}"))
    };
    let text = |rung: &Vec<Scored>| {
        let trial = |scored: &Scored| {
            let mark = if scored.promoted { " promoted" } else { "" };
            format!("trial {}: {}{mark}", scored.trial, scored.score)
        };
        format!("[{}]", rung.iter().map(trial).collect::<Vec<_>>().join(", "))
    };
    let text = rungs.iter().map(text).collect::<Vec<_>>().join(", ");
    given(format!("eta {eta}, rungs {text}")).same(of(answer), of(&REFERENCE))
}

/// Trials with these scores. Their numbers, from `first` on, are not their places in the list. Those at the places `promoted`
/// are promoted.
fn rung(first: usize, scores: &[f64], promoted: &[usize]) -> Vec<Scored> {
    let number = |place: usize| first + (place * 7 + 3) % 11 + 11 * (place / 11);
    let numbered = scores.iter().enumerate();
    let scored = numbered.map(|(place, &score)| Scored {
        trial: number(place),
        score,
        promoted: promoted.contains(&place),
    });
    scored.collect()
}

/// Two rungs: the lower one, and the last.
fn low(scores: &[f64], promoted: &[usize], eta: usize) -> Input {
    (vec![rung(20, scores, promoted), Vec::new()], eta)
}

/// Different scores in random order.
pub fn scores(d: &mut Draw, count: usize) -> Vec<f64> {
    let mut scores: Vec<f64> = (0..count).map(|i| (10 + 4 * i) as f64 / 100.0).collect();
    for i in (1..count).rev() {
        scores.swap(i, d.whole(0, i));
    }
    scores
}

/// The places of the scores from the best down.
fn places(scores: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    places
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.3";
    by promoted {
        promotes_the_best_trial: "the best trial not promoted",
            "Return the index of the rung that lists it, and the number `trial`, of the best trial: the one with the highest score." => |d| {
            let all = [(6, 2), (9, 3), (5, 2), (7, 4)];
            all.map(|(count, eta)| low(&scores(d, count), &[], eta)).into()
        };
        skips_promoted_trials: "the best trial not promoted",
            "Skip trials that are promoted, and look at the next best of the ⌊n/eta⌋." => |d| {
            let mut all = Vec::new();
            for (count, eta) in [(6, 2), (12, 3), (16, 4)] {
                let scores = scores(d, count);
                let ranked = places(&scores);
                // The best; all but one of the top; another one of the top.
                all.extend([&ranked[..1], &ranked[..count / eta - 1], &ranked[1..2]].map(|promoted| low(&scores, promoted, eta)));
            }
            all
        };
        keeps_to_the_top: "the best `⌊n/eta⌋` of all n",
            "Only ⌊n/eta⌋ trials of a rung are in the top, of all n that completed it; if all of them are promoted, none is left." => |d| {
            let mut all = vec![low(&[0.5], &[], 2), low(&[0.25, 0.75], &[], 3), low(&[0.5, 0.25, 0.75], &[], 4)];
            for (count, eta) in [(5, 2), (7, 2), (8, 3), (11, 4), (6, 3)] {
                let scores = scores(d, count);
                all.push(low(&scores, &places(&scores)[..count / eta], eta));
            }
            all
        };
        ignores_promoted_trials_below_the_top: "the best `⌊n/eta⌋` of all n",
            "Trials promoted earlier may have left the top since: compare ranks with ⌊n/eta⌋, not the number of promotions." => |d| {
            [(5, 2), (8, 3), (11, 4)].map(|(count, eta)| {
                let scores = scores(d, count);
                low(&scores, &places(&scores)[count / eta..][..count / eta], eta)
            }).into()
        };
        searches_from_the_top_down: "from the second-to-last rung down",
            "Begin with the highest rung but the last, and go down to rung 0 if it has no trial to promote." => |d| {
            let (many, some) = (scores(d, 12), scores(d, 4));
            let ranked = places(&many);
            let three = |promoted: &[usize], middle| (vec![rung(20, &many, promoted), middle, Vec::new()], 2);
            vec![
                three(&ranked[..4], rung(20, &some, &[])), three(&ranked[..4], rung(20, &some[..1], &[])),
                three(&ranked[..6], rung(20, &some, &places(&some)[..1])), three(&[], Vec::new()),
            ]
        };
        promotes_nobody_from_the_last_rung: "from the second-to-last rung down",
            "The trials of the last rung are finished: nothing is above it. With a single rung, return `None`." => |d| {
            let (many, some) = (scores(d, 8), scores(d, 4));
            let top = &places(&many)[..4];
            vec![
                (vec![rung(20, &many, &[])], 2), (vec![rung(20, &many, top), rung(20, &some, &[])], 2),
                (vec![rung(20, &many, &top[1..]), rung(20, &some, &[])], 2),
            ]
        };
        ranks_nan_last: "the best trial not promoted",
            "A trial that diverged has the score NaN: rank it below all others, and count it in n." => |d| {
            let nan = f64::NAN;
            let mut all = vec![low(&[nan, 0.25, 0.75, 0.5], &[], 2), low(&[0.25, nan], &[], 2), low(&[-nan, 0.25, nan, 0.5], &[3], 2)];
            let mut more = scores(d, 9);
            more[d.whole(1, 8)] = nan;
            all.push(low(&more, &[], 3));
            // Scores may be below 0.
            all.push(low(&[-3.0, nan, -1.5, -2.0], &[], 3));
            all
        };
        prefers_the_first_of_equal_scores: "Of equals, the first is better",
            "Of equal scores, the one earlier in the list is better, also at the edge of the top: sort in a stable way." => |d| {
            let scores = [0.5, 0.75, 0.25, 0.75, 0.75, 0.5, 0.25, d.number(0.1, 0.2)];
            [(&scores[..], &[][..], 2), (&scores, &[1], 2), (&scores, &[1], 4), (&scores, &[1, 3, 4], 2), (&scores[..4], &[1], 4), (&[0.5; 7], &[0, 1], 3)]
                .map(|(scores, promoted, eta)| low(scores, promoted, eta)).into()
        };
        promotes_in_any_search: "from the second-to-last rung down, the best trial not promoted among the best",
            "Rank all n trials of a rung, take the top ⌊n/eta⌋, then the first of these that is not promoted." => |d| {
            let mut rung_of = |first: usize| {
                let count = d.whole(0, 14);
                let scores: Vec<f64> = (0..count).map(|_| d.whole(1, 6) as f64 / 8.0).collect();
                let promoted: Vec<usize> = (0..count).filter(|_| d.whole(0, 2) == 0).collect();
                rung(first, &scores, &promoted)
            };
            (0..40).map(|i| ((0..1 + i % 4).map(|k| rung_of(20 * k)).collect(), 2 + i % 3)).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.3" promotion;
    1 "The lowest rung is searched first: ASHA prefers to promote from a high one.";
    2 "A trial of the last rung is promoted, which has completed all epochs.";
    3 "Promoted trials are removed before the top is taken: then too many are promoted. They stay in the top ⌊n/eta⌋.";
    4 "n/eta is rounded up: a single trial would be promoted at once.";
    5 "NaN is the best score: `total_cmp` orders it above all numbers.";
    6 "Of equal scores, the last is preferred; it must be the first.";
    7 "The place in the list is returned; return the number `trial`.";
    8 "Only the best trial of a rung is looked at; if it is promoted, look at the next one of the top.";
};
