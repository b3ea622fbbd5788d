//! `canopy doctor` on this machine, and with a driver's library that is broken in ways that real ones are.
//!
//! There is no card to break, so a small C library stands for the driver: it has the functions that `doctor` calls.

use crate::{Command, Path, canopy, fs};

/// Runs `canopy doctor --json` where the loader finds the libraries in `folder` first.
fn doctor(folder: &Path) -> (serde_json::Value, bool) {
    let output = canopy("doctor --json")
        .env("LD_LIBRARY_PATH", folder)
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    (report, output.status.success())
}

fn line<'a>(report: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let lines = report["lines"].as_array().unwrap();
    lines
        .iter()
        .find(|l| l["name"] == name)
        .unwrap_or_else(|| panic!("no line {name}: {report}"))
}

/// Compiles a library with the functions of the driver: `init` is what `cuInit` returns.
fn driver(folder: &Path, init: i32, cards: i32) {
    let source = format!(
        "#include <string.h>\n#include <stddef.h>\n\
         int cuInit(unsigned f) {{ return {init}; }}\n\
         int cuDriverGetVersion(int *v) {{ *v = 12040; return 0; }}\n\
         int cuDeviceGetCount(int *n) {{ *n = {cards}; return 0; }}\n\
         int cuDeviceGet(int *d, int i) {{ *d = i; return 0; }}\n\
         int cuDeviceGetAttribute(int *v, int a, int d) {{ *v = a == 75 ? 7 : 5; return 0; }}\n\
         int cuDeviceTotalMem_v2(size_t *b, int d) {{ *b = (size_t)16 << 30; return 0; }}\n\
         int cuDeviceGetName(char *s, int n, int d) {{ strncpy(s, \"Test Card\", n); return 0; }}\n\
         int cuDeviceGetPCIBusId(char *s, int n, int d) {{ strncpy(s, \"0000:01:00.0\", n); return 0; }}\n"
    );
    fs::write(folder.join("driver.c"), source).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"])
        .current_dir(folder)
        .status();
    assert!(compiled.unwrap().success());
}

#[test]
fn this_machine_is_examined() {
    let folder = tempfile::tempdir().unwrap();
    let (report, well) = doctor(folder.path());
    for name in ["program", "driver", "CPU", "units", "scratch", "Slurm", "MPI"] {
        assert!(!line(&report, name)["found"].as_str().unwrap().is_empty());
    }
    assert_eq!(report["wrong"] == 0, well, "{report}");
}

#[test]
#[cfg(target_os = "linux")]
fn broken_drivers_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    // A driver with a card: this program, built without CUDA, cannot use it.
    driver(folder.path(), 0, 1);
    let (report, _) = doctor(folder.path());
    let card = line(&report, "cuda:0");
    assert!(
        card["found"]
            .as_str()
            .unwrap()
            .contains("Test Card, compute capability 7.5, 16.0 GiB"),
        "{card}"
    );
    assert_ne!(card["state"], "ok", "{card}");
    // The kernel's module and the library have different versions.
    driver(folder.path(), 803, 1);
    let (report, well) = doctor(folder.path());
    assert_eq!(line(&report, "driver")["state"], "wrong");
    assert!(!well, "{report}");
    // Not a library at all.
    fs::write(folder.path().join("libcuda.so.1"), "text").unwrap();
    let (report, _) = doctor(folder.path());
    assert!(
        line(&report, "driver")["found"].as_str().unwrap().contains("CPU"),
        "{report}"
    );
}

#[test]
fn a_scratch_folder_that_is_missing_is_an_error_code() {
    let output = canopy("doctor --scratch /no/such/folder").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("WRONG   scratch") && text.contains("/no/such/folder"),
        "{text}"
    );
}
