//! `canopy train` as several processes, one rank each, started by mpirun.

use crate::*;

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_rank_of_several() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 12), dir.path().join("run"));
    let mut rank = train(&data, &run, "");
    for (name, value) in [("RANK", "0"), ("SIZE", "4"), ("LOCAL_RANK", "0")] {
        rank.env(format!("OMPI_COMM_WORLD_{name}"), value);
    }
    assert_contains(
        &stderr(&mut rank),
        &["Open MPI started 4 processes", "--features mpi", "--ranks 4"],
    );
    let said = stderr(&mut canopy("launch --ranks 2 -- train"));
    assert_contains(&said, &["--features mpi", "--ranks 2"]);
    assert!(!run.exists());
}

#[test]
fn a_stray_rank_is_no_error_and_contradicting_variables_are() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 12), dir.path().join("run"));
    let said = stderr(train(&data, &run, "--epochs 1").env("PMI_RANK", "0"));
    assert_contains(&said, &["contradict", "PMI_RANK", "PMI_SIZE"]);
    succeeds(train(&data, &run, "--epochs 1").env("RANK", "3"));
}

#[test]
fn launch_runs_train_only() {
    let said = stderr(&mut canopy("launch --ranks 2 -- eval runs/quick"));
    assert_contains(&said, &["only `train`"]);
}

/// Settings of Open MPI for a machine with few cores, whose user may be root.
fn with_settings(command: &mut Command) -> &mut Command {
    let settings = [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_btl", "self,vader"),
        ("RAYON_NUM_THREADS", "1"),
    ];
    command.envs(settings)
}

/// Fails if processes were not measured for another reason than that this machine or this build cannot start them.
fn cannot_start(reason: &str) {
    println!("processes: not run, because {reason}");
    let expected = match cfg!(feature = "mpi") {
        true => "there is no mpirun",
        false => "--features mpi",
    };
    assert_contains(reason, &[expected]);
}

#[test]
fn bench_scale_measures_threads_and_with_mpi_also_processes() {
    let options = "--ranks 1,2 --width 16 --points 32 --batch 2 --steps 1 --repeats 1 --json";
    let found = json(with_settings(&mut canopy(&format!("bench scale {options}"))));
    let engines = found["engines"].as_array().unwrap();
    let expected = match found["without_mpi"].as_str() {
        Some(reason) => {
            cannot_start(reason);
            1
        }
        None => 2,
    };
    assert_eq!(engines.len(), expected, "{found}");
    for (engine, is_mpi) in engines.iter().zip([false, true]) {
        for scaling in ["weak", "strong"] {
            let row = &engine[scaling][0];
            assert_eq!((row["ranks"].as_u64(), row["batch"].as_u64()), (Some(2), Some(4)));
            for time in ["step_ms", "reduced_after_ms", "efficiency", "gradients_mb"] {
                assert!(row[time].as_f64().unwrap() > 0.0, "{time}: {row}");
            }
            let [overlapped, after, gain] =
                ["step_ms", "reduced_after_ms", "overlap_gain"].map(|name| row[name].as_f64().unwrap());
            assert!((gain - after / overlapped).abs() < 1e-9, "{row}");
        }
        let all_reduces = engine["all_reduces"].as_array().unwrap();
        assert_eq!(all_reduces.len(), 12);
        assert!(all_reduces.iter().all(|a| a["direct_us"].is_f64() == is_mpi));
    }
    let predicted = found["predicted"].as_array().unwrap();
    let measured = predicted.iter().filter(|p| p["measured_cost"] == true);
    assert_eq!(measured.count(), expected);
    assert!(predicted.len() > expected, "links of data sheets");
}

#[cfg(all(feature = "mpi", unix))]
mod processes;
