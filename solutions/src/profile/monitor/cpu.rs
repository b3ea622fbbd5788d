//! CPU and main memory, from Linux's `/proc`.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::Sample;

/// Busy ticks and all ticks at the last sample.
pub struct Cpu(u64, u64);

impl Cpu {
    pub fn new() -> Result<Self> {
        let (busy, all) = ticks(&read("/proc/stat")?)?;
        Ok(Self(busy, all))
    }

    pub fn sample(&mut self, base: &Sample) -> Result<Sample> {
        let last = std::mem::replace(self, Self::new()?);
        let (more, passed) = (self.0.saturating_sub(last.0), self.1.saturating_sub(last.1));
        let memory = read("/proc/meminfo").unwrap_or_default();
        let mib = |key: &str| {
            let line = memory.lines().find_map(|l| l.strip_prefix(key))?;
            let kib: f64 = line.strip_suffix(" kB")?.trim().parse().ok()?;
            Some((kib / 1024.0).round())
        };
        let (total, free) = (mib("MemTotal:"), mib("MemAvailable:"));
        Ok(Sample {
            bus_id: "cpu".into(),
            name: "processor".into(),
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
