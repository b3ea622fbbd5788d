//! What the experiment found, as tables, JSON and plots.

use std::fmt::Write;

use canopy::{
    report::svg::{LinePlot, Series},
    train::memory::Form,
};
use serde_json::{Value, json};

use super::{
    room::{self, Room},
    speed::{self, Speed},
    train::Training,
};

/// All of it.
pub struct Found {
    pub seed: u64,
    pub device: String,
    pub speeds: Vec<Speed>,
    pub rooms: Vec<Room>,
    pub training: Training,
    pub seconds: f64,
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn name(form: Form) -> &'static str {
    match form {
        Form::Fused => "fused",
        Form::Plain => "candle's",
    }
}

impl Found {
    pub fn tables(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "A training step of the vanilla PointNet, {} points a cloud: clouds a second\n\n{:<10}{:>7}{:>22}{:>22}",
            speed::POINTS,
            "device",
            "batch",
            "loss read each step",
            "read once"
        );
        for s in &self.speeds {
            let _ = writeln!(
                out,
                "{:<10}{:>7}{:>22.0}{:>22.0}",
                s.device, s.batch, s.waiting, s.free
            );
        }
        if self.speeds.iter().all(|s| s.device == "cpu") {
            out += "gpu       not run on a GPU\n";
        }
        let _ = writeln!(
            out,
            "\nMemory of a step, a quarter as wide, {} points a cloud:\nthe largest batch of a budget, MiB\n\n{:<10}{:>8}{:>9}{:>9}{:>10}{:>8}{:>11}",
            room::POINTS,
            "operators",
            "budget",
            "counted",
            "takes",
            "measured",
            "share",
            "by trying"
        );
        for r in &self.rooms {
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
            let share = r
                .counted
                .zip(r.measured)
                .map(|((_, c), m)| format!("{:.0} %", 100.0 * c as f64 / m as f64));
            let _ = writeln!(
                out,
                "{:<10}{:>8.0}{:>9}{:>9}{:>10}{:>8}{:>11}",
                name(r.form),
                mib(r.budget),
                or_none(r.counted.map(|(n, _)| n.to_string())),
                or_none(r.counted.map(|(_, b)| format!("{:.1}", mib(b)))),
                or_none(r.measured.map(|b| format!("{:.1}", mib(b)))),
                or_none(share),
                or_none(r.tried.map(|n| n.to_string()))
            );
        }
        let t = &self.training;
        let _ = writeln!(
            out,
            "\nA training, a quarter as wide, {} trees of {} points;\nscores on {} trees of other plots\n\n{:<8}{:>7}{:>8}{:>12}{:>11}{:>11}{:>11}",
            t.trees,
            super::train::POINTS,
            t.unseen,
            "epoch",
            "steps",
            "waits",
            "mean loss",
            "accuracy",
            "balanced",
            "macro F1"
        );
        for (i, e) in t.epochs.iter().enumerate() {
            let s = &e.scores;
            let _ = writeln!(
                out,
                "{:<8}{:>7}{:>8}{:>12.3}{:>11.3}{:>11.3}{:>11.3}",
                i + 1,
                e.steps,
                e.waits,
                e.loss,
                s.accuracy,
                s.balanced_accuracy,
                s.macro_f1
            );
        }
        let _ = writeln!(
            out,
            "\nBroken off in epoch 3, taken up, gone on with to the end: of {} tensors of\nnetwork and optimizer {} differ from the unbroken training's.\n\n{:.0} s in all.",
            t.tensors, t.differ, self.seconds
        );
        out
    }

    pub fn json(&self) -> Value {
        let speed = |s: &Speed| json!({ "device": s.device, "batch": s.batch, "clouds_per_second_waiting": s.waiting, "clouds_per_second": s.free });
        let room = |r: &Room| {
            json!({
                "operators": r.form, "budget": r.budget, "largest": r.counted.map(|c| c.0),
                "counted": r.counted.map(|c| c.1), "measured": r.measured, "by_trying": r.tried,
            })
        };
        let t = &self.training;
        let epoch = |e: &super::train::Epoch| {
            json!({
                "steps": e.steps, "waits": e.waits, "loss": e.loss, "accuracy": e.scores.accuracy,
                "balanced_accuracy": e.scores.balanced_accuracy, "macro_f1": e.scores.macro_f1,
            })
        };
        json!({
            "seed": self.seed,
            "device": self.device,
            "speed": self.speeds.iter().map(speed).collect::<Vec<_>>(),
            "memory": self.rooms.iter().map(room).collect::<Vec<_>>(),
            "training": t.epochs.iter().map(epoch).collect::<Vec<_>>(),
            "resumed": { "tensors": t.tensors, "differ": t.differ },
            "seconds": self.seconds,
        })
    }

    pub fn plots(&self) -> Vec<(&'static str, LinePlot)> {
        let mut speed = LinePlot::new("A training step", "clouds of a batch", "clouds a second");
        let mut devices: Vec<&String> = self.speeds.iter().map(|s| &s.device).collect();
        devices.dedup();
        for device in devices {
            let of = self.speeds.iter().filter(|s| s.device == *device);
            let points = of.map(|s| (s.batch as f64, s.free)).collect();
            speed = speed.with(Series::new(device.clone(), points));
        }
        (speed.log_x, speed.size) = (true, (640.0, 320.0));
        speed.y_range = Some((0.0, 1.0));
        let mut memory = LinePlot::new("Memory of a step", "clouds of a batch", "MiB");
        for form in [Form::Fused, Form::Plain] {
            let of = || self.rooms.iter().filter(move |r| r.form == form);
            let counted = of().filter_map(|r| r.counted).map(|(n, b)| (n as f64, mib(b)));
            let measured = of()
                .filter_map(|r| r.counted.zip(r.measured))
                .map(|((n, _), b)| (n as f64, mib(b)));
            memory = memory
                .with(Series::new(format!("{}, counted", name(form)), counted.collect()))
                .with(Series::new(format!("{}, measured", name(form)), measured.collect()).dashed());
        }
        (memory.log_x, memory.log_y, memory.size) = (true, true, (640.0, 340.0));
        vec![("04-speed.svg", speed), ("04-memory.svg", memory)]
    }
}
