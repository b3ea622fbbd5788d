//! What a launch read and wrote: sectors, bank conflicts, and the access at which a fault was found.

use grid::{Access, Arg, Memory, Mode, Place, Source, Trace};

use crate::{compiled, text};

#[test]
fn bank_conflicts_of_transposes_are_counted() {
    // A warp has two rows of a tile of 16 columns: if padded, the last word of one is in the bank of the first of the other.
    for (side, pitch, passes) in [
        (16, 17, 2 * 64),
        (16, 16, 32 + 8 * 32),
        (32, 33, 64),
        (32, 32, 32 + 32 * 32),
    ] {
        let text = text("transpose.cu").replace("16", &side.to_string());
        let source = Source::text("transpose.cu", text.replace("17", &pitch.to_string()));
        let Some(module) = compiled(&source) else {
            return;
        };
        let mut memory = Memory::new();
        memory.trace();
        let (x, y) = (memory.zeros::<f32>(1024), memory.zeros::<f32>(1024));
        let arguments = [Arg::read(x), Arg::write(y), Arg::value(32i32), Arg::value(32i32)];
        let (grid, bytes) = ((32 / side, 32 / side), 4 * side * pitch);
        let launched = module.launch(
            "transpose",
            grid,
            (side, side),
            bytes as usize,
            &mut memory,
            &arguments,
        );
        let trace = launched.unwrap().trace;
        let conflicts = trace.conflicts();
        assert_eq!(
            (conflicts.requests, conflicts.passes),
            (64, passes),
            "{side} × {pitch}"
        );
        let worst = conflicts
            .worst
            .map(|at| (trace.accesses[at].line, trace.accesses[at].mode));
        let expected = if side == pitch {
            Some((8, Mode::Read))
        } else {
            worst
        };
        assert_eq!((worst, worst.is_some()), (expected, passes > 64));
        for buffer in [x, y] {
            let traffic = trace.traffic(buffer);
            assert_eq!(
                [traffic.requests, traffic.sectors, traffic.fewest],
                [32, 128, 128]
            );
        }
        // Before the barrier x is read and the tile written, after it the tile is read and y written.
        let is_after =
            |a: &Access| a.memory == y.into() || matches!((a.memory, a.mode), (Place::Shared(_), Mode::Read));
        assert!(
            trace
                .accesses
                .iter()
                .all(|a| a.barriers == u32::from(is_after(a)))
        );
    }
}

#[test]
fn a_vector_is_one_access() {
    let text = r#"extern "C" __global__ void relu(const float4* x, float4* y) {
        float4 v = x[threadIdx.x];
        y[threadIdx.x] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
    }"#;
    let Some(module) = compiled(&Source::text("relu.cu", text)) else {
        return;
    };
    let mut memory = Memory::new();
    memory.trace();
    let (x, y) = (memory.zeros::<f32>(128), memory.zeros::<f32>(128));
    let launched = module.launch("relu", 1, 32, 0, &mut memory, &[Arg::read(x), Arg::write(y)]);
    let trace = launched.unwrap().trace;
    for buffer in [x, y] {
        let traffic = trace.traffic(buffer);
        assert_eq!([traffic.requests, traffic.sectors, traffic.fewest], [1, 16, 16]);
    }
}

#[test]
fn sectors_of_strided_and_shifted_accesses_are_counted() {
    let text = r#"extern "C" __global__ void copy(const float* x, float* y, int stride, int shift) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i * stride + shift];
    }"#;
    let Some(module) = compiled(&Source::text("copy.cu", text)) else {
        return;
    };
    for (stride, shift, sectors) in [(1, 0, 4), (2, 0, 8), (8, 0, 32), (1, 1, 5), (0, 3, 1)] {
        let mut memory = Memory::new();
        memory.trace();
        let (x, y) = (memory.zeros::<f32>(1024), memory.zeros::<f32>(128));
        let arguments = [Arg::read(x), Arg::write(y), Arg::value(stride), Arg::value(shift)];
        let launched = module.launch("copy", 2, 64, 0, &mut memory, &arguments);
        let trace = launched.unwrap().trace;
        let (read, written) = (trace.traffic(x), trace.traffic(y));
        let fewest = if stride == 0 { 1 } else { 4 };
        assert_eq!(
            [read.requests, read.sectors, read.fewest],
            [4, 4 * sectors, 4 * fewest]
        );
        assert_eq!(read.worst.is_some(), sectors > fewest);
        assert_eq!([written.requests, written.sectors, written.fewest], [4, 16, 16]);
        let first = trace.accesses[0];
        assert_eq!(
            (first.memory, first.mode, first.line),
            (Place::from(x), Mode::Read, 3)
        );
        assert_eq!(
            (first.offset, first.bytes, first.turn),
            (i64::from(4 * shift), 4, 0)
        );
    }
}

