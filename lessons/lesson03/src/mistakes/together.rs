//! Known wrong answers to exercise 3.6.

use super::*;

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.6", keeps_scans_of_a_tree_together, "Each record is a group of its own, so that scans of one tree are in both training and test set.",
        together: |t, _| (0..t.len()).collect()),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Records are grouped by plot only: scans of a tree without a plot are separated.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| !p[i].is_empty() && p[i] == p[j])),
    wrong!("3.6", keeps_scans_of_a_tree_together, "Only records that follow each other are compared: scans of a tree may be anywhere in the list.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| i == j + 1 && (t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j])))),
    wrong!("3.6", keeps_trees_of_a_plot_together, "Records are grouped by tree only: trees of one plot are in both training and test set.",
        together: |t, _| numbered(t)),
    wrong!("3.6", keeps_trees_of_a_plot_together, "Tree and plot must both be equal here; one of them is enough.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] && p[i] == p[j])),
    wrong!("3.6", keeps_trees_of_a_plot_together, "All records are one group, and nothing is left for the test set.",
        together: |t, _| vec![0; t.len()]),
    wrong!("3.6", joins_connected_components,
    "Groups that meet later stay separate: when a record unites two groups, all records of one must move to the other.",
    together: |t, p| {
        let mut group: Vec<usize> = Vec::new();
        for i in 0..t.len() {
            let like = (0..i).find(|&j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]));
            let new = group.iter().max().map_or(0, |g| g + 1);
            group.push(like.map_or(new, |j| group[j]));
        }
        group
    }),
    wrong!("3.6", joins_connected_components,
    "When two groups meet, only the two records move: all records of one group must move to the other.",
        together: |t, p| grouped(t.len(), 1, |i, j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]))),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its tree, or else that of its plot. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, true, true)),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its tree, or else that of its plot. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, true, false)),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its plot, or else that of its tree. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, false, true)),
    wrong!("3.6", joins_connected_components,
    "A record joins the group of its plot, or else that of its tree. If both exist and differ, unite them.",
        together: |t, p| entered(t, p, false, false)),
    wrong!("3.6", joins_connected_components,
    "Records are grouped by plot, and by tree only without a plot: a tree that was scanned on two plots connects them.",
        together: |t, p| numbered(&(0..t.len()).map(|i| if p[i].is_empty() { (0, t[i]) } else { (1, p[i]) }).collect::<Vec<_>>())),
    wrong!("3.6", joins_connected_components,
    "A record that is already in a group is moved to another one alone, by its plot after its tree: unite the two groups instead.",
    together: |t, p| numbered(&hung(t, p))),
    wrong!("3.6", joins_connected_components,
    "A record alone is moved, to the group of each record that it shares something with, one after the other: unite the groups, with all their records.",
    together: |t, p| {
        let mut group: Vec<usize> = (0..t.len()).collect();
        for i in 0..t.len() {
            for j in 0..i {
                if t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]) { group[i] = group[j]; }
            }
        }
        numbered(&group)
    }),
    wrong!("3.6", joins_connected_components,
    "While the records of a group are moved, the number that they are compared with changes too: copy both numbers before the loop.",
    together: |t, p| relabelled(t, p)),
    wrong!("3.6", joins_connected_components,
    "The parent of a record is taken for its group: follow the parents up to the root, also when you number the groups.",
    together: |t, p| numbered(&parents(t, p))),
    wrong!("3.6", joins_connected_components,
    "It stops after a fixed number of passes: connections over more steps are lost. Repeat until nothing changes, or unite whole groups.",
    together: |t, p| numbered(&passed_on(t, p, 1))),
    wrong!("3.6", joins_long_chains,
    "It stops after a fixed number of passes: connections over more steps are lost. Repeat until nothing changes, or unite whole groups.",
    together: |t, p| numbered(&passed_on(t, p, 2))),
    wrong!("3.6", joins_long_chains,
    "It stops after a fixed number of passes: connections over more steps are lost. Repeat until nothing changes, or unite whole groups.",
    together: |t, p| numbered(&by_plot_by_tree(t, p))),
    wrong!("3.6", joins_long_chains, "A long chain is not joined: a fixed number of rounds is not enough. Repeat until nothing changes, or follow the pointers to the end.",
        together: |t, p| grouped(t.len(), 3, |i, j| t[i] == t[j] || (!p[i].is_empty() && p[i] == p[j]))),
    wrong!("3.6", ignores_unknown_plots, "\"\" is treated as a plot: trees with unknown plots are connected.",
        together: |t, p| grouped(t.len(), t.len(), |i, j| t[i] == t[j] || p[i] == p[j])),
    wrong!("3.6", ignores_unknown_plots, "A record of an unknown plot is always a group of its own: it belongs to the other scans of its tree.",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let known = !p[i].is_empty() && !p[j].is_empty();
        known && (t[i] == t[j] || p[i] == p[j])
    })),
    wrong!("3.6", numbers_groups_by_their_first_record, "Numbers are missing, such as those of groups that were united: number the groups 0, 1, 2 … at the end.",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        groups.iter().map(|g| groups.iter().position(|h| h == g).unwrap_or(0)).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "The groups are numbered in another order, such as by name, by size or as a map returns them: go through the records, and give each new group the next number.",
    together: |t, p| {
        let groups = (REFERENCE.together)(t, p);
        let most = groups.iter().max().copied().unwrap_or(0);
        groups.iter().map(|g| most - g).collect()
    }),
    wrong!("3.6", numbers_groups_by_their_first_record, "Groups are numbered from 1; number them from 0.",
        together: |t, p| (REFERENCE.together)(t, p).into_iter().map(|g| g + 1).collect()),
    wrong!("3.6", separates_tree_and_plot_names, "Trees and plots share one map of names: tree \"2\" is not plot \"2\".",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(p[i], p[j]) || alike(t[i], p[j]) || alike(p[i], t[j])
    })),
    wrong!("3.6", separates_tree_and_plot_names, "Tree and plot names become equal when letters are put before them: use two maps, or pairs such as `(true, name)`.",
    together: |t, p| grouped(t.len(), t.len(), |i, j| {
        let plot = |k: usize| if p[k].is_empty() { String::new() } else { format!("p{}", p[k]) };
        let alike = |a: &str, b: &str| !a.is_empty() && a == b;
        t[i] == t[j] || alike(&plot(i), &plot(j)) || alike(t[i], &plot(j)) || alike(&plot(i), t[j])
    })),
    wrong!("3.6", separates_tree_and_plot_names, "Tree and plot names become equal when a word is put before them: use two maps, or pairs such as `(true, name)`.",
    together: |t, p| {
        let named: Vec<String> = p.iter().map(|p| format!("plot:{p}")).collect();
        let known = || named.iter().zip(p).filter(|(_, p)| !p.is_empty());
        let trees: Vec<&str> = t.iter().copied().chain(known().map(|(name, _)| name.as_str())).collect();
        let plots: Vec<&str> = p.iter().copied().chain(known().map(|(_, p)| *p)).collect();
        let mut groups = (REFERENCE.together)(&trees, &plots);
        groups.truncate(t.len());
        groups
    }),
    wrong!("3.6", accepts_no_records, "There may be no record, and then there is no greatest number or first record: `unwrap` panics.",
    together: |t, p| {
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        t.first().unwrap();
        (REFERENCE.together)(t, p)
    }),
    wrong!("3.6", accepts_no_records, "There may be no record: do not begin with record 0.",
    together: |t, p| {
        let first = [0usize; 1].iter().copied().take(t.len()).collect::<Vec<_>>();
        std::hint::black_box(first[0]);
        (REFERENCE.together)(t, p)
    }),
];
