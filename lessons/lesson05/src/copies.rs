//! 5.5: the share of copies.

use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

/// A file, with `|` between cells.
fn shared(answer: &Lesson05, text: String) -> Verdict {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let shown: Vec<String> = lines.clone().map(|line| line.replace('|', " | ")).collect();
    let case = given(format!("lines: {}", shown.join(" / ")));
    let line = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    let cells: Vec<Vec<String>> = lines.map(line).collect();
    let facts = |of: &Lesson05| match (of.copy_share)(&cells) {
        Some(share) => Facts::default().values("share of copies", share + 0.0),
        None => Facts::default().text("share of copies", "None"),
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// The same tables with their columns in another order: each `by` places further right, and the last ones first.
fn turned(text: &str, by: usize) -> String {
    let line = |line: &str| {
        let mut cells: Vec<&str> = line.split('|').collect();
        if cells.len() > 2 {
            cells.reverse();
            let by = by % cells.len();
            cells.rotate_right(by);
        }
        cells.join("|") + "\n"
    };
    text.lines().map(line).collect()
}

/// Nanoseconds of two kernels, and of copies in and out, which take less: no mistake turns one into the other.
fn times(d: &mut Draw) -> [u64; 4] {
    [(500, 900), (300, 900), (20, 90), (100, 200)].map(|(low, high)| 1000 * d.whole(low, high) as u64)
}

const COLUMNS: &str = "Time (%)|Total Time (ns)|Instances|Avg (ns)|Category|Operation\n";

fn table([a, b, c, d]: [u64; 4]) -> String {
    format!(
        "{COLUMNS}\
         50.0|{a}|300|70.5|CUDA_KERNEL|void gemm<float, 128>(float*)\n\
         10.0|{c}|60|30.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n\
         30.0|{b}|100|20.0|CUDA_KERNEL|max_points\n\
         10.0|{d}|6|90.0|MEMORY_OPER|[CUDA memcpy Device-to-Host]\n"
    )
}

/// With the line that nsys writes before a table.
fn report(times: [u64; 4]) -> String {
    "Processing [run.sqlite] with [cuda_gpu_sum.py]...\n".to_owned() + &table(times)
}

/// A table of one row, so that a finding shows several tables.
fn short(names: &str, percent: f64, time: u64, name: &str) -> String {
    format!("Time (%)|Total Time (ns)|{names}\n{percent}|{time}|{name}\n")
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.5";
    by shared {
        divides_copies_by_all_time: "The share of copies",
            "Find the column names, and divide `Total Time (ns)` of the copies, as f64, by that of all rows." => |d| {
            let times = times(d);
            let text = report(times);
            // A time need not be whole.
            let half = text.replacen(&format!("|{}|", times[2]), "|4999.5|", 1);
            vec![table(times), text, half]
        };
        counts_copies_only: "begin with `[CUDA memcpy`",
            "Only names that begin with `[CUDA memcpy` are copies, in any direction; all rows are busy time." => |d| {
            let text = report(times(d));
            let names = [
                "[CUDA memset]", "my_memcpy_kernel(float*)", "void like<[CUDA memcpy]>(float*)",
                "[CUDA memcpy Device-to-Device]",
            ];
            names.map(|name| format!("{text}5.0|{}|20|50.0|x|{name}\n", 1000 * d.whole(50, 90))).into()
        };
        finds_columns_by_their_names: "`Total Time (ns)`",
            "In a line with a cell that is `Name` or `Operation` itself, find each column by its name, not by position." => |d| {
            let text = report(times(d));
            // The name of a kernel is no column.
            let like = format!("{text}1.0|5000|3|0.0|KERNEL|BinaryOperation<float>\n1.0|7000|3|0.0|KERNEL|Name<float>\n");
            vec![turned(&text, 0), turned(&text, 1), turned(&text, 3), turned(&like, 0)]
        };
        skips_lines_outside_of_tables: "fewer than 3 cells ends it",
            "A line of fewer than 3 cells ends the table: nothing counts until the next column names." => |d| {
            let n = d.whole(100, 900);
            // A command with commas in it has several cells.
            let before = format!("Command: ./train|--batch|{n}|--list|a|b|c|d\n");
            let after = format!("\nDone.\nexported|{n}000|{n}000|of|9.0|[CUDA memcpy DtoH]|9.0|[CUDA memcpy HtoD]\n");
            let short = format!("\nin {n} ms|Done.\n1.0|{n}000|{n}000|of|9.0|max_points|9.0|max_points\n");
            let text = report(times(d));
            vec![before + &text, text.clone() + &after, text + &short]
        };
        sums_tables_with_their_own_columns: "over all tables",
            "Each line with a cell `Name` or `Operation` starts a table with its own columns. Add up all, then divide." => |d| {
            // Of another size, so that the mean of two shares is not the share of all.
            let (first, second) = (times(d), times(d).map(|time| 5 * time));
            // nsys can have kernels and copies in tables of their own.
            let three = short("Name", 97.0, first[0], "gemm")
                + "Processing [run.sqlite] with [cuda_gpu_mem_time_sum.py]...\n"
                + &short("Operation", 99.0, first[3], "[CUDA memcpy Host-to-Device]")
                + &short("Name", 60.0, first[1], "max_points")
                + &format!("40.0|{}|[CUDA memcpy Device-to-Host]\n", first[2]);
            // A line between two tables, and none.
            vec![three, report(first) + &turned(&report(second), 0), report(first) + &turned(&table(second), 1)]
        };
        skips_tables_of_sizes: "with this column",
            "Column names without `Total Time (ns)` end the table before: skip their rows, and read on." => |d| {
            let (times, size) = (times(d), 1000 * d.whole(50, 90));
            let columns = "Total (MB)|Count|Avg (MB)|Med (MB)|Category|Operation";
            let sizes = format!("{columns}\n{size}|{size}|0.4|0.4|x|[CUDA memcpy Host-to-Device]\n");
            let after_a_line = format!("Processing [run.sqlite] with [cuda_gpu_mem_size_sum.py]...\n{sizes}");
            let (text, table) = (report(times), table(times));
            vec![text.clone() + &sizes, text.clone() + &after_a_line, sizes + &table, after_a_line + &text]
        };
        is_none_without_a_time: "None if this sum is 0",
            "If the time of all rows is 0, return None; if there is time but no copy, Some(0)." => |d| {
            let n = d.whole(2, 9);
            vec![
                String::new(),
                format!("a|b|c\n1|{n}|3\n"),
                COLUMNS.to_owned(),
                format!("{COLUMNS}0.0|0|{n}|0.0|CUDA_KERNEL|gemm\n"),
                format!("Total (MB)|Count|Operation\n{n}.5|{n}|[CUDA memcpy Host-to-Device]\n"),
                format!("{COLUMNS}90.0|{n}00|3|0.0|KERNEL|gemm\n10.0|55|3|0.0|OPER|[CUDA memset]\n"),
                format!("{COLUMNS}99.0|{n}00|3|0.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n"),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.5" copy_share;
    1 "Copies are divided by the other times; divide them by all the device's time, copies included.";
    2 "A kernel with memcpy in its name is not a copy: names of copies begin with [CUDA memcpy.";
    3 "[CUDA memset] is left out altogether; it is not a copy, but the device is busy with it.";
    4 "Only the last table is read: the sums begin anew with each table.";
    5 "A table of sizes is read as one of times: it has no `Total Time (ns)`.";
    6 "A line of fewer than 3 cells ends the table: up to the next column names, there are no rows.";
};
