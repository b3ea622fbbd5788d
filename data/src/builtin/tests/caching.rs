//! The cache: never wrong, whatever happened to its file.

use std::fs;

use super::*;

#[test]
fn what_is_read_is_what_was_made() {
    let dir = tempfile::tempdir().unwrap();
    let first = quiet(&small(), dir.path());
    let second = quiet(&small(), dir.path());
    assert!(!first.cached && first.warning.is_none() && second.cached);
    assert_eq!(first.dataset.digest, second.dataset.digest);
    assert_eq!(first.dataset.digest.len(), 64);
    let made = made(&small());
    assert_eq!(*second.dataset.records, made.records);
    for (i, cloud) in made.clouds.iter().enumerate() {
        assert_eq!(second.dataset.cloud(i).unwrap(), *cloud);
    }
    let beyond = second.dataset.cloud(made.clouds.len()).unwrap_err().to_string();
    assert!(beyond.contains("there is no scan"), "{beyond}");
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "the set and its lock, not {left:?}");
}

#[test]
fn a_damaged_cache_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let digest = quiet(&small(), dir.path()).dataset.digest;
    let path = cache::path(&small(), dir.path());
    let whole = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let other = Packed::pack(
        &Config { seed: 6, ..small() },
        made(&Config { seed: 6, ..small() }),
    )
    .unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other_path = elsewhere.path().join("other");
    other.write(&other_path).unwrap();
    let huge = [&b"CANOPYF1"[..], &u32::MAX.to_le_bytes(), &whole[12..]].concat();
    let damaged = [
        vec![],
        b"CANOPYF1".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        flipped(3),
        flipped(9),
        flipped(40),
        flipped(whole.len() - 100),
        flipped(whole.len() - 1),
        huge,
        fs::read(&other_path).unwrap(),
    ];
    for (k, bytes) in damaged.iter().enumerate() {
        fs::write(&path, bytes).unwrap();
        assert!(Packed::read(&small(), &path).is_err(), "damage {k} went unseen");
        let again = quiet(&small(), dir.path());
        assert!(
            !again.cached && again.warning.is_none(),
            "damage {k}: {:?}",
            again.warning
        );
        assert_eq!(again.dataset.digest, digest);
        assert_eq!(fs::read(&path).unwrap(), whole, "damage {k} was not mended");
    }
}

#[test]
fn programs_that_start_at_once_all_get_the_set_and_leave_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let sets: Vec<Loaded> = std::thread::scope(|s| {
        let started: Vec<_> = (0..4).map(|_| s.spawn(|| quiet(&small(), dir.path()))).collect();
        started.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(
        sets.iter()
            .all(|l| l.dataset.digest == sets[0].dataset.digest && l.warning.is_none())
    );
    assert_eq!(
        sets.iter().filter(|l| !l.cached).count(),
        1,
        "only one of them makes it"
    );
    assert!(Packed::read(&small(), &cache::path(&small(), dir.path())).is_ok());
}

#[test]
fn litter_of_a_killed_program_is_swept_away() {
    let dir = tempfile::tempdir().unwrap();
    let name = cache::path(&small(), dir.path());
    let litter = dir
        .path()
        .join(format!(".{}-x1.tmp", name.file_stem().unwrap().to_string_lossy()));
    let foreign = dir.path().join(".somebody-else.tmp");
    fs::write(&litter, b"half a set").unwrap();
    fs::write(&foreign, b"not ours").unwrap();
    quiet(&small(), dir.path());
    assert!(!litter.exists() && foreign.exists());
}

#[test]
fn where_nothing_can_be_written_the_set_is_in_memory_and_a_warning_says_why() {
    let dir = tempfile::tempdir().unwrap();
    // A file where the folder should be, and a folder where the file should be: no one can write there.
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let taken = dir.path().join("taken");
    fs::create_dir_all(cache::path(&small(), &taken)).unwrap();
    let digest = quiet(&small(), &dir.path().join("free")).dataset.digest;
    for place in [file.join("cache"), taken] {
        let set = quiet(&small(), &place);
        let warning = set.warning.unwrap();
        assert!(
            warning.contains("not kept on disk") && warning.contains(place.to_str().unwrap()),
            "{warning}"
        );
        assert_eq!(set.dataset.digest, digest);
        assert!(set.dataset.cloud(0).is_ok());
    }
}

#[test]
fn a_set_of_nothing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for config in [Config { trees: 0, ..small() }, Config { points: 0, ..small() }] {
        let error = load(&config, dir.path(), &|_, _| ()).unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
    }
}

#[test]
fn progress_counts_every_scan_once() {
    let seen = std::sync::Mutex::new(Vec::new());
    make::make(&small(), &|done, of| seen.lock().unwrap().push((done, of))).unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let of = seen[0].1;
    assert_eq!(seen, (0..=of).map(|d| (d, of)).collect::<Vec<_>>());
}
