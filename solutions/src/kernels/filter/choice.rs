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
    /// `vpdpbusd` with 256 bits, of AVX-VNNI: four products of 8 bits in each of 8 lanes.
    AvxVnni = 3,
    /// `vpdpbusd` with 512 bits, of AVX512-VNNI: four products of 8 bits in each of 16 lanes.
    Vnni = 4,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Portable => "portable",
            Self::AvxVnni => "AVX-VNNI",
            Self::Vnni => "AVX512-VNNI",
        })
    }
}

/// 0 until something is chosen.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl Filter {
    /// All, the slowest first.
    pub const ALL: [Self; 4] = [Self::Off, Self::Portable, Self::AvxVnni, Self::Vnni];

    /// What the operators use now. If no filter was chosen, the fastest one that belongs to the current instruction set.
    pub fn current() -> Self {
        let chosen = CHOSEN.load(Ordering::Relaxed);
        match Self::ALL.into_iter().find(|&filter| filter as u8 == chosen) {
            Some(filter) => filter,
            None => Self::of(InstructionSet::current()),
        }
    }

    /// The fastest that this machine has, of those that belong to an instruction set.
    fn of(instructions: InstructionSet) -> Self {
        let filter = match instructions {
            InstructionSet::Avx512 => Self::Vnni,
            InstructionSet::Avx2 => Self::AvxVnni,
            InstructionSet::Base => Self::Off,
        };
        if filter.is_available() { filter } else { Self::Off }
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Off | Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => {
                InstructionSet::widest() >= InstructionSet::Avx2 && is_x86_feature_detected!("avxvnni")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => {
                InstructionSet::widest() == InstructionSet::Avx512 && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::AvxVnni | Self::Vnni => false,
        }
    }

    /// Uses `self` from now on, in the whole process; without a filter if the machine does not have the instructions.
    pub fn choose(self) {
        let chosen = if self.is_available() { self } else { Self::Off };
        CHOSEN.store(chosen as u8, Ordering::Relaxed);
    }
}
