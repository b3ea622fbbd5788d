//! Right kernels run without a fault at odd sizes and give the right values; each of their known-bad variants is seen.
//! `cargo test -p grid -- --nocapture` prints what each variant is told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod accesses;
mod compiled;
mod kernels;
mod mistakes;
mod trace;
mod values;

use std::{fs, path::Path};

use grid::{Arg, Error, Kind, Memory, Module, Source};

use crate::kernels::{RUNS, Run, Wrong};
use crate::mistakes::{Mistake, Seen};

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(file);
    fs::read_to_string(path).unwrap()
}

/// The module, or none with a line that says why the test does not run.
fn compiled(source: &Source) -> Option<Module> {
    match source.compile() {
        Ok(module) => Some(module),
        Err(Error::NotRun(why)) => {
            println!("not run, because {why}");
            None
        }
        Err(Error::Wrong(why)) => panic!("{why}"),
    }
}

fn run_of(file: &str) -> Run {
    RUNS.iter().find(|(name, _)| *name == file).unwrap().1
}

#[test]
fn right_kernels_pass_at_odd_sizes() {
    for (file, run) in RUNS {
        let Some(module) = compiled(&Source::text(file, text(file))) else {
            return;
        };
        for size in [1, 2, 3] {
            if let Err(wrong) = run(&module, size) {
                panic!("{file} at size {size}: {wrong:?}");
            }
        }
    }
}

#[test]
fn mistakes_of_blocks_are_seen() {
    all_seen(mistakes::block::MISTAKES);
}

#[test]
fn mistakes_of_warps_are_seen() {
    all_seen(mistakes::warp::MISTAKES);
}

fn all_seen(mistakes: &[Mistake]) {
    let mut missed = Vec::new();
    for mistake in mistakes {
        let (file, right) = (mistake.file, text(mistake.file));
        assert!(right.contains(mistake.from), "{file} has no {:?}", mistake.from);
        let source = Source::text(file, right.replacen(mistake.from, mistake.to, 1));
        let Some(module) = compiled(&source) else {
            return;
        };
        let results = [1, 2, 3].map(|size| run_of(file)(&module, size));
        let seen = results.into_iter().find_map(Result::err);
        println!("{file}, {}:", mistake.what);
        match &seen {
            Some(Wrong::Fault(fault)) => println!("{fault}\n"),
            Some(Wrong::Values(values)) => println!("{values}\n"),
            None => println!("nothing\n"),
        }
        let line = right
            .lines()
            .position(|l| l.contains(mistake.line))
            .map(|i| i + 1);
        let fine = match (mistake.seen, &seen) {
            (Seen::Fault(kind), Some(Wrong::Fault(fault))) => {
                let named = line.is_some_and(|line| fault.lines.contains(&line));
                fault.kind == kind && fault.message.contains(mistake.says) && named
            }
            (Seen::Values, Some(Wrong::Values(_))) => true,
            _ => false,
        };
        if !fine {
            let (expected, says) = (mistake.seen, mistake.says);
            missed.push(format!(
                "{file}, {}: expected {expected:?}, {says:?}, line {line:?}, and saw {seen:?}",
                mistake.what
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_shuffle_from_an_absent_lane_is_noted() {
    let text = r#"extern "C" __global__ void half_warp(int* y) {
        int v = __shfl_down_sync(0xffffu, (int)threadIdx.x, 1);
        if (threadIdx.x < 15) y[threadIdx.x] = v;
    }"#;
    let Some(module) = compiled(&Source::text("half_warp.cu", text)) else {
        return;
    };
    let mut memory = Memory::new();
    let y = memory.zeros::<i32>(15);
    let launched = module
        .launch("half_warp", 1, 16, 0, &mut memory, &[Arg::write(y)])
        .unwrap();
    assert_eq!(memory.download(y), (1..16).collect::<Vec<i32>>());
    let note = launched.note.unwrap();
    assert!(note.starts_with("thread 15 of block 0 reads lane 16"), "{note}");
}

/// A struct as CUDA C++ lays it out.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Tensor {
    values: grid::Address,
    n: u64,
}

impl grid::Element for Tensor {}

#[test]
fn tables_of_pointers_reach_their_buffers() {
    let text = r#"struct Tensor { float* values; unsigned long long n; };
    extern "C" __global__ void clear(const Tensor* tensors, Tensor last) {
        Tensor t = blockIdx.x < 2 ? tensors[blockIdx.x] : last;
        for (unsigned long long i = threadIdx.x; i < t.n; i += blockDim.x) t.values[i] = 0.0f;
    }"#;
    let Some(module) = compiled(&Source::text("clear.cu", text)) else {
        return;
    };
    for (too_many, fine) in [(0, true), (2, false)] {
        let mut memory = Memory::new();
        let buffers = [5, 40, 3].map(|n| memory.upload(&vec![1f32; n]));
        let tensors = buffers.map(|b| Tensor {
            values: memory.address(b, 0),
            n: b.len() as u64 + too_many,
        });
        let table = memory.upload(&tensors[..2]);
        let arguments = [Arg::read(table), Arg::value(tensors[2])];
        match module.launch("clear", 3, 32, 0, &mut memory, &arguments) {
            Ok(_) => assert!(
                fine && buffers
                    .iter()
                    .all(|b| memory.download(*b).iter().all(|v| *v == 0.0))
            ),
            Err(fault) => {
                assert!(!fine, "{fault}");
                assert_eq!(fault.kind, Kind::OutOfBounds);
                assert!(
                    fault
                        .message
                        .contains("past the end of the buffer made at main.rs:"),
                    "{fault}"
                );
            }
        }
    }
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let Some(module) = compiled(&Source::text("reduce.cu", text("reduce.cu"))) else {
        return;
    };
    let mut memory = Memory::new();
    let (x, y) = (memory.zeros::<f32>(4), memory.zeros::<f64>(1));
    let good = [Arg::read(x), Arg::write(x), Arg::value(4i32)];
    let wrong_buffer = [Arg::read(x), Arg::write(y), Arg::value(4i32)];
    let wrong_value = [Arg::read(x), Arg::write(x), Arg::value(4f32)];
    for (name, block, arguments, says) in [
        ("reduce", 512, &good[..], "promises at most 256"),
        ("reduce", 2048, &good, "at most 1024"),
        (
            "reduce",
            256,
            &good[..2],
            "it has 3 parameters, and the launch passes 2",
        ),
        (
            "reduce",
            256,
            &wrong_buffer,
            "parameter 2 `y` is a pointer to float, and the launch passes a buffer of double",
        ),
        (
            "reduce",
            256,
            &wrong_value,
            "parameter 3 `n` is a 32-bit integer, and the launch passes float",
        ),
        ("sum", 256, &good, "reduce.cu has no such kernel; it has reduce"),
    ] {
        let fault = module
            .launch(name, 1, block, 0, &mut memory, arguments)
            .unwrap_err();
        assert_eq!(fault.kind, Kind::Launch);
        assert!(fault.message.contains(says), "{fault}");
    }
}

#[test]
fn a_source_that_does_not_compile_names_its_line() {
    let source = Source::text(
        "broken.cu",
        "extern \"C\" __global__ void k(float* x) {\n    x[0] = y;\n}\n",
    );
    match source.compile() {
        Err(Error::Wrong(why)) => assert!(why.contains("broken.cu:2"), "{why}"),
        Err(Error::NotRun(why)) => println!("not run, because {why}"),
        Ok(_) => panic!("it compiles"),
    }
}
