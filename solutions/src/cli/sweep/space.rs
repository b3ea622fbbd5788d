//! The file of a sweep: the method, the settings of every trial, and the space that the others are drawn from.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toml::{Spanned, Table};

use crate::{
    cli::options::Options,
    search::{Halving, Parameter, Range, Rung, Value, draw, rungs},
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    method: Method,
    trials: usize,
    epochs: usize,
    fewest: Option<u64>,
    eta: Option<u64>,
    seed: Option<u64>,
    #[serde(default)]
    train: Table,
    space: BTreeMap<Spanned<String>, Spanned<toml::Value>>,
}

/// A parameter of the space that is a table.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    log: Option<[f64; 2]>,
    uniform: Option<[f64; 2]>,
    choice: Option<Vec<toml::Value>>,
    r#if: Option<Table>,
}

/// A sweep.
pub struct Sweep {
    pub method: Method,
    /// Epochs of the first rung and of a whole trial, and eta.
    pub halving: Halving,
    /// Epochs of each rung, and its number of trials, which ASHA may exceed.
    pub rungs: Vec<Rung>,
    pub space: Vec<Parameter>,
    /// The drawn hyper-parameters and the configuration of each trial.
    pub trials: Vec<(Vec<(String, Value)>, Config)>,
}

impl Sweep {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the file and the setting, what was expected and what came.
    pub fn open(path: &Path) -> Result<Self> {
        let named = || path.display().to_string();
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", named()))?;
        Self::parse(&text).with_context(named)
    }

    fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        let (trials, most) = (file.trials, file.epochs as u64);
        let fewest = match file.method {
            Method::Random => most,
            Method::Halving | Method::Asha => file.fewest.unwrap_or(1),
        };
        let eta = file.eta.unwrap_or(3);
        ensure!(trials >= 1, "trials is 0: expected at least 1");
        ensure!(eta >= 2, "eta is {eta}: expected at least 2");
        ensure!(
            (1..=most).contains(&fewest),
            "fewest is {fewest} and epochs is {most}: expected at least 1, and fewest at most epochs"
        );
        let rungs = rungs(trials, fewest, most, eta);
        ensure!(
            rungs.iter().any(|rung| rung.epochs == most),
            "trials is {trials}: with fewest = {fewest} and eta = {eta} no trial is left to train all {most} epochs; \
             expected more trials, a larger fewest or a smaller eta"
        );
        let space = parameters(file.space, text)?;
        let base = base(file.train, file.epochs)?;
        let trial = |trial| {
            let mut values = draw(&space, file.seed.unwrap_or(1), trial as u64);
            let config = configured(&base, &mut values).with_context(|| {
                let words = values
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", json!(value)));
                format!("trial {trial} with {}", words.collect::<Vec<_>>().join(", "))
            });
            Ok((values, config?))
        };
        let trials = (0..trials).map(trial).collect::<Result<_>>()?;
        Ok(Self {
            method: file.method,
            halving: Halving { fewest, most, eta },
            rungs,
            space,
            trials,
        })
    }
}

/// The settings of every trial.
fn base(train: Table, epochs: usize) -> Result<Config> {
    ensure!(
        !train.contains_key("epochs"),
        "[train] has epochs: expected it above [train], because it is a setting of the sweep"
    );
    let train = Options(train);
    let over = |config: Config| train.over(&config).context("[train] has an invalid setting");
    let target = over(Config::default())?.target;
    let config = over(Config::default().for_target(target))?;
    ensure!(
        config.validation > 0.0 || config.folds > 0,
        "[train] has validation = 0: expected a validation set, because it decides which trials are better"
    );
    Ok(Config { epochs, ..config })
}

/// `base` with these values. Where a setting is a whole number, the value is rounded.
fn configured(base: &Config, values: &mut [(String, Value)]) -> Result<Config> {
    let (settings, mut drawn) = (Table::try_from(base)?, Table::new());
    for (name, value) in values {
        let setting = match (&settings[&*name], &mut *value) {
            (toml::Value::Integer(_), Value::Number(number)) => {
                *number = number.round();
                toml::Value::Integer(*number as i64)
            }
            (toml::Value::Boolean(_), Value::Word(word)) => toml::Value::Boolean(word.parse()?),
            (_, Value::Number(number)) => toml::Value::Float(*number),
            (_, Value::Word(word)) => toml::Value::String(word.clone()),
        };
        drawn.insert(name.clone(), setting);
    }
    let config = Options(drawn).over(base)?;
    config.validate().map(|()| config)
}

/// The parameters in the order of the file, whose `text` is quoted in errors.
fn parameters(space: BTreeMap<Spanned<String>, Spanned<toml::Value>>, text: &str) -> Result<Vec<Parameter>> {
    let mut entries: Vec<_> = space.into_iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let settings = Table::try_from(Config::default())?;
    let mut all: Vec<Parameter> = Vec::new();
    for (name, entry) in entries {
        let (name, came) = (name.into_inner(), &text[entry.span()]);
        ensure!(
            settings.contains_key(&name) && !SHARED.split(' ').any(|shared| shared == name),
            "[space] has {name}: expected an option of `canopy train`, without --, that may differ between trials (not: {SHARED})"
        );
        let forms = || {
            format!(
                "[space] has {name} = {came}: expected [VALUE, …], {{ choice = [VALUE, …] }}, {{ uniform = [LOW, HIGH] }} or \
                 {{ log = [LOW, HIGH] }}, with LOW < HIGH, and with 0 < LOW in log"
            )
        };
        let mut form = match entry.into_inner() {
            toml::Value::Array(values) => Form {
                choice: Some(values),
                ..Form::default()
            },
            other => other.try_into().with_context(forms)?,
        };
        let conditions = form.r#if.take().unwrap_or_default();
        let range = range(form).with_context(forms)?;
        let may_hold = |(of, wanted): (&String, &toml::Value)| {
            let earlier = all.iter().find(|parameter| parameter.name == *of);
            matches!(earlier.map(|p| &p.range), Some(Range::Choice(values)) if values.contains(&value(wanted)))
        };
        ensure!(
            conditions.len() <= 1 && conditions.iter().all(may_hold),
            "[space] has {name} = {came}: expected if = {{ PARAMETER = VALUE }} with an earlier parameter that has this value \
             in its list"
        );
        let only_if = conditions.iter().next();
        let only_if = only_if.map(|(of, wanted)| (of.clone(), value(wanted)));
        all.push(Parameter { name, range, only_if });
    }
    ensure!(!all.is_empty(), "[space] is empty: expected a parameter");
    Ok(all)
}

/// The range of a parameter, if it has exactly one that is not empty.
fn range(form: Form) -> Option<Range> {
    let is_range = |low: f64, high: f64| low < high && (high - low).is_finite();
    match (form.log, form.uniform, form.choice) {
        (Some([low, high]), None, None) if 0.0 < low && is_range(low, high) => Some(Range::Log { low, high }),
        (None, Some([low, high]), None) if is_range(low, high) => Some(Range::Uniform { low, high }),
        (None, None, Some(list)) if !list.is_empty() => Some(Range::Choice(list.iter().map(value).collect())),
        _ => None,
    }
}

fn value(value: &toml::Value) -> Value {
    match (value, value.as_float()) {
        (toml::Value::Integer(number), _) => Value::Number(*number as f64),
        (_, Some(number)) => Value::Number(number),
        (toml::Value::String(word), _) => Value::Word(word.clone()),
        (other, _) => Value::Word(other.to_string()),
    }
}
