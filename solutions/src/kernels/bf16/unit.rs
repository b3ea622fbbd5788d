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
}

impl fmt::Display for Bf16Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Portable => "portable",
            Self::Avx512 => "AVX512-BF16",
        })
    }
}

/// 0 until something is chosen.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Bf16Unit {
    /// All, the slowest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Portable, Self::Avx512];

    /// The fastest that this machine has. A CPU without one emulates bf16 by rounding: `Off`.
    pub fn fastest() -> Self {
        if Self::Avx512.is_available() {
            Self::Avx512
        } else {
            Self::Off
        }
    }

    /// What a new low-precision pass uses. If nothing was chosen, the fastest unit that belongs to the current instruction
    /// set.
    pub fn current() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            0 if InstructionSet::current() == InstructionSet::Avx512 => Self::fastest(),
            2 => Self::Portable,
            3 => Self::Avx512,
            _ => Self::Off,
        }
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Off | Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                InstructionSet::widest() == InstructionSet::Avx512 && is_x86_feature_detected!("avx512bf16")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 => false,
        }
    }

    /// Uses `self` from now on, in the whole process; no unit if the machine does not have the instructions.
    pub fn choose(self) {
        let chosen = if self.is_available() { self } else { Self::Off };
        CHOSEN.store(chosen as u8, Ordering::Relaxed);
    }
}
