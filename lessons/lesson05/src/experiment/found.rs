//! What the experiment found, as tables and JSON.

use std::fmt::Write;

use canopy::profile::{Kind, Machine, Pattern, Timeline};
use lesson05::Lesson05;
use serde_json::{Value, json};

use super::{
    draw::part,
    sick::{Run, Trainer},
    under::Layer,
};

/// A run, as the student's functions see it.
pub struct Seen {
    pub pattern: Option<Pattern>,
    /// Shares of the time: kernels, launching, waiting, loading and copying by the host.
    pub shares: [f64; 4],
    /// By Amdahl: how much faster, if kernels alone took time.
    pub limit: f64,
    /// The name with the greatest self time on the host, and its share.
    pub most: (String, f64),
    /// Of the device's time, by its kernel table.
    pub copies: Option<f64>,
}

/// One trainer before and after.
pub struct Case {
    pub trainer: Trainer,
    pub sick: Run,
    pub cured: Run,
    pub before: Seen,
    pub after: Seen,
}

/// All of it.
pub struct Found {
    pub seed: u64,
    pub cases: Vec<Case>,
    /// Nanoseconds: without a wait, with the waits in the right places.
    pub timed: (f64, f64),
    pub machine: Machine,
    pub layers: Vec<Layer>,
    pub seconds: f64,
}

/// Looks at a run.
pub fn see(answer: &Lesson05, run: &Run) -> Seen {
    let timeline = &run.timeline;
    let flat = timeline.flat();
    let shares = timeline.shares();
    let some = few_spans(run);
    let host = (answer.totals)(&some.of(0));
    let most = host.first().map_or(("–".into(), 0.0), |t| {
        (t.name.clone(), t.own as f64 / some.wall.max(1) as f64)
    });
    Seen {
        pattern: (answer.name_pattern)(&flat, timeline.wall),
        shares: [shares.kernel, shares.launch, shares.wait, shares.load],
        limit: (answer.amdahl)(1.0 - shares.kernel, 1.0).limit,
        most,
        copies: (answer.copy_share)(&kernel_table(answer, &some)),
    }
}

/// All of a run, or as many steps from its middle as leave some 20,000 spans: a right `totals` may hold each against each,
/// which takes many minutes for all 750,000 of B.
pub fn few_spans(run: &Run) -> Timeline {
    const ENOUGH: u64 = 20_000;
    let spans = run.timeline.spans.len() as u64;
    if spans <= ENOUGH {
        return run.timeline.clone();
    }
    let (from, to) = part(run, (run.steps as u64 * ENOUGH / spans).max(1));
    run.timeline.window(from, to)
}

/// What nsys would write of the device's lane, as cells: its columns, our numbers.
pub fn kernel_table(answer: &Lesson05, timeline: &Timeline) -> Vec<Vec<String>> {
    let header = [
        "Time (%)",
        "Total Time (ns)",
        "Instances",
        "Category",
        "Operation",
    ];
    let mut cells = vec![header.map(String::from).to_vec()];
    let device: Vec<_> = timeline
        .spans
        .iter()
        .filter(|s| timeline.lanes[s.lane].device)
        .cloned()
        .collect();
    let all: u64 = device.iter().map(|s| s.end - s.start).sum();
    for total in (answer.totals)(&device) {
        let copy = device
            .iter()
            .any(|s| s.name == total.name && s.kind == Kind::Copy);
        let percent = 100.0 * total.own as f64 / all.max(1) as f64;
        let (category, name) = if copy {
            ("MEMORY_OPER", "[CUDA memcpy Host-to-Device]".to_owned())
        } else {
            ("CUDA_KERNEL", total.name)
        };
        cells.push(vec![
            format!("{percent:.1}"),
            total.own.to_string(),
            total.calls.to_string(),
            category.into(),
            name,
        ]);
    }
    cells
}

/// The cells as a file.
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

