//! STPCTLS (Seidel et al. 2021, doi 10.25625/FOHUJM): 691 trees by terrestrial laser scanner, seven folders.

use std::path::Path;

use anyhow::{Context, Result};

use super::{folder, plan::Plan};
use crate::Scan;

/// The folders' German names and ours.
pub const SPECIES: [(&str, &str); 7] = [
    ("Buche", "European beech"),
    ("Douglasie", "Douglas fir"),
    ("Eiche", "oak"),
    ("Esche", "ash"),
    ("Fichte", "Norway spruce"),
    ("Kiefer", "Scots pine"),
    ("Roteiche", "red oak"),
];

/// The English name of a folder, if it is one of the seven.
pub fn english(folder: &str) -> Option<&'static str> {
    let german = folder.trim();
    SPECIES
        .iter()
        .find(|s| s.0.eq_ignore_ascii_case(german))
        .map(|s| s.1)
}

pub fn plan(root: &Path) -> Result<Plan> {
    let mut plan = folder::by_species(root, "stpctls".into(), |name| {
        english(name).map(str::to_owned).with_context(|| {
            let known = SPECIES.map(|s| s.0).join(", ");
            format!(
                "unknown label: folder '{name}' is none of {known}; import it as `folder` if it is your own"
            )
        })
    })?;
    for job in &mut plan.jobs {
        for tree in &mut job.trees {
            // The set does not name plots; folders below a species, if any, are not plots.
            tree.record.plot.clone_from(&tree.record.tree);
            tree.record.scan = Scan::Tls;
        }
    }
    plan.notes
        .push("the set names no plots: each tree is its own".into());
    Ok(plan)
}
