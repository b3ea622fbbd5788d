//! Damaged and hostile files: never a panic, never more memory than the file is worth, always the file's name.
//!
//! `CANOPY_FUZZ_SECONDS=60 cargo test -p canopy-data --test hostile` searches longer (see `FUZZING.md`).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../made/mod.rs"]
mod made;
mod memory;

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind, set_hook},
    path::Path,
    sync::{Mutex, MutexGuard, Once},
    time::{Duration, Instant},
};

use canopy_data::{
    Cloud, Philox, Return,
    formats::{self, Options},
};

/// Bytes that a reader may take for any file: buffers, decoders and their models, a stack of threads.
const BASE: usize = 48 << 20;
/// Bytes that a reader may take for each byte of the file.
const FACTOR: usize = 64;

/// Memory is counted for the whole process, so one test reads at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(formats::hide_decoder_panics);
    ONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Valid small files of every format.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let cloud = Cloud {
        origin: [432_100.0, 5_403_200.0, 0.0],
        xyz: (0..60)
            .map(|i| [i as f32 * 0.37 % 9.0, i as f32 * 0.71 % 7.0, i as f32 * 0.05])
            .collect(),
        intensity: (0..60).map(|i| i * 331 % 5_000).collect(),
        class: (0..60).map(|i| [2, 5][i % 2]).collect(),
        returns: vec![Return { number: 1, of: 2 }; 60],
    };
    let home = tempfile::tempdir().unwrap();
    let mut seeds = Vec::new();
    for name in "a.las a.laz a.xyz a.csv".split(' ') {
        let path = home.path().join(name);
        formats::write(&path, &cloud, &Options::default()).unwrap();
        seeds.push((name.to_owned(), fs::read(&path).unwrap()));
    }
    // Every point format, as `las` writes it; waveforms it does not.
    for format in [0, 1, 2, 3, 6, 7, 8] {
        for (packed, ending) in [(false, "las"), (true, "laz")] {
            let name = format!("format{format}.{ending}");
            seeds.push((name, made::las_file(format, (1, 4), packed, 60).0));
        }
    }
    let csv = b"\xef\xbb\xbfid;x;y;z;intensity\n1;1,5;2,5;3,5;7\n2;2,5;3,5;4,5;8\n";
    let texts: [(&str, &[u8]); 3] = [
        ("c.pts", b"2\r\n1.5 2.5 3.5 -120 10 20 30\r\n2 3 4 5 6 7 8\r\n"),
        ("d.csv", csv),
        ("e.txt", b"# B\xe4ume\n//X Y Z Class\n1 2 3 5\n\n4 5 6 2 # low\n"),
    ];
    seeds.extend(texts.map(|(name, text)| (name.to_owned(), text.to_vec())));
    seeds
}

/// Reads `bytes` as a file named `name` in every way. Returns whether it could be read. A file that fails is kept.
fn attack(name: &str, bytes: &[u8]) -> bool {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{name}"));
    fs::write(&path, bytes).unwrap();
    let before = memory::start();
    let results = catch_unwind(AssertUnwindSafe(|| {
        let whole = formats::read(&path).and_then(|c| c.validate().map(|()| c.len()));
        let info = formats::info(&path, false).and(formats::info(&path, true));
        [whole, info.map(|i| i.count as usize)]
    }));
    let peak = memory::peak() - before;
    let at = path.display();
    let results = results.unwrap_or_else(|_| panic!("{at} panicked (its message is above)"));
    let n = bytes.len();
    assert!(
        peak <= BASE + FACTOR * n,
        "{at} took {peak} bytes for {n} of the file"
    );
    for error in results.iter().filter_map(|r| r.as_ref().err()) {
        let text = format!("{error:#}");
        assert!(text.contains(name), "an error does not name {at}: {text}");
    }
    let [whole, count] = results;
    if let (Ok(whole), Ok(count), true) = (&whole, count, name.contains(".la")) {
        assert_eq!(*whole, count, "{at}: points, and what its header says");
    }
    fs::remove_file(&path).unwrap();
    whole.is_ok()
}

