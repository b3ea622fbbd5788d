//! The emulation, or the CPU's own tiles if it has them, against plain computations.

use std::arch::{asm, global_asm};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use proptest::prelude::*;

use super::amx::decode::{Instruction, Rows, decode};
use super::amx::prepare;
use super::amx::tiles::Tiles;
use crate::kernels::Bf16Unit;

/// A configuration: the rows of tiles and the bytes of their rows.
fn configuration(tiles: &[(u8, u16)]) -> [u8; 64] {
    let mut to = [0; 64];
    to[0] = 1;
    for (i, (rows, bytes)) in tiles.iter().enumerate() {
        to[48 + i] = *rows;
        to[16 + 2 * i..][..2].copy_from_slice(&bytes.to_le_bytes());
    }
    to
}

/// Runs one product of tiles: c [m, n], a [m, k] and b [k, n], in rows of 20 values. `$product` is the instruction.
macro_rules! product {
    ($name:ident, $product:literal) => {
        fn $name([m, n, k]: [usize; 3], c: &mut [u32; 320], a: &[u32; 320], b: &[u32; 320]) {
            assert!(prepare(Bf16Unit::Amx.is_available()));
            let bytes = |values: usize| 4 * values as u16;
            let shapes = [(m, n), (m, k), (k, n)].map(|(rows, values)| (rows as u8, bytes(values)));
            let [wanted, mut found] = [configuration(&shapes), [0; 64]];
            // SAFETY: the tiles are available or emulated; 16 rows of 20 values exceed every shape.
            unsafe {
                asm!(
                    "ldtilecfg [{wanted}]",
                    "sttilecfg [{found}]",
                    "tileloadd tmm0, [{c} + {stride}]",
                    "tileloadd tmm1, [{a} + {stride}]",
                    "tileloaddt1 tmm2, [{b} + {stride}]",
                    $product,
                    "tilestored [{c} + {stride}], tmm0",
                    "tilerelease",
                    wanted = in(reg) &raw const wanted,
                    found = in(reg) &raw mut found,
                    c = in(reg) c.as_mut_ptr(), a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), stride = in(reg) 80_usize,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _,
                    options(nostack),
                );
            }
            assert_eq!(found, wanted);
        }
    };
}

product!(multiply_bf16, "tdpbf16ps tmm0, tmm1, tmm2");
product!(multiply_bytes, "tdpbusd tmm0, tmm1, tmm2");

fn bf16_pair(v: [f32; 2]) -> u32 {
    v[0].to_bits() >> 16 | v[1].to_bits() & 0xffff_0000
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn a_product_of_whole_numbers_is_exact_in_every_shape(
        sizes in proptest::array::uniform3(1_usize..=16),
        a in proptest::collection::vec(any::<[i8; 2]>(), 320),
        b in proptest::collection::vec(any::<[i8; 2]>(), 320),
        c in proptest::collection::vec(-9999_i32..9999, 320),
    ) {
        let [m, n, k] = sizes;
        let pairs = |m: &[[i8; 2]]| std::array::from_fn(|i| bf16_pair(m[i].map(f32::from)));
        let mut got = std::array::from_fn(|i| (c[i] as f32).to_bits());
        multiply_bf16(sizes, &mut got, &pairs(&a), &pairs(&b));
        for (at, got) in got.iter().enumerate() {
            let (i, j) = (at / 20, at % 20);
            let terms = (0..k).flat_map(|l| [0, 1].map(|h| (a[i * 20 + l][h], b[l * 20 + j][h])));
            let sum: i32 = terms.map(|(a, b)| i32::from(a) * i32::from(b)).sum();
            let inside = i < m && j < n;
            prop_assert_eq!(f32::from_bits(*got), (c[at] + if inside { sum } else { 0 }) as f32);
        }
    }

    #[test]
    fn a_product_of_bytes_is_exact_in_every_shape(
        sizes in proptest::array::uniform3(1_usize..=16),
        a in proptest::collection::vec(any::<u32>(), 320),
        b in proptest::collection::vec(any::<u32>(), 320),
        c in proptest::collection::vec(any::<u32>(), 320),
    ) {
        let [m, n, k] = sizes;
        let operand = |m: &[u32]| std::array::from_fn(|i| m[i]);
        let mut got = operand(&c);
        multiply_bytes(sizes, &mut got, &operand(&a), &operand(&b));
        for (at, got) in got.iter().enumerate() {
            let (i, j) = (at / 20, at % 20);
            let mut sum = i64::from(c[at] as i32);
            for (l, byte) in (0..k).flat_map(|l| (0..4).map(move |byte| (l, byte))).filter(|_| i < m && j < n) {
                let (a, b) = (a[i * 20 + l].to_le_bytes()[byte], b[l * 20 + j].to_le_bytes()[byte]);
                sum += i64::from(a) * i64::from(b as i8);
            }
            prop_assert_eq!(*got, sum as u32);
        }
    }
}

