//! The named tensors of an optimizer's state, of whole parameters and of slices.

use std::{collections::HashMap, ops::Range};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Shape, Tensor, Var};

/// A kind of state, and where its name is in the name of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `exp_avg.NAME`.
    Before(String),
    /// `NAME.master`.
    After(String),
}

impl Kind {
    /// Whether it is a master weight.
    pub fn is_master(&self) -> bool {
        *self == Self::After("master".into())
    }

    /// The name of this state of parameter `name`.
    pub fn key(&self, name: &str) -> String {
        match self {
            Self::Before(kind) => format!("{kind}.{name}"),
            Self::After(kind) => format!("{name}.{kind}"),
        }
    }
}

/// Splits the name of a tensor into its kind and the parameter; `None` if it belongs to no parameter, as `step`.
fn split<'a>(key: &'a str, names: &[&str]) -> Option<(Kind, &'a str)> {
    if let Some((kind, name)) = key.split_once('.').filter(|(_, name)| names.contains(name)) {
        return Some((Kind::Before(kind.to_owned()), name));
    }
    let (name, kind) = key.rsplit_once('.').filter(|(name, _)| names.contains(name))?;
    Some((Kind::After(kind.to_owned()), name))
}

/// Returns the tensors of `state` that belong to no parameter, and the kinds of the others.
pub fn kinds(state: &[(String, Tensor)], names: &[&str]) -> (Vec<(String, Tensor)>, Vec<Kind>) {
    let (mut others, mut kinds) = (Vec::new(), Vec::new());
    for (key, tensor) in state {
        match split(key, names) {
            None => others.push((key.clone(), tensor.clone())),
            Some((kind, _)) if !kinds.contains(&kind) => kinds.push(kind),
            Some(_) => {}
        }
    }
    (others, kinds)
}

/// Returns the numbers of the tensor `key`.
///
/// # Errors
/// Returns an error if the state has no such tensor.
pub fn numbers(state: &HashMap<String, Tensor>, key: &str) -> Result<Vec<f32>> {
    let tensor = state
        .get(key)
        .with_context(|| format!("the optimizer's state has no tensor {key}"))?;
    Ok(tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?)
}

/// Cuts these `slices`, each a range with the shape of its variable, out of `whole`, the state of an optimizer of the whole parameters.
///
/// # Errors
/// Returns an error that names the tensor if its shape is not that of its parameter.
pub fn cut(
    whole: &HashMap<String, Tensor>,
    params: &[(String, Var)],
    slices: &HashMap<&str, (Range<usize>, &Shape)>,
) -> Result<HashMap<String, Tensor>> {
    let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
    let mut own = HashMap::new();
    for (key, tensor) in whole {
        let Some((_, name)) = split(key, &names) else {
            own.insert(key.clone(), tensor.clone());
            continue;
        };
        let shape = params.iter().find(|(n, _)| n == name).map(|(_, var)| var.dims());
        ensure!(
            shape == Some(tensor.dims()),
            "optimizer state: tensor {key}: expected shape {:?}, got {:?}",
            shape.unwrap_or_default(),
            tensor.dims()
        );
        if let Some((range, shape)) = slices.get(name) {
            own.insert(key.clone(), part(tensor, range)?.reshape(*shape)?);
        }
    }
    Ok(own)
}

/// Returns the numbers `range` of `whole`, as a vector that is not on a graph.
pub fn part(whole: &Tensor, range: &Range<usize>) -> Result<Tensor> {
    let flat = whole.detach().flatten_all()?;
    Ok(flat.narrow(0, range.start, range.len())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_ends_with_another_name_is_not_taken_for_it() {
        let names = ["out.weight", "transform.out.weight"];
        let kind = |kind: &str| Kind::Before(kind.to_owned());
        assert_eq!(
            split("exp_avg.transform.out.weight", &names),
            Some((kind("exp_avg"), "transform.out.weight"))
        );
        assert_eq!(
            split("exp_avg.out.weight", &names),
            Some((kind("exp_avg"), "out.weight"))
        );
        let master = Kind::After("master".to_owned());
        assert_eq!(
            split("out.weight.master", &names),
            Some((master.clone(), "out.weight"))
        );
        assert_eq!(split("step", &names), None);
        assert_eq!(master.key("a.b"), "a.b.master");
        assert_eq!(kind("exp_avg").key("a.b"), "exp_avg.a.b");
    }
}
