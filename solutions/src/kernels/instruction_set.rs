//! Which vector instructions the operators use: the widest that the machine has, or narrower ones on request.

use std::sync::atomic::{AtomicU8, Ordering};

use pulp::{Arch, WithSimd};
#[cfg(target_arch = "x86_64")]
use pulp::{Simd, x86::V3};

/// The environment variable that chooses narrower instructions than the machine has: `base`, `avx2` or `avx512`.
pub const VARIABLE: &str = "CANOPY_INSTRUCTIONS";

/// Vector instructions; each set includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum InstructionSet {
    /// What every machine of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Base = 1,
    /// AVX2 and fused multiply-add: x86-64-v3.
    Avx2 = 2,
    /// AVX-512 F, BW, CD, DQ and VL: x86-64-v4.
    Avx512 = 3,
}

/// 0 until it is known.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

impl InstructionSet {
    /// All, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Avx2, Self::Avx512];

    /// The widest that this machine has.
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let v4 = v3
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if v4 {
                return Self::Avx512;
            }
            if v3 {
                return Self::Avx2;
            }
        }
        Self::Base
    }

    /// What the operators use now.
    pub fn current() -> Self {
        match CHOSEN.load(Ordering::Relaxed) {
            0 => {
                let chosen = Self::from_environment().min(Self::widest());
                CHOSEN.store(chosen as u8, Ordering::Relaxed);
                chosen
            }
            1 => Self::Base,
            2 => Self::Avx2,
            _ => Self::Avx512,
        }
    }

    /// Uses `self` from now on, or the widest set of the machine if that is narrower; for tests and measurements. candle's
    /// own operators do not change.
    pub fn choose(self) {
        CHOSEN.store(self.min(Self::widest()) as u8, Ordering::Relaxed);
    }

    fn from_environment() -> Self {
        match std::env::var(VARIABLE).as_deref() {
            Ok("base") => Self::Base,
            Ok("avx2") => Self::Avx2,
            Ok("avx512") | Err(_) => Self::Avx512,
            Ok(other) => {
                eprintln!("{VARIABLE}: expected base, avx2 or avx512, found '{other}'; it is ignored");
                Self::Avx512
            }
        }
    }
}

/// Runs `op` with the current instruction set.
pub(super) fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    match InstructionSet::current() {
        InstructionSet::Avx512 => Arch::new().dispatch(op),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => match V3::try_new() {
            Some(avx2) => Simd::vectorize(avx2, op),
            None => Simd::vectorize(pulp::Scalar::new(), op),
        },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Base => Simd::vectorize(pulp::Scalar::new(), op),
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
