//! The file of a sweep: the method, the settings of every trial, and the space that the others are drawn from.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use toml::{Spanned, Table};

use crate::{
    cli::options::Options,
    search::{Parameter, Range, Rung, Value, draw, rungs},
    train::Config,
};

/// Settings that all trials share, because their scores would not be comparable otherwise.
const SHARED: &str = "data species min-points target visible validation test folds fold seed epochs";

/// How trials are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Random search: every trial trains all epochs.
    Random,
    /// Successive halving: a rung waits for all its trials.
    Halving,
    /// Successive halving without waiting.
    Asha,
    /// Population-based training: every trial trains all epochs, and bad ones continue from good ones. Its rungs are the
    /// generations.
    Population,
    /// Bayesian: every trial trains all epochs, and is drawn where good ones are more likely than others.
    Tpe,
}

/// A sweep: the fields of its file, and what they say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    pub method: Method,
    pub trials: usize,
    #[serde(default)]
    fewest: u64,
    #[serde(default)]
    pub eta: u64,
    pub seed: u64,
    train: Table,
    space: BTreeMap<Spanned<String>, toml::Value>,
    /// Epochs of each rung, and its number of trials, which ASHA may exceed.
    #[serde(skip)]
    pub rungs: Vec<Rung>,
    #[serde(skip)]
    pub parameters: Vec<Parameter>,
    /// The settings of every trial.
    #[serde(skip)]
    base: Config,
}

impl Sweep {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the file and the setting, what was expected and what came.
    pub fn open(path: &Path) -> Result<Self> {
        let named = || path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", named()))?;
        let sweep: Self = toml::from_str(&text).with_context(named)?;
        sweep.checked().with_context(named)
    }

    fn checked(mut self) -> Result<Self> {
        let train = Options(self.train.clone());
        let over = |config: Config| train.over(&config).context("[train]");
        let target = over(Config::default())?.target;
        self.base = over(Config::default().for_target(target))?;
        ensure!(
            self.base.validation > 0.0 || self.base.folds > 0,
            "[train] has validation = 0: expected a validation set, because it decides which trials are better"
        );
        let epochs = self.base.epochs as u64;
        if matches!(self.method, Method::Random | Method::Tpe) {
            // A single rung, which promotes no trial.
            (self.fewest, self.eta) = (epochs, 2);
        }
        let (trials, fewest, eta) = (self.trials, self.fewest, self.eta);
        ensure!(
            trials >= 1 && eta >= 2 && (1..=epochs).contains(&fewest),
            "trials is {trials}, eta is {eta}, fewest is {fewest} and epochs is {epochs} (0: missing): expected trials of at \
             least 1, eta of at least 2, and fewest from 1 to epochs"
        );
        self.rungs = match self.method {
            // No member would continue from a better one.
            Method::Population if fewest == epochs || trials < eta as usize => Vec::new(),
            Method::Population => {
                let ends = (fewest..epochs).step_by(fewest as usize).chain([epochs]);
                ends.map(|epochs| Rung { epochs, trials }).collect()
            }
            _ => rungs(trials, fewest, epochs, eta),
        };
        ensure!(
            self.rungs.iter().any(|rung| rung.epochs == epochs),
            "trials is {trials}: with fewest = {fewest} and eta = {eta} no trial is left to train all {epochs} epochs, or \
             no member of a population continues from a better one; expected more trials, another fewest or a smaller eta"
        );
        ensure!(
            !self.space.is_empty(),
            "[space] is empty: expected a setting to search"
        );
        let mut space: Vec<_> = self.space.iter().collect();
        // In the order of the file.
        space.sort_by_key(|(name, _)| name.span().start);
        for (name, entry) in space {
            let named = || format!("[space] has {} = {entry}", name.as_ref());
            let parameter = parameter(&self, name.as_ref(), entry.clone());
            self.parameters.push(parameter.with_context(named)?);
        }
        // Wrong settings are found now, and not when the trial is reached.
        (0..trials).try_for_each(|trial| self.config(&self.draw(trial)).map(drop))?;
        Ok(self)
    }

    /// The hyper-parameters that a trial begins with.
    pub fn draw(&self, trial: usize) -> Vec<(String, Value)> {
        draw(&self.parameters, self.seed, trial as u64)
    }

    /// These hyper-parameters as settings, rounded where a setting is a whole number.
    pub fn settings(&self, values: &[(String, Value)]) -> Result<Table> {
        let base = Table::try_from(&self.base)?;
        let setting = |(name, value): &(String, Value)| {
            let setting = match (base.get(name), value) {
                (Some(toml::Value::Integer(_)), Value::Number(number)) => (number.round() as i64).into(),
                (Some(toml::Value::Boolean(_)), Value::Word(word)) => word.parse::<bool>()?.into(),
                _ => toml::Value::try_from(value)?,
            };
            Ok((name.clone(), setting))
        };
        values.iter().map(setting).collect()
    }

    /// The configuration of a trial with these hyper-parameters.
    pub fn config(&self, values: &[(String, Value)]) -> Result<Config> {
        let settings = self.settings(values)?;
        let config = Options(settings.clone()).over(&self.base);
        let valid = config.and_then(|config| config.validate().map(|()| config));
        valid.with_context(|| format!("[space] gives a trial {}", toml::Value::from(settings)))
    }
}

/// An entry of `[space]`; the sweep has the parameters before it.
fn parameter(sweep: &Sweep, name: &str, mut entry: toml::Value) -> Result<Parameter> {
    ensure!(
        !sweep.train.contains_key(name) && !SHARED.split(' ').any(|shared| shared == name),
        "expected a setting that is not in [train] and that may differ between trials, unlike {SHARED}"
    );
    let condition = entry.as_table_mut().and_then(|table| table.remove("if"));
    let conditions: BTreeMap<String, Value> = condition.map_or(Ok(BTreeMap::new()), toml::Value::try_into)?;
    let may_hold = |(of, value): (&String, &Value)| {
        let lists = |p: &Parameter| matches!(&p.range, Range::Choice(all) if all.contains(value));
        sweep.parameters.iter().any(|p| p.name == *of && lists(p))
    };
    ensure!(
        conditions.len() <= 1 && conditions.iter().all(may_hold),
        "expected if = {{ PARAMETER = VALUE }} with an earlier parameter that has this value in its list"
    );
    let range = match entry {
        toml::Value::Array(_) => Range::Choice(entry.try_into()?),
        other => other.try_into().context(
            "expected [VALUE, …], { choice = [VALUE, …] }, { uniform = [LOW, HIGH] } or { log = [LOW, HIGH] }",
        )?,
    };
    let is_valid = match &range {
        Range::Log { low, high } => 0.0 < *low && low < high && high.is_finite(),
        Range::Uniform { low, high } => low < high && (high - low).is_finite(),
        Range::Choice(values) => !values.is_empty(),
    };
    ensure!(
        is_valid,
        "expected LOW < HIGH, with 0 < LOW in log, and at least one VALUE"
    );
    Ok(Parameter {
        name: name.to_owned(),
        range,
        only_if: conditions.into_iter().next(),
    })
}
