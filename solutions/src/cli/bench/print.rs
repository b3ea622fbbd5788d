//! The results of `canopy bench train` and `canopy bench infer` as text.

use anyhow::Result;

use super::Found;
use crate::kernels::Filter;

pub fn print(found: &Found) -> Result<()> {
    let Found {
        bench,
        model,
        batch,
        points,
        precision,
        processor,
        threads,
        device,
        total_ms: total,
        ..
    } = found;
    let plain = if found.plain { ", plain operators" } else { "" };
    say!(
        "bench {bench}: {model} PointNet, {batch} clouds × {points} points, {precision}{plain}; {processor}, {threads} threads, \
         device {device}"
    );
    if let Some(description) = &found.low_precision {
        say!("precision: {description}");
    }
    say!("\n{:<18}{:>10}  {:>6}", "part", "ms", "share");
    // Queued steps are not timed by part.
    let timed = |ms: f64| ms > 0.0 || *bench == "train" && device == "cpu";
    for (name, ms) in [
        ("loader (waiting)", found.loader_ms),
        ("forward", found.forward_ms),
        ("backward", found.backward_ms),
        ("optimizer", found.optimizer_ms),
    ] {
        if timed(ms) {
            say!("{name:<18}{ms:>10.2}  {:>5.1}%", ms / total * 100.0);
        }
    }
    say!(
        "{:<18}{total:>10.2}  {:>6.1} clouds/s",
        "all",
        found.clouds_per_second
    );
    if let Some(fp32) = found.fp32_total_ms {
        let times = fp32 / total;
        say!(
            "{:<18}{fp32:>10.2}  {times:.2} × the time of {precision}",
            "all, in fp32"
        );
    }
    let (rate, most) = (found.gflop_per_second, found.matmul_gflop_per_second);
    say!(
        "\n{:.1} GFLOP at {rate:.0} GFLOP/s, {:.0}% of the {most:.0} GFLOP/s of a matrix product",
        found.gflop,
        rate / most * 100.0
    );
    if let Some(bound) = &found.bound {
        say!("{bound}: {:.0}% of it reached", bound.ms / total * 100.0);
    }
    if device != "cpu" {
        say!("every product on the GPU");
    } else if found.filter == Filter::Off || found.plain {
        say!("no filter: every product of the widest layers in f32");
    } else {
        say!(
            "filter {}: {:.1} rows per channel computed in f32, in blocks of 8; {:.1}% of the maxima without the filter",
            found.filter,
            found.candidates_each,
            found.fallback_share * 100.0
        );
    }
    if let Some(mib) = found.peak_memory_mib {
        say!("peak memory {mib:.0} MiB");
    }
    for peer in &found.pytorch {
        let name = if peer.compiled { "torch.compile" } else { "eager" };
        let torch = format!("\nPyTorch {} {name}", peer.torch);
        let Some(warmup) = peer.warmup_s.filter(|_| !peer.total_ms.is_empty()) else {
            say!("{torch}: not measured, because its warm-up exceeded the limit");
            continue;
        };
        let mut line = format!("{torch}: {:.1} ms, {:.2} × canopy", peer.ms, peer.times_canopy);
        if let Some(ours) = found.peak_memory_mib {
            line += &format!("; {:.0} MiB, {:.2} × canopy", peer.peak_mib, peer.peak_mib / ours);
        }
        if peer.compiled {
            line += &format!("; warm-up of {warmup:.0} s not counted");
        }
        say!("{line}");
    }
    Ok(())
}
