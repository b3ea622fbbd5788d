//! Accesses as a picture: threads as rows, elements of the memory as columns.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    message::{Launching, is_far},
    trace::{Access, Mode, Trace},
};

/// What the characters of a picture mean.
pub(crate) const LEGEND: &str = "block:thread, accesses, element; r read, w write, b both, | end";

/// An access with those that belong to it.
pub(crate) struct Drawing {
    pub caption: String,
    /// `·` and an element, `…` for elements that are left out, or `|` for the start or the end of the memory.
    pub columns: Vec<(char, i64)>,
    /// For each thread its name, a character for each column, and its first element.
    pub rows: Vec<(String, String, i64)>,
    /// Bytes of an element.
    pub unit: i64,
}

impl Trace {
    /// The access `at` (an index of `accesses`) with those that belong to it, in at most 12 lines of 64 columns: those of the
    /// other threads of the block at the same instruction, and for a fault the earlier access with which it is in conflict.
    /// Empty if there is no such access, or if it is far from all memory.
    pub fn picture(&self, at: usize) -> Vec<String> {
        let Some(drawing) = self.drawing(at, 9, 36) else {
            return Vec::new();
        };
        let names = drawing.rows.iter().map(|(name, ..)| name.len());
        let width = names.max().unwrap_or(0);
        let rows = drawing.rows.iter();
        let rows = rows.map(|(name, cells, first)| format!("{name:>width$} {cells}  {first}"));
        let lines = [drawing.caption].into_iter().chain(rows).chain([LEGEND.into()]);
        lines.map(|line| line.chars().take(64).collect()).collect()
    }

    /// The picture of at most so many rows and columns.
    pub(crate) fn drawing(&self, at: usize, most_rows: usize, most_columns: usize) -> Option<Drawing> {
        let near = |a: &&Access| !is_far(a.offset, a.size as i64);
        let access = self.accesses.get(at).filter(near)?;
        let who = |a: &Access| (a.block, a.thread);
        // Of a fault, the access with which it is in conflict, or else the last write.
        let before = &self.accesses[..if self.faulty == Some(at) { at } else { 0 }];
        let reads = |a: &Access| a.mode == Mode::Read;
        let overlaps =
            |a: &Access| a.range().start < access.range().end && access.range().start < a.range().end;
        let conflict = |a: &&Access| {
            a.memory == access.memory && overlaps(a) && !(reads(a) && reads(access)) && who(a) != who(access)
        };
        let write = |a: &&Access| !reads(a) && (a.block, a.memory) == (access.block, access.memory);
        let earlier = before
            .iter()
            .rfind(conflict)
            .or_else(|| before.iter().rfind(write));
        let centres: Vec<&Access> = [access].into_iter().chain(earlier).collect();
        let step = |a: &Access| (a.block, a.memory, a.instruction, a.turn);
        let mut shown: Vec<&Access> = self.accesses.iter().collect();
        shown.retain(|a| centres.iter().any(|centre| step(a) == step(centre)));
        let threads: BTreeSet<_> = shown.iter().map(|a| who(a)).collect();
        let threads: Vec<_> = threads.into_iter().collect();
        let places: Vec<_> = centres
            .iter()
            .filter_map(|a| threads.binary_search(&who(a)).ok())
            .collect();
        let mut nearest: Vec<usize> = (0..threads.len()).collect();
        nearest.sort_by_key(|row| places.iter().map(|place| place.abs_diff(*row)).min());
        nearest.truncate(most_rows);
        nearest.sort_unstable();
        shown.retain(|a| nearest.iter().any(|&row| threads[row] == who(a)));

        let unit = shown.iter().map(|a| i64::from(a.bytes)).min()?;
        let mut cells = BTreeMap::new();
        for a in shown {
            let mark = ['r', 'w', 'b'][a.mode as usize];
            for element in a.offset.div_euclid(unit)..=(a.range().end - 1).div_euclid(unit) {
                let cell = cells.entry((who(a), element)).or_insert(mark);
                *cell = if *cell == mark { mark } else { 'b' };
            }
        }
        let (element, end) = (access.offset.div_euclid(unit), access.size as i64 / unit);
        cells.insert((who(access), element), 'X');
        let elements = cells.keys().map(|(_, element)| *element).collect();
        let columns = columns(&elements, end, element, most_columns);
        let rows = nearest.into_iter().map(|row| {
            let (block, thread) = threads[row];
            let cell = |&(glyph, element): &(char, i64)| match glyph {
                '·' => *cells.get(&((block, thread), element)).unwrap_or(&glyph),
                _ => glyph,
            };
            let block = Launching::index(block, self.grid);
            let name = format!("{block}:{}", Launching::index(thread, self.block));
            let own = cells.range((threads[row], i64::MIN)..).next();
            let first = own.map_or(0, |((_, element), _)| *element);
            (name, columns.iter().map(cell).collect(), first)
        });
        Some(Drawing {
            caption: format!(
                "X is element {element}, line {}; there are {end} of {unit} bytes",
                access.line
            ),
            rows: rows.collect(),
            columns: columns.clone(),
            unit,
        })
    }
}

/// Columns for the elements, at most so many around `centre`; short gaps are filled, long ones left out.
fn columns(elements: &BTreeSet<i64>, end: i64, centre: i64, most: usize) -> Vec<(char, i64)> {
    let mut all = Vec::new();
    let mut next = *elements.first().unwrap_or(&0);
    for &element in elements {
        if element - next > 3 {
            all.push(('…', next));
        } else {
            all.extend((next..element).map(|element| ('·', element)));
        }
        all.push(('·', element));
        next = element + 1;
    }
    for border in [0, end] {
        match all.iter().position(|(_, element)| *element >= border) {
            Some(i) if i > 0 => all.insert(i, ('|', border)),
            None if next == border => all.push(('|', border)),
            _ => {}
        }
    }
    let at = all
        .iter()
        .position(|column| *column == ('·', centre))
        .unwrap_or(0);
    let from = at.saturating_sub(most / 2).min(all.len().saturating_sub(most));
    let to = all.len().min(from + most);
    if from > 0 {
        all[from].0 = '…';
    }
    if to < all.len() {
        all[to - 1].0 = '…';
    }
    all[from..to].to_vec()
}
