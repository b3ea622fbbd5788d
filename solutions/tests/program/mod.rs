//! Helpers for tests of the `canopy` program.
#![allow(dead_code, missing_docs)] // each test file uses its part

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use canopy_data::{Cloud, Philox, Scan, TreeRecord, shard};

/// The program under test, away from the user's cache.
pub fn canopy() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_canopy"));
    command.env_remove("CANOPY_CACHE");
    command
}

/// Runs a command that must fail with exit code 1, and returns its standard error.
pub fn stderr(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    stderr
}

/// Writes a shard folder of `n` clouds on 6 plots: spheres, cones and boxes, which are easy to classify.
pub fn tiny_forest(dir: &Path, n: usize) -> PathBuf {
    let path = dir.join("tiny");
    let meta = shard::Meta {
        name: "tiny".into(),
        species: ["ball", "cone", "box"].map(String::from).to_vec(),
        ..shard::Meta::default()
    };
    let mut writer = shard::Writer::create(&path, meta).unwrap();
    for i in 0..n {
        let record = TreeRecord {
            tree: format!("t{i}"),
            species: i % 3,
            plot: format!("p{}", i / 3 % 6),
            scan: Scan::Tls,
            source: format!("made {i}"),
        };
        writer
            .push(&record, &Cloud::from_points(shape(i % 3, i as u64)))
            .unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Returns 80 points of a shape: 0 is a ball, 1 a cone, any other a box.
pub fn shape(kind: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut r = Philox::new(seed, 77);
    let point = |_| {
        let mut p = [0; 3].map(|_| r.uniform() * 2.0 - 1.0);
        match kind {
            0 => {
                let norm = p.iter().map(|c| c * c).sum::<f32>().sqrt().max(1e-3);
                p = p.map(|c| c / norm);
            }
            1 => {
                let wide = (1.0 - p[2]) / 2.0;
                p = [p[0] * wide, p[1] * wide, p[2] * 2.0];
            }
            _ => {}
        }
        p
    };
    (0..80).map(point).collect()
}
