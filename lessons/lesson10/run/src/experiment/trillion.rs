//! The ten models of Narayanan et al. 2021 (table 1): the paper's split, and that of the planner.

use canopy::{
    precision::{FP16, bytes_per_parameter},
    shard::Stage,
    split::{Machine, Work},
};
use kit::table::{Table, count, fixed, json, left, percent};
use lesson10::Lesson10;

/// The paper's table: width, layers, tensor, pipeline, GPUs, batch.
const ROWS: [[u64; 6]; 10] = [
    [2304, 24, 1, 1, 32, 512],
    [3072, 30, 2, 1, 64, 512],
    [4096, 36, 4, 1, 128, 512],
    [6144, 40, 8, 1, 256, 1024],
    [8192, 48, 8, 2, 512, 1536],
    [10_240, 60, 8, 4, 1024, 1792],
    [12_288, 80, 8, 8, 1536, 2304],
    [16_384, 96, 8, 16, 1920, 2160],
    [20_480, 105, 8, 35, 2520, 2520],
    [25_600, 128, 8, 64, 3072, 3072],
];

/// Tokens of a sequence, and words of the vocabulary.
const SEQUENCE: u64 = 2048;
const VOCABULARY: u64 = 51_200;

/// Each model with the paper's split beside that of the planner.
pub fn planned(answer: &Lesson10) -> Table {
    let mut table = Table::new([
        count("GPUs"),
        fixed("billions", 1),
        left("paper"),
        percent("bubble", 1),
        left("plan"),
        fixed("GB", 1),
    ]);
    for [width, layers, tensor, pipeline, gpus, batch] in ROWS {
        // Section 5.1, equation 2: weights, biases and layer norms of the layers, and both embeddings.
        let of_layers = layers * width * (12 * width + 13);
        let parameters = of_layers + (VOCABULARY + SEQUENCE) * width;
        let work = Work {
            parameters,
            each: bytes_per_parameter(FP16, 2),
            // Each layer keeps its input alone, 2 bytes a number, and computes the rest again.
            activations: 2 * SEQUENCE * width * layers,
            layers,
            batch,
        };
        let data = gpus / (tensor * pipeline);
        let machine = Machine {
            nodes: gpus / 8,
            ranks_per_node: 8,
            memory: 80_000_000_000,
            // NVLink and InfiniBand HDR of a GPU, in one direction.
            inside: 300e9,
            between: 25e9,
        };
        let plan = (answer.choose)(&work, &machine);
        let mut split = format!("{} × {} × {}", plan.tensor, plan.pipeline, plan.data);
        if plan.stage != Stage::Zero0 {
            split += &format!(", {}", plan.stage);
        }
        table.row(json!([
            gpus,
            parameters as f64 / 1e9,
            format!("{tensor} × {pipeline} × {data}"),
            (answer.bubble)(pipeline as usize, (batch / data) as usize),
            split,
            plan.bytes as f64 / 1e9
        ]));
    }
    table
}
