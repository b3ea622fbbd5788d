//! Layers of linear+BN+ReLU: their shapes, and the choice between the fused form and the one that runs operator by operator.

use candle_core::{Result, Tensor, bail};

use super::device::Target;
use super::values::fused;
use super::{Clouds, MlpLayer, Pass, operators, shared_mlp as fused_form};

/// Applies layer after layer to each row. x `[rows, in]` → `[rows, out of the last layer]`.
///
/// # Errors
/// Returns an error if there are no rows or no layers, or if shapes do not match, with what was expected.
pub fn shared_mlp(x: &Tensor, layers: &[MlpLayer], pass: &Pass) -> Result<Tensor> {
    run(x, layers, None, pass)
}

/// Applies layer after layer to each row, then takes the maximum over the points of each cloud.
/// x `[points of all clouds, in]` → `[clouds, out]`; of equal points the first takes the gradient.
///
/// # Errors
/// As [`shared_mlp`]; returns an error if the rows do not divide into the clouds.
pub fn shared_mlp_max(
    x: &Tensor,
    layers: &[MlpLayer],
    clouds: impl Into<Clouds>,
    pass: &Pass,
) -> Result<Tensor> {
    run(x, layers, Some(&clouds.into()), pass)
}

fn run(x: &Tensor, layers: &[MlpLayer], clouds: Option<&Clouds>, pass: &Pass) -> Result<Tensor> {
    check(x, layers)?;
    let ranges = clouds.map(|c| c.of_rows(x.dim(0)?)).transpose()?;
    if let Some(device) = Target::of_pass(pass, x) {
        return device.layers(x, layers, ranges.as_deref(), pass);
    }
    let mut inputs = vec![x];
    for l in layers {
        inputs.extend([l.weight, l.bn.gamma.as_tensor(), l.bn.beta.as_tensor()]);
    }
    if fused(pass, &inputs) && !pass.is_lowered() {
        fused_form::layers(&inputs, layers, ranges, pass)
    } else {
        operators::layers(x, layers, ranges, pass)
    }
}

/// Checks the shapes of x `[rows, in]` and of the layers' parameters. An error names the layer, what was expected and what came.
fn check(x: &Tensor, layers: &[MlpLayer]) -> Result<()> {
    let [rows, mut width] = *x.dims() else {
        bail!("expected x of shape [rows, channels], got {:?}", x.dims());
    };
    if rows == 0 || width == 0 || layers.is_empty() {
        let (dims, count) = (x.dims(), layers.len());
        bail!("expected at least one row, one channel and one layer, got x {dims:?} and {count} layers");
    }
    for (i, l) in layers.iter().enumerate() {
        let out = match *l.weight.dims() {
            [out, input] if input == width && out > 0 => out,
            ref dims => bail!("layer {i}: expected a weight of shape [out, {width}], got {dims:?}"),
        };
        let names = ["gamma", "beta", "mean", "var"];
        let norm = [&l.bn.gamma, &l.bn.beta, &l.bn.mean, &l.bn.var].map(|v| v.dims());
        if let Some((name, dims)) = names.iter().zip(norm).find(|(_, dims)| *dims != [out]) {
            bail!("layer {i}: expected batch norm's {name} of shape [{out}], got {dims:?}");
        }
        width = out;
    }
    Ok(())
}
