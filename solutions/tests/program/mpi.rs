//! `canopy train` as several processes, one rank each, started by mpirun.

use crate::*;

#[test]
fn bench_scale_measures_ranks_and_predicts_others() {
    let options = "--ranks 1,2 --width 16 --points 32 --batch 2 --steps 1 --repeats 1 --json";
    let found = json(&mut canopy(&format!("bench scale {options}")));
    check_scaling(&found, "threads");
    let predicted = found["predicted"].as_array().unwrap();
    assert!(predicted.len() > 1, "links of data sheets");
    for link in &predicted[1..] {
        let of = |ranks: &str| [0, 1].map(|overlapped| link[ranks][overlapped].as_f64().unwrap());
        let all = ["ranks_2", "ranks_8", "ranks_64", "ranks_1024"].map(of);
        assert!(all.is_sorted_by(|a, b| b[0] <= a[0]), "{link}");
        assert!(all.iter().all(|[open, hidden]| open < hidden), "{link}");
    }
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
    let all_reduces = found["all_reduces"].as_array().unwrap();
    assert_eq!(all_reduces.len(), 12);
    assert!(
        all_reduces
            .iter()
            .all(|a| a["direct_us"].is_f64() == (name == "MPI"))
    );
}

#[cfg(all(feature = "mpi", unix))]
mod processes;
