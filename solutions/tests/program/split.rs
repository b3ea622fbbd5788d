//! `canopy bench split` and `canopy plan` of a split model: a limit that one rank exceeds, and counts that agree.

use crate::*;

const SIZE: &str = "--width-times 2 --points 16 --micro-batches 4";

#[test]
fn two_ranks_train_what_the_memory_limit_refuses_to_one() {
    let plan = |words: &str| json(&mut canopy(&format!("plan --json --batch 16 {SIZE} {words}")));
    let total = |found: &Value, rank: usize| {
        let bytes = &found["ranks"][rank]["bytes"];
        let parts = ["parameters", "gradients", "optimizer", "activations"];
        parts
            .map(|part| bytes[part].as_u64().unwrap())
            .iter()
            .sum::<u64>()
    };
    let one = total(&plan(""), 0);
    let limit = (one / (1 << 20)) as f64 * 0.9;
    let bench = |words: &str| {
        canopy(&format!(
            "bench split {SIZE} --clouds 4 --steps 2 --memory-limit {limit} {words}"
        ))
    };
    let refusal = stderr(&mut bench("--json"));
    assert_contains(
        &refusal,
        &["rank 0 keeps", "the limit is", "--tensor 2 --pipeline 1"],
    );
    for split in ["--tensor 2", "--pipeline 2 --schedule gpipe"] {
        let planned = plan(split);
        let found = json(&mut bench(&format!("--json {split}")));
        for rank in 0..2 {
            let counted = &found["ranks"][rank]["counted"];
            assert_eq!(counted, &planned["ranks"][rank]["bytes"], "{split}");
        }
        let axis = &found["traffic"][0];
        assert_eq!(axis["bytes"], axis["predicted_bytes"]);
        assert_eq!(axis["bytes"], planned["sent"][0][1]);
        assert!(found["allocated"].as_u64() >= found["counted"].as_u64());
    }
}

#[test]
fn a_timeline_shows_each_rank_measured_and_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let plot = dir.path().join("timeline.svg");
    let mut bench = canopy(
        "bench split --over-points 16,16,16,16 --over-clouds 8 --points 16 --pipeline 2 --schedule interleaved --steps 2",
    );
    let printed = stdout(bench.arg("--plot").arg(&plot));
    assert_contains(
        &printed,
        &["bubble: (p − 1)/m 0.125", "forward passes held", "pipeline"],
    );
    let svg = fs::read_to_string(plot).unwrap();
    assert_contains(
        &svg,
        &["rank 1, measured", "rank 1, predicted", "stage 1 of the rank"],
    );
}

#[test]
fn a_plan_says_which_split_fits_and_how_long_a_step_takes() {
    let words = format!("plan --batch 16 {SIZE} --tensor 2 --pipeline 2 --link 10 --step-seconds 0.1");
    let fits = stdout(&mut canopy(&format!("{words} --budget 1")));
    assert_contains(
        &fits,
        &["bubble: 0.250 with equal stages", "efficient", "It fits"],
    );
    let refused = stdout(&mut canopy(&format!("{words} --budget 0.001")));
    assert_contains(&refused, &["Rank 0 needs", "No split"]);
    let wrong = stderr(&mut canopy("plan --batch 15 --tensor 2"));
    assert_contains(&wrong, &["use a multiple of 4"]);
    let both = stderr(&mut canopy("plan --tensor 2 --ranks 4"));
    assert_contains(&both, &["bench split"]);
}

#[test]
fn a_plan_for_nodes_chooses_the_parallelism() {
    let words =
        "plan --ranks 32 --nodes 4 --parameters 60e9 --format bf16 --activations 4 --layers 80 --budget 80";
    let printed = stdout(&mut canopy(words));
    assert_contains(
        &printed,
        &["On this cluster: tensor parallel over 8, pipeline of 2 stages"],
    );
    assert!(!printed.contains("Use ZeRO"), "one recommendation: {printed}");
    assert_contains(&stderr(&mut canopy("plan --ranks 4 --nodes 3")), &["--nodes 3"]);
    let absurd = stderr(&mut canopy("plan --ranks 4 --parameters 1e30"));
    assert_contains(&absurd, &["--parameters is 1e30", "up to 1e15"]);
}

/// The largest model of Narayanan et al. 2021, on 3,072 GPUs of 80 GB: 128 layers of width 25,600, of which each keeps its input
/// for a sample of 2,048 tokens, and 3,072 samples in a step. The numbers expected are those of lesson 10's last table.
#[test]
fn a_plan_for_a_trillion_parameters_is_that_of_lesson_10() {
    let (width, layers, tokens) = (25_600.0_f64, 128.0, 2048.0);
    // Equation 2 of the paper, with a vocabulary of 51,200.
    let parameters = 12.0
        * layers
        * width.powi(2)
        * (1.0 + 13.0 / (12.0 * width) + (51_200.0 + tokens) / (12.0 * layers * width));
    let gib = f64::from(1 << 30);
    let activations = 2.0 * tokens * width * layers / gib;
    let words = format!(
        "plan --json --ranks 3072 --nodes 384 --parameters {parameters} --layers {layers} --format fp16 --batch 1 \
         --activations {activations} --budget {}",
        80e9 / gib
    );
    let choice = json(&mut canopy(&words))["chosen"]["choice"].clone();
    let of = |name: &str| choice[name].as_u64().unwrap();
    assert_eq!(["tensor", "pipeline", "data"].map(of), [8, 32, 12]);
    assert_eq!((of("bytes") as f64 / 1e8).round(), 647.0, "{choice}");
    assert!(stderr(&mut canopy("plan --batch 1")).contains("at least 2 clouds"));
}
