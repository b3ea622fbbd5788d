//! Cores, and the vector and tile units that canopy's operators use.

use super::Line;
use crate::kernels::{Bf16Unit, Filter, InstructionSet};

/// The units of interest in Linux's list of a CPU's features, and their names.
const UNITS: [(&str, &str); 9] = [
    ("avx2", "AVX2"),
    ("avx512f", "AVX-512"),
    ("avx512_vnni", "AVX512-VNNI"),
    ("avx_vnni", "AVX-VNNI"),
    ("avx512_bf16", "AVX512-BF16"),
    ("amx_int8", "AMX (int8)"),
    ("amx_bf16", "AMX (bf16)"),
    ("asimddp", "dot products"),
    ("bf16", "bf16"),
];

pub fn lines() -> Vec<Line> {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = rayon::current_num_threads();
    let model = value(&info, "model name").unwrap_or(std::env::consts::ARCH);
    let found = format!("{model}, {cores} cores for this process, {threads} threads");
    let first = if threads > cores {
        Line::warning(
            "CPU",
            found,
            format!(
                "more threads than cores slow each other: use --threads {cores} or RAYON_NUM_THREADS={cores}"
            ),
        )
    } else {
        Line::ok("CPU", found)
    };
    let set = match InstructionSet::current() {
        InstructionSet::Base => "what every CPU of this kind has",
        InstructionSet::Avx2 => "AVX2",
        InstructionSet::Avx512 => "AVX-512",
    };
    let units = units(&info);
    let has = if units.is_empty() {
        String::new()
    } else {
        let amx = without_permission(&units, Bf16Unit::Amx.is_available());
        format!("; this CPU has {}{amx}", units.join(", "))
    };
    let bf16 = match Bf16Unit::current() {
        Bf16Unit::Off => "emulated".to_owned(),
        unit => unit.to_string(),
    };
    let filter = Filter::current();
    let used = format!("the operators use {set}; the filter of products: {filter}; bf16: {bf16}{has}");
    vec![first, Line::ok("units", used)]
}

/// The value of the first line `key : value`.
fn value<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let line = info.lines().find(|l| l.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}

/// Says if the system does not let canopy use the tiles that the CPU has.
fn without_permission(units: &[&str], available: bool) -> &'static str {
    if units.contains(&"AMX (bf16)") && !available {
        "; the system does not permit AMX to this process (Linux 5.16 or newer does, unless a container forbids arch_prctl)"
    } else {
        ""
    }
}

fn units(info: &str) -> Vec<&'static str> {
    let flags = value(info, "flags")
        .or_else(|| value(info, "Features"))
        .unwrap_or("");
    let has = |flag: &str| flags.split(' ').any(|f| f == flag);
    UNITS
        .iter()
        .filter(|(flag, _)| has(flag))
        .map(|(_, name)| *name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_whole_words() {
        let info = "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu avx2 avx512f amx_bf16 avx512_bf16x\n";
        assert_eq!(units(info), ["AVX2", "AVX-512", "AMX (bf16)"]);
        assert_eq!(units("Features\t: fp asimddp bf16\n"), ["dot products", "bf16"]);
        assert_eq!(value(info, "model name"), Some("A CPU"));
        assert!(units("").is_empty());
        assert_eq!(without_permission(&["AVX2"], false), "");
        assert_eq!(without_permission(&units(info), true), "");
        assert!(without_permission(&units(info), false).contains("does not permit AMX"));
    }
}
