//! Each block of code in the book is a command, or included from a file that is compiled, tested or recorded. The few others
//! are listed here, with what they are instead.

use crate::chapters;

/// A page, how a block of it begins, and where the block is from.
const LISTED: [(&str, &str, &str); 17] = [
    (
        "00-setting-up.md",
        "module avail",
        "commands of a cluster, explained",
    ),
    (
        "00-setting-up.md",
        "$ srun --pty",
        "a command of a cluster, without its output",
    ),
    (
        "00-setting-up.md",
        "#!/usr/bin/env bash",
        "submitted to the cluster that the page names",
    ),
    (
        "00-setting-up.md",
        "$ sbatch hello.sbatch",
        "printed by the cluster that the page names",
    ),
    ("05-profiling-and-monitoring.md", "host    |launch", "a drawing"),
    (
        "05-profiling-and-monitoring.md",
        "Span { name",
        "a worked example, computed in the text",
    ),
    (
        "05-profiling-and-monitoring.md",
        "Total { name",
        "a worked example, computed in the text",
    ),
    (
        "05-profiling-and-monitoring.md",
        "Processing [run.sqlite]",
        "a worked example with the columns of nsys",
    ),
    (
        "05-profiling-and-monitoring.md",
        "==42== NVPROF",
        "a worked example with the columns of nvprof",
    ),
    (
        "08-data-parallelism.md",
        "#!/bin/bash",
        "a job script, explained line by line",
    ),
    ("09-sharding.md", "for batch in loader:", "a loop in words"),
    ("09-sharding.md", "{", "read by canopy in a test of this folder"),
    (
        "clusters.md",
        "PARTITION TIMELIMIT",
        "printed by the cluster that the page names",
    ),
    (
        "clusters.md",
        "train-gpu, job 16",
        "the end of a job's log, from the test that the page names",
    ),
    (
        "instructors-marks.md",
        "name,email",
        "read by a test of `cargo course marks`",
    ),
    (
        "own-data.md",
        "{",
        "both are read by canopy in tests of this folder",
    ),
    ("own-data.md", "import csv", "run by a test of this folder"),
];

/// The language of each block of a page, and its lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open = None;
    for line in text.lines() {
        match (open.take(), line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, Vec::new())),
            (None, None) => {}
            (Some(block), Some(_)) => blocks.push(block),
            (Some((language, mut lines)), None) => {
                lines.push(line);
                open = Some((language, lines));
            }
        }
    }
    blocks
}

/// What a block that is not included and no command begins with.
fn unexplained<'a>((language, lines): &(&str, Vec<&'a str>)) -> Option<&'a str> {
    let own = |line: &&&str| !line.is_empty() && !line.starts_with("{{#include ");
    let first = lines.iter().find(own)?;
    (*language != "sh").then_some(*first)
}

#[test]
fn finds_what_is_pasted_by_hand() {
    let page = "```sh\nls\n```\n```text\n{{#include recorded/a.txt}}\n```\n```text\n$ ls\nout\n```\n```c\nint x;\n```\n";
    let found: Vec<_> = blocks(page).iter().filter_map(unexplained).collect();
    assert_eq!(found, ["$ ls", "int x;"]);
}

#[test]
fn every_block_has_an_origin() {
    let (mut pasted, mut used) = (Vec::new(), [false; LISTED.len()]);
    let mut included = 0;
    for (page, text) in chapters() {
        let page = page.file_name().unwrap().to_str().unwrap();
        let blocks = blocks(&text);
        included += blocks
            .iter()
            .filter(|(_, lines)| lines.iter().any(|l| l.starts_with("{{#include ")))
            .count();
        for first in blocks.iter().filter_map(unexplained) {
            match LISTED.iter().position(|l| l.0 == page && first.starts_with(l.1)) {
                Some(i) => used[i] = true,
                None => pasted.push(format!("{page}: {first}")),
            }
        }
    }
    assert!(
        pasted.is_empty(),
        "blocks that are typed in by hand: write them with book/record, or include a file that is compiled:\n{}",
        pasted.join("\n")
    );
    let unused = LISTED.iter().zip(used).filter(|(_, used)| !used);
    let unused: Vec<_> = unused.map(|(listed, _)| listed).collect();
    assert!(unused.is_empty(), "listed, but in no page: {unused:?}");
    assert!(included > 100, "only {included} blocks are included");
}
