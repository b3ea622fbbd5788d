//! The keys of DeepSpeed's that have no setting in canopy: some change nothing, some must have one value, some are refused.

use anyhow::{Result, bail, ensure};
use serde_json::{Value as Json, json};

/// Keys that have no effect in canopy: how DeepSpeed sends and stores, and what its own kernels need.
const IDLE: &[&str] = &[
    "prescale_gradients",
    "gradient_predivide_factor",
    "communication_data_type",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "memory_breakdown",
    "dump_state",
    "optimizer.legacy_fusion",
    "optimizer.params.set_grad_none",
    "optimizer.params.fused",
    "optimizer.params.foreach",
    "scheduler.params.cycle_min_mom",
    "scheduler.params.cycle_max_mom",
    "scheduler.params.decay_mom_rate",
    "fp16.auto_cast",
    "zero_optimization.reduce_bucket_size",
    "zero_optimization.allgather_bucket_size",
    "zero_optimization.sub_group_size",
    "zero_optimization.stage3_max_live_parameters",
    "zero_optimization.stage3_max_reuse_distance",
    "zero_optimization.stage3_prefetch_bucket_size",
    "zero_optimization.stage3_param_persistence_threshold",
    "zero_optimization.stage3_model_persistence_threshold",
    "zero_optimization.contiguous_gradients",
    "zero_optimization.reduce_scatter",
    "zero_optimization.allgather_partitions",
    "zero_optimization.round_robin_gradients",
    "zero_optimization.load_from_fp32_weights",
    "zero_optimization.elastic_checkpoint",
    "zero_optimization.stage3_gather_16bit_weights_on_model_save",
];

/// What has no effect if `fp16.enabled` is not true.
const OF_FP16: &[&str] = &[
    "fp16.loss_scale",
    "fp16.initial_scale_power",
    "fp16.loss_scale_window",
    "fp16.hysteresis",
    "fp16.min_loss_scale",
];

/// Keys for what canopy does not do; accepted if their `enabled` is false.
const UNSUPPORTED: &[&str] = &[
    "activation_checkpointing",
    "aio",
    "amp",
    "autotuning",
    "checkpoint",
    "comms_logger",
    "compression_training",
    "csv_monitor",
    "curriculum_learning",
    "data_efficiency",
    "data_types",
    "elasticity",
    "flops_profiler",
    "hybrid_engine",
    "pipeline",
    "progressive_layer_drop",
    "quantize_training",
    "sparse_attention",
    "sparse_gradients",
    "tensorboard",
    "torch_autocast",
    "wandb",
];

/// Keys that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "optimizer.params.max_grad_norm",
        "DeepSpeed takes the maximum gradient norm from the key gradient_clipping",
    ),
    (
        "optimizer.params.max_coeff",
        "canopy's LAMB does not limit the trust ratio; remove the key",
    ),
    (
        "optimizer.params.min_coeff",
        "canopy's LAMB does not limit the trust ratio; remove the key",
    ),
];

/// Takes these keys out of `file`, and notes those without effect.
///
/// # Errors
/// Names the key that is refused, or that has another value than the only one that canopy knows.
pub fn take_those_without_a_setting(file: &mut Json, notes: &mut Vec<String>) -> Result<()> {
    for key in UNSUPPORTED {
        let Some(value) = file.get(key) else { continue };
        ensure!(
            value.get("enabled") == Some(&json!(false)),
            "{key}: canopy has no counterpart of this DeepSpeed key; remove it"
        );
    }
    for (key, why) in REFUSED {
        ensure!(take(file, key).is_none(), "{key}: {why}");
    }
    for (key, only) in [
        ("optimizer.params.bias_correction", json!(true)),
        ("optimizer.params.amsgrad", json!(false)),
        ("optimizer.params.eps_inside_sqrt", json!(false)),
        ("optimizer.params.dampening", json!(0)),
        ("optimizer.params.lr_decay", json!(0)),
        ("optimizer.params.initial_accumulator_value", json!(0)),
        ("fp16.consecutive_hysteresis", json!(false)),
        ("fp16.fp16_master_weights_and_grads", json!(false)),
        ("bf16.check_grad_overflow", json!(false)),
        ("bf16.immediate_grad_update", json!(false)),
        ("bf16.bf16_master_weights_and_grads", json!(false)),
        ("bf16.bf16_optimizer_states", json!(false)),
    ] {
        match take(file, key) {
            Some(value) if value != only => bail!("{key} is {value}: canopy can do this only with {only}"),
            _ => {}
        }
    }
    let cycles = file.pointer("/scheduler/params/cycle_momentum");
    ensure!(
        cycles.is_none_or(|cycles| *cycles == json!(false)),
        "scheduler.params.cycle_momentum is true: canopy cycles the learning rate only, expected false"
    );
    let mut idle = [IDLE, UNSUPPORTED].concat();
    if file.pointer("/fp16/enabled") != Some(&json!(true)) {
        idle.extend(OF_FP16);
    }
    idle.retain(|key| take(file, key).is_some());
    if !idle.is_empty() {
        notes.push(format!("without effect in canopy: {}", idle.join(", ")));
    }
    Ok(())
}

/// Removes the value at `key`, such as `optimizer.params.lr`.
fn take(file: &mut Json, key: &str) -> Option<Json> {
    let (above, last) = key.rsplit_once('.').unwrap_or(("", key));
    let pointer = match above {
        "" => String::new(),
        above => format!("/{}", above.replace('.', "/")),
    };
    file.pointer_mut(&pointer)?.as_object_mut()?.remove(last)
}
