//! CPU and main memory, from Linux's `/proc`.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::Sample;

/// The CPU's counters at the last sample: busy ticks and all ticks.
pub struct Cpu {
    ticks: (u64, u64),
    name: String,
}

impl Cpu {
    pub fn new() -> Result<Self> {
        let info = read("/proc/cpuinfo").unwrap_or_default();
        Ok(Self {
            ticks: ticks(&read("/proc/stat")?)?,
            name: value(&info, "model name").unwrap_or("processor").to_owned(),
        })
    }

    pub fn sample(&mut self, base: &Sample) -> Result<Sample> {
        let (busy, all) = ticks(&read("/proc/stat")?)?;
        let (more, passed) = (
            busy.saturating_sub(self.ticks.0),
            all.saturating_sub(self.ticks.1),
        );
        self.ticks = (busy, all);
        let memory = read("/proc/meminfo").unwrap_or_default();
        let mib = |key: &str| {
            let kib: f64 = value(&memory, key)?.strip_suffix(" kB")?.trim().parse().ok()?;
            Some((kib / 1024.0).round())
        };
        let (total, free) = (mib("MemTotal"), mib("MemAvailable"));
        Ok(Sample {
            bus_id: "cpu".into(),
            name: self.name.clone(),
            // No time has passed directly after the first sample.
            use_percent: (passed > 0).then(|| (1000.0 * more as f64 / passed as f64).round() / 10.0),
            memory_used_mib: total.zip(free).map(|(t, f)| (t - f).max(0.0)),
            memory_total_mib: total,
            ..base.clone()
        })
    }
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))
}

/// Busy ticks and all ticks since the system started. Idle ticks and those waiting for a disk are not busy.
fn ticks(stat: &str) -> Result<(u64, u64)> {
    let line = stat.lines().find_map(|l| l.strip_prefix("cpu "));
    let line = line.context("/proc/stat has no line 'cpu'")?;
    // user nice system idle iowait irq softirq steal; the fields that follow are included in `user`.
    let words = line.split_whitespace().take(8);
    let ticks: Vec<u64> = words.map_while(|t| t.parse().ok()).collect();
    ensure!(ticks.len() >= 4, "/proc/stat: 'cpu {line}' has too few numbers");
    let all: u64 = ticks.iter().sum();
    let idle = ticks[3] + ticks.get(4).copied().unwrap_or(0);
    Ok((all - idle, all))
}

/// The value after `key:` in its first line.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|l| l.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_spent_waiting_are_not_busy() {
        let stat = "cpu  100 5 50 800 40 1 4 0 7 0\ncpu0 1 1 1 1\n";
        assert_eq!(ticks(stat).unwrap(), (160, 1000));
        for broken in ["", "cpu  1 2\n", "cpu  a b c d\n", "cpus 1 2 3 4\n"] {
            assert!(ticks(broken).is_err(), "{broken}");
        }
    }
}
