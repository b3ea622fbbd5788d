//! What ranks that are processes have allocated at each stage of ZeRO, against what is predicted.

use std::sync::atomic::AtomicBool;

use candle_core::{DType, Device, Tensor};
use canopy::{
    kernels::idle_bytes,
    model::Kind,
    parallel::Processes,
    shard::Stage,
    train::{Config, Outcome, memory::held},
};

use crate::shapes::*;

/// Bytes of an f32.
const F32: u64 = 4;
/// What a process of these runs has at any stage besides, at most: activations, clouds and the operators' scratch memory, without
/// the packing buffers of matrix products.
const BESIDES: u64 = 200_000;

/// Bytes of the packing buffers that a thread keeps after candle's first matrix product. Their size depends on the CPU's caches.
fn packing() -> u64 {
    let now = || held().unwrap_or(0).saturating_sub(idle_bytes());
    let ones = |rows, columns| Tensor::ones((rows, columns), DType::F32, &Device::Cpu).unwrap();
    let (x, w) = (ones(8, 1024), ones(1024, 512));
    let before = now();
    drop(x.matmul(&w).unwrap());
    now().saturating_sub(before)
}

/// Trains at each stage. Rank 0 compares what all ranks had allocated with the prediction: at least 95 % of it, because small blocks
/// are not counted, and at most [`BESIDES`] and the packing buffers more. What a stage is known to have besides is added: the copy of what MPI sums,
/// which is kept from step to step.
pub fn every_stage(processes: &dyn Processes, rank: usize, world: usize) {
    let trained = |zero| {
        let config = Config {
            zero,
            // Parameters of 3.2 MB, and little besides: two clouds for each rank.
            model: Kind::Vanilla,
            width: 1,
            batch: 2 * world,
            learning_rate: 1e-4,
            epochs: 1,
            ..config(world)
        };
        let dir = tempfile::tempdir().unwrap();
        let mut trained = trainer(dir.path(), config, Shapes::default(), functions());
        trained.join(processes).unwrap();
        assert_eq!(trained.run(&AtomicBool::new(false)).unwrap(), Outcome::Done);
        trained
    };
    // In a thread that ends, and frees its buffers.
    let packing = std::thread::spawn(packing).join().unwrap();
    for (zero, stage) in (0..).zip(Stage::ALL) {
        let trained = trained(zero);
        if rank > 0 {
            continue;
        }
        let (memory, found) = (
            trained.rank_stats.memory.unwrap(),
            trained.rank_stats.allocated.unwrap(),
        );
        println!(
            "{world} ranks, {packing} bytes of packing buffers: {}\n{}",
            memory.line(stage, world as u64),
            found.line()
        );
        let [weights, gradients, optimizer] = memory.predicted(stage, world as u64);
        let own = F32 * memory.parameters.div_ceil(world as u64);
        let sizes = trained
            .model
            .params()
            .into_iter()
            .map(|(_, var)| var.elem_count());
        // What MPI sums: the largest bucket, which is little more than the largest parameter, or all gradients at once. Stage 1 frees
        // the list of all gradients before the optimizer steps with its own. Stages 1 and 2 copy the parameters that a rank's chunks
        // cut, at most all of its chunks.
        let (summed, gradients, copies) = match stage {
            Stage::Zero0 => (F32 * sizes.max().unwrap() as u64, gradients, 0),
            Stage::Zero1 => (F32 * memory.parameters, gradients.div_ceil(world as u64), own),
            Stage::Zero2 => (0, gradients, own),
            Stage::Zero3 => (0, gradients, 0),
        };
        let between = weights + optimizer + summed;
        for (ends, expected) in [(found.between, between), (found.stepping, between + gradients)] {
            let limits = expected * 95 / 100..=expected + copies + packing + BESIDES;
            let fits = ends.iter().all(|bytes| limits.contains(bytes));
            assert!(fits, "{world} ranks, {stage}: {ends:?}, expected {limits:?}");
        }
    }
}
