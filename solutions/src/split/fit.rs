//! Whether a setting fits in memory, and how it would.

use anyhow::Result;

use super::{Bytes, LayerShape, Mesh, Schedule, Setting, Times, bytes_of_rank, simulate};
use crate::split::Action;

/// Returns the rank that keeps most, and what it keeps.
///
/// # Errors
/// Returns an error if the setting does not fit together.
pub fn fullest_rank(setting: &Setting) -> Result<(usize, Bytes)> {
    setting.validate()?;
    let mut fullest = (0, Bytes::default());
    for rank in 0..setting.mesh.ranks() {
        let bytes = bytes_of_rank(setting, rank)?;
        if bytes.total() > fullest.1.total() {
            fullest = (rank, bytes);
        }
    }
    Ok(fullest)
}

/// The ranks that are tried along an axis.
const TRIED: [usize; 6] = [1, 2, 3, 4, 6, 8];

/// Returns the meshes with the fewest ranks whose fullest rank keeps at most `limit` bytes, and what it keeps, the smallest
/// first. They split the layers' numbers, the layers, or both; the rest of `setting` stays.
pub fn meshes_that_fit(setting: &Setting, limit: u64) -> Vec<(Mesh, u64)> {
    let mut fits = Vec::new();
    for tensor in TRIED {
        for pipeline in TRIED {
            let mesh = Mesh {
                tensor,
                pipeline,
                ..setting.mesh
            };
            let with_mesh = Setting {
                mesh,
                ..setting.clone()
            };
            let bytes = fullest_rank(&with_mesh).ok().map(|(_, bytes)| bytes.total());
            fits.extend(bytes.filter(|b| *b <= limit).map(|bytes| (mesh, bytes)));
        }
    }
    let fewest = fits.iter().map(|(mesh, _)| mesh.ranks()).min();
    fits.retain(|(mesh, _)| Some(mesh.ranks()) == fewest);
    fits.sort_by_key(|(_, bytes)| *bytes);
    fits
}

/// Simulates a step's schedule with stages as unequal as their layers' work. The unit of time is the computation of the
/// whole step by one rank; a backward pass takes twice as long as a forward pass.
///
/// # Errors
/// Returns an error if the setting does not fit together.
pub fn forecast(setting: &Setting) -> Result<Times> {
    setting.validate()?;
    let cost = |stage: &Vec<LayerShape>| stage.iter().map(|l| l.cost(setting.points)).sum::<u64>() as f64;
    let costs: Vec<f64> = setting.share(0)?.stages.iter().map(cost).collect();
    let mesh = setting.mesh;
    let parts = mesh.tensor * mesh.sequence * mesh.data * setting.micro_batches;
    let micro_batch = costs.iter().sum::<f64>() * parts as f64;
    let seconds = |stage: usize, action: Action| {
        let share = match action {
            Action::Forward(_) => 1.0 / 3.0,
            Action::Backward(_) => 2.0 / 3.0,
        };
        share * costs[stage] / micro_batch
    };
    Ok(simulate(&setting.orders(), setting.chunks, seconds).unwrap_or_default())
}

/// The bubble of a schedule in theory, with equal stages: (p − 1)/m, and with interleaving divided by the stages of a rank.
pub fn bubble_in_theory(setting: &Setting) -> f64 {
    let chunks = match setting.schedule {
        Schedule::Interleaved => setting.chunks,
        _ => 1,
    };
    super::bubble(setting.mesh.pipeline, setting.micro_batches) / chunks as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Network, measured_bubble};

    fn wide(times: usize, pipeline: usize) -> Setting {
        Setting {
            network: Network::pointnet(times, 7),
            mesh: Mesh {
                pipeline,
                ..Mesh::ONE
            },
            schedule: Schedule::OneFOneB,
            chunks: 1,
            micro_batches: 4,
            clouds: 4,
            points: 64,
            seed: 1,
        }
    }

    #[test]
    fn two_ranks_fit_where_one_does_not() {
        let setting = wide(2, 1);
        let (_, bytes) = fullest_rank(&setting).unwrap();
        let fits = meshes_that_fit(&setting, bytes.total() - 1);
        assert!(
            !fits.is_empty() && fits.iter().all(|(mesh, _)| mesh.ranks() == 2),
            "{fits:?}"
        );
        assert_eq!(meshes_that_fit(&setting, bytes.total())[0].0, Mesh::ONE);
        assert!(meshes_that_fit(&setting, 1000).is_empty());
    }

    #[test]
    fn a_forecast_of_one_rank_takes_one_step() {
        let end = |times: &Times| times.iter().flatten().map(|t| t.1).fold(0.0, f64::max);
        assert!((end(&forecast(&wide(1, 1)).unwrap()) - 1.0).abs() < 1e-12);
        let two = forecast(&wide(1, 2)).unwrap();
        assert!(end(&two) > 0.5 && end(&two) < 1.0);
        // Unequal stages have a larger bubble than equal ones.
        assert!(measured_bubble(&two) > bubble_in_theory(&wide(1, 2)));
    }
}
