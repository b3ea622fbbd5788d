//! 13.4: exploit and explore.

use canopy::search::{Member, Parameter, Value};
use canopy_data::Philox;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::draw::{log, numbers, parameter, shown, space_text, uniform, values_of, word, words};
use crate::{Lesson13, REFERENCE, answers, promotion::scores};

/// A space, members, the share, the seed of the generator.
type Input = (Vec<Parameter>, Vec<Member>, f64, u64);

fn heirs(answer: &Lesson13, (space, members, share, seed): Input) -> Verdict {
    let of = |lesson: &Lesson13| {
        let mut random = Philox::new(seed, 0);
        let heirs = (lesson.exploit_and_explore)(&members, &space, share, &mut random);
        let from = heirs.iter().map(|heir| heir.from);
        let facts = Facts::default().items("`from` of each heir", from);
        values_of(facts, "heir", heirs.iter().map(|heir| &heir.values))
            .values("next draw of `random`", random.below(1000))
            .cause("Draw from `random` itself, once for each copy and once for each number that may change.")
            .asked("draws nothing and stays")
    };
    let text = |member: &Member| {
        let values = member.values.iter();
        let values = values.map(|(name, value)| format!(" {name} {}", shown(value)));
        format!("({}:{})", member.score, values.collect::<String>())
    };
    let text = members.iter().map(text).collect::<Vec<_>>().join(" ");
    let space = space_text(&space);
    let text =
        format!("share {share}, Philox::new({seed}, 0), members (score: values) {text}; space {space}");
    given(text).same(of(answer), of(&REFERENCE))
}

fn seed(d: &mut Draw) -> u64 {
    d.whole(1, 9_999) as u64
}

/// Members with these scores and a word that differs from member to member.
fn named(d: &mut Draw, scores: &[f64], share: f64) -> Input {
    let name = |i: usize| format!("w{i}");
    let all: Vec<String> = (0..scores.len()).map(name).collect();
    let space = vec![parameter("word", words(&all.join(" ")))];
    let members = scores.iter().enumerate();
    let members = members.map(|(i, &score)| Member {
        score,
        values: vec![("word".to_owned(), word(&name(i)))],
    });
    (space, members.collect(), share, seed(d))
}