impl Found {
    pub fn tables(&self) -> String {
        let mut out = String::from("Four trainers as they are\n");
        self.table(&mut out, |c| (&c.sick, &c.before));
        out += "\nEach cured of what was found\n";
        self.table(&mut out, |c| (&c.cured, &c.after));
        out += "\nWhat the cure brought\n";
        let _ = writeln!(
            out,
            "{:<3}{:<16}{:<34}{:>8}{:>9}{:>8}",
            "", "bound by", "cure", "faster", "Amdahl", "waits"
        );
        for c in &self.cases {
            let _ = writeln!(
                out,
                "{:<3}{:<16}{:<34}{:>6.1} ×{:>7.1} ×{:>8}",
                c.trainer.letter(),
                named(c.before.pattern),
                c.trainer.cure(),
                c.sick.step / c.cured.step,
                c.before.limit,
                format!("{}→{}", per_step(&c.sick), per_step(&c.cured)),
            );
        }
        let _ = writeln!(
            out,
            "\nA's forward and backward, cured, by the host's clock:\n{} without a wait, {} with the waits in the right places.\n",
            ms(self.timed.0),
            ms(self.timed.1)
        );
        let _ = writeln!(
            out,
            "The roof: {:.0} GFLOP/s, {:.1} GB/s, ridge at {:.1} operations a byte",
            self.machine.flops / 1e9,
            self.machine.bytes / 1e9,
            self.machine.flops / self.machine.bytes
        );
        let _ = writeln!(
            out,
            "{:<14}{:>10}{:>12}{:>12}{:>8}  limit",
            "layer", "FLOP/byte", "allowed", "reached", "share"
        );
        for (name, roof, reached) in &self.layers {
            let _ = writeln!(
                out,
                "{name:<14}{:>10.1}{:>12.1}{:>12.1}{:>6.0} %  {}",
                roof.intensity,
                roof.attainable / 1e9,
                reached / 1e9,
                100.0 * reached / roof.attainable,
                if roof.memory_bound { "memory" } else { "arithmetic" }
            );
        }
        let _ = writeln!(out, "\n{:.0} s in all.", self.seconds);
        out
    }

    fn table<'a>(&'a self, out: &mut String, pick: impl Fn(&'a Case) -> (&'a Run, &'a Seen)) {
        let _ = writeln!(
            out,
            "{:<2}{:>9}{:>7}{:>7}{:>6}{:>6}{:>7} {:<16}most self time",
            "", "a step", "kernel", "launch", "wait", "load", "copies", "bound by"
        );
        for case in &self.cases {
            let (run, seen) = pick(case);
            let [kernel, launch, wait, load] = seen.shares.map(|s| format!("{:.0} %", 100.0 * s));
            let copies = seen.copies.map_or("–".into(), |c| format!("{:.1} %", 100.0 * c));
            let _ = writeln!(
                out,
                "{:<2}{:>9}{kernel:>7}{launch:>7}{wait:>6}{load:>6}{copies:>7} {:<16}{}",
                case.trainer.letter(),
                ms(run.step),
                named(seen.pattern),
                seen.most.0,
            );
        }
    }

    pub fn json(&self) -> Value {
        let run = |run: &Run, seen: &Seen| {
            let [kernel, launch, wait, load] = seen.shares;
            json!({
                "step_ns": run.step, "steps": run.steps, "loss": run.loss, "waits": run.answers, "pattern": seen.pattern,
                "kernel": kernel, "launch": launch, "wait": wait, "load": load, "copies": seen.copies,
                "limit": if seen.limit.is_finite() { json!(seen.limit) } else { Value::Null }, "most": seen.most,
            })
        };
        let case = |c: &Case| {
            json!({
                "trainer": c.trainer.letter().to_string(), "sickness": c.trainer.sickness(), "cure": c.trainer.cure(),
                "sick": run(&c.sick, &c.before), "cured": run(&c.cured, &c.after),
            })
        };
        let layer =
            |(name, roof, reached): &Layer| json!({ "layer": name, "roof": roof, "reached": reached });
        json!({
            "seed": self.seed,
            "trainers": self.cases.iter().map(case).collect::<Vec<_>>(),
            "forward_and_backward_ns": { "without_a_wait": self.timed.0, "with_waits": self.timed.1 },
            "machine": self.machine,
            "layers": self.layers.iter().map(layer).collect::<Vec<_>>(),
            "seconds": self.seconds,
        })
    }
}

fn per_step(run: &Run) -> u64 {
    run.answers / run.steps as u64
}

fn named(pattern: Option<Pattern>) -> String {
    let name = pattern.map_or("nothing".into(), |p| p.to_string());
    name.trim_end_matches(" bound").to_owned()
}

fn ms(ns: f64) -> String {
    if ns < 1e5 {
        format!("{:.1} µs", ns / 1e3)
    } else {
        format!("{:.2} ms", ns / 1e6)
    }
}
