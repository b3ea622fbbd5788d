use grader::{Draw, Verdict, draw, given};

use crate::Lesson05;

/// A file's cells, from lines with `|` between cells.
fn cells(text: &str) -> Vec<Vec<String>> {
    let line = |l: &str| l.split('|').map(|c| c.trim().to_owned()).collect();
    text.lines().filter(|l| !l.trim().is_empty()).map(line).collect()
}

fn check(answer: &Lesson05, cells: &[Vec<String>], expected: Option<f64>) -> Verdict {
    let shown: Vec<String> = cells.iter().map(|l| l.join(" | ")).collect();
    let case = given(shown.join(" / "));
    let got = (answer.copy_share)(cells);
    match expected {
        None => case.require("result: None", got.is_none(), format!("{got:?}")),
        Some(share) => {
            case.require("result: a share", got.is_some(), "None")?;
            case.close("share of copies", got.unwrap_or(f64::NAN), share)
        }
    }
}

/// Nanoseconds of two kernels, of copies in and out.
struct Times([u64; 4]);

impl Times {
    fn new(draw: &mut Draw) -> Self {
        Self([0; 4].map(|_| 1000 * draw.whole(20, 900) as u64))
    }

    fn share(&self) -> f64 {
        let [a, b, c, d] = self.0.map(|n| n as f64);
        (c + d) / (a + b + c + d)
    }
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

fn nvprof(times: &Times, unit: &str, in_unit: f64) -> String {
    let [a, b, c, d] = times.0.map(|n| n as f64 / in_unit);
    format!(
        "==42== NVPROF is profiling process 42\nType|Time(%)|Time|Calls|Avg|Min|Max|Name\n|%|{unit}||us|us|us|\n\
         GPU activities|50.0|{a}|300|70.5|1.0|99.0|void gemm<float, int=128>(float*)\n\
         GPU activities|30.0|{b}|100|20.0|1.0|99.0|max_points\n\
         GPU activities|10.0|{c}|60|30.0|1.0|99.0|[CUDA memcpy HtoD]\n\
         GPU activities|10.0|{d}|6|90.0|1.0|99.0|[CUDA memcpy DtoH]\n"
    )
}

pub fn reads_nsys(answer: &Lesson05) -> Verdict {
    let times = Times::new(&mut draw());
    check(answer, &cells(&nsys(&times)), Some(times.share()))
}

pub fn reads_nvprof(answer: &Lesson05) -> Verdict {
    let times = Times::new(&mut draw());
    for (unit, in_unit) in [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("ns", 1.0)] {
        check(
            answer,
            &cells(&nvprof(&times, unit, in_unit)),
            Some(times.share()),
        )?;
    }
    Ok(())
}

pub fn excludes_host_calls(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let long = draw.whole(5, 20);
    let text = nvprof(&times, "ms", 1e6)
        + &format!(
            "API calls|90.0|{long}|66|300.0|1.0|99.0|cudaMemcpy\nAPI calls|10.0|2.5|400|6.0|1.0|99.0|cudaLaunchKernel\n"
        );
    check(answer, &cells(&text), Some(times.share()))
}

pub fn counts_copies_only(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let [a, b, c, d] = times.0.map(|n| n as f64);
    let (set, own) = (1000 * draw.whole(50, 90), 1000 * draw.whole(50, 90));
    let text = nsys(&times)
        + &format!(
            "5.0|{set}|20|50.0|MEMORY_OPER|[CUDA memset]\n5.0|{own}|20|50.0|CUDA_KERNEL|my_memcpy_kernel(float*)\n"
        );
    let all = a + b + c + d + (set + own) as f64;
    check(answer, &cells(&text), Some((c + d) / all))
}

pub fn finds_columns_by_their_names(answer: &Lesson05) -> Verdict {
    let times = Times::new(&mut draw());
    for text in [nsys(&times), nvprof(&times, "us", 1e3)] {
        let turned = cells(&text).into_iter().map(|mut line| {
            if line.len() > 1 {
                line.reverse();
            }
            line
        });
        check(answer, &turned.collect::<Vec<_>>(), Some(times.share()))?;
    }
    Ok(())
}

pub fn sums_tables_in_their_units(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let (first, second) = (Times::new(&mut draw), Times::new(&mut draw));
    let sum = Times([0, 1, 2, 3].map(|i| first.0[i] + second.0[i]));
    // Two processes of nvprof, each with units of its own.
    let text = nvprof(&first, "ms", 1e6) + &nvprof(&second, "us", 1e3);
    check(answer, &cells(&text), Some(sum.share()))?;
    // nsys has kernels and copies in tables of their own.
    let [a, b, c, d] = second.0;
    let text = format!(
        "Time (%)|Total Time (ns)|Instances|Name\n60.0|{a}|9|gemm\n40.0|{b}|9|max_points\n\
         Processing [run.sqlite] with [cuda_gpu_mem_time_sum.py]...\n\
         Time (%)|Total Time (ns)|Count|Operation\n60.0|{c}|9|[CUDA memcpy Host-to-Device]\n40.0|{d}|9|[CUDA memcpy Device-to-Host]\n"
    );
    check(answer, &cells(&text), Some(second.share()))
}

pub fn skips_tables_of_sizes(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let times = Times::new(&mut draw);
    let megabytes = 1000 * draw.whole(50, 90);
    let sizes = format!(
        "Total (MB)|Count|Avg (MB)|Med (MB)|Category|Operation\n{megabytes}|{megabytes}|0.4|0.4|x|[CUDA memcpy Host-to-Device]\n"
    );
    check(answer, &cells(&(nsys(&times) + &sizes)), Some(times.share()))?;
    let broken = format!("Processing [run.sqlite] with [cuda_gpu_mem_size_sum.py]...\n{sizes}");
    check(answer, &cells(&(nsys(&times) + &broken)), Some(times.share()))
}

pub fn is_none_without_a_time(answer: &Lesson05) -> Verdict {
    let count = draw().whole(2, 9);
    check(answer, &[], None)?;
    check(answer, &cells(&format!("a|b|c\n1|{count}|3\n")), None)?;
    check(answer, &cells(SUM), None)?;
    check(
        answer,
        &cells(&format!("{SUM}\n0.0|0|{count}|0.0|CUDA_KERNEL|gemm\n")),
        None,
    )
}
