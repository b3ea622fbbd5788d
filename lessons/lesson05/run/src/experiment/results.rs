//! What the student's functions find in a run, as tables.

use canopy::profile::{Kind, Pattern, Span, Timeline};
use grader::{
    cells,
    table::{Table, count, fixed, left, percent},
};
use lesson05::Lesson05;

use super::{
    bottlenecks::{Run, Trainer},
    plots::part,
};

/// A run, as the student's functions describe it.
pub struct Findings {
    pattern: Option<Pattern>,
    /// Shares of the time: kernels, launching, waiting, loading and copying by the host.
    shares: [f64; 4],
    /// By Amdahl's law: the speed-up if everything but the kernels took no time.
    limit: f64,
    /// The name with the greatest self time on the host.
    most: String,
    /// Share of the device's time, by its kernel table.
    copies: Option<f64>,
}

/// One trainer before and after its cure.
pub struct Case {
    pub trainer: Trainer,
    pub slow: Run,
    pub fixed: Run,
    pub before: Findings,
    pub after: Findings,
}

/// Describes a run by the student's functions.
pub fn look(answer: &Lesson05, run: &Run) -> Findings {
    let timeline = &run.timeline;
    let shares = timeline.shares();
    let some = few_spans(run);
    let host = (answer.totals)(&some.of(0));
    Findings {
        pattern: (answer.name_pattern)(&timeline.flat(), timeline.wall),
        shares: [shares.kernel, shares.launch, shares.wait, shares.load],
        limit: (answer.amdahl)(1.0 - shares.kernel, 1.0).limit,
        most: host.first().map_or("–".into(), |t| t.name.clone()),
        copies: (answer.copy_share)(&kernel_table(answer, &some)),
    }
}

/// All of a run, or as many steps from its middle as have about 20,000 spans: a table of all 750,000 of B says no more.
pub fn few_spans(run: &Run) -> Timeline {
    const ENOUGH: u64 = 20_000;
    let spans = run.timeline.spans.len() as u64;
    if spans <= ENOUGH {
        return run.timeline.clone();
    }
    let (from, to) = part(run, (run.steps as u64 * ENOUGH / spans).max(1));
    run.timeline.window(from, to)
}

/// The kernel table of the device's lane, with the columns of nsys. A span within another one counts once: the times are
/// self times, so that the percentages add up to 100.
pub fn kernel_table(answer: &Lesson05, timeline: &Timeline) -> Vec<Vec<String>> {
    let device: Vec<_> = timeline
        .spans
        .iter()
        .filter(|s| timeline.lanes[s.lane].device)
        .cloned()
        .collect();
    let totals = (answer.totals)(&device);
    let all: u64 = totals.iter().map(|t| t.own).sum();
    let mut cells = vec![
        [
            "Time (%)",
            "Total Time (ns)",
            "Instances",
            "Category",
            "Operation",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for total in &totals {
        let copies = |s: &Span| s.name == total.name && s.kind == Kind::Copy;
        let (category, name) = match device.iter().any(copies) {
            true => ("MEMORY_OPER", "[CUDA memcpy Host-to-Device]"),
            false => ("CUDA_KERNEL", total.name.as_str()),
        };
        cells.push(vec![
            format!("{:.1}", 100.0 * total.own as f64 / all.max(1) as f64),
            total.own.to_string(),
            total.calls.to_string(),
            category.into(),
            name.into(),
        ]);
    }
    cells
}

/// The cells as CSV.
pub fn csv(cells: &[Vec<String>]) -> String {
    let quoted = |c: &String| {
        if c.contains([',', '"']) {
            format!("\"{}\"", c.replace('"', "\"\""))
        } else {
            c.clone()
        }
    };
    let line = |l: &Vec<String>| l.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
    cells.iter().map(line).collect()
}

/// Where the time of each run goes.
pub fn profiles<'a>(runs: impl Iterator<Item = (Trainer, &'a Run, &'a Findings)>) -> Table {
    let mut table = Table::new([
        left(""),
        count("a step"),
        percent("kernel", 0),
        percent("launch", 0),
        percent("wait", 0),
        percent("load", 0),
        percent("copies", 1),
        left("bound by"),
        left("most self time"),
    ]);
    for (trainer, run, found) in runs {
        let [kernel, launch, wait, load] = found.shares;
        table.row(cells![
            trainer.letter(),
            ms(run.step),
            kernel,
            launch,
            wait,
            load,
            found.copies,
            bound_by(found.pattern),
            &found.most
        ]);
        table.only_json("step_ns", run.step);
        table.only_json("steps", run.steps);
        table.only_json("loss", run.loss);
    }
    table
}

/// How much faster each trainer became.
pub fn cures(cases: &[Case]) -> Table {
    let mut table = Table::new([
        left(""),
        left("bound by"),
        left("cure"),
        fixed("faster", 1).unit("×"),
        fixed("Amdahl", 1).unit("×"),
        count("waits"),
    ]);
    for c in cases {
        table.row(cells![
            c.trainer.letter(),
            bound_by(c.before.pattern),
            c.trainer.cure(),
            c.slow.step / c.fixed.step,
            c.before.limit,
            format!("{}→{}", c.slow.waits_per_step(), c.fixed.waits_per_step())
        ]);
        table.only_json("bottleneck", c.trainer.bottleneck());
    }
    table
}

fn bound_by(pattern: Option<Pattern>) -> String {
    let name = pattern.map_or("nothing".into(), |p| p.to_string());
    name.trim_end_matches(" bound").to_owned()
}

/// Nanoseconds as milliseconds, or as microseconds if there are few.
pub fn ms(ns: f64) -> String {
    if ns < 1e5 {
        format!("{:.1} µs", ns / 1e3)
    } else {
        format!("{:.2} ms", ns / 1e6)
    }
}
