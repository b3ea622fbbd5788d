//! AMX: `tdpbf16ps` multiplies a tile of 16 × 32 bf16 numbers by one of 32 × 16 and adds the product to a tile of 16 × 16
//! f32. (Intel: *Architecture Instruction Set Extensions Programming Reference*, chapter on AMX.)
//!
//! The eight tile registers hold four tiles of c, two of a and two of b, so that every tile that is loaded takes part in two
//! products. At the lower and right edge of c, it is one tile of each.
//!
//! Of each sum, the instruction adds the first numbers of all pairs, then the second ones, then both, each time rounded to
//! the nearest f32, ties to even. It takes subnormal numbers as 0, and returns 0 instead of them. It ignores MXCSR.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

use super::tile::Product;

/// Rows of a tile, and 32-bit values in a row of it.
const TILE: usize = 16;

/// Pairs along the depth that are repacked at a time if a is a transpose: 16 KiB.
const REPACKED: usize = 128;

/// Whether this process can use the tiles. The first call asks Linux to permit them, to all threads that exist or follow.
pub fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| cpu_has_tiles() && linux_permits_tiles())
}

/// Whether the CPU has AMX-TILE and AMX-BF16, and Linux saves both parts of their state (XCR0, bits 17 and 18).
fn cpu_has_tiles() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const AMX_BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    const STATE: u64 = 1 << 17 | 1 << 18;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    // SAFETY: OSXSAVE says that `xgetbv` may be used.
    __cpuid_count(7, 0).edx & AMX_BF16_AND_TILE == AMX_BF16_AND_TILE && unsafe { _xgetbv(0) } & STATE == STATE
}

/// Linux enables the 8 KiB of a thread's tiles only on request (kernel documentation, `arch/x86/xstate.rst`).
fn linux_permits_tiles() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the request has no pointers.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

/// This thread's tiles: configured from the first [`Tiles::shape`] on, released when dropped.
struct Tiles {
    height: usize,
    pairs: usize,
}

impl Tiles {
    /// Tiles of c have `height` × 16 values, those of a `height` × `pairs`, and those of b `pairs` × 16. Their values are lost
    /// if the shape changes.
    ///
    /// # Safety
    /// The tiles are available, or the instructions are emulated.
    unsafe fn shape(&mut self, height: usize, pairs: usize) {
        if (self.height, self.pairs) == (height, pairs) {
            return;
        }
        // The palette, in bytes 16 to 31 the length of each tile's rows in bytes, 16 bits each, and from byte 48 on the rows.
        let mut to = [0_u8; 64];
        to[0] = 1;
        for tile in 0..8 {
            let (rows, values) = match tile {
                0..4 => (height, TILE),
                4 | 5 => (height, pairs),
                _ => (pairs, TILE),
            };
            (to[16 + 2 * tile], to[48 + tile]) = (4 * values as u8, rows as u8);
        }
        // SAFETY: the instruction reads 64 bytes. The palette is 1, and no tile exceeds 16 rows of 64 bytes or is empty.
        unsafe {
            asm!(
                "ldtilecfg [{}]", in(reg) &raw const to,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly, preserves_flags),
            );
        }
        (self.height, self.pairs) = (height, pairs);
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: who configured the tiles may release them. Their values are not needed anymore.
        unsafe {
            asm!(
                "tilerelease",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, nomem, preserves_flags),
            );
        }
    }
}

/// One block of c, and a's rows and b's columns that belong to it. A row of b or c begins `row` bytes after the one before.
struct Block {
    a: *const u32,
    a_row: usize,
    b: *const u32,
    c: *mut f32,
    row: usize,
    /// Tiles along the depth.
    steps: usize,
    /// c starts from what it holds, otherwise from 0.
    add: bool,
}

/// # Safety
/// The tiles are available, or their instructions are emulated. `c` has rows × columns values and `b` depth × columns pairs,
/// columns a multiple of 16; a's pair of the last row and position exists, and so do all before it.
pub unsafe fn run(p: &mut Product) {
    if p.depth == 0 && !p.add {
        p.c[..p.rows * p.columns].fill(0.0);
    }
    let mut tiles = Tiles { height: 0, pairs: 0 };
    let transposed = p.a.pair_step != 1;
    let mut repacked = if transposed {
        vec![0; 2 * TILE * REPACKED]
    } else {
        Vec::new()
    };
    let mut from = 0;
    while from < p.depth {
        // Whole tiles along the depth, and then the rest of it.
        let left = p.depth - from;
        let most = if transposed { REPACKED.min(left) } else { left };
        let (steps, pairs) = if left < TILE {
            (1, left)
        } else {
            (most / TILE, TILE)
        };
        // SAFETY: the caller's; `from + steps · pairs` is at most the depth.
        unsafe { add_depth(p, &mut tiles, &mut repacked, from, steps, pairs) };
        from += steps * pairs;
    }
}

