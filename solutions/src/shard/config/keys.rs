//! The keys of DeepSpeed's that have no setting in canopy: some change nothing, some must have one value, some are refused.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// The table `keys.toml`.
#[derive(Deserialize)]
struct Keys {
    no_effect: Vec<String>,
    no_effect_without_fp16: Vec<String>,
    unsupported: Vec<String>,
    only: BTreeMap<String, Json>,
    refused: BTreeMap<String, String>,
}

/// Takes these keys out of `file`, and notes those without effect.
///
/// # Errors
/// Names the key that is refused, or that has another value than the only one that canopy knows.
pub fn take_those_without_a_setting(file: &mut Json, notes: &mut Vec<String>) -> Result<()> {
    let keys: Keys = toml::from_str(include_str!("keys.toml"))?;
    for key in &keys.unsupported {
        let Some(value) = file.get(key) else { continue };
        ensure!(
            value.get("enabled") == Some(&json!(false)),
            "{key}: canopy has no counterpart of this DeepSpeed key; remove it"
        );
    }
    for (key, why) in &keys.refused {
        ensure!(take(file, key).is_none(), "{key}: {why}");
    }
    for (key, only) in &keys.only {
        match take(file, key) {
            Some(value) if value != *only => bail!("{key} is {value}: canopy can do this only with {only}"),
            _ => {}
        }
    }
    let mut idle = [keys.no_effect, keys.unsupported].concat();
    if file.pointer("/fp16/enabled") != Some(&json!(true)) {
        idle.extend(keys.no_effect_without_fp16);
    }
    idle.retain(|key| take(file, key).is_some());
    if !idle.is_empty() {
        notes.push(format!("without effect in canopy: {}", idle.join(", ")));
    }
    Ok(())
}

/// Removes the value at `key`, such as `optimizer.params.lr`.
fn take(file: &mut Json, key: &str) -> Option<Json> {
    let path = format!("/{}", key.replace('.', "/"));
    let (above, last) = path.rsplit_once('/')?;
    file.pointer_mut(above)?.as_object_mut()?.remove(last)
}
