use grader::{Draw, Verdict, draw, given};

use crate::Lesson03;

const TREES: [&str; 8] = [
    "ash-1", "ash-2", "beech-1", "beech-2", "beech-3", "fir-1", "oak-1", "oak-2",
];
const PLOTS: [&str; 6] = ["north", "south", "hill", "brook", "edge", "gap"];

fn pick<'a>(draw: &mut Draw, from: &[&'a str], n: usize) -> Vec<&'a str> {
    (0..n).map(|_| from[draw.whole(0, from.len() - 1)]).collect()
}

pub fn keeps_scans_of_a_tree_together(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let trees = pick(&mut draw, &TREES[..4], 7);
    check(answer, &[&trees[..], &["ash-1", "ash-1"]].concat(), &[""; 9])
}

pub fn keeps_trees_of_a_plot_together(answer: &Lesson03) -> Verdict {
    let plots = pick(&mut draw(), &PLOTS[..3], 8);
    check(answer, &TREES, &plots)
}

pub fn joins_connected_components(answer: &Lesson03) -> Verdict {
    // oak-1 stands in three plots, and the records that it unites come before it.
    let trees = [
        "ash-1", "ash-2", "beech-1", "beech-2", "oak-1", "oak-1", "oak-1", "fir-1",
    ];
    check(
        answer,
        &trees,
        &["north", "south", "hill", "south", "hill", "south", "north", "gap"],
    )?;
    let mut draw = draw();
    let (trees, plots) = (pick(&mut draw, &TREES, 10), pick(&mut draw, &PLOTS, 10));
    check(answer, &trees, &plots)
}

pub fn ignores_unknown_plots(answer: &Lesson03) -> Verdict {
    check(
        answer,
        &TREES,
        &["", "north", "", "north", "", "hill", "", "hill"],
    )
}

pub fn numbers_groups_by_their_first_record(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    let last = PLOTS[draw.whole(2, 5)];
    check(
        answer,
        &TREES,
        &["south", last, "south", "north", last, "north", "south", "north"],
    )?;
    check(answer, &[], &[])
}

pub fn separates_tree_and_plot_names(answer: &Lesson03) -> Verdict {
    check(answer, &["1", "2", "3", "4"], &["2", "3", "3", "1"])
}

fn check(answer: &Lesson03, trees: &[&str], plots: &[&str]) -> Verdict {
    let case = given(format!("trees {trees:?}, plots {plots:?}"));
    let got = (answer.together)(trees, plots);
    let n = trees.len();
    // Unite until nothing changes.
    let mut group: Vec<usize> = (0..n).collect();
    for _ in 0..n {
        for i in 0..n {
            for j in 0..n {
                if trees[i] == trees[j] || (!plots[i].is_empty() && plots[i] == plots[j]) {
                    group[i] = group[i].min(group[j]);
                }
            }
        }
    }
    let mut seen: Vec<usize> = Vec::new();
    let number = |g: &usize| {
        seen.iter().position(|s| s == g).unwrap_or_else(|| {
            seen.push(*g);
            seen.len() - 1
        })
    };
    let expected: Vec<usize> = group.iter().map(number).collect();
    case.close("groups", &got, &expected)
}
