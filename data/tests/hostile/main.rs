//! Damaged and hostile files: never a panic, never more memory than the file is worth, always the file's name.
//!
//! `cargo test -p canopy-data --test hostile -- --ignored --nocapture` runs the long search (see `FUZZING.md`).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod memory;
mod mutate;
mod seeds;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Mutex, MutexGuard, Once},
    time::{Duration, Instant},
};

use canopy_data::{
    Philox,
    formats::{self, Invalid, ReadOptions},
};
use proptest::prelude::*;

use seeds::Seed;

/// What a reader may take whatever the file: buffers, decoders and their models, a stack of threads.
const BASE: usize = 48 << 20;
/// Bytes that a reader may take for each byte of the file.
const FACTOR: usize = 64;

/// Memory is counted for the whole process, so one test reads at a time. Panics within readers stay silent: those that
/// escape are caught and reported with the file that caused them.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info
                .location()
                .is_some_and(|l| l.file().contains("tests/hostile"))
            {
                usual(info);
            }
        }));
    });
    ONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// What came of reading a file.
#[derive(Clone, Copy, Default)]
struct Outcome {
    read: bool,
    /// Whether a decoder of `laz` panicked, and the reader made an error of it.
    gave_up: bool,
    peak: usize,
}

/// Reads `bytes` as a file named `name` in every way there is.
fn attack(dir: &Path, name: &str, bytes: &[u8]) -> Result<Outcome, String> {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    let pieces = ReadOptions {
        invalid: Invalid::Drop,
        chunk: 500,
    };
    let before = memory::start();
    let results = catch_unwind(AssertUnwindSafe(|| {
        let whole = formats::read(&path).map(|c| c.validate().map(|()| c.len()));
        let parts = formats::open_with(&path, &pieces).and_then(|mut r| {
            r.try_fold(0, |n, c| {
                let c = c?;
                c.validate()?;
                Ok(n + c.len())
            })
        });
        (
            whole,
            parts,
            formats::info(&path).and(formats::check(&path)).map(|i| i.count),
        )
    }));
    let peak = memory::peak() - before;
    let (whole, parts, info) = results.map_err(|e| {
        let text = e
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()));
        format!("panicked: {}", text.unwrap_or_default())
    })?;
    if peak > BASE + FACTOR * bytes.len() {
        return Err(format!("took {peak} bytes for a file of {}", bytes.len()));
    }
    let gave_up_on = |e: &anyhow::Error| {
        let text = format!("{e:#}");
        if text.contains(name) {
            Ok(text.contains("gave up"))
        } else {
            Err(format!("does not name the file: {text}"))
        }
    };
    let gave_up = match &whole {
        Ok(valid) => valid
            .as_ref()
            .map(|_| false)
            .map_err(|e| format!("gave an invalid cloud: {e}"))?,
        Err(e) => gave_up_on(e)?,
    };
    if let Err(e) = &parts {
        gave_up_on(e)?;
    }
    if let Err(e) = &info {
        gave_up_on(e)?;
    }
    if let (Ok(Ok(n)), Ok(m)) = (&whole, &parts)
        && n != m
    {
        return Err(format!("has {n} points as a whole and {m} in pieces"));
    }
    Ok(Outcome {
        read: whole.is_ok(),
        gave_up,
        peak,
    })
}

/// Keeps a file that broke a reader, where one can look at it.
fn keep(name: &str, bytes: &[u8]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{name}"));
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

fn attack_or_panic(dir: &Path, name: &str, bytes: &[u8]) -> Outcome {
    attack(dir, name, bytes).unwrap_or_else(|e| panic!("{name} {e}; kept as {}", keep(name, bytes)))
}

#[test]
fn the_seeds_themselves_are_read() {
    let _one = alone();
    let home = tempfile::tempdir().unwrap();
    for Seed { name, bytes } in seeds::all() {
        assert!(attack_or_panic(home.path(), &name, &bytes).read, "{name}");
    }
}

#[test]
fn every_truncation_is_an_error_if_points_are_missing() {
    let _one = alone();
    let home = tempfile::tempdir().unwrap();
    for Seed { name, bytes } in seeds::all() {
        for len in mutate::cuts(bytes.len()) {
            let outcome = attack_or_panic(home.path(), &name, &bytes[..len]);
            // Text that ends between two lines is a shorter file; and what follows the points is not looked at.
            let text = !name.ends_with("las") && !name.ends_with("laz") && !name.ends_with("safetensors");
            assert!(
                !outcome.read || text || len > bytes.len() * 9 / 10,
                "{name} cut to {len} of {}",
                bytes.len()
            );
        }
    }
}

#[test]
fn every_header_byte_may_be_any_extreme() {
    let _one = alone();
    let home = tempfile::tempdir().unwrap();
    for Seed { name, bytes } in seeds::all() {
        for at in 0..bytes.len().min(480) {
            // One extreme a byte keeps this short; the search tries the others.
            let mut bad = bytes.clone();
            bad[at] = [0x00, 0xff, 0x7f, bytes[at] ^ 0x80][at % 4];
            attack_or_panic(home.path(), &name, &bad);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_survived(
        body in prop::collection::vec(any::<u8>(), 0..2_000),
        magic in prop_oneof![Just(&b""[..]), Just(&b"LASF"[..]), Just(&b"ply\n"[..]), Just(&b"\x40\0\0\0\0\0\0\0{\"xyz\":{"[..]), Just(&b"1 2 3\n"[..])],
    ) {
        let _one = alone();
        let home = tempfile::tempdir().unwrap();
        let bytes = [magic, &body].concat();
        for name in ["a.las", "a.laz", "a.ply", "a.xyz", "a.safetensors", "noname"] {
            prop_assert!(attack(home.path(), name, &bytes).is_ok(), "{}", attack(home.path(), name, &bytes).err().unwrap_or_default());
        }
    }
}

#[test]
fn mutated_files_are_survived() {
    let _one = alone();
    search(Duration::from_secs(3600), 3_000, 1);
}

#[test]
#[ignore = "runs for CANOPY_FUZZ_SECONDS (300): see FUZZING.md"]
fn a_long_search_finds_nothing() {
    let _one = alone();
    let read = |name, or| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(or)
    };
    search(
        Duration::from_secs(read("CANOPY_FUZZ_SECONDS", 300)),
        u64::MAX,
        read("CANOPY_FUZZ_SEED", 2),
    );
}

/// Mutates seeds and reads them, until `time` is over or `most` files were read.
fn search(time: Duration, most: u64, seed: u64) {
    let home = tempfile::tempdir().unwrap();
    let seeds = seeds::all();
    let mut random = Philox::new(seed, 0);
    let begin = Instant::now();
    let (mut files, mut read, mut gave_up, mut peak) = (0u64, 0u64, 0u64, 0);
    while files < most && begin.elapsed() < time {
        let seed = &seeds[random.below(seeds.len())];
        let other = &seeds[random.below(seeds.len())];
        let bytes = mutate::mutate(&seed.bytes, &other.bytes, &mut random);
        let outcome = attack_or_panic(home.path(), &seed.name, &bytes);
        files += 1;
        read += u64::from(outcome.read);
        gave_up += u64::from(outcome.gave_up);
        peak = outcome.peak.max(peak);
    }
    println!(
        "{files} files in {:.0} s: {read} read, {} refused, of these {gave_up} by a decoder's panic that was caught; most memory {} KiB",
        begin.elapsed().as_secs_f64(),
        files - read,
        peak >> 10
    );
    assert!(
        read > 0 && read < files,
        "{read} of {files} were read: the mutations are too strong or too weak"
    );
}