/// The picture of the fault of a block that has `x` of `len` values, and its trace.
fn pictured(body: &str, block: u32, len: usize) -> Option<(Vec<String>, Trace)> {
    let text = format!("extern \"C\" __global__ void k(float* x) {{\n    int i = threadIdx.x;\n{body}}}\n");
    let module = compiled(&Source::text("k.cu", text))?;
    let mut memory = Memory::new();
    memory.trace();
    let x = memory.zeros::<f32>(len);
    let fault = module
        .launch("k", 1, block, 0, &mut memory, &[Arg::write(x)])
        .unwrap_err();
    let picture = fault.trace.picture(fault.trace.faulty.unwrap());
    println!("{fault}\n{}\n", picture.join("\n"));
    assert!(picture.len() <= 12 && picture.iter().all(|line| line.chars().count() <= 64));
    Some((picture, *fault.trace))
}

#[test]
fn faults_are_drawn() {
    let shared = "    __shared__ float s[64];\n    s[i] = 1;\n    __syncthreads();\n";
    for (body, len, rows) in [
        (
            "x[i * 2] = 1;\n",
            7,
            "0:0 w······|··  0, 0:1 ··w····|··  2, 0:2 ····w··|··  4, 0:3 ······w|··  6, 0:4 ·······|·X  8",
        ),
        (
            "x[i * 100] = 1;\n",
            200,
            "0:0 w…·…|·  0, 0:1 ·…w…|·  100, 0:2 ·…·…|X  200",
        ),
        ("x[1 - 7 * i] = 1;\n", 99, "0:0 ·…|w  1, 0:1 X…|·  -6"),
        (&format!("{shared}s[i] += s[i ^ 1];\n"), 1, "0:0 wr  0, 0:1 X·  0"),
    ] {
        let Some((picture, trace)) = pictured(body, 64, len) else {
            return;
        };
        assert_eq!(picture[1..picture.len() - 1].join(", "), rows);
        let page = trace.page("Is i < n?", trace.faulty.unwrap());
        assert_eq!(page.matches("class=\"X\"").count(), 1);
        assert!(page.contains("<h1>Is i &lt; n?</h1>"), "{page}");
    }
}

#[test]
fn far_accesses_belong_to_a_buffer_or_to_nothing() {
    let shared = "    __shared__ float s[64];\n    s[i] = 1;\n";
    for (index, is_drawn) in [(1 << 20, true), (1 << 28, false)] {
        let body = format!("{shared}x[{index}] = s[i];\n");
        let Some((picture, trace)) = pictured(&body, 64, 64) else {
            return;
        };
        assert_eq!(picture.is_empty(), !is_drawn, "{picture:?}");
        let faulty = trace.accesses[trace.faulty.unwrap()];
        assert_eq!((faulty.memory, faulty.offset), (Place::Buffer(0), 4 * index));
    }
}

#[test]
fn a_long_trace_keeps_its_last_access() {
    let body = "for (int t = 0; t < 1030; ++t) *(volatile float*)&x[i] = 1;\n    x[i + i / 1023] = 1;\n";
    let Some((_, trace)) = pictured(body, 1024, 1024) else {
        return;
    };
    let faulty = trace.accesses[trace.faulty.unwrap()];
    assert_eq!((trace.accesses.len(), trace.truncated), (1 << 20, true));
    assert_eq!((faulty.thread, faulty.offset, faulty.line), (1023, 4096, 4));
}
