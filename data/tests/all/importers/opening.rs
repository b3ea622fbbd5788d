//! Opening whatever lies at a path: shards, layouts through the cache, and what is neither.

use canopy_data::{Dataset, open};

use super::*;

fn opened(path: &Path, cache: &Path, messages: &mut Vec<String>) -> Result<Dataset, String> {
    let opening = canopy_data::Opening {
        options: Options::default(),
        cache: cache.to_owned(),
        tell: &mut |line| messages.push(line.to_owned()),
        progress: &mut |_| Ok(()),
    };
    open(path, opening).map_err(|e| format!("{e:#}"))
}

#[test]
fn a_layout_opens_through_the_cache_until_it_changes() {
    let (d, cache) = (stpctls(), dir());
    let mut messages = Vec::new();
    let first = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_contains(&messages[0], &["recognised as stpctls, 4 trees of 3 species"]);
    messages.clear();
    let second = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!((first.digest, messages.len()), (second.digest, 0));
    text(d.path(), "Kiefer/neu.xyz", "1 1 1\n");
    let third = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!((third.len(), third.cloud(4).unwrap().len()), (5, 3));
    assert!(!messages.is_empty());
}

#[test]
fn a_damaged_cache_is_imported_again() {
    let (d, cache) = (stpctls(), dir());
    let first = opened(d.path(), cache.path(), &mut Vec::new()).unwrap().digest;
    let kept = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap();
    for file in fs::read_dir(kept.path()).unwrap() {
        fs::write(file.unwrap().path(), "{").unwrap();
    }
    let mut messages = Vec::new();
    let second = opened(d.path(), cache.path(), &mut messages).unwrap();
    assert_eq!(second.digest, first);
    assert_contains(&messages[0], &["imported again"]);
}

#[test]
fn shards_open_directly_and_other_folders_are_an_error() {
    let (d, cache) = (stpctls(), dir());
    let set = cache.path().join("set");
    let (_, digest) = shards(Kind::Stpctls, d.path(), &Options::default(), &set).unwrap();
    assert_eq!(
        opened(&set, cache.path(), &mut Vec::new()).unwrap().digest,
        digest
    );
    let file = d.path().join("Fichte/f.xyz");
    let error = opened(&file, cache.path(), &mut Vec::new()).unwrap_err();
    assert_contains(&error, &["is one file", "canopy data import"]);
    assert!(opened(&d.path().join("none"), cache.path(), &mut Vec::new()).is_err());
}

#[test]
fn a_stop_ends_an_import_and_leaves_nothing() {
    let (d, out) = (stpctls(), dir());
    let plan = import::plan(Kind::Stpctls, d.path(), &Options::default()).unwrap();
    let to = out.path().join("set");
    let stop = &mut |_| anyhow::bail!("stopped");
    let error = import::to_shards(plan, Kind::Stpctls, &Options::default(), &to, stop).unwrap_err();
    assert_eq!(error.to_string(), "stopped");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}
