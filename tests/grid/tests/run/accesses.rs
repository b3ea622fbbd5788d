//! The accesses that a piece of chapter 11 shows are those of the repository's kernels on the emulated grid.

use std::{env, fs, path::Path};

use grid::{Access, Arg, Memory, Mode, Place, Source, Trace};
use serde_json::{Value, json};

use crate::compiled;

const FILE: &str = "book/src/recorded/11-accesses.json";

/// The accesses of the first `threads` threads as steps: in one step, all threads do the same.
fn steps(trace: &Trace, threads: u32) -> Vec<Value> {
    let key = |a: &Access| (a.line, a.mode as u32, name(a.memory), a.turn, a.barriers);
    let mut steps: Vec<Vec<Access>> = Vec::new();
    for access in trace.accesses.iter().filter(|a| a.thread < threads) {
        match steps.iter_mut().find(|step| key(&step[0]) == key(access)) {
            Some(step) => step.push(*access),
            None => steps.push(vec![*access]),
        }
    }
    let Some(at) = trace.faulty else {
        return steps.into_iter().map(of_step).collect();
    };
    // The grid stops at a fault, so that it is in the last step. Which of two values a thread reads first depends on the compiler.
    let (race, last) = (trace.accesses[at], steps.len() - 1);
    let is_same = |a: &Access| (a.memory, a.offset) == (race.memory, race.offset);
    let conflicts = |a: &&Access| is_same(a) && a.thread != race.thread && a.mode != Mode::Read;
    let writer = trace.accesses[..at].iter().rfind(conflicts).unwrap().thread;
    steps[last].retain(is_same);
    let mut steps: Vec<Value> = steps.into_iter().map(of_step).collect();
    steps[last]["race"] = json!({"word": word(&race), "writer": writer});
    steps
}

fn name(memory: Place) -> &'static str {
    match memory {
        Place::Buffer(0) => "x",
        Place::Buffer(_) => "y",
        Place::Shared(_) => "shared memory",
    }
}

fn word(access: &Access) -> i64 {
    access.offset / 4
}

fn of_step(accesses: Vec<Access>) -> Value {
    let first = accesses[0];
    let mut words: Vec<_> = accesses.iter().map(|a| (a.thread, word(a))).collect();
    words.sort_unstable();
    let mut alone = Trace::default();
    alone.accesses = accesses;
    let cost = match first.memory {
        Place::Shared(_) => {
            let conflicts = alone.conflicts();
            json!({"requests": conflicts.requests, "passes": conflicts.passes})
        }
        Place::Buffer(_) => {
            let traffic = alone.traffic(first.memory);
            json!({"requests": traffic.requests, "sectors": traffic.sectors, "fewest": traffic.fewest})
        }
    };
    json!({
        "memory": name(first.memory), "size": first.size / 4, "writes": first.mode != Mode::Read,
        "barriers": first.barriers, "cost": cost, "words": words,
    })
}

/// The recorded launches, one a line; none without a C++ compiler.
fn recorded() -> Option<String> {
    let read = |file| fs::read_to_string(root().join("lessons/lesson11").join(file)).unwrap();
    let (right, other) = (read("src/answers/transpose.cu"), read("run/src/compared.cu"));
    let sum = read("src/answers/block_sum.cu");
    let racy = sum.replace("        __syncthreads", "        __syncwarp");
    let mut lines = Vec::new();
    for (name, kernel, text) in [
        ("transpose without shared memory", "transpose_naive", &other),
        ("transpose without padding", "transpose_no_padding", &other),
        ("transpose with padding", "transpose", &right),
        ("block_sum", "block_sum", &sum),
        ("block_sum with __syncwarp in the loop", "block_sum", &racy),
    ] {
        let module = compiled(&Source::text(&format!("{kernel}.cu"), text))?;
        let mut memory = Memory::new();
        memory.trace();
        let (lengths, sizes, block, shared, threads) = match kernel {
            "block_sum" => ([128, 1], vec![128], (128, 1), 4 * 128, 128),
            _ => ([1024; 2], vec![32, 32], (32, 32), 0, 32),
        };
        let [x, y] = lengths.map(|length| memory.zeros::<f32>(length));
        let lists = [Arg::read(x), Arg::write(y)].into_iter();
        let arguments: Vec<Arg> = lists.chain(sizes.into_iter().map(Arg::value::<i32>)).collect();
        let launched = module.launch(kernel, (1, 1), block, shared, &mut memory, &arguments);
        let trace = launched.map_or_else(|fault| *fault.trace, |ran| ran.trace);
        lines.push(json!({"name": name, "steps": steps(&trace, threads)}).to_string());
    }
    Some(format!("[\n{}\n]\n", lines.join(",\n")))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

#[test]
fn the_recorded_accesses_are_those_of_the_kernels() {
    let Some(new) = recorded() else { return };
    let file = root().join(FILE);
    if env::var_os("CANOPY_RECORD").is_some() {
        fs::write(&file, &new).unwrap();
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == new,
        "{FILE} differs from what the kernels do now: book/record accesses"
    );
}
