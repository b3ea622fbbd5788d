//! `scheduler`: DeepSpeed's schedules, as the text of canopy's option `--schedule`.

use anyhow::{Context, Result, bail, ensure};

use super::{Block, EngineFile, typed};

const TYPES: [&str; 5] = [
    "WarmupLR",
    "WarmupDecayLR",
    "WarmupCosineLR",
    "OneCycle",
    "LRRangeTest",
];

pub fn read(file: &Block, out: &mut EngineFile) -> Result<()> {
    let Some((kind, params)) = typed(file, "scheduler", &TYPES, &[])? else {
        return Ok(());
    };
    let text = match kind {
        "WarmupLR" => warmup(&params, out)?,
        "WarmupDecayLR" => warmup_decay(&params, out)?,
        "WarmupCosineLR" => warmup_cosine(&params)?,
        "OneCycle" => one_cycle(&params, out)?,
        _ => range_test(&params, out)?,
    };
    out.set("schedule", text, "scheduler.type".into());
    // These schedules have a warm-up of their own.
    out.set("warmup", 0.0, "scheduler.type".into());
    Ok(())
}

/// Sets the peak learning rate to that of the scheduler, which DeepSpeed uses in place of the optimizer's.
fn learning_rate(key: &str, rate: f64, params: &Block, out: &mut EngineFile) {
    let old = out.set("learning-rate", rate, params.path(key));
    if let Some(old) = old.filter(|old| old.value.as_float() != Some(rate)) {
        out.notes.push(format!(
            "{} is {}, without effect: the scheduler's {key} is {rate}",
            old.key, old.value
        ));
    }
}

/// The warm-up's settings: its length, at most `total`, and how it rises.
fn rise(params: &Block, total: Option<u64>) -> Result<String> {
    let steps = params.integer("warmup_num_steps", 1)?.unwrap_or(1000);
    if let Some(total) = total {
        ensure!(
            steps <= total,
            "{} is {steps} and {} is {total}: the warm-up is longer than the schedule",
            params.path("warmup_num_steps"),
            params.path("total_num_steps")
        );
    }
    let rise = params.choice("warmup_type", &["log", "linear"])?.unwrap_or("log");
    Ok(format!("steps={steps}:rise={rise}"))
}

fn total(params: &Block) -> Result<u64> {
    let key = "total_num_steps";
    let total = params.integer(key, 1)?;
    total.with_context(|| {
        format!(
            "{} is missing, expected the number of steps of the run",
            params.path(key)
        )
    })
}

fn warmup(params: &Block, out: &mut EngineFile) -> Result<String> {
    let keys = [
        "warmup_min_lr",
        "warmup_max_lr",
        "warmup_num_steps",
        "warmup_type",
    ];
    params.expect_keys("WarmupLR", &[&keys])?;
    let least = params.number("warmup_min_lr", 0.0)?.unwrap_or(0.0);
    // Without it, the peak is the optimizer's learning rate.
    if let Some(greatest) = params.number("warmup_max_lr", 0.0)? {
        learning_rate("warmup_max_lr", greatest, params, out);
    }
    Ok(format!("warmuplr:{}:min={least}", rise(params, None)?))
}

fn warmup_decay(params: &Block, out: &mut EngineFile) -> Result<String> {
    let keys = [
        "warmup_min_lr",
        "warmup_max_lr",
        "warmup_num_steps",
        "warmup_type",
    ];
    params.expect_keys("WarmupDecayLR", &[&keys, &["total_num_steps"]])?;
    let total = total(params)?;
    let least = params.number("warmup_min_lr", 0.0)?.unwrap_or(0.0);
    let greatest = params.number("warmup_max_lr", 0.0)?.unwrap_or(1e-3);
    learning_rate("warmup_max_lr", greatest, params, out);
    let rise = rise(params, Some(total))?;
    Ok(format!("warmupdecaylr:total={total}:{rise}:min={least}"))
}

