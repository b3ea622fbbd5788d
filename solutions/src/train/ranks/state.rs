//! The named tensors of an optimizer's state, of whole parameters and of slices. A tensor's name is that of its parameter, with its
//! kind before it (`exp_avg.NAME`) or after it (`NAME.master`).

use std::{collections::HashMap, ops::Range};

use anyhow::{Result, ensure};
use candle_core::{Shape, Tensor, Var};

/// The kind of the master weights. A kind that follows the name starts with a dot.
pub const MASTER: &str = ".master";

/// The name of the state of kind `kind` of parameter `name`.
pub fn key(kind: &str, name: &str) -> String {
    match kind.starts_with('.') {
        true => format!("{name}{kind}"),
        false => format!("{kind}{name}"),
    }
}

/// Splits the name of a tensor into its kind and the parameter; `None` if it belongs to no parameter, as `step`.
fn split<'a>(key: &'a str, params: &[(String, Var)]) -> Option<(&'a str, &'a str)> {
    let is_name = |text: &str| params.iter().any(|(name, _)| name == text);
    let before = key.find('.').map(|dot| key.split_at(dot + 1));
    let after = key.rfind('.').map(|dot| key.split_at(dot));
    let before = before.filter(|(_, name)| is_name(name));
    before.or(after
        .map(|(name, kind)| (kind, name))
        .filter(|(_, name)| is_name(name)))
}

/// Returns the tensors of `state` that belong to no parameter, and the kinds of the others.
pub fn kinds<'a>(
    state: &'a [(String, Tensor)],
    params: &[(String, Var)],
) -> (Vec<(String, Tensor)>, Vec<&'a str>) {
    let (mut others, mut kinds) = (Vec::new(), Vec::new());
    for (key, tensor) in state {
        match split(key, params) {
            None => others.push((key.clone(), tensor.clone())),
            Some((kind, _)) if !kinds.contains(&kind) => kinds.push(kind),
            Some(_) => {}
        }
    }
    (others, kinds)
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
    let mut own = HashMap::new();
    for (key, tensor) in whole {
        let Some((_, name)) = split(key, params) else {
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
    use candle_core::{DType, Device};

    use super::*;

    #[test]
    fn a_name_that_ends_with_another_name_is_not_taken_for_it() {
        let var = || Var::zeros(1, DType::F32, &Device::Cpu).unwrap();
        let params = ["out.weight", "transform.out.weight"].map(|name| (name.to_owned(), var()));
        for (kind, name, whole) in [
            ("exp_avg.", "transform.out.weight", "exp_avg.transform.out.weight"),
            ("exp_avg.", "out.weight", "exp_avg.out.weight"),
            (MASTER, "out.weight", "out.weight.master"),
        ] {
            assert_eq!(split(whole, &params), Some((kind, name)));
            assert_eq!(key(kind, name), whole);
        }
        assert_eq!(split("step", &params), None);
    }
}
