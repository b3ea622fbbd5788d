//! Ways to break a file.

use canopy_data::Philox;

/// Lengths to cut a file of `len` bytes to: some of a header's, and some behind it.
pub fn cuts(len: usize) -> impl Iterator<Item = usize> {
    let header = 500.min(len);
    (0..header).step_by(3).chain((header..len).step_by(1 + len / 100))
}

const EXTREMES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

const TOKENS: [&[u8]; 12] = [
    b"nan",
    b"inf",
    b"1e999",
    b"-",
    b"99999999999999999999",
    b"#",
    b"//",
    b";",
    b",",
    b"\n",
    b"element vertex 4000000000\n",
    b"property list uint double q\n",
];

/// `bytes` with one to four changes.
pub fn mutate(bytes: &[u8], other: &[u8], random: &mut Philox) -> Vec<u8> {
    let mut b = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        if b.is_empty() {
            break;
        }
        // Half of the changes fall on the header.
        let reach = if random.below(2) == 0 {
            b.len().min(600)
        } else {
            b.len()
        };
        let at = random.below(reach);
        match random.below(9) {
            0 => b[at] ^= 1 << random.below(8),
            1 => b[at] = random.next_u32() as u8,
            2 | 3 => {
                let value = EXTREMES[random.below(EXTREMES.len())].to_le_bytes();
                let n = [1, 2, 4, 8][random.below(4)].min(b.len() - at);
                b[at..at + n].copy_from_slice(&value[..n]);
            }
            4 => {
                let n = [2, 4, 8][random.below(3)].min(b.len() - at);
                let mut value = [0; 8];
                value[..n].copy_from_slice(&b[at..at + n]);
                let near = u64::from_le_bytes(value)
                    .wrapping_add(random.below(33) as u64)
                    .wrapping_sub(16);
                b[at..at + n].copy_from_slice(&near.to_le_bytes()[..n]);
            }
            5 => b.truncate(at),
            6 => {
                let n = random.below(64).min(b.len() - at);
                if random.below(2) == 0 {
                    b.drain(at..at + n);
                } else {
                    let again = b[at..at + n].to_vec();
                    b.splice(at..at, again);
                }
            }
            7 => {
                let token = TOKENS[random.below(TOKENS.len())];
                b.splice(at..at, token.iter().copied());
            }
            _ if !other.is_empty() => {
                let from = random.below(other.len());
                let n = random.below(128).min(other.len() - from).min(b.len() - at);
                b[at..at + n].copy_from_slice(&other[from..from + n]);
            }
            _ => {}
        }
    }
    b
}
