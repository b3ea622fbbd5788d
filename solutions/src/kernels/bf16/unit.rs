//! Which units multiply bf16 numbers.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::kernels::InstructionSet;

/// How the fused operators compute products of bf16 numbers with sums in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Bf16Unit {
    /// Not at all: their products are in f32. In a low-precision pass, operators run one at a time and are rounded.
    Off = 1,
    /// Without special instructions, on any machine. Slower than f32; the specification of the others.
    Portable = 2,
    /// `vdpbf16ps` of AVX512-BF16: two products in each of 16 lanes.
    Avx512 = 3,
    /// `tdpbf16ps` of AMX: tiles of 16 × 16 sums. Tested on emulated tiles, and never run on a CPU that has it.
    Amx = 4,
}

impl fmt::Display for Bf16Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Portable => "portable",
            Self::Avx512 => "AVX512-BF16",
            Self::Amx => "AMX",
        })
    }
}

/// 0 until something is chosen.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Bf16Unit {
    /// All, the slowest first.
    pub const ALL: [Self; 4] = [Self::Off, Self::Portable, Self::Avx512, Self::Amx];

    /// The fastest that this machine has. A CPU without one emulates bf16 by rounding: `Off`.
    pub fn fastest() -> Self {
        let mut units = [Self::Amx, Self::Avx512].into_iter();
        units.find(|unit| unit.is_available()).unwrap_or(Self::Off)
    }

    /// What a new low-precision pass uses. If nothing was chosen, the fastest unit that belongs to the current instruction
    /// set.
    pub fn current() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            0 if InstructionSet::current() == InstructionSet::Avx512 => Self::fastest(),
            2 => Self::Portable,
            3 => Self::Avx512,
            4 => Self::Amx,
            _ => Self::Off,
        }
    }

    /// Whether this machine has the instructions, and the system lets this process use them.
    pub fn is_available(self) -> bool {
        match self {
            Self::Off | Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                InstructionSet::widest() == InstructionSet::Avx512 && is_x86_feature_detected!("avx512bf16")
            }
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx => super::amx::is_available(),
            #[allow(unreachable_patterns, reason = "every unit is named on Linux on x86-64")]
            _ => false,
        }
    }

    /// The unit whose instructions make pairs for `self`: AMX has none of its own.
    pub(super) fn for_pairs(self) -> Self {
        match self {
            Self::Amx if Self::Avx512.is_available() => Self::Avx512,
            Self::Amx => Self::Portable,
            unit => unit,
        }
    }

    /// Uses `self` from now on, in the whole process; no unit if the machine does not have the instructions.
    pub fn choose(self) {
        let chosen = if self.is_available() { self } else { Self::Off };
        CHOSEN.store(chosen as u8, Ordering::Relaxed);
    }
}
