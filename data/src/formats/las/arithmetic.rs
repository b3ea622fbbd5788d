//! The arithmetic coder of LASzip, the side that decodes: adaptive models of symbols, bits, and integers.
//!
//! Said, "Introduction to Arithmetic Coding: Theory and Practice", HP Labs HPL-2004-76, 2004, with 32-bit intervals;
//! LASzip, Isenburg 2013. Written for speed: bytes are taken in without a branch, and the symbol is found by
//! comparing eight bounds at once, where a search by halves would guess wrong at every step.

use anyhow::{Result, ensure};

/// Bits of a probability.
const BITS: u32 = 15;
/// Bounds that are compared at once.
const WIDE: usize = 8;

/// Symbols of one layer being decoded.
pub struct Decoder<'a> {
    /// From the layer's first byte on; bytes after its end may follow.
    data: &'a [u8],
    end: usize,
    at: usize,
    value: u32,
    length: u32,
}

impl<'a> Decoder<'a> {
    /// Begins with a layer: the first `end` bytes of `data`.
    pub fn new(data: &'a [u8], end: usize) -> Self {
        let mut d = Self {
            data,
            end,
            at: 0,
            value: 0,
            length: u32::MAX,
        };
        d.value = d.peek();
        d.at = 4;
        d
    }

    /// Holds that no more was taken than there is.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.at <= self.end,
            "a layer of {} bytes ends before its points do: the compressed data are damaged or truncated",
            self.end
        );
        Ok(())
    }

    /// The next four bytes, zeros after the end.
    #[inline(always)]
    fn peek(&self) -> u32 {
        match self.data[self.at.min(self.data.len())..].first_chunk() {
            Some(&bytes) => u32::from_be_bytes(bytes),
            None => self.peek_at_end(),
        }
    }

    #[cold]
    fn peek_at_end(&self) -> u32 {
        let byte = |i| self.data.get(self.at + i).copied().unwrap_or(0);
        u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
    }

    /// Narrows the interval to `length` from `low` on, and takes in bytes until it has 24 bits again.
    #[inline(always)]
    fn narrow(&mut self, low: u32, length: u32) {
        let value = self.value.wrapping_sub(low);
        // At most 24: no interval is shorter than 32.
        let shift = length.leading_zeros() & 24;
        let next = u64::from(self.peek()) << shift >> 32;
        self.value = value << shift | next as u32;
        self.length = length << shift;
        self.at += (shift / 8) as usize;
    }

    /// A symbol of `model`.
    #[inline(always)]
    pub fn symbol(&mut self, model: &mut Model) -> u32 {
        let unit = self.length >> BITS;
        // Only damaged data lead beyond the last bound.
        let place = (self.value / unit).min((1 << BITS) - 1) as i32;
        let mut symbol = usize::from(model.starts[place as usize >> model.shift]);
        loop {
            let bounds = &model.bounds[symbol + 1..symbol + 1 + WIDE];
            let passed: i32 = bounds.iter().map(|&b| i32::from(b <= place)).sum();
            symbol += passed as usize;
            if passed < WIDE as i32 {
                break;
            }
        }
        let low = model.bounds[symbol] as u32 * unit;
        let high = if symbol + 1 == model.counts.len() {
            self.length
        } else {
            model.bounds[symbol + 1] as u32 * unit
        };
        self.narrow(low, high - low);
        model.counts[symbol] += 1;
        model.left -= 1;
        if model.left == 0 {
            model.update();
        }
        symbol as u32
    }

    #[inline(always)]
    fn bit(&mut self, model: &mut BitModel) -> u32 {
        let split = model.zero * (self.length >> 13);
        let one = self.value >= split;
        if one {
            self.narrow(split, self.length - split);
        } else {
            self.narrow(0, split);
            model.zeros += 1;
        }
        model.left -= 1;
        if model.left == 0 {
            model.update();
        }
        u32::from(one)
    }

    /// `n` bits, 1 to 32, without a model.
    #[inline(always)]
    fn bits(&mut self, n: u32) -> u32 {
        if n <= 19 {
            return self.few_bits(n);
        }
        let low = self.few_bits(16);
        self.few_bits(n - 16) << 16 | low
    }

    #[inline(always)]
    fn few_bits(&mut self, n: u32) -> u32 {
        let length = self.length >> n;
        let bits = self.value / length;
        self.narrow(bits.wrapping_mul(length), length);
        bits
    }
}

/// How often each symbol came, and the bounds that follow from it.
pub struct Model {
    /// Lower bound of each symbol, of 2^15; then bounds that none reaches.
    bounds: Vec<i32>,
    counts: Vec<u32>,
    /// The symbol at which to begin to look, by the upper bits of the place.
    starts: Vec<u16>,
    shift: u32,
    total: u32,
    cycle: u32,
    left: u32,
}

