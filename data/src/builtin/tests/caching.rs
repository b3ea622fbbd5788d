//! The cache: never wrong, whatever happened to its file.

use std::{fs, path::Path, sync::Mutex};

use super::*;

fn quiet(config: &Config, dir: &Path) -> Loaded {
    load(config, dir, &|_, _| ()).unwrap()
}

#[test]
fn what_is_read_is_what_was_made() {
    let dir = tempfile::tempdir().unwrap();
    let first = quiet(&small(), dir.path());
    let second = quiet(&small(), dir.path());
    assert!(!first.cached && first.warning.is_none() && second.cached);
    assert_eq!(first.dataset.digest, second.dataset.digest);
    let seen = Mutex::new(Vec::new());
    let made = make::make(&small(), &|done, of| seen.lock().unwrap().push((done, of))).unwrap();
    assert_eq!(*second.dataset.records, made.records);
    for (i, cloud) in made.clouds.iter().enumerate() {
        assert_eq!(second.dataset.cloud(i).unwrap(), *cloud);
    }
    let beyond = second.dataset.cloud(made.clouds.len()).unwrap_err().to_string();
    assert!(beyond.contains("no record"), "{beyond}");
    // The set and its lock.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    // The progress counts every scan once.
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let of = made.clouds.len();
    assert_eq!(seen, (0..=of).map(|d| (d, of)).collect::<Vec<_>>());
}

#[test]
fn a_damaged_cache_is_generated_again() {
    let dir = tempfile::tempdir().unwrap();
    let digest = quiet(&small(), dir.path()).dataset.digest;
    let set = cache::path(&small(), dir.path());
    let check = |damage: &str| {
        assert!(cache::open(&small(), &set).is_err(), "not noticed: {damage}");
        let again = quiet(&small(), dir.path());
        assert!(!again.cached, "{damage}");
        assert_eq!(
            (again.dataset.digest.as_str(), again.warning),
            (digest.as_str(), None)
        );
        assert!(cache::open(&small(), &set).is_ok(), "not mended: {damage}");
    };
    for name in ["dataset.json", "shard-0000.safetensors"] {
        let path = set.join(name);
        let whole = fs::read(&path).unwrap();
        for length in [0, whole.len() / 2, whole.len() - 3] {
            fs::write(&path, &whole[..length]).unwrap();
            check(&format!("{name} cut to {length} bytes"));
        }
        fs::remove_file(&path).unwrap();
        check(&format!("no {name}"));
    }
    let path = set.join("shard-0000.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    check("the last byte");
    // The set of another seed.
    let other = Config { seed: 6, ..small() };
    quiet(&other, dir.path());
    fs::remove_dir_all(&set).unwrap();
    fs::rename(cache::path(&other, dir.path()), &set).unwrap();
    check("another set");
}

#[test]
fn programs_that_start_at_once_all_get_the_set_and_one_of_them_makes_it() {
    let dir = tempfile::tempdir().unwrap();
    let sets: Vec<Loaded> = std::thread::scope(|s| {
        let started: Vec<_> = (0..4).map(|_| s.spawn(|| quiet(&small(), dir.path()))).collect();
        started.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let digest = &sets[0].dataset.digest;
    assert!(
        sets.iter()
            .all(|l| l.dataset.digest == *digest && l.warning.is_none())
    );
    assert_eq!(sets.iter().filter(|l| !l.cached).count(), 1);
    assert!(cache::open(&small(), &cache::path(&small(), dir.path())).is_ok());
}

#[test]
fn where_nothing_can_be_written_the_set_is_in_memory_and_a_warning_says_why() {
    let dir = tempfile::tempdir().unwrap();
    // A file in place of the cache's folder, and one in place of the set's.
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let taken = dir.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(cache::path(&small(), &taken), b"").unwrap();
    let digest = quiet(&small(), &dir.path().join("free")).dataset.digest;
    for place in [file.join("cache"), taken] {
        let set = quiet(&small(), &place);
        let warning = set.warning.unwrap();
        assert!(warning.contains("not kept on disk"), "{warning}");
        assert!(warning.contains(place.to_str().unwrap()), "{warning}");
        assert_eq!(set.dataset.digest, digest);
        assert!(set.dataset.cloud(0).is_ok());
    }
    for config in [Config { trees: 0, ..small() }, Config { points: 0, ..small() }] {
        let error = load(&config, dir.path(), &|_, _| ()).unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
    }
}
