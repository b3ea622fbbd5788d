//! Facts about the machine.

/// The CPU's name and number of cores, as the system reports them.
pub fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let s = if cores == 1 { "" } else { "s" };
    format!(
        "{}, {cores} core{s}",
        name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
    )
}

/// Peak resident memory of this process, bytes; `None` on systems other than Linux.
pub fn peak_memory() -> Option<u64> {
    bytes("/proc/self/status", "VmHWM:")
}

/// Memory available to programs, bytes; `None` on systems other than Linux.
pub fn free_memory() -> Option<u64> {
    bytes("/proc/meminfo", "MemAvailable:")
}

/// Bytes in MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The value of a line `NAME: N kB`.
fn bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