/// Adds the products of `steps · pairs` pairs along the depth, from `from` on.
///
/// # Safety
/// As for [`run`]. `repacked` has room for 32 rows of them if a is a transpose.
unsafe fn add_depth(
    p: &mut Product,
    tiles: &mut Tiles,
    repacked: &mut [u32],
    from: usize,
    steps: usize,
    pairs: usize,
) {
    let mut row = 0;
    while row < p.rows {
        let rows = if p.rows - row < 2 * TILE {
            TILE.min(p.rows - row)
        } else {
            2 * TILE
        };
        let (a, a_row) = if p.a.pair_step == 1 {
            (&p.a.pairs[row * p.a.row_step + from..], p.a.row_step)
        } else {
            let depth = steps * pairs;
            for (i, to) in repacked.chunks_exact_mut(depth).take(rows).enumerate() {
                for (k, to) in to.iter_mut().enumerate() {
                    *to = p.a.pairs[(row + i) * p.a.row_step + (from + k) * p.a.pair_step];
                }
            }
            (&*repacked, depth)
        };
        let mut column = if p.upper { row } else { 0 };
        // SAFETY: below, blocks of a start at row `row` and end before `row + rows`, at most p.rows. They have `steps · pairs`
        // pairs from `from` on, which exist in p.a, or in `repacked`. b has as many rows from `from` on, and they and
        // those of c have `width` values from `column` on, at most p.columns. The shape is one that suits these sizes.
        unsafe {
            tiles.shape(rows.min(TILE), pairs);
            while column < p.columns {
                let width = if rows == 2 * TILE && p.columns - column >= 2 * TILE {
                    2 * TILE
                } else {
                    TILE
                };
                let mut block = Block {
                    a: a.as_ptr(),
                    a_row: 4 * a_row,
                    b: p.b.as_ptr().add(from * p.columns + column),
                    c: p.c.as_mut_ptr().add(row * p.columns + column),
                    row: 4 * p.columns,
                    steps,
                    add: p.add || from > 0,
                };
                if width == 2 * TILE {
                    four_tiles(&block);
                } else {
                    one_tile(&block);
                    if rows == 2 * TILE {
                        block.a = block.a.add(TILE * a_row);
                        block.c = block.c.add(TILE * p.columns);
                        one_tile(&block);
                    }
                }
                column += width;
            }
        }
        row += rows;
    }
}

/// # Safety
/// The tiles have their shape, of 16 rows. The block of c has 32 × 32 values; two tiles of a, one below the other, and
/// two of b side by side follow each other `steps` times along the depth, a tile of a after 64 bytes.
unsafe fn four_tiles(block: &Block) {
    // SAFETY: of each tile, only its rows are read or written, each only in its length. Nothing has to be aligned.
    unsafe {
        asm!(
            "test {add}, {add}",
            "jz 2f",
            "tileloadd tmm0, [{c} + {row}]",
            "tileloadd tmm1, [{c} + {row} + 64]",
            "tileloadd tmm2, [{lower_c} + {row}]",
            "tileloadd tmm3, [{lower_c} + {row} + 64]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "3:",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tileloadd tmm6, [{b} + {row}]",
            "tileloadd tmm7, [{b} + {row} + 64]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{lower_a} + {a_row}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 64",
            "add {lower_a}, 64",
            "add {b}, {b_step}",
            "dec {steps}",
            "jnz 3b",
            "tilestored [{c} + {row}], tmm0",
            "tilestored [{c} + {row} + 64], tmm1",
            "tilestored [{lower_c} + {row}], tmm2",
            "tilestored [{lower_c} + {row} + 64], tmm3",
            a = inout(reg) block.a => _,
            lower_a = inout(reg) block.a.byte_add(TILE * block.a_row) => _,
            a_row = in(reg) block.a_row,
            b = inout(reg) block.b => _,
            b_step = in(reg) TILE * block.row,
            c = in(reg) block.c,
            lower_c = in(reg) block.c.byte_add(TILE * block.row),
            row = in(reg) block.row,
            steps = inout(reg) block.steps => _,
            add = in(reg) usize::from(block.add),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// # Safety
/// As for [`four_tiles`], with one tile of a, b and c, of any shape.
unsafe fn one_tile(block: &Block) {
    // SAFETY: as above.
    unsafe {
        asm!(
            "test {add}, {add}",
            "jz 2f",
            "tileloadd tmm0, [{c} + {row}]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "3:",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tileloadd tmm6, [{b} + {row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "add {a}, 64",
            "add {b}, {b_step}",
            "dec {steps}",
            "jnz 3b",
            "tilestored [{c} + {row}], tmm0",
            a = inout(reg) block.a => _,
            a_row = in(reg) block.a_row,
            b = inout(reg) block.b => _,
            b_step = in(reg) TILE * block.row,
            c = in(reg) block.c,
            row = in(reg) block.row,
            steps = inout(reg) block.steps => _,
            add = in(reg) usize::from(block.add),
            out("tmm0") _, out("tmm4") _, out("tmm6") _,
            options(nostack),
        );
    }
}
