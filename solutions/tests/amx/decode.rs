//! The encoding of AMX instructions: three bytes of VEX, an opcode, ModRM, and SIB and a displacement for memory.

/// Addresses of rows: row i at `start + i · stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    pub start: u64,
    pub stride: u64,
}

/// An instruction with its addresses computed. Numbers are those of tiles; a product is `c += a·b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `ldtilecfg`
    Configure(u64),
    /// `sttilecfg`
    StoreConfiguration(u64),
    /// `tilerelease`
    Release,
    /// `tilezero`
    Zero(usize),
    /// `tileloadd` and `tileloaddt1`
    Load(usize, Rows),
    /// `tilestored`
    Store(usize, Rows),
    /// `tdpbf16ps`
    Bf16 { c: usize, a: usize, b: usize },
    /// `tdpbusd`
    Bytes { c: usize, a: usize, b: usize },
}

/// VEX's two bits for the prefix of an instruction.
const NONE: u8 = 0;
const X66: u8 = 1;
const F3: u8 = 2;
const F2: u8 = 3;

/// Decodes the instruction whose bytes `byte` returns, and its length; `register` returns a general register's value. Returns
/// `None` if it is not one of the instructions above, or if its address is relative to RIP.
pub fn decode(byte: impl Fn(usize) -> u8, register: impl Fn(usize) -> u64) -> Option<(Instruction, usize)> {
    // VEX of three bytes, opcode map 0F38, W0, 128 bits.
    if byte(0) != 0xc4 || byte(1) & 0x1f != 2 || byte(2) & 0x84 != 0 {
        return None;
    }
    // The bits R, X, B and vvvv are inverted. R, X and B are the highest bits of the fields below.
    let [r, x, b] = [7, 6, 5].map(|bit| usize::from(!byte(1) >> bit & 1) << 3);
    let (third, prefix) = (usize::from(!byte(2) >> 3 & 15), byte(2) & 3);
    let (opcode, modrm) = (byte(3), byte(4));
    let (mode, reg, rm) = (
        modrm >> 6,
        usize::from(modrm >> 3 & 7) | r,
        usize::from(modrm & 7),
    );
    // Tiles have the numbers 0 to 7, and vvvv is 0 if it is not used.
    if reg > 7 || third > 7 {
        return None;
    }
    if mode == 3 {
        let tiles = (reg, rm | b, third);
        let instruction = match (opcode, prefix, tiles) {
            (0x49, NONE, (0, 0, 0)) => Instruction::Release,
            (0x49, F2, (tile, 0, 0)) => Instruction::Zero(tile),
            (0x5c, F3, (c, a @ ..8, b)) => Instruction::Bf16 { c, a, b },
            (0x5e, X66, (c, a @ ..8, b)) => Instruction::Bytes { c, a, b },
            _ => return None,
        };
        return Some((instruction, 5));
    }
    if third != 0 {
        return None;
    }
    let with_sib = rm == 4;
    let sib = if with_sib { byte(5) } else { 0 };
    let base = if with_sib { usize::from(sib & 7) } else { rm };
    let at = 5 + usize::from(with_sib);
    let long = || i32::from_le_bytes([0, 1, 2, 3].map(|i| byte(at + i)));
    let (has_base, displacement, length) = match mode {
        0 if base == 5 && !with_sib => return None,
        0 if base == 5 => (false, long(), at + 4),
        0 => (true, 0, at),
        1 => (true, i32::from(byte(at) as i8), at + 1),
        _ => (true, long(), at + 4),
    };
    let start = if has_base { register(base | b) } else { 0 };
    let start = start.wrapping_add_signed(displacement.into());
    // Index 4 is none.
    let index = usize::from(sib >> 3 & 7) | x;
    let scaled = if with_sib && index != 4 {
        register(index) << (sib >> 6)
    } else {
        0
    };
    let rows = Rows {
        start,
        stride: scaled,
    };
    let instruction = match (opcode, prefix) {
        (0x49, NONE) if reg == 0 => Instruction::Configure(start.wrapping_add(scaled)),
        (0x49, X66) if reg == 0 => Instruction::StoreConfiguration(start.wrapping_add(scaled)),
        (0x4b, X66 | F2) if with_sib => Instruction::Load(reg, rows),
        (0x4b, F3) if with_sib => Instruction::Store(reg, rows),
        _ => return None,
    };
    Some((instruction, length))
}