impl Model {
    /// `symbols` symbols, all as likely.
    pub fn new(symbols: usize) -> Self {
        // As fine that about four symbols fall to each start.
        let bits = if symbols > 16 {
            symbols.next_power_of_two().trailing_zeros().max(5) - 2
        } else {
            0
        };
        let mut model = Self {
            bounds: vec![i32::MAX; symbols + WIDE + 1],
            counts: vec![1; symbols],
            starts: vec![0; 1 << bits],
            shift: BITS - bits,
            total: 0,
            cycle: symbols as u32,
            left: 0,
        };
        model.update();
        model.cycle = (symbols as u32 + 6) >> 1;
        model.left = model.cycle;
        model
    }

    #[inline(never)]
    fn update(&mut self) {
        self.total += self.cycle;
        if self.total > 1 << BITS {
            for count in &mut self.counts {
                *count = (*count + 1) >> 1;
            }
            self.total = self.counts.iter().sum();
        }
        let scale = (1 << 31) / self.total;
        let (mut sum, mut start) = (0, 0);
        for (i, count) in self.counts.iter().enumerate() {
            let bound = (scale * sum) >> (31 - BITS);
            self.bounds[i] = bound as i32;
            sum += count;
            // Places up to this bound's begin at the symbol before.
            let last = (bound >> self.shift) as usize;
            while start <= last && i > 0 {
                self.starts[start] = i as u16 - 1;
                start += 1;
            }
        }
        let last = self.counts.len() as u16 - 1;
        self.starts[start..].fill(last);
        self.cycle = ((5 * self.cycle) >> 2).min((self.counts.len() as u32 + 6) << 3);
        self.left = self.cycle;
    }
}

/// How often a bit was 0.
struct BitModel {
    zero: u32,
    zeros: u32,
    total: u32,
    cycle: u32,
    left: u32,
}

impl BitModel {
    fn new() -> Self {
        Self {
            zero: 1 << 12,
            zeros: 1,
            total: 2,
            cycle: 4,
            left: 4,
        }
    }

    fn update(&mut self) {
        self.total += self.cycle;
        if self.total > 1 << 13 {
            self.total = (self.total + 1) >> 1;
            self.zeros = (self.zeros + 1) >> 1;
            if self.zeros == self.total {
                self.total += 1;
            }
        }
        self.zero = (self.zeros * ((1 << 31) / self.total)) >> 18;
        self.cycle = ((5 * self.cycle) >> 2).min(64);
        self.left = self.cycle;
    }
}

/// Integers near a prediction: the length of the difference in bits, by context, then the difference.
pub struct Integer {
    /// Bits that the last difference took.
    pub taken: u32,
    range: i32,
    lengths: Vec<Model>,
    zero: BitModel,
    /// By length; made when first used, as few of them are.
    differences: [Option<Box<Model>>; 31],
}

impl Integer {
    /// Integers of `bits` bits, 16 or 32.
    pub fn new(bits: u32, contexts: usize) -> Self {
        Self {
            taken: 0,
            range: if bits < 32 { 1 << bits } else { 0 },
            lengths: (0..contexts).map(|_| Model::new(bits as usize + 1)).collect(),
            zero: BitModel::new(),
            differences: [const { None }; 31],
        }
    }

    /// The next integer, near `prediction`.
    #[inline(always)]
    pub fn decode(&mut self, from: &mut Decoder, prediction: i32, context: usize) -> i32 {
        let k = from.symbol(&mut self.lengths[context]);
        self.taken = k;
        let difference = match k {
            0 => from.bit(&mut self.zero) as i32,
            1..32 => {
                // The upper eight bits have a model, the rest has none.
                let upper = k.min(8);
                let model =
                    self.differences[k as usize - 1].get_or_insert_with(|| Box::new(Model::new(1 << upper)));
                let mut d = from.symbol(model);
                if k > upper {
                    d = d << (k - upper) | from.bits(k - upper);
                }
                // From −(2^k − 1) to −2^(k−1), and from 2^(k−1) + 1 to 2^k.
                let least = ((1u32 << k) - 1) as i32;
                let positive = d >= 1 << (k - 1);
                // The sign cannot be guessed: no branch.
                (d as i32).wrapping_add(std::hint::select_unpredictable(positive, 1, -least))
            }
            _ => i32::MIN,
        };
        let real = prediction.wrapping_add(difference);
        if real < 0 {
            real.wrapping_add(self.range)
        } else if real >= self.range {
            real - self.range
        } else {
            real
        }
    }
}
