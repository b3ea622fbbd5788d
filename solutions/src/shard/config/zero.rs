//! `zero_optimization`.

use anyhow::{Result, bail, ensure};

use super::{Block, EngineFile};

/// What the ranks share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zero {
    /// The stage, 0 to 3; 0 is data parallelism.
    pub stage: u8,
    /// Whether the optimizer's state is in the CPU's memory.
    pub offload_optimizer: bool,
}

/// How DeepSpeed sends and stores: numbers and flags without effect on canopy's results.
const SIZES: [&str; 8] = [
    "reduce_bucket_size",
    "allgather_bucket_size",
    "sub_group_size",
    "stage3_max_live_parameters",
    "stage3_max_reuse_distance",
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
    "stage3_model_persistence_threshold",
];
const FLAGS: [&str; 7] = [
    "contiguous_gradients",
    "reduce_scatter",
    "allgather_partitions",
    "round_robin_gradients",
    "load_from_fp32_weights",
    "elastic_checkpoint",
    "stage3_gather_16bit_weights_on_model_save",
];

pub fn read(file: &Block, out: &mut EngineFile) -> Result<()> {
    let Some(block) = file.block("zero_optimization")? else {
        return Ok(());
    };
    let keys = ["stage", "overlap_comm", "offload_optimizer", "offload_param"];
    block.expect_keys("\"zero_optimization\"", &[&keys, &SIZES, &FLAGS])?;
    let stage = block.integer("stage", 0)?.unwrap_or(0);
    ensure!(
        stage <= 3,
        "{} is {stage}, expected 0, 1, 2 or 3",
        block.path("stage")
    );
    for key in SIZES {
        block.integer(key, 0)?;
    }
    for key in FLAGS {
        block.flag(key)?;
    }
    if let Some(on) = block.flag("overlap_comm")? {
        out.set("overlap", on, block.path("overlap_comm"));
    }
    let offload_optimizer = offloads(&block, "offload_optimizer")?;
    ensure!(
        !offload_optimizer || stage >= 1,
        "{} needs stage 1, 2 or 3, and the stage is {stage}",
        block.path("offload_optimizer")
    );
    if offloads(&block, "offload_param")? {
        bail!(
            "{}: canopy keeps the parameters on the device; remove the key",
            block.path("offload_param")
        );
    }
    out.zero = Zero {
        stage: stage as u8,
        offload_optimizer,
    };
    let idle: Vec<&str> = SIZES.into_iter().chain(FLAGS).collect();
    out.note_idle(&block, &idle);
    Ok(())
}

/// Whether the object at `key` moves something to the CPU.
fn offloads<'a>(zero: &Block<'a>, key: &'a str) -> Result<bool> {
    let Some(block) = zero.block(key)? else {
        return Ok(false);
    };
    let sizes = ["buffer_count", "buffer_size", "max_in_cpu"];
    let flags = ["pin_memory", "pipeline_read", "pipeline_write", "fast_init"];
    block.expect_keys(&format!("\"{key}\""), &[&["device", "ratio"], &sizes, &flags])?;
    for key in sizes {
        block.integer(key, 0)?;
    }
    for key in flags {
        block.flag(key)?;
    }
    block.number("ratio", 0.0)?;
    let device = block.choice("device", &["none", "cpu", "nvme"])?;
    ensure!(
        device != Some("nvme"),
        "{} is \"nvme\", expected \"cpu\" or \"none\"",
        block.path("device")
    );
    Ok(device == Some("cpu"))
}