#[test]
fn seeds_are_read_and_every_truncation_is_an_error_if_points_are_missing() {
    let _one = alone();
    for (name, bytes) in seeds() {
        assert!(attack(&name, &bytes), "{name}");
        let header = 500.min(bytes.len());
        let behind = (header..bytes.len()).step_by(1 + bytes.len() / 100);
        for len in (0..header).step_by(3).chain(behind) {
            let read = attack(&name, &bytes[..len]);
            // Text that ends between two lines is a shorter file. What follows the points is not read.
            let text = !["las", "laz"].iter().any(|e| name.ends_with(e));
            let n = bytes.len();
            assert!(!read || text || len > n * 9 / 10, "{name} cut to {len} of {n}");
        }
    }
}

#[test]
fn every_header_byte_may_be_any_extreme() {
    let _one = alone();
    for (name, bytes) in seeds() {
        for at in 0..bytes.len().min(480) {
            // One extreme a byte keeps this short; the mutations try the others.
            let mut bad = bytes.clone();
            bad[at] = [0x00, 0xff, 0x7f, bytes[at] ^ 0x80][at % 4];
            attack(&name, &bad);
        }
    }
}

#[test]
fn mutated_and_arbitrary_files_are_survived() {
    let _one = alone();
    let number = |name| env::var(name).ok().and_then(|v| v.parse().ok());
    let time = number("CANOPY_FUZZ_SECONDS").map(Duration::from_secs);
    let mut random = Philox::new(number("CANOPY_FUZZ_SEED").unwrap_or(1), 0);
    let (seeds, begin) = (seeds(), Instant::now());
    let (mut files, mut read) = (0, 0);
    while time.map_or(files < 3_000, |time| begin.elapsed() < time) {
        let [(name, seed), (_, other)] = [0, 1].map(|_| &seeds[random.below(seeds.len())]);
        let bytes = match random.below(20) {
            0 => {
                let mut bytes = seed[..random.below(9)].to_vec();
                bytes.extend((0..random.below(2_000)).map(|_| random.next_u32() as u8));
                bytes
            }
            _ => mutate(seed, other, &mut random),
        };
        files += 1;
        read += u64::from(attack(name, &bytes));
    }
    println!("{files} files in {:?}, {read} of them read", begin.elapsed());
    assert!(
        0 < read && read < files,
        "the mutations are too strong or too weak"
    );
}

/// `bytes` with one to four changes, half of them in the header.
fn mutate(bytes: &[u8], other: &[u8], random: &mut Philox) -> Vec<u8> {
    const TOKENS: &str = "nan|1e999|99999999999999999999|//|;|\n|# |,";
    let tokens: Vec<&str> = TOKENS.split('|').collect();
    let extremes = [
        0,
        1,
        0x7fff,
        0xffff,
        0xffff_ffff,
        1 << 40,
        u64::MAX >> 1,
        u64::MAX,
    ];
    let mut b = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        if b.is_empty() {
            break;
        }
        let reach = [b.len(), b.len().min(600)][random.below(2)];
        let at = random.below(reach);
        let rest = b.len() - at;
        match random.below(7) {
            0 => b[at] ^= 1 << random.below(8),
            1 => b[at] = random.next_u32() as u8,
            2 => {
                let n = [1, 2, 4, 8][random.below(4)].min(rest);
                b[at..at + n].copy_from_slice(&extremes[random.below(8)].to_le_bytes()[..n]);
            }
            3 => b.truncate(at),
            4 => drop(b.drain(at..at + random.below(64).min(rest))),
            5 => drop(b.splice(at..at, tokens[random.below(8)].bytes())),
            _ => {
                let from = random.below(other.len());
                let n = random.below(128).min(other.len() - from).min(rest);
                b[at..at + n].copy_from_slice(&other[from..from + n]);
            }
        }
    }
    b
}

/// A panic of `laz` outside the decoder, such as while a file is written, must be printed.
#[test]
fn only_panics_of_the_decoder_are_hidden() {
    let _one = alone();
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    set_hook(Box::new(|info| SEEN.lock().unwrap().push(info.to_string())));
    formats::hide_decoder_panics();
    assert!(catch_unwind(|| laz::LazVlr::from_laz_items(Vec::new())).is_err());
    assert_eq!(SEEN.lock().unwrap().len(), 1);
}
