//! What a run predicts, and the categories that its network sees.

use std::fmt;

use anyhow::{Context, Result};
use canopy_data::{Dataset, Inventory, TreeRecord};
use serde::{Deserialize, Serialize};

/// What the network predicts of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Its species.
    #[default]
    Species,
    /// Its height, m.
    Height,
    /// Its stem diameter at 1.3 m, m.
    Diameter,
    /// The volume of its stem, m³.
    Volume,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Target {
    /// The unit of a number; empty for the species.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Species => "",
            Self::Height | Self::Diameter => "m",
            Self::Volume => "m³",
        }
    }

    /// The true value of each record; `None` if the target is the species.
    ///
    /// # Errors
    /// Names the first record without an inventory.
    pub fn values(self, data: &Dataset) -> Result<Option<Vec<f64>>> {
        if self == Self::Species {
            return Ok(None);
        }
        let value = |record: &TreeRecord| Ok(self.value(known(record)?));
        data.records.iter().map(value).collect()
    }

    /// The value of a tree with this inventory; `None` if the target is the species.
    pub fn value(self, inventory: &Inventory) -> Option<f64> {
        match self {
            Self::Species => None,
            Self::Height => Some(inventory.height.into()),
            Self::Diameter => Some(inventory.diameter.into()),
            Self::Volume => Some(inventory.volume.into()),
        }
    }
}

/// A category of a cloud, known apart from its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// How it was scanned.
    Scan,
    /// The quality of its site.
    Site,
    /// The season of the scan.
    Season,
}

impl Category {
    /// The number of values.
    pub(super) fn count(self) -> u32 {
        match self {
            Self::Scan => 4,
            Self::Site => 3,
            Self::Season => 2,
        }
    }

    /// The value as a number, which trained embeddings depend on: the place in the declaration.
    pub(super) fn id(self, record: &TreeRecord) -> Result<u32> {
        Ok(match self {
            Self::Scan => record.scan as u32,
            Self::Site => known(record)?.site as u32,
            Self::Season => known(record)?.season as u32,
        })
    }
}

/// The number of combinations of `categories`: rows of the embedding; 0 without categories.
pub fn count(categories: &[Category]) -> usize {
    match categories {
        [] => 0,
        some => some.iter().map(|c| c.count() as usize).product(),
    }
}

fn known(record: &TreeRecord) -> Result<&Inventory> {
    record.inventory.as_ref().with_context(|| {
        format!(
            "tree {} ({}) has no inventory, so its height, diameter, volume, site and season are unknown: expected them \
             for every tree. The data set `builtin` has them, and folders of shards whose dataset.json has an \
             `inventory` for each record",
            record.tree, record.source
        )
    })
}
