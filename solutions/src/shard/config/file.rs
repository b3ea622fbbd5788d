//! The file as serde reads it: the keys that canopy has a setting for.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value as Json};

/// The keys that canopy has a setting for.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    pub train_batch_size: Option<NonZeroUsize>,
    pub train_micro_batch_size_per_gpu: Option<NonZeroUsize>,
    pub gradient_accumulation_steps: Option<NonZeroUsize>,
    pub optimizer: Option<Typed>,
    pub scheduler: Option<Typed>,
    pub fp16: Option<Fp16>,
    pub bf16: Option<Bf16>,
    pub gradient_clipping: Option<f64>,
    pub steps_per_print: Option<NonZeroU32>,
    pub wall_clock_breakdown: Option<bool>,
    pub zero_optimization: ZeroOptimization,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub params: Map<String, Json>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    pub lr: Option<f64>,
    pub betas: Option<[f64; 2]>,
    pub eps: Option<f64>,
    pub weight_decay: Option<f64>,
    pub torch_adam: bool,
    pub adam_w_mode: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    pub lr: Option<f64>,
    pub momentum: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fp16 {
    pub enabled: Option<bool>,
    pub loss_scale: f64,
    pub initial_scale_power: Option<u32>,
    pub loss_scale_window: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bf16 {
    pub enabled: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZeroOptimization {
    pub stage: u8,
    pub overlap_comm: Option<bool>,
    pub offload_optimizer: Offload,
    pub offload_param: Offload,
}

/// Where something is kept; the keys that are ignored say how DeepSpeed gets it there.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(dead_code, reason = "other keys are errors")]
pub struct Offload {
    pub device: Place,
    pub ratio: IgnoredAny,
    pub buffer_count: IgnoredAny,
    pub buffer_size: IgnoredAny,
    pub max_in_cpu: IgnoredAny,
    pub pin_memory: IgnoredAny,
    pub pipeline_read: IgnoredAny,
    pub pipeline_write: IgnoredAny,
    pub fast_init: IgnoredAny,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    #[default]
    None,
    Cpu,
}
