//! `fp16` and `bf16`.

use anyhow::{Result, bail, ensure};

use super::{Block, EngineFile, Json};

pub fn read(file: &Block, out: &mut EngineFile) -> Result<()> {
    match (fp16(file, out)?, bf16(file)?) {
        (Some(true), Some(true)) => {
            bail!("fp16.enabled and bf16.enabled are both true: a run has one of them")
        }
        (_, Some(true)) => set(out, "bf16", "off".into(), "bf16.enabled"),
        (Some(false), _) => drop(out.set("precision", "fp32", "fp16.enabled".into())),
        (None, Some(false)) => drop(out.set("precision", "fp32", "bf16.enabled".into())),
        (Some(true), _) | (None, None) => {}
    }
    Ok(())
}

/// DeepSpeed keeps the model's weights in the low precision, and updates them through fp32 copies.
fn set(out: &mut EngineFile, precision: &str, scale: String, key: &str) {
    out.set("precision", precision, key.into());
    out.set("master-weights", true, key.into());
    out.set("loss-scale", scale, key.into());
}

/// Returns `bf16.enabled`, if the file has it.
fn bf16(file: &Block) -> Result<Option<bool>> {
    let Some(block) = file.block("bf16")? else {
        return Ok(None);
    };
    let fixed = [
        "check_grad_overflow",
        "immediate_grad_update",
        "bf16_master_weights_and_grads",
        "bf16_optimizer_states",
    ];
    block.expect_keys("\"bf16\"", &[&["enabled"], &fixed])?;
    for key in fixed {
        block.only(key, &Json::Flag(false))?;
    }
    block.flag("enabled")
}

/// Returns `fp16.enabled`, if the file has it, and sets precision and loss scale if it is true.
fn fp16(file: &Block, out: &mut EngineFile) -> Result<Option<bool>> {
    let Some(block) = file.block("fp16")? else {
        return Ok(None);
    };
    let scaling = [
        "loss_scale",
        "initial_scale_power",
        "loss_scale_window",
        "hysteresis",
        "min_loss_scale",
    ];
    let fixed = ["consecutive_hysteresis", "fp16_master_weights_and_grads"];
    block.expect_keys("\"fp16\"", &[&["enabled", "auto_cast"], &scaling, &fixed])?;
    for key in fixed {
        block.only(key, &Json::Flag(false))?;
    }
    let scale = block.number("loss_scale", 0.0)?.unwrap_or(0.0);
    let power = block.integer("initial_scale_power", 0)?.unwrap_or(16);
    let window = block.integer("loss_scale_window", 1)?.unwrap_or(1000);
    let hysteresis = block.integer("hysteresis", 1)?.unwrap_or(2);
    let least = block.number("min_loss_scale", 0.0)?.unwrap_or(1.0);
    let enabled = block.flag("enabled")?;
    if enabled != Some(true) {
        out.note_idle(&block, &scaling);
        return Ok(enabled);
    }
    ensure!(
        power < 128,
        "{} is {power}: 2^{power} is not finite in fp32, expected at most 127",
        block.path("initial_scale_power")
    );
    let first = 2f64.powi(power as i32);
    ensure!(
        scale > 0.0 || (least > 0.0 && least <= first),
        "{} is {least}, expected more than 0 and at most the initial scale, {first}",
        block.path("min_loss_scale")
    );
    out.note_idle(&block, &["auto_cast"]);
    let text = if scale > 0.0 {
        out.note_idle(&block, &scaling[1..]);
        scale.to_string()
    } else {
        format!("deepspeed:{power}:{window}:{hysteresis}:{least}")
    };
    set(out, "fp16", text, "fp16.enabled");
    Ok(enabled)
}
