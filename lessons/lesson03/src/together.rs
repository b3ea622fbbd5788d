//! 3.6: split by plot, not by tree.

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson03, REFERENCE, answers, subsample::mixed};

/// Trees and plots.
type Input = (Vec<&'static str>, Vec<&'static str>);

const TREES: [&str; 8] = [
    "ash-1", "ash-2", "beech-1", "beech-2", "beech-3", "fir-1", "oak-1", "oak-2",
];
fn grouped(answer: &Lesson03, input: Input) -> Verdict {
    let facts = |of: &Lesson03| {
        let groups = (of.together)(&input.0, &input.1);
        // As if each group were a tree: then they are numbered in the order of their first records.
        let names: Vec<String> = groups.iter().map(usize::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let numbered = (REFERENCE.together)(&names, &vec![""; names.len()]);
        Facts::default()
            .values("groups, whatever their numbers are", &numbered)
            .values("groups", &groups)
            .cause("Go through the records at the end, and give each new group the next number, from 0.")
    };
    let (trees, plots) = &input;
    let (n, shown) = (trees.len(), trees.len().min(24));
    let case = given(format!(
        "{n} records, trees {:?}, plots {:?}",
        &trees[..shown],
        &plots[..shown]
    ));
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson03>] = rows! { "3.6";
    by grouped {
        keeps_scans_of_a_tree_together: "records of the same tree",
            "Records of the same tree are one group, wherever they are, on a plot or not; no others join them." => |d| {
            // The first group is neither the largest nor the first by name. One tree has a scan on a known plot.
            let rest = mixed(d, vec!["ash-1", "ash-1", "ash-1", "beech-1", "ash-2", "ash-2"]);
            // Two scans of one tree that follow each other, and others that do not.
            let trees = [&["oak-1", "beech-1", "oak-1"][..], &rest, &["fir-1", "fir-1"]].concat();
            vec![(trees, vec!["", "", "hill", "", "", "", "", "", "", "", ""])]
        };
        keeps_trees_of_a_plot_together: "of the same tree or plot",
            "Records of the same plot are one group, whatever their trees are; those of other plots are not." => |d| {
            let rest = mixed(d, vec!["north", "south", "north", "hill", "north", "hill"]);
            vec![(TREES.into(), [&["south", "hill"], &rest[..]].concat())]
        };
        joins_connected_components: "connected components",
            "Unite two groups whole, not a record alone, until nothing changes, however many passes it takes." => |d| {
            // oak-1 is in three plots; the records that it unites have lower indices than its own.
            let trees = ["ash-1", "ash-2", "beech-1", "beech-2", "oak-1", "oak-1", "oak-1", "fir-1", "oak-2"];
            let plots = ["north", "south", "hill", "south", "hill", "south", "north", "gap", "north"];
            // Each tree was scanned on two plots, and each plot has two trees; two such chains, in random order.
            let name = |chain: &str, at: usize| -> &'static str { format!("{chain}-{at}").leak() };
            let scans = |at: usize| ["a", "b"].map(|chain| (name(chain, at / 2), name(chain, at.div_ceil(2))));
            vec![(trees.into(), plots.into()), mixed(d, (0..150).flat_map(scans).collect()).into_iter().unzip()]
        };
        ignores_unknown_plots: "is unknown",
            "\"\" is no plot: it connects nothing, and its record belongs to the other scans of its tree." => |_| vec![
                (TREES.into(), vec!["", "north", "", "north", "", "hill", "", "hill"]),
                // A scan without a plot belongs to the plot of its tree.
                (vec!["ash-1", "fir-1", "ash-1", "oak-1", "fir-1", "oak-1"], vec!["", "hill", "gap", "gap", "", ""]),
            ];
        separates_tree_and_plot_names: "of the same tree or plot",
            "Keep trees and plots apart, in two maps; letters before a name may make two names equal." => |_| {
            // Whatever may be put before or behind a name to tell trees and plots apart.
            let odd = "p1,plot1,plot-1,plot_1,plot:1,plot/1,plot 1,P1,P:1,p:1,p-1,p_1,p/1,1p,1,t1,tree1,tree:1,t:1";
            let (odd, plain) = (odd.split(','), "2,3,4,5,6,7,8,9,10,11,12,13,14,15,1,16,17,18,19".split(','));
            let (odd, plain) = (Vec::from_iter(odd), Vec::from_iter(plain));
            // Names that begin alike, and pairs that are the same when they are written together.
            let alike = (vec!["oak-1", "oak-10", "oak", "ab", "a", "a b"], vec!["x", "xy", "x1", "c", "bc", "d"]);
            vec![(vec!["1", "2", "3", "4"], vec!["2", "3", "3", "1"]), (odd.clone(), plain.clone()), (plain, odd), alike]
        };
        numbers_groups_by_their_first_record: "numbered from 0",
            "Go through the records, of which there may be none, and give each new group the next number, from 0." => |d| {
            let last = ["hill", "brook"][d.whole(0, 1)];
            vec![
                (TREES.into(), vec!["south", last, "south", "north", last, "north", "south", "north"]),
                // Groups that are united late leave no gaps.
                (vec!["d", "c", "b", "a", "e", "c", "f"], vec!["4", "3", "2", "1", "", "2", "1"]),
                (vec![], vec![]), (vec!["ash-1"], vec![""]),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson03>] = mistakes! { "3.6" together;
    1 "Records are grouped by plot only: scans of a tree on two plots, or on an unknown one, are separated.";
    2 "Records are grouped by tree only: trees of one plot are in both training and test set.";
    3 "\"\" is treated as a plot: trees with unknown plots are connected.";
};
