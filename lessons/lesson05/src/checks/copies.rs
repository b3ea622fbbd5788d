use grader::{Draw, Verdict, draw, given};

use super::refuse::{apart, near, refuse, two};
use crate::Lesson05;

type Cells = Vec<Vec<String>>;

/// A file's cells, from lines with `|` between cells.
fn cells(text: &str) -> Cells {
    let line = |l: &str| l.split('|').map(|c| c.trim().to_owned()).collect();
    text.lines().filter(|l| !l.trim().is_empty()).map(line).collect()
}

/// The same tables with their columns in another order: each `by` places further right, and the last ones first.
fn turned(text: &str, by: usize) -> Cells {
    let mut cells = cells(text);
    for line in cells.iter_mut().filter(|l| l.len() > 2) {
        line.reverse();
        let by = by % line.len();
        line.rotate_right(by);
    }
    cells
}

/// Compares the files one by one; the results of all of them tell the mistakes apart.
fn check(answer: &Lesson05, files: &[(Cells, Option<f64>)]) -> Verdict {
    let (mut first, mut all) = (None, Vec::new());
    for (cells, expected) in files {
        let shown: Vec<String> = cells.iter().map(|l| l.join(" | ")).collect();
        let input = match shown.join(" / ") {
            nothing if nothing.is_empty() => "no lines".into(),
            lines => lines,
        };
        given(&input);
        let got = (answer.copy_share)(cells);
        all.push(got.unwrap_or(-1.0));
        let shown =
            |share: Option<f64>| share.map_or("None".into(), |s| format!("Some({})", grader::number(s)));
        let lines = match (*expected, got) {
            (None, None) => None,
            (Some(a), Some(b)) if near(b, a) => None,
            (Some(a), Some(b)) => Some(apart(a, b)),
            (a, b) => Some(two(shown(a), shown(b))),
        };
        first = first.or(lines.map(|lines| (input, lines)));
    }
    match first {
        Some((input, lines)) => refuse(input, "the share of copies", lines, all),
        None => Ok(()),
    }
}

/// Nanoseconds of two kernels, of copies in and out.
struct Times([u64; 4]);

impl Times {
    fn new(draw: &mut Draw) -> Self {
        // The copies take less than the kernels, so that no mistake turns one into the other.
        let mut of = |low, high| 1000 * draw.whole(low, high) as u64;
        Self([of(500, 900), of(300, 900), of(20, 90), of(100, 200)])
    }

    fn share(&self) -> Option<f64> {
        let [a, b, c, d] = self.0.map(|n| n as f64);
        Some((c + d) / (a + b + c + d))
    }
}

/// Of all of them together.
fn share(all: &[&Times]) -> Option<f64> {
    Times([0, 1, 2, 3].map(|i| all.iter().map(|t| t.0[i]).sum())).share()
}

const SUM: &str = "Time (%)|Total Time (ns)|Instances|Avg (ns)|Category|Operation";

fn nsys(times: &Times) -> String {
    let [a, b, c, d] = times.0;
    format!(
        "Processing [run.sqlite] with [cuda_gpu_sum.py]...\n{SUM}\n\
         50.0|{a}|300|70.5|CUDA_KERNEL|void gemm<float, 128>(float*)\n\
         10.0|{c}|60|30.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n\
         30.0|{b}|100|20.0|CUDA_KERNEL|max_points\n\
         10.0|{d}|6|90.0|MEMORY_OPER|[CUDA memcpy Device-to-Host]\n"
    )
}

/// nsys has kernels and copies in tables of their own.
fn two_of_nsys(times: &Times) -> String {
    let [a, b, c, d] = times.0;
    format!(
        "Time (%)|Total Time (ns)|Instances|Name\n60.0|{a}|9|gemm\n40.0|{b}|9|max_points\n\
         Processing [run.sqlite] with [cuda_gpu_mem_time_sum.py]...\n\
         Time (%)|Total Time (ns)|Count|Operation\n60.0|{c}|9|[CUDA memcpy Host-to-Device]\n40.0|{d}|9|[CUDA memcpy Device-to-Host]\n"
    )
}

const COLUMNS: &str = "Type|Time(%)|Time|Calls|Avg|Min|Max|Name";

