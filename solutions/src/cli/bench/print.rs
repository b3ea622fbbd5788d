//! The results of `canopy bench train` and `canopy bench infer` as text.

use super::Found;
use crate::kernels::Filter;

/// Prints the results as a table.
pub fn print(found: &Found) {
    println!(
        "bench {}: {} PointNet, {} clouds × {} points, {}{}; {}, {} threads, device {}",
        found.bench,
        found.model,
        found.batch,
        found.points,
        found.precision,
        if found.plain { ", plain operators" } else { "" },
        found.processor,
        found.threads,
        found.device
    );
    if let Some(description) = &found.low_precision {
        println!("precision: {description}");
    }
    println!("\n{:<18}{:>10}  {:>6}", "part", "ms", "share");
    let parts = [
        ("loader (waiting)", found.loader_ms),
        ("forward", found.forward_ms),
        ("backward", found.backward_ms),
        ("optimizer", found.optimizer_ms),
    ];
    // Queued steps are not timed by part.
    let timed = |ms: f64| ms > 0.0 || found.bench == "train" && found.device == "cpu";
    for (name, ms) in parts.into_iter().filter(|&(_, ms)| timed(ms)) {
        println!("{name:<18}{ms:>10.2}  {:>5.1}%", ms / found.total_ms * 100.0);
    }
    println!(
        "{:<18}{:>10.2}  {:>6.1} clouds/s",
        "all", found.total_ms, found.clouds_per_second
    );
    if let Some(fp32) = found.fp32_total_ms {
        println!(
            "{:<18}{fp32:>10.2}  {:.2} × the time of {}",
            "all, in fp32",
            fp32 / found.total_ms,
            found.precision
        );
    }
    println!(
        "\n{:.1} GFLOP at {:.0} GFLOP/s, {:.0}% of the {:.0} GFLOP/s of a matrix product",
        found.gflop,
        found.gflop_per_second,
        found.gflop_per_second / found.matmul_gflop_per_second * 100.0,
        found.matmul_gflop_per_second
    );
    if let Some(bound) = &found.bound {
        println!("{bound}: {:.0}% of it reached", bound.ms / found.total_ms * 100.0);
    }
    if found.device != "cpu" {
        println!("every product on the GPU");
    } else if found.filter == Filter::Off || found.plain {
        println!("no filter: every product of the widest layers in f32");
    } else {
        println!(
            "filter {}: {:.1} rows per channel computed in f32, in blocks of 8; {:.1}% of the maxima without the filter",
            found.filter,
            found.candidates_each,
            found.fallback_share * 100.0
        );
    }
    if let Some(mib) = found.peak_memory_mib {
        println!("peak memory {mib:.0} MiB");
    }
    for peer in &found.pytorch {
        let name = if peer.compiled { "torch.compile" } else { "eager" };
        let Some(warmup) = peer.warmup_s.filter(|_| !peer.total_ms.is_empty()) else {
            println!(
                "\nPyTorch {} {name}: not measured, because its warm-up exceeded the limit",
                peer.torch
            );
            continue;
        };
        print!(
            "\nPyTorch {} {name}: {:.1} ms, {:.2} × canopy",
            peer.torch, peer.ms, peer.times_canopy
        );
        if let Some(ours) = found.peak_memory_mib {
            print!("; {:.0} MiB, {:.2} × canopy", peer.peak_mib, peer.peak_mib / ours);
        }
        if peer.compiled {
            print!("; warm-up of {warmup:.0} s not counted");
        }
    }
    println!();
}
