//! The ten models of Narayanan et al. 2021 (table 1), recomputed from their own numbers.

use canopy::{
    precision::{FP16, bytes_per_parameter},
    shard::{Stage, bytes_per_rank},
    split::{Choice, Machine, Work},
};
use grader::{
    cells,
    table::{Table, count, fixed, left, percent},
};
use lesson10::Lesson10;

/// A row of the paper's table: what was run, and what was measured.
struct Row {
    hidden: u64,
    layers: u64,
    tensor: u64,
    pipeline: u64,
    gpus: u64,
    batch: u64,
    /// Measured, 10¹² operations per second and GPU.
    tflops: f64,
}

const fn row(hidden: u64, layers: u64, [tensor, pipeline, gpus, batch]: [u64; 4], tflops: f64) -> Row {
    Row {
        hidden,
        layers,
        tensor,
        pipeline,
        gpus,
        batch,
        tflops,
    }
}

const ROWS: [Row; 10] = [
    row(2304, 24, [1, 1, 32, 512], 137.0),
    row(3072, 30, [2, 1, 64, 512], 138.0),
    row(4096, 36, [4, 1, 128, 512], 142.0),
    row(6144, 40, [8, 1, 256, 1024], 135.0),
    row(8192, 48, [8, 2, 512, 1536], 138.0),
    row(10_240, 60, [8, 4, 1024, 1792], 140.0),
    row(12_288, 80, [8, 8, 1536, 2304], 148.0),
    row(16_384, 96, [8, 16, 1920, 2160], 155.0),
    row(20_480, 105, [8, 35, 2520, 2520], 163.0),
    row(25_600, 128, [8, 64, 3072, 3072], 163.0),
];

/// Tokens of a sequence, and words of the vocabulary.
const SEQUENCE: f64 = 2048.0;
const VOCABULARY: f64 = 51_200.0;
/// Peak of an A100 in fp16, 10¹² operations per second.
const PEAK: f64 = 312.0;
/// Tokens of the paper's estimate for the largest model.
const TOKENS: f64 = 450e9;

impl Row {
    /// Section 5.1, equation 2: weights, biases and layer norms of the layers, and both embeddings.
    fn parameters(&self) -> f64 {
        let (h, l) = (self.hidden as f64, self.layers as f64);
        12.0 * l * h * h * (1.0 + 13.0 / (12.0 * h) + (VOCABULARY + SEQUENCE) / (12.0 * l * h))
    }

    /// Section 5.1, equation 3: operations of a step, with the forward passes that are computed again.
    fn operations(&self) -> f64 {
        let (h, l) = (self.hidden as f64, self.layers as f64);
        let inner = 1.0 + SEQUENCE / (6.0 * h) + VOCABULARY / (16.0 * l * h);
        96.0 * self.batch as f64 * SEQUENCE * l * h * h * inner
    }

    fn data(&self) -> u64 {
        self.gpus / (self.tensor * self.pipeline)
    }

    fn work(&self) -> Work {
        Work {
            parameters: self.parameters() as u64,
            each: bytes_per_parameter(FP16, 2),
            // Each layer keeps its input alone, 2 bytes a number, and computes the rest again.
            activations: 2 * SEQUENCE as u64 * self.hidden * self.layers,
            layers: self.layers,
            batch: self.batch,
        }
    }

    /// Bytes of a GPU as the paper split the model, with micro-batches of one sequence.
    fn bytes(&self) -> u64 {
        let (work, parts) = (self.work(), self.tensor * self.pipeline);
        let own = work.parameters.div_ceil(parts);
        let model: u64 = bytes_per_rank(own, work.each, Stage::Zero0, self.data())
            .iter()
            .sum();
        let held = self.pipeline.min(self.batch / self.data());
        model + held * work.activations.div_ceil(parts)
    }

    fn machine(&self) -> Machine {
        Machine {
            nodes: self.gpus / 8,
            ranks_per_node: 8,
            memory: 80_000_000_000,
            // NVLink and InfiniBand HDR of a GPU, in one direction.
            inside: 300e9,
            between: 25e9,
        }
    }
}

fn split(tensor: u64, pipeline: u64, data: u64) -> String {
    format!("{tensor} × {pipeline} × {data}")
}

/// Size, split, bubble and speed of each model.
pub fn recomputed(answer: &Lesson10) -> Table {
    let mut table = Table::new([
        count("GPUs"),
        fixed("10⁹ parameters", 1),
        left("t × p × d"),
        percent("bubble", 1),
        percent("of peak", 1),
        fixed("in all", 1).unit("PFLOP/s"),
        fixed("a step", 1).unit("s"),
    ]);
    for row in &ROWS {
        let all = row.tflops * 1e12 * row.gpus as f64;
        let micro_batches = row.batch / row.data();
        table.row(cells![
            row.gpus,
            row.parameters() / 1e9,
            split(row.tensor, row.pipeline, row.data()),
            (answer.bubble)(row.pipeline as usize, micro_batches as usize),
            row.tflops / PEAK,
            all / 1e15,
            row.operations() / all
        ]);
    }
    table
}

/// Days that the largest model needs for [`TOKENS`].
pub fn days() -> f64 {
    let row = &ROWS[ROWS.len() - 1];
    let steps = TOKENS / (row.batch as f64 * SEQUENCE);
    let seconds = row.operations() / (row.tflops * 1e12 * row.gpus as f64);
    steps * seconds / 86_400.0
}

/// The paper's split of each model beside that of the planner.
pub fn planned(answer: &Lesson10) -> Table {
    let mut table = Table::new([
        count("GPUs"),
        left("paper"),
        fixed("paper, GB", 1),
        left("plan"),
        fixed("plan, GB", 1),
        left("sharding"),
        count("micro-batch"),
    ]);
    for row in &ROWS {
        let choice: Choice = (answer.choose)(&row.work(), &row.machine());
        table.row(cells![
            row.gpus,
            split(row.tensor, row.pipeline, row.data()),
            row.bytes() as f64 / 1e9,
            split(choice.tensor, choice.pipeline, choice.data),
            choice.bytes as f64 / 1e9,
            choice.stage.to_string(),
            choice.micro_batch
        ]);
    }
    table
}