fn nvprof(times: &Times, unit: &str, in_unit: f64) -> String {
    let [a, b, c, d] = times.0.map(|n| n as f64 / in_unit);
    // The other units are not that of Time.
    let (avg, min) = if unit == "us" { ("ms", "ns") } else { ("us", "us") };
    format!(
        "==42== NVPROF is profiling process 42\n{COLUMNS}\n|%|{unit}||{avg}|{min}|{avg}|\n\
         GPU activities|50.0|{a}|300|70.5|1.0|99.0|void gemm<float, int=128>(float*)\n\
         GPU activities|30.0|{b}|100|20.0|1.0|99.0|max_points\n\
         GPU activities|10.0|{c}|60|30.0|1.0|99.0|[CUDA memcpy HtoD]\n\
         GPU activities|10.0|{d}|6|90.0|1.0|99.0|[CUDA memcpy DtoH]\n"
    )
}

const UNITS: [(&str, f64); 4] = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("ns", 1.0)];

pub fn reads_nsys(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let text = nsys(&times);
    let (_, table) = text.split_once('\n').unwrap_or_default();
    // A time need not be whole.
    let half = table.replacen(&format!("|{}|", times.0[2]), "|4999.5|", 1);
    let [a, b, _, d] = times.0.map(|n| n as f64);
    let with_half = (4999.5 + d) / (a + b + 4999.5 + d);
    check(
        answer,
        &[
            (cells(&text), times.share()),
            (cells(table), times.share()),
            (cells(&half), Some(with_half)),
        ],
    )
}

pub fn reads_nvprof(answer: &Lesson05) -> Verdict {
    let times = Times::new(&mut draw());
    check(
        answer,
        &UNITS.map(|(unit, in_unit)| (cells(&nvprof(&times, unit, in_unit)), times.share())),
    )
}

pub fn excludes_host_calls(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let long = draw.whole(5, 20);
    let calls = format!(
        "API calls|90.0|{long}|66|300.0|1.0|99.0|cudaMemcpy\nAPI calls|10.0|2.5|400|6.0|1.0|99.0|cudaLaunchKernel\n\
         API calls|5.0|1.5|300|6.0|1.0|99.0|cuLaunchKernel\n"
    );
    let text = nvprof(&times, "ms", 1e6);
    // Behind the device's rows, and before them.
    let at = text.find("GPU activities").unwrap_or_default();
    let (head, rows) = text.split_at(at);
    let before = format!("{head}{calls}{rows}");
    // What nvprof measures of OpenACC is the host's as well.
    let more = text.clone() + "OpenACC (excl)|90.0|7.5|66|300.0|1.0|99.0|acc_enqueue_upload\n";
    check(
        answer,
        &[
            (cells(&(text.clone() + &calls)), times.share()),
            (cells(&before), times.share()),
            (cells(&more), times.share()),
        ],
    )
}

pub fn counts_copies_only(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let [a, b, c, d] = times.0.map(|n| n as f64);
    let mut of = || 1000 * draw.whole(50, 90);
    let (set, own, fused) = (of(), of(), of());
    let with = |rows: &str, more: usize| {
        let all = a + b + c + d + more as f64;
        (cells(&(nsys(&times) + rows)), Some((c + d) / all))
    };
    let memset = format!("5.0|{set}|20|50.0|MEMORY_OPER|[CUDA memset]\n");
    let kernel = format!("5.0|{own}|20|50.0|CUDA_KERNEL|my_memcpy_kernel(float*)\n");
    let inside = format!("5.0|{fused}|20|50.0|CUDA_KERNEL|void like<[CUDA memcpy]>(float*)\n");
    check(
        answer,
        &[with(&memset, set), with(&kernel, own), with(&inside, fused)],
    )
}

pub fn counts_copies_in_any_direction(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let [a, b, c, d] = times.0.map(|n| n as f64);
    let within = 1000 * draw.whole(100, 200);
    let all = a + b + c + d + within as f64;
    let expected = Some((c + d + within as f64) / all);
    let of_nsys =
        nsys(&times) + &format!("5.0|{within}|20|50.0|MEMORY_OPER|[CUDA memcpy Device-to-Device]\n");
    let ms = within as f64 / 1e6;
    let of_nvprof =
        nvprof(&times, "ms", 1e6) + &format!("GPU activities|5.0|{ms}|20|50.0|1.0|9.0|[CUDA memcpy DtoD]\n");
    check(
        answer,
        &[(cells(&of_nsys), expected), (cells(&of_nvprof), expected)],
    )
}

pub fn finds_columns_by_their_names(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let texts = [nsys(&times), nvprof(&times, "us", 1e3)];
    let files = [0, 1, 3].map(|by| texts.each_ref().map(|text| (turned(text, by), times.share())));
    check(answer, &files.concat())
}

