//! One object of the file, read key by key. Every error names the key with the objects that it is in.

use anyhow::{Result, bail, ensure};

use super::json::Json;

/// An object with its place in the file.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The keys above this object; empty texts for those that it does not have.
    parents: [&'a str; 2],
    entries: &'a [(String, Json)],
}

impl<'a> Block<'a> {
    /// The whole file.
    ///
    /// # Errors
    /// Returns an error if it is not an object.
    pub fn whole(file: &'a Json) -> Result<Self> {
        let Json::Object(entries) = file else {
            bail!("the file is {file}, expected an object: {{\"train_batch_size\": 32, …}}");
        };
        Ok(Self {
            parents: ["", ""],
            entries,
        })
    }

    /// An object without keys, as if it were at `key`.
    pub fn empty(&self, key: &'a str) -> Self {
        Self {
            parents: self.below(key),
            entries: &[],
        }
    }

    fn below(&self, key: &'a str) -> [&'a str; 2] {
        match self.parents {
            ["", _] => [key, ""],
            [first, _] => [first, key],
        }
    }

    /// Returns `key` with the keys above it: `optimizer.params.lr`.
    pub fn path(&self, key: &str) -> String {
        let above = self.parents.iter().filter(|parent| !parent.is_empty());
        above.map(|parent| format!("{parent}.")).collect::<String>() + key
    }

    /// Checks that every key is in one of `known`. `what` says what the object is, for the error message.
    ///
    /// # Errors
    /// Names the first other key, and the known key that is spelled most like it.
    pub fn expect_keys(&self, what: &str, known: &[&[&str]]) -> Result<()> {
        let known = || known.iter().copied().flatten().copied();
        let Some((key, _)) = self.entries.iter().find(|(key, _)| !known().any(|k| k == key)) else {
            return Ok(());
        };
        let close = |k: &str| strsim::jaro_winkler(&key.to_lowercase(), k);
        let nearest = known().max_by(|a, b| close(a).total_cmp(&close(b)));
        bail!(
            "{}: {what} has no such key; the nearest is \"{}\"",
            self.path(key),
            nearest.unwrap_or_default()
        )
    }

    /// Whether the object has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn get(&self, key: &str) -> Option<&'a Json> {
        let entry = self.entries.iter().find(|(name, _)| name == key);
        // As in DeepSpeed, null is the same as no key.
        entry
            .map(|(_, value)| value)
            .filter(|value| **value != Json::Null)
    }

    fn wrong<T>(&self, key: &str, value: &Json, expected: &str) -> Result<T> {
        let hint = match value {
            Json::Text(text) if text == "auto" => {
                ". Other programs fill in \"auto\"; to leave the setting to canopy's options, remove the key"
            }
            _ => "",
        };
        bail!("{} is {value}, expected {expected}{hint}", self.path(key))
    }

    /// Returns the object at `key`, if there is one.
    ///
    /// # Errors
    /// Returns an error if the value is not an object.
    pub fn block(&self, key: &'a str) -> Result<Option<Block<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(Json::Object(entries)) => Ok(Some(Block {
                parents: self.below(key),
                entries,
            })),
            Some(other) => self.wrong(key, other, "an object"),
        }
    }

    /// Returns the number at `key`, at least `least`.
    ///
    /// # Errors
    /// Returns an error if the value is not such a number.
    pub fn number(&self, key: &str, least: f64) -> Result<Option<f64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Json::Number(number)) if number.is_finite() && *number >= least => Ok(Some(*number)),
            Some(other) => self.wrong(key, other, &format!("a number that is at least {least}")),
        }
    }

    /// Returns the whole number at `key`, at least `least`. It may be written as `5e8`.
    ///
    /// # Errors
    /// Returns an error if the value is not such a number, or not below 2⁵³.
    pub fn integer(&self, key: &str, least: u64) -> Result<Option<u64>> {
        const END: f64 = 9_007_199_254_740_992.0;
        match self.get(key) {
            None => Ok(None),
            Some(Json::Number(n)) if n.fract() == 0.0 && (least as f64..END).contains(n) => {
                Ok(Some(*n as u64))
            }
            Some(other) => self.wrong(key, other, &format!("a whole number that is at least {least}")),
        }
    }

    /// Returns the flag at `key`.
    ///
    /// # Errors
    /// Returns an error if the value is neither true nor false.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(Json::Flag(flag)) => Ok(Some(*flag)),
            Some(other) => self.wrong(key, other, "true or false"),
        }
    }

    /// Returns the text at `key`, which is one of `choices` up to upper and lower case, as `choices` spells it.
    ///
    /// # Errors
    /// Returns an error if the value is another text, or not a text.
    pub fn choice(&self, key: &str, choices: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let found = match value {
            Json::Text(text) => choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)),
            _ => None,
        };
        match found {
            Some(choice) => Ok(Some(choice)),
            None => self.wrong(key, value, &one_of(choices)),
        }
    }

    /// Returns the two numbers at `key`, each at least 0 and below 1.
    ///
    /// # Errors
    /// Returns an error if the value is not a list of two such numbers.
    pub fn pair(&self, key: &str) -> Result<Option<[f64; 2]>> {
        let valid = |n: &f64| (0.0..1.0).contains(n);
        match self.get(key) {
            None => Ok(None),
            Some(Json::List(list)) if list.len() == 2 => match (&list[0], &list[1]) {
                (Json::Number(a), Json::Number(b)) if valid(a) && valid(b) => Ok(Some([*a, *b])),
                (a, b) => bail!(
                    "{} is [{a}, {b}], expected two numbers, each at least 0 and below 1",
                    self.path(key)
                ),
            },
            Some(other) => self.wrong(key, other, "a list of two numbers"),
        }
    }

    /// Checks that `key` is left out or has the value `only`, the one with which canopy does the same as DeepSpeed.
    ///
    /// # Errors
    /// Returns an error if it has another value.
    pub fn only(&self, key: &str, only: &Json) -> Result<()> {
        let value = self.get(key).unwrap_or(only);
        ensure!(
            value == only,
            "{} is {value}: canopy can do this only with {only}",
            self.path(key)
        );
        Ok(())
    }
}

fn one_of(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}
