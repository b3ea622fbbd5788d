//! The folder in which generated and imported sets are kept.

use std::path::PathBuf;

/// `CANOPY_CACHE`, or a folder `canopy` in the user's cache folder.
pub fn cache_folder() -> PathBuf {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    variable("CANOPY_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|p| p.join("canopy")))
        .or_else(|| variable("LOCALAPPDATA").map(|p| p.join("canopy")))
        .or_else(|| variable("HOME").map(|p| p.join(".cache").join("canopy")))
        .unwrap_or_else(|| std::env::temp_dir().join("canopy"))
}
