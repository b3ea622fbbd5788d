//! `canopy train` as several processes, one rank each, started by mpirun.

use crate::*;

#[test]
fn bench_scale_measures_ranks() {
    let options = "--ranks 1,2 --width 16 --points 32 --batch 2 --steps 1 --json";
    let found = json(&mut canopy(&format!("bench scale {options}")));
    check_scaling(&found, "threads");
}

fn check_scaling(found: &Value, name: &str) {
    assert_contains(found["name"].as_str().unwrap(), &[name]);
    for scaling in ["weak", "strong"] {
        let row = &found[scaling][0];
        assert_eq!((row["ranks"].as_u64(), row["batch"].as_u64()), (Some(2), Some(4)));
        for number in ["step_ms", "overlap", "efficiency", "sent_mb"] {
            assert!(row[number].as_f64().unwrap() > 0.0, "{number}: {row}");
        }
    }
}

#[cfg(all(feature = "mpi", unix))]
mod processes;