/// Eight members, and a share of a quarter, or of a half; the values of each are those that `values` draws.
fn eight(
    d: &mut Draw,
    space: Vec<Parameter>,
    mut values: impl FnMut(&mut Draw) -> Vec<(&'static str, Value)>,
) -> Input {
    let scores = scores(d, 8);
    let mut member = |&score: &f64| {
        let values = values(d).into_iter();
        let values = values.map(|(name, value)| (name.to_owned(), value)).collect();
        Member { score, values }
    };
    let members = scores.iter().map(&mut member).collect();
    (space, members, [0.25, 0.5][d.whole(0, 1)], seed(d))
}

fn number(d: &mut Draw, low: f64, high: f64) -> Value {
    Value::Number((d.number(low, high) * 1000.0).round() / 1000.0)
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.4";
    by heirs {
        copies_the_best_to_the_worst: "In order of index, each of the worst",
            "Rank the members by score. In order of index, each of the worst ⌊share·n⌋ copies `best[random.below(k)]`, the best member first; the others change nothing." => |d| {
            let mut all = Vec::new();
            for (count, share) in [(5, 0.2), (8, 0.25), (10, 0.5), (8, 0.5), (12, 0.25), (10, 0.5), (12, 0.5)] {
                let scores = scores(d, count);
                all.push(named(d, &scores, share));
            }
            all
        };
        rounds_the_share_down: "the worst `k = ⌊share·n⌋`",
            "With share·n below 1, nobody copies, and nothing is drawn; 1.9 members are 1." =>
            |d| [(4, 0.2), (3, 0.25), (7, 0.125), (1, 0.5), (19, 0.1), (7, 0.25), (5, 0.5)].map(|(count, share)| {
                let scores = scores(d, count);
                named(d, &scores, share)
            }).into();
        ranks_nan_last: "NaN is worst",
            "A member that diverged has the score NaN: it is among the worst, and copies." => |d| {
            let nan = f64::NAN;
            let lists: [&[f64]; 4] = [&[0.25, nan, 0.5, 0.75], &[nan, -0.5, -0.25, -1.5], &[0.5, 0.75, -nan, 0.25, 1.0, nan, 0.875, 0.625], &[0.5, nan]];
            lists.map(|scores| named(d, scores, if scores.len() == 2 { 0.5 } else { 0.25 })).into()
        };
        prefers_the_lower_index_of_equal_scores: "of equal scores, the first is better",
            "Of equal scores, the lower index is better, for the best as for the worst: sort in a stable way." => |d| {
            let lists: [&[f64]; 4] = [&[0.5; 4], &[0.75, 0.5, 0.75, 0.5], &[0.25, 0.25, 0.25, 0.75], &[0.5, 0.75, 0.25, 0.75, 0.25, 0.5, 0.75, 0.25]];
            lists.map(|scores| named(d, scores, 0.25)).into()
        };
        multiplies_each_number_by_a_factor: "multiplies each number by `[0.8, 1.25][random.below(2)]`",
            "For each number of a copy, and of nothing else, draw `random.below(2)` in order: 0 is the factor 0.8, and 1 is 1.25." => |d| {
            let space = || vec![parameter("rate", log(1e-6, 1e6)), parameter("momentum", uniform(-1e6, 1e6)), parameter("decay", log(1e-6, 1e6))];
            let one = || vec![space().remove(0)];
            let mut all: Vec<Input> = (0..2).map(|_| eight(d, one(), |d| vec![("rate", number(d, 0.5, 2.0))])).collect();
            for _ in 0..4 {
                all.push(eight(d, space(), |d| vec![("rate", number(d, 0.5, 2.0)), ("momentum", number(d, -3.0, 3.0)), ("decay", number(d, 0.5, 2.0))]));
            }
            all
        };
        keeps_choices: "A number of a `Choice` draws nothing and stays",
            "Words and the numbers of a `Choice` are copied as they are: draw nothing for them." => |d| {
            let space = || vec![
                parameter("batch", numbers(&[16.0, 32.0, 64.0])), parameter("rate", log(1e-6, 1e6)),
                parameter("optimizer", words("adamw sgd")), parameter("decay", uniform(0.0, 1e6)),
            ];
            let values = |d: &mut Draw| vec![
                ("batch", Value::Number([16.0, 32.0, 64.0][d.whole(0, 2)])), ("rate", number(d, 0.5, 2.0)),
                ("optimizer", word(["adamw", "sgd"][d.whole(0, 1)])), ("decay", number(d, 0.5, 2.0)),
            ];
            (0..4).map(|_| eight(d, space(), values)).collect()
        };
        clamps_to_the_range: "clamped to its range",
            "After the multiplication, clamp the number to low … high of its `Log` or `Uniform`." => |d| {
            let space = || vec![parameter("rate", log(0.5, 2.0)), parameter("momentum", uniform(-1.0, 0.9))];
            let near = |d: &mut Draw| vec![
                ("rate", [number(d, 0.5, 0.6), number(d, 1.7, 2.0)][d.whole(0, 1)].clone()),
                ("momentum", [number(d, -1.0, -0.85), number(d, 0.75, 0.9)][d.whole(0, 1)].clone()),
            ];
            (0..4).map(|_| eight(d, space(), near)).collect()
        };
        finds_ranges_by_name: "clamped to its range",
            "A member lacks parameters whose condition does not hold: find a range by the name, not by the place in the list." => |d| {
            // As if all but `decay` and `rate` depended on a condition.
            let space = || vec![
                parameter("optimizer", words("adamw sgd")), parameter("momentum", uniform(0.8, 0.99)),
                parameter("decay", log(1e-3, 1e3)), parameter("batch", numbers(&[16.0])), parameter("rate", log(1.0, 1.5)),
            ];
            (0..4).map(|_| eight(d, space(), |d| vec![("decay", number(d, 0.5, 2.0)), ("rate", number(d, 1.0, 1.5))])).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.4" exploit_and_explore;
    1 "One member copies even if share·n is below 1.";
    2 "NaN is the best score: `total_cmp` orders it above all numbers, and all others copy a diverged member.";
    3 "The members copy in the order of their scores; go through them in order of index, so that the draws agree.";
    4 "The weights are copied, but not the values: perturb those of the better member.";
    5 "All numbers have the same factor: draw one for each.";
    6 "Ranges are found by the place in the list; values that are left out shift it: compare names.";
    7 "A number of a `Choice` changes: a batch size of 32 would become 40.";
    8 "Numbers leave their range: clamp them.";
};
