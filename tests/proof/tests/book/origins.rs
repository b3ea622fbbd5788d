//! Each block of code in the book is a command, or included from a file that is compiled, tested or recorded. The few others
//! are in `listed.txt`, with what they are instead.

use crate::{blocks, chapters};

/// A page, how a block of it begins, and where the block is from.
const LISTED: &str = include_str!("listed.txt");

/// What a block that is not included and no command begins with.
fn unexplained(language: &str, block: &str) -> Option<String> {
    let own = |line: &&str| !line.is_empty() && !line.starts_with("{{#include ");
    let first = block.lines().find(own)?;
    (language != "sh").then(|| first.to_owned())
}

#[test]
fn every_block_has_an_origin() {
    let listed: Vec<Vec<&str>> = LISTED.lines().map(|line| line.split(" | ").collect()).collect();
    let (mut pasted, mut used, mut included) = (Vec::new(), vec![false; listed.len()], 0);
    for (page, text) in chapters() {
        let page = page.file_name().unwrap().to_str().unwrap();
        for (language, block) in blocks(&text) {
            included += usize::from(block.contains("{{#include "));
            if let Some(first) = unexplained(language, &block) {
                match listed
                    .iter()
                    .position(|row| row[0] == page && first.starts_with(row[1]))
                {
                    Some(row) => used[row] = true,
                    None => pasted.push(format!("{page}: {first}")),
                }
            }
        }
    }
    assert!(
        pasted.is_empty(),
        "write these with book/record, or include a file that is compiled: {pasted:#?}"
    );
    let unused: Vec<_> = listed.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(unused.is_empty(), "listed, but in no page: {unused:?}");
    assert!(included > 100, "only {included} blocks are included");
}

#[test]
fn what_is_pasted_by_hand_is_found() {
    let page = "```sh\nls\n```\n```text\n{{#include recorded/a.txt}}\n```\n```text\n$ ls\nout\n```\n```c\nint x;\n```\n";
    let found: Vec<_> = blocks(page)
        .iter()
        .filter_map(|(language, block)| unexplained(language, block))
        .collect();
    assert_eq!(found, ["$ ls", "int x;"]);
}
