//! The differences of two means that the chapters quote, with their standard errors, are computed from the recorded tables.

use std::{
    fs,
    path::{Path, PathBuf},
};

const SEEDS: f64 = 5.0;

/// Lesson; quotation; table; row and column of one entry; row and column of the entry that is subtracted.
const QUOTED: &str = "\
06; bf16 − fp32 is −0.4 ± 1.7; trained in; bf16; accuracy; fp32; accuracy
06; fp16 −0.4 ± 0.8; trained in; fp16; accuracy; fp32; accuracy
06; scaled tensors −1.4 ± 1.7; trained in; fp8, scaled tensors; accuracy; fp32; accuracy
07; 16 against 256 | 4.2 ± 1.6; accuracy; same rate; batch 16; same rate; batch 256
07; 16 against 512 | 11.2 ± 1.9; accuracy; same rate; batch 16; same rate; batch 512
07; same rate, 512 | −0.5 ± 2.6; accuracy; scaled; batch 512; same rate; batch 512
07; same rate, 256 | 4.2 ± 1.5; accuracy; LARS; batch 256; same rate; batch 256
07; same rate, 256 | 2.8 ± 2.0; accuracy; LAMB; batch 256; same rate; batch 256
07; same rate, 512 | 3.9 ± 2.3; accuracy; LARS; batch 512; same rate; batch 512
07; same rate, 512 | 7.1 ± 2.1; accuracy; LAMB; batch 512; same rate; batch 512
07; 4.9 ± 1.4 points below; accuracy; LAMB; batch 16; LAMB; batch 512
07; 0.083 ± 0.029; last training loss; same rate; batch 512; scaled; batch 512
07; (by 1.6 ± 0.5); sharpness; same rate; batch 64; same rate; batch 16
07; (by 2.9 ± 1.0); sharpness; same rate; batch 256; same rate; batch 16
07; (by 2.1 ± 1.1); sharpness; same rate; batch 256; scaled; batch 256
13; 3.1 ± 1.9 points; best of; 64; apparent; 64; test
13; 14.8 ± 3.1; mean accuracy; learning-rate; second; learning-rate; lowest quarter
13; 6.1 ± 2.5; mean accuracy; weight-decay; third; weight-decay; highest
13; 3.5 ± 4.9; mean accuracy; momentum; third; momentum; lowest quarter";

#[test]
fn quoted_differences_are_those_of_the_recorded_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let pages = root.join("book/src");
    let mut wrong = Vec::new();
    for line in QUOTED.lines() {
        let parts: Vec<&str> = line.split("; ").collect();
        let [lesson, quotation, table, row_a, column_a, row_b, column_b] = parts[..] else {
            panic!("{line}");
        };
        let recorded = fs::read_to_string(pages.join(format!("recorded/{lesson}.txt"))).unwrap();
        let (a, spread_a) = entry(&recorded, table, row_a, column_a);
        let (b, spread_b) = entry(&recorded, table, row_b, column_b);
        let (difference, error) = (a - b, spread_a.hypot(spread_b) / SEEDS.sqrt());
        let digits = if table.ends_with("loss") { 3 } else { 1 };
        let computed = format!("{difference:.digits$} ± {error:.digits$}").replace('-', "−");
        let text: Vec<String> = chapter(&pages, lesson)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        // A row of a table also says what the difference means.
        let ratio = (difference / error).abs();
        let meaning = [(2.0, "clear"), (1.0, "not clear"), (0.0, "none")]
            .iter()
            .find(|(from, _)| ratio >= *from)
            .unwrap();
        let mut quoted = quotation.to_owned();
        if quotation.contains(" | ") {
            quoted += &format!(", {}", meaning.1);
        }
        let longer = |at: usize| quotation[..at].ends_with(|c: char| c == '−' || c.is_ascii_digit());
        let is_computed = quotation.match_indices(&computed).any(|(at, _)| !longer(at));
        if !is_computed || !text.join(" ").contains(&quoted) {
            wrong.push(format!("lesson {lesson}, {quoted:?}: computed {computed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn chapter(pages: &Path, lesson: &str) -> String {
    let of_lesson = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(lesson);
    let mut paths = fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path());
    fs::read_to_string(paths.find(of_lesson).unwrap()).unwrap()
}

/// Mean and standard deviation in the table whose first cell is `table`. Cells are separated by at least two spaces.
fn entry(recorded: &str, table: &str, row: &str, column: &str) -> (f64, f64) {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim);
        cells.filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let begins = |line: &Vec<String>, cell: &str| line.first().is_some_and(|first| first == cell);
    let mut lines = recorded
        .lines()
        .map(cells)
        .skip_while(|line| !begins(line, table));
    let head = lines.next().unwrap();
    let column = head.iter().position(|cell| cell == column).unwrap();
    let row = lines.find(|line| begins(line, row)).unwrap();
    let (mean, spread) = row[column].trim_end_matches(" %").split_once(" ± ").unwrap();
    (mean.parse().unwrap(), spread.parse().unwrap())
}
