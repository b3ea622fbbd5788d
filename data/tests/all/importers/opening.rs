//! Opening whatever lies at a path: shards, layouts through the cache, and what is neither.

use canopy_data::{Dataset, open};

use super::*;

fn opened(path: &Path, cache: &Path, messages: &mut Vec<String>) -> Result<Dataset, String> {
    messages.clear();
    let tell = &mut |line: &str| messages.push(line.to_owned());
    open(path, cache, tell, &mut |_, _| Ok(())).map_err(|e| format!("{e:#}"))
}

#[test]
fn a_layout_opens_through_the_cache_until_it_or_the_cache_changes() {
    let [d, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut messages = Vec::new();
    for (mark, name) in ["oak/a.xyz", "ash/b.xyz"].iter().enumerate() {
        put(&d.path().join(name), 10, mark);
    }
    let first = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_contains(&messages[0], &["recognised as folder, 2 trees of 2 species"]);
    let second = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!((&first.digest, messages.len()), (&second.digest, 0));
    let kept = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap();
    for file in fs::read_dir(kept.path()).unwrap() {
        fs::write(file.unwrap().path(), "{").unwrap();
    }
    let again = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!(again.digest, first.digest);
    assert_contains(&messages[0], &["imported again"]);
    text(d.path(), "pine/neu.xyz", "1 1 1\n");
    let third = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!((third.len(), third.cloud(2).unwrap().len()), (3, 1));
    assert!(!messages.is_empty());
}

#[test]
fn shards_open_directly_other_files_are_an_error_and_a_stop_leaves_nothing() {
    let [d, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let file = d.path().join("oak/a.xyz");
    put(&file, 10, 1);
    let set = cache.path().join("set");
    let stop = &mut |_, _| anyhow::bail!("stopped");
    let folder = import::kind("folder").unwrap();
    let plan = import::plan(folder, d.path(), &Options::default()).unwrap();
    let stopped = import::to_shards(plan, folder, &Options::default(), &set, stop);
    assert_eq!(stopped.unwrap_err().to_string(), "stopped");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);

    let (_, digest) = shards("folder", d.path(), &Options::default(), &set).unwrap();
    let mut messages = Vec::new();
    assert_eq!(opened(&set, cache.path(), &mut messages).unwrap().digest, digest);
    let error = opened(&file, cache.path(), &mut messages).unwrap_err();
    assert_contains(&error, &["is one file", "canopy data import"]);
    assert!(opened(&d.path().join("none"), cache.path(), &mut messages).is_err());
}
