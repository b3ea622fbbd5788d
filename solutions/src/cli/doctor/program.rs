//! What this binary was built for.

use super::Line;

/// The CUDA code that this binary holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// The toolkit's version, as the driver counts: 13000 is CUDA 13.0.
    pub cuda: i32,
    /// The compute capability that candle's kernels are compiled for: 90 is 9.0. A driver compiles them again for newer
    /// cards, never for older ones.
    pub capability: i32,
}

/// None without `--features cuda`.
#[cfg(not(feature = "cuda"))]
pub fn built() -> Option<Built> {
    None
}

/// None without `--features cuda`.
#[cfg(feature = "cuda")]
pub fn built() -> Option<Built> {
    use candle_core::cuda_backend::{cudarc::driver::sys, kernels};
    Some(Built {
        cuda: sys::CUDA_VERSION as i32,
        capability: target(kernels::UNARY.ptx()).unwrap_or(0),
    })
}

/// The capability in the line `.target sm_90` of PTX.
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "tested without a toolkit as well")
)]
fn target(ptx: &str) -> Option<i32> {
    let line = ptx.lines().find_map(|l| l.trim().strip_prefix(".target sm_"))?;
    let digits: String = line.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// `13.0`, from 13000.
pub fn version(cuda: i32) -> String {
    format!("{}.{}", cuda / 1000, cuda % 1000 / 10)
}

/// `9.0`, from 90.
pub fn capability(of: i32) -> String {
    format!("{}.{}", of / 10, of % 10)
}

pub fn line(built: Option<&Built>) -> Line {
    match built {
        Some(b) => Line::ok(
            "program",
            format!(
                "canopy {}, with CUDA {} for cards of compute capability {} or higher",
                env!("CARGO_PKG_VERSION"),
                version(b.cuda),
                capability(b.capability)
            ),
        ),
        None => Line::ok(
            "program",
            format!(
                "canopy {}, for the CPU alone (built without `--features cuda`)",
                env!("CARGO_PKG_VERSION")
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_read_from_ptx() {
        let ptx = "//\n.version 9.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(target(ptx), Some(90));
        assert_eq!(target(".version 9.0\n"), None);
        assert_eq!(version(12040), "12.4");
        assert_eq!(capability(120), "12.0");
    }
}
