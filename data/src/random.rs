//! Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
//!
//! A draw is a function of (seed, stream, counter) alone, so it is the same on every machine, in every
//! thread order, on CPU and GPU.

/// What the random numbers of a run are drawn for.
///
/// Each purpose has a Philox key of its own, derived from the run's seed as `jax.random.fold_in` derives one. So two
/// purposes never read the same numbers under one seed, whatever streams they number. The trees of the built-in forest
/// belong to no run: `builtin` draws them from the forest's seed itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The random starts of the search for a split. Stream: the start.
    Split = 1,
    /// The order in which an epoch visits the records. Stream: the epoch.
    EpochOrder = 2,
    /// The points drawn of a cloud each time it is loaded. Stream: epoch and record.
    Sample = 4,
    /// Augmentation of a training cloud. Stream: epoch and record.
    Augment = 5,
    /// The points that a cloud is thinned to once. Stream: the method.
    Thin = 6,
    /// Initial weights. Stream: a hash of the tensor's name.
    Init = 7,
    /// Dropout masks. Stream: step and layer.
    Dropout = 8,
    /// Random directions in the space of weights. Stream: the tensor.
    Direction = 9,
    /// The part of a cloud that is visible. Stream: the record.
    View = 10,
}

/// The stream that keys are derived from; nothing else draws from it.
const KEYS: u64 = u64::MAX;

impl Purpose {
    /// The Philox key of this purpose in a run with `seed`.
    pub fn key(self, seed: u64) -> u64 {
        key(self as u64, seed)
    }

    /// The stream numbered `stream` of this purpose in a run with `seed`.
    pub fn stream(self, seed: u64, stream: u64) -> Philox {
        Philox::new(self.key(seed), stream)
    }
}

fn key(purpose: u64, seed: u64) -> u64 {
    let [low, high, ..] = Philox::at(seed, KEYS, purpose);
    u64::from(low) | u64::from(high) << 32
}

/// A stream of random numbers. Streams with another `seed` or `stream` are independent.
#[derive(Clone, Debug)]
pub struct Philox {
    key: [u32; 2],
    stream: u64,
    counter: u64,
    block: [u32; 4],
    used: usize,
}

impl Philox {
    /// The stream numbered `stream` of `seed`, at its start.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            key: split(seed),
            stream,
            counter: 0,
            block: [0; 4],
            used: 4,
        }
    }

    /// The four numbers at (`counter`, `stream`) under `seed`: the generator itself, without state.
    pub fn at(seed: u64, stream: u64, counter: u64) -> [u32; 4] {
        let ([c0, c1], [c2, c3]) = (split(counter), split(stream));
        rounds([c0, c1, c2, c3], split(seed))
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            let ([c0, c1], [c2, c3]) = (split(self.counter), split(self.stream));
            self.block = rounds([c0, c1, c2, c3], self.key);
            self.counter += 1;
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) | u64::from(self.next_u32()) << 32
    }

    /// Uniform in [0, 1), a multiple of 2⁻²⁴.
    pub fn uniform(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in [low, high).
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform_f64()
    }

    /// Uniform in 0..n, without bias (Lemire 2019).
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "below(0): there is no number under 0");
        let n = n as u64;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Standard normal (Box and Muller), the same on every machine: `libm`, not the system's library.
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.uniform_f64();
        let v = self.uniform_f64();
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(std::f64::consts::TAU * v)
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

fn split(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn rounds(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(c[0]) * 0xD251_1F53;
        let b = u64::from(c[2]) * 0xCD9E_8D57;
        c = [
            (b >> 32) as u32 ^ c[1] ^ k[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ k[1],
            a as u32,
        ];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn philox_gives_the_published_vectors() {
        // Random123's known-answer tests for philox4x32-10.
        for (x, expected) in [
            (0, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            (u64::MAX, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        ] {
            assert_eq!(Philox::at(x, x, x), expected);
        }
    }

    #[test]
    fn no_two_purposes_share_a_stream() {
        let mut seen = HashSet::new();
        for seed in 0..40 {
            for stream in [0, 1, 2, 1 << 16, 1 << 32, 1 << 63, u64::MAX - 1] {
                // What a caller draws who uses the seed itself, as the built-in forest does.
                let of_seed = Philox::new(seed, stream);
                let of_purposes = (1..=20).map(|purpose| Philox::new(key(purpose, seed), stream));
                for mut random in of_purposes.chain([of_seed]) {
                    assert!(seen.insert(random.next_u64()), "seed {seed}, stream {stream}");
                }
            }
        }
    }

    #[test]
    fn draws_stay_in_their_ranges_and_a_shuffle_keeps_every_item() {
        let mut r = Philox::new(7, 1);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&r.uniform()));
            assert!(r.below(3) < 3);
            assert!(r.normal().is_finite());
        }
        let sorted: Vec<usize> = (0..100).collect();
        let mut items = sorted.clone();
        r.shuffle(&mut items);
        assert_ne!(items, sorted);
        items.sort_unstable();
        assert_eq!(items, sorted);
    }
}
