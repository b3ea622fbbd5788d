//! The tiles of one thread, and what each instruction does with them.

use super::decode::{Instruction, Rows};

/// A value of `T` at an address that need not be aligned.
fn at<T>(address: u64) -> *mut T {
    address as *mut T
}

type Tile = [[u32; 16]; 16];

/// Eight tiles in palette 1: at most 16 rows of 64 bytes.
pub struct Tiles {
    configured: bool,
    rows: [usize; 8],
    /// Bytes of a row.
    row_bytes: [usize; 8],
    tiles: [Tile; 8],
}

type Refused = &'static str;

/// An error unless a condition holds.
fn check(holds: bool, refused: Refused) -> Result<(), Refused> {
    if holds { Ok(()) } else { Err(refused) }
}

impl Tiles {
    /// Not configured.
    pub const NONE: Self = Self {
        configured: false,
        rows: [0; 8],
        row_bytes: [0; 8],
        tiles: [[[0; 16]; 16]; 8],
    };

    /// Executes an instruction. Rows and values beyond the shape of a tile that it writes become 0.
    ///
    /// # Errors
    /// Returns why a CPU would refuse the instruction. It has no effect then.
    ///
    /// # Safety
    /// The addresses that the instruction reads or writes are valid.
    pub unsafe fn execute(&mut self, instruction: Instruction) -> Result<(), Refused> {
        match instruction {
            // SAFETY: the caller's: 64 bytes.
            Instruction::Configure(from) => {
                self.configure(unsafe { at::<[u8; 64]>(from).read_unaligned() })?
            }
            // SAFETY: as above.
            Instruction::StoreConfiguration(to) => unsafe {
                at::<[u8; 64]>(to).write_unaligned(self.configuration())
            },
            Instruction::Release => *self = Self::NONE,
            Instruction::Zero(tile) => {
                self.shape(tile)?;
                self.tiles[tile] = [[0; 16]; 16];
            }
            Instruction::Load(tile, from) => {
                let (rows, values) = self.shape(tile)?;
                self.tiles[tile] = [[0; 16]; 16];
                let rows = self.tiles[tile].iter_mut().take(rows).zip(addresses(from));
                for (row, from) in rows {
                    for (i, value) in row[..values].iter_mut().enumerate() {
                        // SAFETY: the caller's: so many values of each row.
                        *value = unsafe { at::<u32>(from).add(i).read_unaligned() };
                    }
                }
            }
            Instruction::Store(tile, to) => {
                let (rows, values) = self.shape(tile)?;
                for (row, to) in self.tiles[tile].iter().take(rows).zip(addresses(to)) {
                    for (i, value) in row[..values].iter().enumerate() {
                        // SAFETY: as above.
                        unsafe { at::<u32>(to).add(i).write_unaligned(*value) };
                    }
                }
            }
            Instruction::Bf16 { c, a, b } => self.product(c, a, b, bf16_row)?,
            Instruction::Bytes { c, a, b } => self.product(c, a, b, bytes_row)?,
        }
        Ok(())
    }

    fn configure(&mut self, from: [u8; 64]) -> Result<(), Refused> {
        let mut new = Self::NONE;
        if from[0] != 0 {
            check(from[0] == 1, "ldtilecfg: the palette is neither 0 nor 1")?;
            check(from[1] == 0, "ldtilecfg: a start row, which is not emulated")?;
            let reserved = [&from[2..16], &from[32..48], &from[56..]];
            check(
                reserved.iter().all(|part| part.iter().all(|v| *v == 0)),
                "ldtilecfg: a reserved byte is not 0",
            )?;
            new.configured = true;
            for tile in 0..8 {
                let bytes = usize::from(u16::from_le_bytes([from[16 + 2 * tile], from[17 + 2 * tile]]));
                let rows = usize::from(from[48 + tile]);
                check(bytes <= 64, "ldtilecfg: a row has more than 64 bytes")?;
                check(rows <= 16, "ldtilecfg: a tile has more than 16 rows")?;
                check(
                    (bytes == 0) == (rows == 0),
                    "ldtilecfg: a tile has rows and no bytes, or bytes and no rows",
                )?;
                (new.row_bytes[tile], new.rows[tile]) = (bytes, rows);
            }
        }
        *self = new;
        Ok(())
    }

    fn configuration(&self) -> [u8; 64] {
        let mut to = [0; 64];
        to[0] = self.configured.into();
        for tile in 0..8 {
            to[16 + 2 * tile] = self.row_bytes[tile] as u8;
            to[48 + tile] = self.rows[tile] as u8;
        }
        to
    }

    /// Rows of a tile, and 32-bit values in each of them.
    fn shape(&self, tile: usize) -> Result<(usize, usize), Refused> {
        check(self.configured, "the tiles are not configured")?;
        check(self.rows[tile] > 0, "the tile is not configured")?;
        check(
            self.row_bytes[tile].is_multiple_of(4),
            "the bytes of a tile's row are no multiple of 4",
        )?;
        Ok((self.rows[tile], self.row_bytes[tile] / 4))
    }

    /// `c += a·b`, each row of c by `of_row` from the same row of a and from b.
    fn product(
        &mut self,
        c: usize,
        a: usize,
        b: usize,
        of_row: fn(&mut [u32], &[u32], &[[u32; 16]]),
    ) -> Result<(), Refused> {
        let ((m, n), (rows, k), (depth, columns)) = (self.shape(c)?, self.shape(a)?, self.shape(b)?);
        check(c != a && c != b && a != b, "a product of a tile with itself")?;
        check(
            (m, n, k) == (rows, columns, depth),
            "the shapes of a product's tiles do not match",
        )?;
        for i in 0..16 {
            let mut row = [0; 16];
            if i < m {
                row[..n].copy_from_slice(&self.tiles[c][i][..n]);
                of_row(&mut row[..n], &self.tiles[a][i][..k], &self.tiles[b][..k]);
            }
            self.tiles[c][i] = row;
        }
        Ok(())
    }
}

fn addresses(rows: Rows) -> impl Iterator<Item = u64> {
    (0..).map(move |i: u64| rows.start.wrapping_add(rows.stride.wrapping_mul(i)))
}

/// Takes a subnormal number as 0.
fn flushed(v: f32) -> f32 {
    if v.is_subnormal() { 0.0_f32.copysign(v) } else { v }
}

/// The first numbers of all pairs, the second ones, then both sums together, and their sum with c.
fn bf16_row(c: &mut [u32], a: &[u32], b: &[[u32; 16]]) {
    for (n, c) in c.iter_mut().enumerate() {
        let mut sums = [0.0_f32; 2];
        for (a, b) in a.iter().zip(b) {
            let halves =
                |pair: u32| [pair << 16, pair & 0xffff_0000].map(|bits| flushed(f32::from_bits(bits)));
            for ((sum, a), b) in sums.iter_mut().zip(halves(*a)).zip(halves(b[n])) {
                *sum = flushed(a.mul_add(b, *sum));
            }
        }
        let product = flushed(sums[0] + sums[1]);
        *c = flushed(flushed(f32::from_bits(*c)) + product).to_bits();
    }
}

/// Four unsigned bytes of a by four signed ones of b, added without saturation.
fn bytes_row(c: &mut [u32], a: &[u32], b: &[[u32; 16]]) {
    for (n, c) in c.iter_mut().enumerate() {
        for (a, b) in a.iter().zip(b) {
            for (a, b) in a.to_le_bytes().into_iter().zip(b[n].to_le_bytes()) {
                *c = c.wrapping_add_signed(i32::from(a) * i32::from(b as i8));
            }
        }
    }
}
