//! Each block of code in the book is a command, or included from a file that is compiled, tested or recorded. The few others
//! are in `listed.txt`, with what they are instead.

use crate::pages;

/// A page, how a block of it begins, and where the block is from.
const LISTED: &str = include_str!("listed.txt");

#[test]
fn every_block_has_a_language_and_an_origin() {
    let listed: Vec<Vec<&str>> = LISTED.lines().map(|line| line.split(" | ").collect()).collect();
    let (mut pasted, mut used) = (Vec::new(), vec![false; listed.len()]);
    for page in pages() {
        for (language, block) in &page.blocks {
            let page = &page.name;
            assert!(!language.is_empty(), "{page}: sh or text? {block}");
            let own = |line: &&str| !line.is_empty() && !line.starts_with("{{#include ");
            let Some(first) = block.lines().find(own).filter(|_| language != "sh") else {
                continue;
            };
            let is_row = |row: &Vec<&str>| row[0] == page && first.starts_with(row[1]);
            match listed.iter().position(is_row) {
                Some(row) => used[row] = true,
                None => pasted.push(format!("{page}: {first}")),
            }
        }
    }
    assert!(
        pasted.is_empty(),
        "write these with book/record, or include a file that is compiled: {pasted:#?}"
    );
    let unused: Vec<_> = listed.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(unused.is_empty(), "listed, but in no page: {unused:?}");
}
