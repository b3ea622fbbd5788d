//! 5.5: the share of copies.

use Activity::{Copy, Kernel, Set};
use canopy::profile::{Activity, KernelRow};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

fn row(name: &str, activity: Activity, calls: u64, ns: f64) -> KernelRow {
    let name = name.to_owned();
    KernelRow {
        name,
        activity,
        calls,
        ns,
    }
}

/// Kernels and copies; the copies take less: no mistake turns one into the other.
fn table(d: &mut Draw) -> Vec<KernelRow> {
    let mut time = |low, high| 1000.0 * d.whole(low, high) as f64;
    vec![
        row("void gemm<float, 128>(float*)", Kernel, 300, time(500, 900)),
        row("max_points", Kernel, 100, time(300, 900)),
        row("[CUDA memcpy Device-to-Host]", Copy, 6, time(100, 200)),
        row("[CUDA memcpy Host-to-Device]", Copy, 60, time(20, 90)),
    ]
}

fn and(mut rows: Vec<KernelRow>, more: KernelRow) -> Vec<KernelRow> {
    rows.push(more);
    rows
}

fn shared(answer: &Lesson05, rows: Vec<KernelRow>) -> Verdict {
    let shown = |r: &KernelRow| format!("{} ({:?}, {} calls, {} ns)", r.name, r.activity, r.calls, r.ns);
    let shown: Vec<String> = rows.iter().map(shown).collect();
    let facts = |of: &Lesson05| match (of.copy_share)(&rows) {
        Some(share) => Facts::default().values("share of copies", share + 0.0),
        None => Facts::default().text("share of copies", "None"),
    };
    given(format!("rows: {}", shown.join(", "))).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.5";
    by shared {
        divides_copies_by_all_time: "in the time of all rows",
            "Divide the sum of `ns` of the copies by the sum of `ns` of all rows." => |d| {
            let rows = table(d);
            // nsys can list kernels and copies in different tables, and a name in both.
            vec![rows.clone(), [rows, table(d)].concat()]
        };
        counts_copies_only: "The share of copies",
            "Only rows with `Activity::Copy` are copies, in any direction." => |d| {
            let ns = 1000.0 * d.whole(50, 90) as f64;
            let more = [
                row("[CUDA memset]", Set, 20, ns),
                row("my_memcpy_kernel(float*)", Kernel, 20, ns),
                row("[CUDA memcpy Device-to-Device]", Copy, 20, ns),
            ];
            more.map(|more| and(table(d), more)).into()
        };
        is_none_without_a_time: "None if this time is 0",
            "If the time of all rows is 0, return None; if there is time but no copy, Some(0)." => |d| {
            let ns = d.whole(100, 900) as f64;
            let gemm = |ns| row("gemm", Kernel, 3, ns);
            let copy = row("[CUDA memcpy Host-to-Device]", Copy, 3, ns);
            vec![vec![], vec![gemm(0.0)], vec![gemm(ns), row("[CUDA memset]", Set, 1, 55.0)], vec![copy]]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.5" copy_share;
    1 "Copies are divided by the other times; divide them by all the device's time, copies included.";
    2 "A kernel with memcpy in its name is not a copy: compare `activity`.";
    3 "[CUDA memset] is left out altogether; it is not a copy, but the device is busy with it.";
    4 "[CUDA memset] is not a copy: compare with `Activity::Copy`.";
    5 "`ns` is multiplied by `calls`; it is already the time of all calls.";
    6 "The calls are added; add the times.";
};
