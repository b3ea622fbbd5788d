//! The results of `canopy bench split` as text.

use anyhow::Result;

use super::found::{Axis, Found};
use crate::{cli::mesh, train::machine::mib};

/// Prints the results.
///
/// # Errors
/// Returns an error if standard output is closed.
pub fn print(found: &Found) -> Result<()> {
    let (setting, mesh) = (&found.setting, &found.setting.mesh);
    let network = &setting.network;
    say!(
        "bench split: layers {:?} over points, {:?} over clouds, {} classes; tensor {} × sequence {} × data {} × pipeline {}",
        network.over_points,
        network.over_clouds,
        network.classes,
        mesh.tensor,
        mesh.sequence,
        mesh.data,
        mesh.pipeline
    );
    say!(
        "{} micro-batches of {} clouds × {} points for each data rank; {}, {} cores",
        setting.micro_batches,
        setting.clouds,
        setting.points,
        found.processor,
        found.cores
    );
    if mesh.ranks() > found.cores {
        say!(
            "{} ranks share {} cores, so the times say little",
            mesh.ranks(),
            found.cores
        );
    }
    let (first, last) = (found.losses.first(), found.losses.last());
    say!(
        "\nfastest step {:.1} ms; loss of the first step {:.4}, of step {} {:.4}",
        found.step_ms,
        first.copied().unwrap_or(f64::NAN),
        found.losses.len(),
        last.copied().unwrap_or(f64::NAN)
    );
    if let Some(pipeline) = &found.pipeline {
        say!(
            "bubble: (p − 1)/m {:.3}; with the measured times of the stages {:.3}; measured {:.3}; forward passes held {:?}",
            pipeline.theory,
            pipeline.simulated,
            pipeline.measured,
            pipeline.held
        );
    }
    memory(found)?;
    if !found.traffic.is_empty() {
        say!("\nsent           ranks    messages           MiB   predicted MiB");
        for axis in &found.traffic {
            let (sent, predicted) = (mib(axis.bytes), mib(axis.predicted_bytes));
            let Axis {
                axis,
                ranks,
                messages,
                ..
            } = axis;
            say!("{axis:<12}{ranks:>8}{messages:>12}{sent:>14.3}{predicted:>16.3}");
        }
        say!("a step of the rank that sends most");
    }
    Ok(())
}

fn memory(found: &Found) -> Result<()> {
    say!("\n{}    counted  predicted", mesh::MEMORY);
    for row in &found.ranks {
        let (counted, predicted) = (mib(row.counted.total()), mib(row.predicted.total()));
        let parts = mesh::memory(row.rank, row.counted);
        say!("{parts}{counted:>11.2}{predicted:>11.2}");
    }
    for row in &found.ranks {
        if let Some(allocated) = row.allocated {
            say!(
                "rank {}: counted {:.1} MiB, allocated at most {:.1} MiB",
                row.rank,
                mib(row.counted.total()),
                mib(allocated)
            );
        }
    }
    if let Some(allocated) = found.allocated {
        say!(
            "all ranks: counted {:.1} MiB, allocated at most {:.1} MiB; the difference is what operators and messages need for \
             a moment",
            mib(found.counted),
            mib(allocated)
        );
    }
    Ok(())
}
