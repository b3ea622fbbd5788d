//! 5.5: the share of copies.

use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers, optional};

/// A file, with `|` between cells.
fn shared(answer: &Lesson05, text: String) -> Verdict {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let shown: Vec<String> = lines.clone().map(|line| line.replace('|', " | ")).collect();
    let case = given(format!("lines: {}", shown.join(" / ")));
    let line = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    let cells: Vec<Vec<String>> = lines.map(line).collect();
    let facts = |of: &Lesson05| optional("share of copies", (of.copy_share)(&cells));
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

const SUM: &str = "Time (%)|Total Time (ns)|Instances|Avg (ns)|Category|Operation\n";

fn nsys_table([a, b, c, d]: [u64; 4]) -> String {
    format!(
        "{SUM}\
         50.0|{a}|300|70.5|CUDA_KERNEL|void gemm<float, 128>(float*)\n\
         10.0|{c}|60|30.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n\
         30.0|{b}|100|20.0|CUDA_KERNEL|max_points\n\
         10.0|{d}|6|90.0|MEMORY_OPER|[CUDA memcpy Device-to-Host]\n"
    )
}

fn nsys(times: [u64; 4]) -> String {
    "Processing [run.sqlite] with [cuda_gpu_sum.py]...\n".to_owned() + &nsys_table(times)
}

/// A table of one row, so that a report shows several tables.
fn short_nsys(names: &str, percent: f64, time: u64, name: &str) -> String {
    format!("Time (%)|Total Time (ns)|{names}\n{percent}|{time}|{name}\n")
}

/// A unit of nvprof, and its nanoseconds.
type Unit = (&'static str, f64);
const UNITS: [Unit; 4] = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("ns", 1.0)];

const COLUMNS: &str = "Type|Time(%)|Time|Calls|Avg|Min|Max|Name\n";

fn nvprof(times: [u64; 4], (unit, of): Unit) -> String {
    let [a, b, c, d] = times.map(|n| n as f64 / of);
    // The other units are not that of Time.
    let (avg, min) = if unit == "us" { ("ms", "ns") } else { ("us", "us") };
    format!(
        "==42== NVPROF is profiling process 42\n{COLUMNS}|%|{unit}||{avg}|{min}|{avg}|\n\
         GPU activities|50.0|{a}|300|70.5|1.0|99.0|void gemm<float, int=128>(float*)\n\
         GPU activities|30.0|{b}|100|20.0|1.0|99.0|max_points\n\
         GPU activities|10.0|{c}|60|30.0|1.0|99.0|[CUDA memcpy HtoD]\n\
         GPU activities|10.0|{d}|6|90.0|1.0|99.0|[CUDA memcpy DtoH]\n"
    )
}

fn short_nvprof(time: u64, (unit, of): Unit, name: &str) -> String {
    let (avg, time) = (if unit == "us" { "ms" } else { "us" }, time as f64 / of);
    format!("Type|Time(%)|Avg|Time|Name\n|%|{avg}|{unit}|\nGPU activities|99.0|70.5|{time}|{name}\n")
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.5";
    by shared {
        reads_nsys: "`Total Time (ns)`",
            "Find the column names, and divide `Total Time (ns)` of the copies, as f64, by that of all rows." => |d| {
            let times = times(d);
            let text = nsys(times);
            // A time need not be whole.
            let half = text.replacen(&format!("|{}|", times[2]), "|4999.5|", 1);
            vec![nsys_table(times), text, half]
        };
        reads_nvprof: "`Time(%)` (no space)",
            "The column is `Time`, and not all times are whole; the line after the column names has the units." =>
            |d| {
                let times = times(d);
                UNITS.map(|unit| nvprof(times, unit)).into()
            };
        excludes_host_calls: "`GPU activities`",
            "Skip each row of nvprof whose `Type` is not `GPU activities`, and read on." => |d| {
            let text = nvprof(times(d), UNITS[0]);
            let calls = format!(
                "API calls|90.0|{}|66|300.0|1.0|99.0|cudaMemcpy\nAPI calls|10.0|2.5|400|6.0|1.0|99.0|cudaLaunchKernel\n\
                 API calls|5.0|1.5|300|6.0|1.0|99.0|cuLaunchKernel\n",
                d.whole(5, 20)
            );
            // Behind the device's rows, and before them. What nvprof measures of OpenACC is the host's as well.
            let before = text.replacen("GPU activities", &format!("{calls}GPU activities"), 1);
            let more = "OpenACC (excl)|90.0|7.5|66|300.0|1.0|99.0|acc_enqueue_upload\n";
            vec![text.clone() + &calls, before, text + more]
        };
        counts_copies_only: "whatever its name",
            "Only names that begin with `[CUDA memcpy` are copies; all rows are busy time." => |d| {
            let text = nsys(times(d));
            let names = ["[CUDA memset]", "my_memcpy_kernel(float*)", "void like<[CUDA memcpy]>(float*)"];
            names.map(|name| format!("{text}5.0|{}|20|50.0|x|{name}\n", 1000 * d.whole(50, 90))).into()
        };
        counts_copies_in_any_direction: "in any direction",
            "Compare the beginning `[CUDA memcpy` only: the direction follows it." => |d| {
            let (times, n) = (times(d), d.whole(100, 200));
            let nvprof = nvprof(times, UNITS[0]);
            vec![
                nsys(times) + &format!("5.0|{n}000|20|50.0|MEMORY_OPER|[CUDA memcpy Device-to-Device]\n"),
                nvprof + &format!("GPU activities|5.0|0.{n}|20|50.0|1.0|9.0|[CUDA memcpy DtoD]\n"),
            ]
        };
        finds_columns_by_their_names: "in any order",
            "Find each column by its name in the line of column names, not by its position." => |d| {
            let times = times(d);
            let texts = [nsys(times), nvprof(times, UNITS[1])];
            [0, 1, 3].iter().flat_map(|&by| texts.each_ref().map(|text| turned(text, by))).collect()
        };
        skips_lines_outside_of_tables: "outside of tables",
            "A line of fewer than 3 cells ends the table: nothing counts until the next column names." => |d| {
            let n = d.whole(100, 900);
            // A command with commas in it has several cells.
            let before = format!("==42== Command: ./train|--batch|{n}|--list|a|b|c|d\n");
            let after = format!("\nDone.\nexported|{n}000|{n}000|of|9.0|[CUDA memcpy DtoH]|9.0|[CUDA memcpy HtoD]\n");
            let short = format!("\nin {n} ms|Done.\n1.0|{n}000|{n}000|of|9.0|max_points|9.0|max_points\n");
            let times = times(d);
            let files = [nsys(times), nvprof(times, UNITS[0])];
            files.map(|text| [before.clone() + &text, text.clone() + &after, text + &short]).concat()
        };
        sums_tables_with_their_own_columns: "sum over all of them",
            "Find the columns of each table again, and add up the times of all tables before you divide." => |d| {
            // Of another size, so that the mean of two shares is not the share of all.
            let (first, second) = (times(d), times(d).map(|time| 5 * time));
            // nsys can have kernels and copies in tables of their own.
            let two = short_nsys("Name", 97.0, first[0], "gemm")
                + "Processing [run.sqlite] with [cuda_gpu_mem_time_sum.py]...\n"
                + &short_nsys("Operation", 99.0, first[3], "[CUDA memcpy Host-to-Device]");
            // A line between two tables, and none.
            vec![two, nsys(first) + &turned(&nsys(second), 0), nsys(first) + &turned(&nsys_table(second), 1)]
        };
        converts_each_table_by_its_unit: "its own columns and units",
            "Each table of nvprof has a unit below `Time`: s is 1e9 ns, ms 1e6, us 1e3. nsys always has ns." => |d| {
            let [kernel, _, _, copy] = times(d);
            let [ms, us, s, ns] = UNITS;
            let copies = |unit| short_nvprof(copy, unit, "[CUDA memcpy HtoD]");
            let two = |a, b| copies(a) + &short_nvprof(kernel, b, "gemm");
            vec![two(ms, us), two(ns, s), two(us, ms), copies(ms) + &short_nsys("Name", 99.0, kernel, "gemm")]
        };
        skips_tables_of_sizes: "contains sizes",
            "Column names without `Time (%)` or `Time(%)` end the table before: skip their rows, and read on." => |d| {
            let (times, size) = (times(d), 1000 * d.whole(50, 90));
            let columns = "Total (MB)|Count|Avg (MB)|Med (MB)|Category|Operation";
            let sizes = format!("{columns}\n{size}|{size}|0.4|0.4|x|[CUDA memcpy Host-to-Device]\n");
            let after_a_line = format!("Processing [run.sqlite] with [cuda_gpu_mem_size_sum.py]...\n{sizes}");
            let (text, table) = (nsys(times), nsys_table(times));
            vec![text.clone() + &sizes, text.clone() + &after_a_line, sizes + &table, after_a_line + &text]
        };
        is_none_without_a_time: "no time in any table",
            "If the time of all rows is 0, return None: do not divide by 0." => |d| {
            let n = d.whole(2, 9);
            vec![
                String::new(),
                format!("a|b|c\n1|{n}|3\n"),
                SUM.to_owned(),
                format!("{SUM}0.0|0|{n}|0.0|CUDA_KERNEL|gemm\n"),
                format!("{COLUMNS}|%|ms||us|us|us|\nAPI calls|90.0|{n}|66|300.0|1.0|99.0|cudaMemcpy\n"),
                format!("Total (MB)|Count|Operation\n{n}.5|{n}|[CUDA memcpy Host-to-Device]\n"),
            ]
        };
        is_zero_without_a_copy: "Some(0)",
            "If there is time but no copy, the share is Some(0); of copies alone it is Some(1)." => |d| {
            let time = d.whole(200, 900);
            vec![
                format!("{SUM}90.0|{time}|3|0.0|CUDA_KERNEL|BinaryOperation<float>\n10.0|55|3|0.0|MEMORY_OPER|[CUDA memset]\n"),
                format!("{SUM}99.0|{time}|3|0.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n"),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.5" copy_share;
    1 "Copies are divided by the other times; divide them by all the device's time, copies included.";
    2 "Rows of the host (`API calls`) are included; only `GPU activities` belong to the device.";
    3 "A kernel with memcpy in its name is not a copy: names of copies begin with [CUDA memcpy.";
    4 "[CUDA memset] is left out altogether; it is not a copy, but the device is busy with it.";
    5 "Copies within the device are left out; they are copies too.";
    6 "Each table of nvprof is in its own unit, which is below `Time`: convert each time to ns.";
    7 "Only the last table is read: the sums begin anew with each table.";
    8 "A table of sizes is read as one of times: it has no `Time (%)`.";
    9 "A line of fewer than 3 cells ends the table: up to the next column names, there are no rows.";
};
