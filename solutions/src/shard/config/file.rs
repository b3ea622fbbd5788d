//! The file as serde reads it: the keys that canopy has a setting for, with DeepSpeed's defaults.

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

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    pub lr: f64,
    pub betas: [f64; 2],
    pub eps: f64,
    pub weight_decay: Option<f64>,
    pub torch_adam: bool,
    pub adam_w_mode: bool,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: None,
            torch_adam: false,
            adam_w_mode: true,
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    pub lr: f64,
    pub momentum: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
}

impl Default for Sgd {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            momentum: 0.0,
            weight_decay: 0.0,
            nesterov: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adagrad {
    pub lr: f64,
    pub eps: f64,
    pub weight_decay: f64,
}

impl Default for Adagrad {
    fn default() -> Self {
        Self {
            lr: 1e-2,
            eps: 1e-10,
            weight_decay: 0.0,
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fp16 {
    pub enabled: Option<bool>,
    pub loss_scale: f64,
    pub initial_scale_power: u32,
    pub loss_scale_window: u64,
    pub hysteresis: u32,
    pub min_loss_scale: f64,
}

impl Default for Fp16 {
    fn default() -> Self {
        Self {
            enabled: None,
            loss_scale: 0.0,
            initial_scale_power: 16,
            loss_scale_window: 1000,
            hysteresis: 2,
            min_loss_scale: 1.0,
        }
    }
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