#[test]
fn a_product_rounds_in_intels_order_and_takes_subnormal_numbers_as_zero() {
    let of = |c: f32, a: &[[f32; 2]], b: &[[f32; 2]]| {
        let (mut to, mut rows, mut columns) = ([0; 320], [0; 320], [0; 320]);
        to[0] = c.to_bits();
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            (rows[i], columns[20 * i]) = (bf16_pair(*a), bf16_pair(*b));
        }
        multiply_bf16([1, 1, a.len()], &mut to, &rows, &columns);
        f32::from_bits(to[0])
    };
    let one = [[1.0; 2]; 2];
    let (large, tiny) = (2_f32.powi(24), f32::from_bits(1 << 16));
    // First numbers: 2²⁴ + 1, a tie, to even. Second ones: 2. In one chain, all would be lost.
    assert_eq!(of(0.0, &[[large, 1.0], [1.0, 1.0]], &one), large + 2.0);
    assert_eq!(of(large, &[[1.0, 0.0]], &one), large);
    assert_eq!(of(large, &[[1.0, 2.0]], &one), large + 4.0);
    assert!(tiny.is_subnormal());
    assert_eq!(of(1.0, &[[tiny, 0.0]], &[[large, 0.0]]), 1.0);
    assert_eq!(of(0.0, &[[tiny, 0.0]], &[[2_f32.powi(120), 0.0]]), 0.0);
    assert_eq!(of(0.0, &[[2_f32.powi(-70), 0.0]], &[[2_f32.powi(-60), 0.0]]), 0.0);
    assert_eq!(of(tiny, &[[0.0, 0.0]], &one), 0.0);
    assert_eq!(
        of(0.0, &[[2_f32.powi(-63), 0.0]], &[[2_f32.powi(-63), 0.0]]),
        f32::MIN_POSITIVE
    );
    assert!(of(0.0, &[[f32::INFINITY, f32::NEG_INFINITY]], &one).is_nan());
}

#[test]
fn what_a_cpu_refuses_is_refused() {
    // SAFETY: the addresses are those of arrays of the sizes that the instructions take.
    let run = |tiles: &mut Tiles, i| unsafe { tiles.execute(i) };
    let configure = |bytes: &[u8; 64]| {
        let mut tiles = Tiles::NONE;
        run(&mut tiles, Instruction::Configure(bytes.as_ptr() as u64)).map(|()| tiles)
    };
    let reason = |bytes: [u8; 64]| configure(&bytes).err().unwrap_or("accepted");
    let good = configuration(&[(16, 64), (16, 64), (16, 64), (3, 20), (16, 62)]);
    let with = |at: usize, v: u8| {
        let mut bytes = good;
        bytes[at] = v;
        bytes
    };
    assert_eq!(reason(good), "accepted");
    for (wrong, expected) in [
        (with(0, 2), "palette"),
        (with(1, 1), "start row"),
        (with(2, 1), "reserved"),
        (with(40, 1), "reserved"),
        (with(63, 1), "reserved"),
        (with(16, 65), "more than 64 bytes"),
        (with(17, 1), "more than 64 bytes"),
        (with(48, 17), "more than 16 rows"),
        (with(48, 0), "bytes and no rows"),
        (with(53, 1), "rows and no bytes"),
    ] {
        assert!(reason(wrong).contains(expected), "{expected}: {}", reason(wrong));
    }
    let mut tiles = configure(&good).unwrap_or(Tiles::NONE);
    let memory = [0_u32; 256];
    let rows = Rows {
        start: memory.as_ptr() as u64,
        stride: 64,
    };
    let product = |c, a, b| Instruction::Bf16 { c, a, b };
    for (instruction, expected) in [
        (Instruction::Load(5, rows), "not configured"),
        (Instruction::Zero(7), "not configured"),
        (Instruction::Load(4, rows), "no multiple of 4"),
        (product(0, 1, 1), "with itself"),
        (product(0, 0, 1), "with itself"),
        (product(0, 1, 3), "do not match"),
        (product(0, 3, 1), "do not match"),
        (product(3, 0, 1), "do not match"),
    ] {
        let got = run(&mut tiles, instruction).expect_err(expected);
        assert!(got.contains(expected), "{instruction:?}: {got}");
    }
    run(&mut tiles, product(0, 1, 2)).unwrap();
    run(&mut tiles, Instruction::Release).unwrap();
    assert_eq!(
        run(&mut tiles, Instruction::Zero(0)),
        Err("the tiles are not configured")
    );
}

