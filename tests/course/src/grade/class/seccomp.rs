//! Seccomp filters for bubblewrap: system calls that no answer needs (`seccomp.json`). There are two filters, because a
//! filter returns one error. `clone3` returns ENOSYS, with which the C library calls `clone` instead: the flags of `clone3`
//! are in memory, which a filter cannot read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use seccompiler::{BpfMap, TargetArch, compile_from_json};
use serde_json::Value;

/// Writes the filters to files in `folder`.
pub fn write_filters(folder: &Path) -> Result<[PathBuf; 2]> {
    let filters = compiled(std::env::consts::ARCH.try_into()?)?;
    let write = |name: &str| -> Result<PathBuf> {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        // The kernel reads an array of `struct sock_filter`.
        for step in &filters[name] {
            bytes.extend(step.code.to_ne_bytes());
            bytes.extend([step.jt, step.jf]);
            bytes.extend(step.k.to_ne_bytes());
        }
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        Ok(path)
    };
    Ok([write("denied")?, write("clone3")?])
}

fn compiled(arch: TargetArch) -> Result<BpfMap> {
    let mut filters: Value = serde_json::from_str(include_str!("seccomp.json"))?;
    if arch != TargetArch::x86_64 {
        // Only x86 has `fork` and `vfork`.
        let is_fork = |rule: &Value| {
            rule["syscall"]
                .as_str()
                .is_some_and(|name| name.ends_with("fork"))
        };
        let rules = filters["denied"]["filter"].as_array_mut();
        rules.context("no rules")?.retain(|rule| !is_fork(rule));
    }
    Ok(compile_from_json(&*serde_json::to_vec(&filters)?, arch)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_calls_exist_on_each_architecture() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            let filters = compiled(arch).unwrap();
            assert!(filters["denied"].len() > filters["clone3"].len(), "{arch:?}");
        }
    }
}