fn warmup_cosine(params: &Block) -> Result<String> {
    let keys = [
        "total_num_steps",
        "warmup_min_ratio",
        "warmup_num_steps",
        "cos_min_ratio",
        "warmup_type",
    ];
    params.expect_keys("WarmupCosineLR", &[&keys])?;
    let total = total(params)?;
    let share = |key: &str, default| -> Result<f64> {
        let share = params.number(key, 0.0)?.unwrap_or(default);
        ensure!(
            share <= 1.0,
            "{} is {share}, expected a number between 0 and 1",
            params.path(key)
        );
        Ok(share)
    };
    let (first, last) = (share("warmup_min_ratio", 0.0)?, share("cos_min_ratio", 1e-4)?);
    let rise = rise(params, Some(total))?;
    Ok(format!(
        "warmupcosinelr:total={total}:{rise}:min={first}:end={last}"
    ))
}

fn one_cycle(params: &Block, out: &mut EngineFile) -> Result<String> {
    let momentum = [
        "cycle_momentum",
        "cycle_min_mom",
        "cycle_max_mom",
        "decay_mom_rate",
    ];
    let keys = [
        "cycle_min_lr",
        "cycle_max_lr",
        "decay_lr_rate",
        "cycle_first_step_size",
        "cycle_second_step_size",
        "cycle_first_stair_count",
        "cycle_second_stair_count",
        "decay_step_size",
    ];
    params.expect_keys("OneCycle", &[&keys, &momentum])?;
    let missing = |key: &str| format!("{} is missing, expected a learning rate", params.path(key));
    let rate = |key: &str| params.number(key, 0.0)?.with_context(|| missing(key));
    let (least, greatest) = (rate("cycle_min_lr")?, rate("cycle_max_lr")?);
    ensure!(
        least <= greatest,
        "{} is {least}, more than cycle_max_lr, {greatest}",
        params.path("cycle_min_lr")
    );
    let up = params.integer("cycle_first_step_size", 1)?.unwrap_or(2000);
    let down = params.integer("cycle_second_step_size", 1)?.unwrap_or(up);
    let up_stairs = params.integer("cycle_first_stair_count", 0)?.unwrap_or(0);
    let down_stairs = params
        .integer("cycle_second_stair_count", 0)?
        .unwrap_or(up_stairs);
    let decay = params.number("decay_lr_rate", 0.0)?.unwrap_or(0.0);
    let decay_steps = params.integer("decay_step_size", 0)?.unwrap_or(0);
    match params.flag("cycle_momentum")? {
        Some(false) => {}
        Some(true) => bail!(
            "{} is true: canopy cycles the learning rate only, expected false",
            params.path("cycle_momentum")
        ),
        None => out.notes.push(
            "OneCycle of DeepSpeed also cycles Adam's first beta between 0.8 and 0.9, unless cycle_momentum is false; \
             canopy keeps it as it is"
                .into(),
        ),
    }
    out.note_idle(params, &momentum[1..]);
    learning_rate("cycle_max_lr", greatest, params, out);
    Ok(format!(
        "cycle:min={least}:up={up}:down={down}:up-stairs={up_stairs}:down-stairs={down_stairs}:decay={decay}:\
         decay-steps={decay_steps}"
    ))
}

fn range_test(params: &Block, out: &mut EngineFile) -> Result<String> {
    let [least, size, growth, stairs] = [
        "lr_range_test_min_lr",
        "lr_range_test_step_size",
        "lr_range_test_step_rate",
        "lr_range_test_staircase",
    ];
    params.expect_keys("LRRangeTest", &[&[least, size, growth, stairs]])?;
    let first = params.number(least, 0.0)?.unwrap_or(1e-3);
    let steps = params.integer(size, 1)?.unwrap_or(2000);
    let growth = params.number(growth, 0.0)?.unwrap_or(1.0);
    let stairs = params.flag(stairs)?.unwrap_or(false);
    learning_rate(least, first, params, out);
    Ok(format!(
        "lrrangetest:steps={steps}:growth={growth}:stairs={stairs}"
    ))
}
