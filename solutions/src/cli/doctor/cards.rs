//! The GPUs: those that CUDA shows to this program, with what the driver's monitor (NVML) knows of them.

use nvml_wrapper::{Device as Monitored, Nvml};

use super::{
    Line,
    driver::{Device, Driver},
    program::{Built, capability},
};

/// What NVML reports of a card.
#[derive(Debug, Default, PartialEq)]
struct Use {
    /// Whether the card is divided, and into how many slices.
    mig: Option<u32>,
    gpu_percent: Option<u32>,
    memory_percent: Option<f64>,
    others: usize,
}

/// The lines of all cards that a program sees, and one for those that it does not see.
pub fn lines(driver: Option<&Driver>, program: Option<&Built>) -> Vec<Line> {
    let nvml = Nvml::init().ok();
    let present = nvml.as_ref().and_then(|n| n.device_count().ok()).unwrap_or(0) as usize;
    let devices = driver.map_or(&[][..], |d| &d.devices);
    let mut lines: Vec<Line> = devices
        .iter()
        .enumerate()
        .map(|(ordinal, device)| {
            let of = nvml
                .as_ref()
                .and_then(|n| n.device_by_pci_bus_id(device.bus_id.as_str()).ok());
            line(
                ordinal,
                device,
                &of.as_ref().map(usage).unwrap_or_default(),
                program,
            )
        })
        .collect();
    if devices.len() < present {
        lines.push(hidden(present, devices.len(), &|name| std::env::var(name).ok()));
    }
    if lines.is_empty() {
        lines.push(Line::ok("GPU", "none"));
    }
    lines
}

fn usage(card: &Monitored) -> Use {
    let own = std::process::id();
    let memory = card.memory_info().ok();
    let slices = |card: &Monitored| {
        let all = 0..card.mig_device_count().unwrap_or(0);
        all.filter(|&i| card.mig_device_by_index(i).is_ok()).count() as u32
    };
    Use {
        mig: card
            .mig_mode()
            .ok()
            .filter(|m| m.current != 0)
            .map(|_| slices(card)),
        gpu_percent: card.utilization_rates().ok().map(|u| u.gpu),
        memory_percent: memory.map(|m| 100.0 * m.used as f64 / m.total.max(1) as f64),
        others: card
            .running_compute_processes()
            .map_or(0, |all| all.iter().filter(|p| p.pid != own).count()),
    }
}

fn line(ordinal: usize, device: &Device, used: &Use, program: Option<&Built>) -> Line {
    let name = format!("cuda:{ordinal}");
    let mut found = format!(
        "{}, compute capability {}, {:.1} GiB",
        device.name,
        capability(device.capability),
        device.memory_gib
    );
    if let Some(slices) = used.mig {
        found += &format!(", divided into {slices} MIG slices");
    }
    if let Some(percent) = used.gpu_percent {
        found += &format!(", {percent} % busy");
    }
    if let Some(percent) = used.memory_percent {
        found += &format!(", {percent:.0} % of its memory in use");
    }
    match program {
        None => Line::warning(
            &name,
            found + "; this program cannot use it",
            "build with `cargo build --release --features cuda`",
        ),
        // The device opens, and the first kernel fails with "no kernel image is available for execution".
        Some(p) if device.capability < p.capability => Line::wrong(
            &name,
            format!(
                "{found}; this program holds code for capability {} or higher: the card would open, and the first kernel \
                 end with \"no kernel image is available for execution\"",
                capability(p.capability)
            ),
            format!(
                "build on this machine, or with CUDA_COMPUTE_CAP={} set: cargo build --release --features cuda",
                device.capability
            ),
        ),
        Some(_) if used.others > 0 => Line::warning(
            &name,
            format!("{found}; {} other processes compute on it", used.others),
            "expect less memory and speed; on a cluster ask for a card of your own",
        ),
        Some(_) => Line::ok(&name, found),
    }
}

/// Cards of this machine that CUDA does not show.
fn hidden(present: usize, seen: usize, variable: &dyn Fn(&str) -> Option<String>) -> Line {
    let found = format!("this machine has {present}, and CUDA shows {seen} of them");
    match variable("CUDA_VISIBLE_DEVICES") {
        Some(text) if seen == 0 => Line::wrong(
            "GPU",
            format!("{found}: CUDA_VISIBLE_DEVICES is '{text}'"),
            "in a Slurm job ask for a card (--gres=gpu:1); elsewhere unset CUDA_VISIBLE_DEVICES",
        ),
        Some(text) => Line::ok("GPU", format!("{found}: CUDA_VISIBLE_DEVICES is '{text}'")),
        None if seen == 0 => Line::wrong(
            "GPU",
            found,
            "the card may have failed: see `nvidia-smi` and the kernel's log (dmesg)",
        ),
        None => Line::ok("GPU", found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::State;

    fn device(capability: i32) -> Device {
        Device {
            name: "a card".into(),
            bus_id: String::new(),
            capability,
            memory_gib: 15.9,
        }
    }

    const BUILT: Built = Built {
        cuda: 13000,
        capability: 80,
    };

    #[test]
    fn a_card_older_than_the_programs_code_is_explained_before_it_fails() {
        let old = line(0, &device(70), &Use::default(), Some(&BUILT));
        assert_eq!(old.state, State::Wrong);
        assert!(old.found.contains("no kernel image"), "{old:?}");
        assert!(old.advice.unwrap().contains("CUDA_COMPUTE_CAP=70"));
        // The driver compiles PTX of 8.0 for 9.0.
        assert_eq!(
            line(0, &device(90), &Use::default(), Some(&BUILT)).state,
            State::Ok
        );
        assert_eq!(line(0, &device(90), &Use::default(), None).state, State::Warning);
    }

    #[test]
    fn other_processes_and_slices_are_shown() {
        let used = Use {
            mig: Some(7),
            gpu_percent: Some(88),
            memory_percent: Some(41.6),
            others: 2,
        };
        let line = line(1, &device(80), &used, Some(&BUILT));
        assert_eq!(line.state, State::Warning);
        for words in ["7 MIG slices", "88 % busy", "42 % of its memory", "2 other"] {
            assert!(line.found.contains(words), "{line:?}");
        }
    }

    #[test]
    fn hidden_cards_name_the_variable() {
        let none = hidden(4, 0, &|_| Some(String::new()));
        assert_eq!(none.state, State::Wrong);
        assert!(none.found.contains("CUDA_VISIBLE_DEVICES is ''"), "{none:?}");
        assert_eq!(hidden(4, 1, &|_| Some("2".into())).state, State::Ok);
        assert_eq!(hidden(4, 0, &|_| None).state, State::Wrong);
    }
}