pub fn converts_each_table_by_its_unit(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let [kernel, _, _, copy] = times.0;
    let expected = Some(copy as f64 / (copy + kernel) as f64);
    // Tables of one row, so that a report shows both.
    let of_nvprof = |(unit, in_unit): (&str, f64), time: u64, name: &str| {
        let avg = if unit == "us" { "ms" } else { "us" };
        let time = time as f64 / in_unit;
        format!("Type|Time(%)|Avg|Time|Name\n|%|{avg}|{unit}|\nGPU activities|99.0|70.5|{time}|{name}\n")
    };
    let of_nsys = |time: u64, name: &str| format!("Time (%)|Total Time (ns)|Name\n99.0|{time}|{name}\n");
    let (copies, kernels) = ("[CUDA memcpy HtoD]", "gemm");
    let [ms, us, s, ns] = UNITS;
    // A table in ms counts for more than one of nsys with as many digits.
    let mixed = of_nvprof(ms, copy, copies) + &of_nsys(kernel, kernels);
    // Processes of nvprof, each with units of its own.
    let two = |a, b| of_nvprof(a, copy, copies) + &of_nvprof(b, kernel, kernels);
    let files = [mixed, two(ms, us), two(ns, s), two(us, ms)];
    check(answer, &files.map(|text| (cells(&text), expected)))
}

pub fn sums_tables_with_their_own_columns(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (first, second) = (Times::new(&mut draw), Times::new(&mut draw));
    // Times 5, so that the mean of two shares is not the share of all.
    let second = Times(second.0.map(|t| 5 * t));
    let both = share(&[&first, &second]);
    let text = nsys(&second);
    let (_, table) = text.split_once('\n').unwrap_or_default();
    check(
        answer,
        &[
            (cells(&two_of_nsys(&second)), second.share()),
            // A line between them, and none.
            ([cells(&nsys(&first)), turned(&text, 0)].concat(), both),
            ([cells(&nsys(&first)), turned(table, 1)].concat(), both),
        ],
    )
}

pub fn skips_tables_of_sizes(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let megabytes = 1000 * draw.whole(50, 90);
    let sizes = format!(
        "Total (MB)|Count|Avg (MB)|Med (MB)|Category|Operation\n{megabytes}|{megabytes}|0.4|0.4|x|[CUDA memcpy Host-to-Device]\n"
    );
    let broken = format!("Processing [run.sqlite] with [cuda_gpu_mem_size_sum.py]...\n{sizes}");
    let text = nsys(&times);
    let (_, table) = text.split_once('\n').unwrap_or_default();
    check(
        answer,
        &[
            text.clone() + &sizes,
            text.clone() + &broken,
            sizes.clone() + table,
            broken + &text,
        ]
        .map(|text| (cells(&text), times.share())),
    )
}

pub fn skips_lines_outside_of_tables(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let size = draw.whole(100, 900);
    // A command with commas in it has several cells.
    let before = format!("==42== Command: ./train|--batch|{size}|--list|a|b|c|d\n");
    let after = format!(
        "\nDone.\nexported|{size}000|{size}000|of|9.0|[CUDA memcpy Host-to-Device]|9.0|[CUDA memcpy HtoD]\n"
    );
    let short = format!("\nin {size} ms|Done.\n1.0|{size}000|{size}000|of|9.0|max_points|9.0|max_points\n");
    let texts = [nsys(&times), nvprof(&times, "ms", 1e6)];
    let files = texts.map(|text| {
        [before.clone() + &text, text.clone() + &after, text + &short]
            .map(|text| (cells(&text), times.share()))
    });
    check(answer, &files.concat())
}

pub fn is_none_without_a_time(answer: &Lesson05) -> Verdict {
    let count = draw().whole(2, 9);
    let files = [
        String::new(),
        format!("a|b|c\n1|{count}|3\n"),
        SUM.to_owned(),
        format!("{SUM}\n0.0|0|{count}|0.0|CUDA_KERNEL|gemm\n"),
        format!("{COLUMNS}\n|%|ms||us|us|us|\nAPI calls|90.0|{count}|66|300.0|1.0|99.0|cudaMemcpy\n"),
        format!("Total (MB)|Count|Operation\n{count}.5|{count}|[CUDA memcpy Host-to-Device]\n"),
    ];
    check(answer, &files.map(|text| (cells(&text), None)))
}

pub fn is_zero_without_a_copy(answer: &Lesson05) -> Verdict {
    let time = draw().whole(200, 900);
    let kernels =
        format!("{SUM}\n90.0|{time}|3|0.0|CUDA_KERNEL|gemm\n10.0|55|3|0.0|MEMORY_OPER|[CUDA memset]\n");
    let copies = format!("{SUM}\n99.0|{time}|3|0.0|MEMORY_OPER|[CUDA memcpy Host-to-Device]\n");
    check(
        answer,
        &[(cells(&kernels), Some(0.0)), (cells(&copies), Some(1.0))],
    )
}
