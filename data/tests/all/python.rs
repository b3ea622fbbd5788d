//! A shard that canopy-data wrote, read by Python's safetensors.

use std::process::Command;

use canopy_data::{Cloud, Return, formats};

/// Prints what the documentation of `canopy_data::shard` computes, for every cloud.
const SCRIPT: &str = r#"
import sys
from safetensors.numpy import load_file

shard = load_file(sys.argv[1])
for i in range(len(shard["cloud_origin"])):
    begin, end = shard["cloud_start"][i : i + 2]
    points = shard["xyz"][begin:end] + shard["cloud_origin"][i]
    print([round(float(v), 3) for p in points for v in p], shard["intensity"][begin:end].tolist(), shard["returns"][begin:end].tolist())
"#;

#[test]
fn python_reads_a_shard() {
    let python = std::env::var("CANOPY_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import numpy, safetensors"])
        .output();
    if !has.is_ok_and(|o| o.status.success()) {
        println!(
            "not run, because {python} does not have numpy and safetensors: set CANOPY_PYTHON to one that does"
        );
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("two.safetensors");
    let bare = Cloud {
        origin: [432_100.0, 5_403_200.0, 0.0],
        ..Cloud::from_points(vec![[1.0, 2.0, 3.5], [4.0, 5.0, 6.0]])
    };
    let full = Cloud {
        intensity: vec![900],
        returns: vec![Return { number: 1, of: 2 }],
        ..Cloud::from_points(vec![[0.5, 0.25, 7.0]])
    };
    let mut writer = formats::Writer::create(&path, &formats::Options::default()).unwrap();
    for cloud in [bare, full] {
        writer.write(&cloud).unwrap();
    }
    writer.finish().unwrap();
    let output = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(path)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[432101.0, 5403202.0, 3.5, 432104.0, 5403205.0, 6.0] [0, 0] [[0, 0], [0, 0]]\n\
         [0.5, 0.25, 7.0] [900] [[1, 2]]\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
