//! Which implementation of the filter runs.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::kernels::InstructionSet;

/// How the filter computes its products of 8-bit operands. All give the same integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Filter {
    /// No filter: every product is computed in f32.
    Off = 1,
    /// Without special instructions, on any machine. Slower than no filter; the specification of the others.
    Portable = 2,
    /// `vpdpbusd` of AVX512-VNNI: four products of 8 bits in each of 16 lanes.
    Vnni = 3,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Portable => "portable",
            Self::Vnni => "AVX512-VNNI",
        })
    }
}

/// 0 until something is chosen.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Filter {
    /// All, the slowest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Portable, Self::Vnni];

    /// The fastest that this machine has.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if InstructionSet::widest() == InstructionSet::Avx512
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("popcnt")
        {
            return Self::Vnni;
        }
        Self::Off
    }

    /// What the operators use now. If no filter was chosen, the fastest one that belongs to the current instruction set.
    pub fn current() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            0 if InstructionSet::current() == InstructionSet::Avx512 => Self::fastest(),
            2 => Self::Portable,
            3 => Self::Vnni,
            _ => Self::Off,
        }
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        self != Self::Vnni || Self::fastest() == Self::Vnni
    }

    /// Uses `self` from now on, in the whole process; without a filter if the machine does not have the instructions.
    pub fn choose(self) {
        let chosen = if self.is_available() { self } else { Self::Off };
        CHOSEN.store(chosen as u8, Ordering::Relaxed);
    }
}
