use std::collections::HashMap;

use grader::{Draw, Verdict, draw, given};

use super::{listed, random::mixed, told};
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
    // The first group is neither the largest nor the first by name. One tree has a scan on a known plot.
    let rest = mixed(
        &mut draw,
        vec!["ash-1", "ash-1", "ash-1", "beech-1", "ash-2", "ash-2"],
    );
    // Two scans of one tree that follow each other, and others that do not.
    let trees = [&["oak-1", "beech-1", "oak-1"][..], &rest, &["fir-1", "fir-1"]].concat();
    check(answer, &trees, &["", "", "hill", "", "", "", "", "", "", "", ""])
}

pub fn keeps_trees_of_a_plot_together(answer: &Lesson03) -> Verdict {
    let rest = mixed(
        &mut draw(),
        vec!["north", "south", "north", "hill", "north", "hill"],
    );
    check(answer, &TREES, &[&["south", "hill"][..], &rest].concat())
}

pub fn joins_connected_components(answer: &Lesson03) -> Verdict {
    // oak-1 stands in three plots, and the records that it unites come before it.
    let trees = [
        "ash-1", "ash-2", "beech-1", "beech-2", "oak-1", "oak-1", "oak-1", "fir-1", "oak-2",
    ];
    let plots = [
        "north", "south", "hill", "south", "hill", "south", "north", "gap", "north",
    ];
    check(answer, &trees, &plots)?;
    let mut draw = draw();
    for n in [10, 12, 14] {
        let (trees, plots) = (pick(&mut draw, &TREES, n), pick(&mut draw, &PLOTS, n));
        check(answer, &trees, &plots)?;
    }
    Ok(())
}

pub fn joins_long_chains(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    // Each tree was scanned on two plots, and each plot has two trees; two such chains, in random order.
    let name = |chain: usize, at: usize| format!("{}-{at}", ["a", "b"][chain]);
    let scans = |at: usize| [0, 1].map(|chain| (name(chain, at / 2), name(chain, at.div_ceil(2))));
    let scans = mixed(&mut draw, (0..150).flat_map(scans).collect());
    let trees: Vec<&str> = scans.iter().map(|s| s.0.as_str()).collect();
    let plots: Vec<&str> = scans.iter().map(|s| s.1.as_str()).collect();
    check(answer, &trees, &plots)
}

pub fn ignores_unknown_plots(answer: &Lesson03) -> Verdict {
    check(
        answer,
        &TREES,
        &["", "north", "", "north", "", "hill", "", "hill"],
    )?;
    // A scan without a plot belongs to the plot of its tree.
    check(
        answer,
        &["ash-1", "fir-1", "ash-1", "oak-1", "fir-1", "oak-1"],
        &["", "hill", "gap", "gap", "", ""],
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
    // Groups that are united late leave no gaps.
    check(
        answer,
        &["d", "c", "b", "a", "e", "c", "f"],
        &["4", "3", "2", "1", "", "2", "1"],
    )
}

pub fn separates_tree_and_plot_names(answer: &Lesson03) -> Verdict {
    check(answer, &["1", "2", "3", "4"], &["2", "3", "3", "1"])?;
    // Whatever may be put before or behind a name to tell trees and plots apart.
    let trees = [
        "p1", "plot1", "plot-1", "plot_1", "plot:1", "plot/1", "plot 1", "P1", "P:1", "p:1", "p-1", "p_1",
        "p/1", "1p", "1", "t1", "tree1", "tree:1", "t:1",
    ];
    let plots = [
        "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "1", "16", "17", "18",
        "19",
    ];
    check(answer, &trees, &plots)?;
    check(answer, &plots, &trees)?;
    // Names that begin alike, and pairs that are the same when they are written together.
    check(
        answer,
        &["oak-1", "oak-10", "oak", "ab", "a", "a b"],
        &["x", "xy", "x1", "c", "bc", "d"],
    )
}

pub fn accepts_no_records(answer: &Lesson03) -> Verdict {
    check(answer, &[], &[])?;
    check(answer, &["ash-1"], &[""])
}

/// The same groups, numbered as their first records come.
fn renumbered(groups: &[usize]) -> Vec<usize> {
    let mut seen: Vec<usize> = Vec::new();
    let number = |g: &usize| {
        seen.iter().position(|s| s == g).unwrap_or_else(|| {
            seen.push(*g);
            seen.len() - 1
        })
    };
    groups.iter().map(number).collect()
}

/// A number for each record, equal in a connected component: depth first over the records of the same tree or plot.
fn components(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let mut of = [HashMap::<&str, Vec<usize>>::new(), HashMap::new()];
    for (i, (&tree, &plot)) in trees.iter().zip(plots).enumerate() {
        of[0].entry(tree).or_default().push(i);
        if !plot.is_empty() {
            of[1].entry(plot).or_default().push(i);
        }
    }
    let mut group = vec![usize::MAX; trees.len()];
    for first in 0..trees.len() {
        let mut open = vec![first];
        while let Some(i) = open.pop() {
            if group[i] == usize::MAX {
                group[i] = first;
                open.extend(of[0].get(trees[i]).into_iter().flatten());
                open.extend(of[1].get(plots[i]).into_iter().flatten());
            }
        }
    }
    group
}

fn check(answer: &Lesson03, trees: &[&str], plots: &[&str]) -> Verdict {
    let input = if trees.len() > 30 {
        format!("a chain of {} scans, trees {:?}, …", trees.len(), &trees[..6])
    } else {
        format!("trees {trees:?}, plots {plots:?}")
    };
    let case = given(input.clone());
    let got = (answer.together)(trees, plots);
    let expected = renumbered(&components(trees, plots));
    if got.len() != expected.len() || renumbered(&got) != expected {
        return case.close("groups", &renumbered(&got), &expected);
    }
    let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) else {
        return Ok(());
    };
    // The groups are right and their numbers are not.
    let from_one = got.iter().zip(&expected).all(|(g, e)| *g == e + 1);
    let groups = expected.iter().max().map_or(0, |most| most + 1);
    let kind = match got.iter().all(|&g| g < groups) {
        _ if from_one => 1,
        true => 2,
        false => 3,
    };
    let lines = vec![
        format!("expected  {}", listed(&expected)),
        format!("got       {}", listed(&got)),
        format!("first at  record {at}: the groups are right, their numbers are not"),
    ];
    told(input, "numbers of the groups", &[kind], lines)
}
