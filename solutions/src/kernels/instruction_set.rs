//! Which instructions the operators use: the vectors, and the unit for products of 8 bits. The fastest that the machine has,
//! or others on request. A choice applies to the whole process.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use pulp::{Arch, WithSimd};
#[cfg(target_arch = "x86_64")]
use pulp::{
    Simd,
    x86::{V2, V3, V4},
};

/// The environment variable that chooses narrower instructions than the machine has: `base`, `avx2` or `avx512`.
pub const VARIABLE: &str = "CANOPY_INSTRUCTIONS";

/// Vector instructions; each set includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum InstructionSet {
    /// What every machine of the architecture has: NEON on aarch64; on x86-64 SSE2, or SSE4.2 if the machine has it, whose results
    /// are bit-identical.
    Base = 1,
    /// AVX2 and fused multiply-add: x86-64-v3.
    Avx2 = 2,
    /// AVX-512 F, BW, CD, DQ and VL: x86-64-v4.
    Avx512 = 3,
}

/// How the filter of the widest layer computes its products of 8-bit operands. All give the same integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Filter {
    /// No filter: every product is computed in f32.
    Off = 1,
    /// Without special instructions, on any machine. Slower than no filter; the specification of the other.
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
static SET: AtomicU8 = AtomicU8::new(0);
static FILTER: AtomicU8 = AtomicU8::new(0);

/// The one of `all` that was chosen.
fn chosen<T: Copy>(choice: &AtomicU8, all: &[T]) -> Option<T> {
    let number = usize::from(choice.load(Ordering::Relaxed));
    all.get(number.checked_sub(1)?).copied()
}

impl InstructionSet {
    /// All, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Avx2, Self::Avx512];

    /// The widest that this machine has.
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if V4::is_available() {
            return Self::Avx512;
        } else if V3::is_available() {
            return Self::Avx2;
        }
        Self::Base
    }

    /// What the operators use now.
    pub fn current() -> Self {
        chosen(&SET, &Self::ALL).unwrap_or_else(|| {
            let set = Self::from_environment().min(Self::widest());
            set.choose();
            set
        })
    }

    /// Uses `self` from now on, or the widest set of the machine if that is narrower; for tests and measurements. candle's
    /// own operators do not change.
    pub fn choose(self) {
        SET.store(self.min(Self::widest()) as u8, Ordering::Relaxed);
    }

    fn from_environment() -> Self {
        match std::env::var(VARIABLE).as_deref() {
            Ok("base") => Self::Base,
            Ok("avx2") => Self::Avx2,
            Ok("avx512") | Err(_) => Self::Avx512,
            Ok(other) => {
                note!("{VARIABLE}: expected base, avx2 or avx512, found '{other}'; it is ignored");
                Self::Avx512
            }
        }
    }
}

impl Filter {
    /// All, the slowest first.
    pub const ALL: [Self; 4] = [Self::Off, Self::Portable, Self::AvxVnni, Self::Vnni];

    /// What the operators use now. If no filter was chosen, the fastest one that belongs to the current instruction set.
    pub fn current() -> Self {
        chosen(&FILTER, &Self::ALL).unwrap_or_else(|| match InstructionSet::current() {
            InstructionSet::Avx512 if Self::Vnni.is_available() => Self::Vnni,
            InstructionSet::Avx2 if Self::AvxVnni.is_available() => Self::AvxVnni,
            _ => Self::Off,
        })
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Off | Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => V3::is_available() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => V4::is_available() && is_x86_feature_detected!("avx512vnni"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::AvxVnni | Self::Vnni => false,
        }
    }

    /// Uses `self` from now on; without a filter if the machine does not have the instructions.
    pub fn choose(self) {
        let filter = if self.is_available() { self } else { Self::Off };
        FILTER.store(filter as u8, Ordering::Relaxed);
    }
}

/// Runs `op` with the current instruction set.
pub(super) fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    match InstructionSet::current() {
        InstructionSet::Avx512 => Arch::new().dispatch(op),
        #[cfg(target_arch = "x86_64")]
        set => {
            let avx2 = V3::try_new().filter(|_| set == InstructionSet::Avx2);
            match (avx2, V2::try_new()) {
                (Some(avx2), _) => Simd::vectorize(avx2, op),
                (None, Some(sse)) => Simd::vectorize(sse, op),
                (None, None) => Simd::vectorize(pulp::Scalar::new(), op),
            }
        }
        // Other architectures have vectors in their base set: NEON on aarch64.
        #[cfg(not(target_arch = "x86_64"))]
        _ => Arch::new().dispatch(op),
    }
}

/// As [`dispatch`], with vectors of at most 8 lanes.
pub(super) fn dispatch_narrow<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    if InstructionSet::current() == InstructionSet::Avx512
        && let Some(avx2) = V3::try_new()
    {
        return Simd::vectorize(avx2, op);
    }
    dispatch(op)
}
