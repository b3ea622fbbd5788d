//! `optimizer`: its type and parameters, which have torch's names.

use anyhow::{Result, bail};

use super::{Block, EngineFile, Json, typed};

const TYPES: [&str; 5] = ["Adam", "AdamW", "SGD", "Lamb", "Adagrad"];

pub fn read(file: &Block, out: &mut EngineFile) -> Result<()> {
    let Some((kind, params)) = typed(file, "optimizer", &TYPES, &["legacy_fusion"])? else {
        return Ok(());
    };
    if params.has("max_grad_norm") {
        bail!(
            "{}: DeepSpeed takes the maximum gradient norm from the key gradient_clipping",
            params.path("max_grad_norm")
        );
    }
    let name = match kind {
        "Adam" | "AdamW" => adam(kind, &params, out)?,
        "SGD" => sgd(&params, out)?,
        "Lamb" => lamb(&params, out)?,
        _ => adagrad(&params, out)?,
    };
    out.set("optimizer", name, "optimizer.type".into());
    Ok(())
}

/// Sets `option` from the parameter `key`, or to `default`.
fn number(
    params: &Block,
    out: &mut EngineFile,
    (key, option): (&str, &'static str),
    default: f64,
) -> Result<()> {
    let value = params.number(key, 0.0)?.unwrap_or(default);
    out.set(option, value, params.path(key));
    Ok(())
}

fn eps(params: &Block, out: &mut EngineFile, default: f64) -> Result<()> {
    let value = params.number("eps", 0.0)?.unwrap_or(default);
    out.set("eps", format!("{value:e}"), params.path("eps"));
    Ok(())
}

fn betas(params: &Block, out: &mut EngineFile) -> Result<()> {
    let [first, second] = params.pair("betas")?.unwrap_or([0.9, 0.999]);
    out.set("beta1", first, params.path("betas"));
    out.set("beta2", second, params.path("betas"));
    Ok(())
}

/// DeepSpeed's Adam is AdamW unless `adam_w_mode` is false.
fn adam(kind: &str, params: &Block, out: &mut EngineFile) -> Result<&'static str> {
    let keys = ["lr", "betas", "eps", "weight_decay", "torch_adam", "adam_w_mode"];
    let idle = ["set_grad_none", "fused", "foreach"];
    params.expect_keys(kind, &[&keys, &["bias_correction", "amsgrad"], &idle])?;
    params.only("bias_correction", &Json::Flag(true))?;
    params.only("amsgrad", &Json::Flag(false))?;
    let decoupled = params.flag("adam_w_mode")?.unwrap_or(true) || kind == "AdamW";
    let by_torch = params.flag("torch_adam")?.unwrap_or(false);
    number(params, out, ("lr", "learning-rate"), 1e-3)?;
    betas(params, out)?;
    eps(params, out, 1e-8)?;
    // torch.optim.AdamW has a default of its own.
    let decay = if decoupled && by_torch { 0.01 } else { 0.0 };
    number(params, out, ("weight_decay", "weight-decay"), decay)?;
    out.note_idle(params, &idle);
    if kind == "Adam" && decoupled {
        out.notes.push(
            "optimizer.type \"Adam\" is AdamW, as in DeepSpeed; \"adam_w_mode\": false adds the weight decay to the gradient"
                .into(),
        );
    }
    Ok(if decoupled { "adamw" } else { "adam" })
}

fn sgd(params: &Block, out: &mut EngineFile) -> Result<&'static str> {
    let keys = ["lr", "momentum", "dampening", "weight_decay", "nesterov"];
    params.expect_keys("SGD", &[&keys])?;
    params.only("dampening", &Json::Number(0.0))?;
    number(params, out, ("lr", "learning-rate"), 1e-3)?;
    number(params, out, ("momentum", "momentum"), 0.0)?;
    number(params, out, ("weight_decay", "weight-decay"), 0.0)?;
    let nesterov = params.flag("nesterov")?.unwrap_or(false);
    out.set("nesterov", nesterov, params.path("nesterov"));
    Ok("sgd")
}

fn lamb(params: &Block, out: &mut EngineFile) -> Result<&'static str> {
    let keys = ["lr", "betas", "eps", "weight_decay"];
    let fixed = ["bias_correction", "amsgrad", "eps_inside_sqrt"];
    params.expect_keys("Lamb", &[&keys, &fixed, &["max_coeff", "min_coeff"]])?;
    params.only("bias_correction", &Json::Flag(true))?;
    params.only("amsgrad", &Json::Flag(false))?;
    params.only("eps_inside_sqrt", &Json::Flag(false))?;
    for key in ["max_coeff", "min_coeff"] {
        if params.has(key) {
            bail!(
                "{}: canopy's LAMB does not limit the trust ratio; remove the key",
                params.path(key)
            );
        }
    }
    number(params, out, ("lr", "learning-rate"), 1e-3)?;
    betas(params, out)?;
    eps(params, out, 1e-8)?;
    number(params, out, ("weight_decay", "weight-decay"), 0.0)?;
    out.notes.push(
        "DeepSpeed's Lamb keeps the trust ratio between 0.01 and 10; canopy's does not limit it, as in the paper".into(),
    );
    Ok("lamb")
}

fn adagrad(params: &Block, out: &mut EngineFile) -> Result<&'static str> {
    let fixed = ["lr_decay", "weight_decay", "initial_accumulator_value"];
    params.expect_keys("Adagrad", &[&["lr", "eps"], &fixed])?;
    for key in fixed {
        params.only(key, &Json::Number(0.0))?;
    }
    number(params, out, ("lr", "learning-rate"), 1e-2)?;
    eps(params, out, 1e-10)?;
    Ok("adagrad")
}