// Read, never executed.
global_asm!(
    ".globl canopy_test_amx_listing",
    "canopy_test_amx_listing:",
    "ldtilecfg [rdi]",
    "ldtilecfg [rsp + 8]",
    "ldtilecfg [r12 + 8*r9 - 300]",
    "sttilecfg [rbp]",
    "tileloadd tmm7, [r13 + r12]",
    "tileloadd tmm0, [rax]",
    "tileloaddt1 tmm1, [rsp + 4*rbp + 64]",
    "tilestored [r8 + 2*r15 - 1024], tmm6",
    "tilestored [8*rcx + 64], tmm5",
    "tilezero tmm3",
    "tdpbf16ps tmm4, tmm2, tmm7",
    "tdpbusd tmm1, tmm6, tmm0",
    "tilerelease",
    "vpdpbusd xmm0, xmm1, xmm2",
    "ud2",
);

unsafe extern "C" {
    #[link_name = "canopy_test_amx_listing"]
    static LISTING: [u8; 128];
}

#[test]
fn what_the_assembler_encodes_is_decoded() {
    let value = |register: usize| 0x1000 * (register as u64 + 1);
    let (rcx, rsp, rbp, rdi) = (value(1), value(4), value(5), value(7));
    let (r8, r9, r12, r13, r15) = (value(8), value(9), value(12), value(13), value(15));
    let rows = |start, stride| Rows { start, stride };
    let expected = [
        Instruction::Configure(rdi),
        Instruction::Configure(rsp + 8),
        Instruction::Configure(r12 + 8 * r9 - 300),
        Instruction::StoreConfiguration(rbp),
        Instruction::Load(7, rows(r13, r12)),
        Instruction::Load(0, rows(value(0), 0)),
        Instruction::Load(1, rows(rsp + 64, 4 * rbp)),
        Instruction::Store(6, rows(r8 - 1024, 2 * r15)),
        Instruction::Store(5, rows(64, 8 * rcx)),
        Instruction::Zero(3),
        Instruction::Bf16 { c: 4, a: 2, b: 7 },
        Instruction::Bytes { c: 1, a: 6, b: 0 },
        Instruction::Release,
    ];
    // SAFETY: the listing is shorter than the array, and code follows it. Only bytes of instructions are read.
    let byte = |i: usize| unsafe { (&raw const LISTING).cast::<u8>().add(i).read() };
    let mut at = 0;
    for expected in expected {
        let (got, length) = decode(|i| byte(at + i), value).expect("an instruction of AMX");
        assert_eq!(got, expected);
        at += length;
    }
    assert_eq!(decode(|i| byte(at + i), value), None, "vpdpbusd");
    assert_eq!(decode(|i| [0x0f, 0x0b][i], value), None, "ud2");
}

/// Runs the test `name` of this file again, in a process in which `child` finds itself.
fn again(name: &str) -> Output {
    let path = module_path!().split_once("::").map_or("", |(_, path)| path);
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("{path}::{name}"), "--exact", "--nocapture"])
        .env("CANOPY_TEST_AMX_CHILD", "1")
        .output()
        .unwrap()
}

fn is_child() -> bool {
    std::env::var_os("CANOPY_TEST_AMX_CHILD").is_some()
}

#[test]
fn another_illegal_instruction_ends_the_process() {
    if is_child() {
        super::amx::handler::install();
        // SAFETY: it is illegal on purpose, in a process of its own.
        unsafe { asm!("ud2", options(nostack)) };
        std::process::exit(0);
    }
    let ended = again("another_illegal_instruction_ends_the_process");
    assert_eq!(ended.status.signal(), Some(libc::SIGILL), "{ended:?}");
}

#[test]
fn a_refused_instruction_aborts_the_process_with_the_reason() {
    if Bf16Unit::Amx.is_available() {
        println!("not run, because this CPU has AMX and refuses instructions itself");
        return;
    }
    if is_child() {
        super::amx::handler::install();
        // SAFETY: it is refused, because no tile is configured, in a process of its own.
        unsafe { asm!("tilezero tmm0", out("tmm0") _, options(nostack)) };
        std::process::exit(0);
    }
    let ended = again("a_refused_instruction_aborts_the_process_with_the_reason");
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("emulated AMX: the tiles are not configured\n"),
        "{said}"
    );
}
