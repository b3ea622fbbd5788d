//! `--nvtx`, against a profiler's side of NVTX that writes down the ranges: a library that the program loads by
//! NVTX_INJECTION64_PATH, as Nsight Systems has it loaded.

use crate::*;

const INJECTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/nvtx.c");

/// The library, if there is a compiler for it.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("libinjection.so");
    let mut gcc = Command::new("gcc");
    let out = gcc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(INJECTION);
    let out = out.output().ok()?;
    assert!(out.status.success(), "{}", text(&out.stderr));
    Some(library)
}

#[test]
fn spans_are_nvtx_ranges_of_a_profiler() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 18);
    let (list, run) = (dir.path().join("ranges"), dir.path().join("run"));
    let mut train = train(&data, &run, "--epochs 2 --profile --nvtx");
    if cfg!(not(feature = "nvtx")) {
        assert_contains(&text(&succeeds(&mut train).stderr), &["--features nvtx"]);
        return;
    }
    let Some(library) = compiled(dir.path()).filter(|_| cfg!(target_os = "linux")) else {
        println!("not run, because it needs gcc on Linux");
        return;
    };
    train
        .env("NVTX_INJECTION64_PATH", library)
        .env("LIST_OF_RANGES", &list);
    succeeds(&mut train);

    let spans = profiling::spans(&run.join("profile/trace.json"));
    let list = fs::read_to_string(list).unwrap();
    let pushed = |name: &str| list.lines().filter(|l| *l == format!("push {name}")).count();
    for name in ["step", "forward", "backward"] {
        let count = spans.iter().filter(|s| s["name"] == name).count();
        assert!(
            count > 0 && pushed(name) == count,
            "{name}: {count} spans\n{list}"
        );
    }
    let pops = list.lines().filter(|l| *l == "pop").count();
    assert_eq!(2 * pops, list.lines().count(), "each range ends");
}
