//! What one rank has of a split model.

use anyhow::Result;

use super::{Groups, Setting, Share, layer::Layer};
use crate::parallel::Collective;

/// One rank's layers, its rows and its groups.
pub struct Own {
    /// What all ranks train together.
    pub setting: Setting,
    /// Which part is this rank's.
    pub share: Share,
    /// The ranks with the other parts.
    pub groups: Groups,
    /// The layers of each of this rank's stages.
    pub chunks: Vec<Vec<Layer>>,
}

impl Own {
    /// Creates what belongs to the rank `whole`.
    ///
    /// # Errors
    /// Returns an error if the setting does not fit together or to the number of ranks.
    pub fn new(setting: &Setting, whole: Box<dyn Collective>) -> Result<Self> {
        setting.validate()?;
        let share = setting.share(whole.rank())?;
        let groups = Groups::new(&setting.mesh, whole)?;
        let layer = |shape| Layer::new(shape, &setting.mesh, share.position, setting.seed);
        let stages = share.stages.iter().skip(share.position.pipeline);
        let chunks = stages
            .step_by(setting.mesh.pipeline)
            .map(|stage| stage.iter().copied().map(layer).collect())
            .collect::<Result<_>>()?;
        Ok(Self {
            setting: setting.clone(),
            share,
            groups,
            chunks,
        })
    }

    /// The layers, in the order of the stages.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.chunks.iter().flatten()
    }
}
