//! Adam for a table of which each step looks up a few rows.

use candle_core::{Result, Tensor, Var, bail};
use canopy::optim::{AdamConfig, AdamState};

/// Takes one step of lazy Adam, like PyTorch's `SparseAdam`: only the rows `rows` of `table`, each listed once, change their
/// weights and their moments, by `gradients` `[rows, width]`. `state` has one parameter, the table.
///
/// Dense Adam with a gradient of zeros for the other rows changes them as well: their moments decay, and as long as the
/// mean is not 0, their weights move on.
///
/// `rows` ascend. canopy's own embedding trains with the optimizer of the run, which takes a gradient of all rows: its
/// tables have at most 24 rows, and a batch looks up most of them.
///
/// ε is added as in `adam_step`. The bias corrections count the steps of the table, not those of a row, as in PyTorch.
///
/// # Errors
/// Returns an error if the shapes do not match, if a row is not in the table, or if `config` has weight decay, which is
/// not defined for rows that are not looked up.
pub fn sparse_adam_step(
    table: &Var,
    (rows, gradients): (&[u32], &Tensor),
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
) -> Result<()> {
    let (categories, width) = table.dims2()?;
    if gradients.dims() != [rows.len(), width]
        || rows.iter().any(|&row| row as usize >= categories)
        || rows.windows(2).any(|pair| pair[0] >= pair[1])
    {
        bail!(
            "sparse_adam_step: expected gradients [{}, {width}] of rows below {categories}, ascending, got {:?} of rows {rows:?}",
            rows.len(),
            gradients.dims()
        );
    }
    let ([mean], [square]) = (state.mean.as_slice(), state.square.as_slice()) else {
        bail!(
            "sparse_adam_step: expected the state of one table, got that of {} parameters",
            state.mean.len()
        );
    };
    if config.weight_decay != 0.0 {
        bail!(
            "sparse_adam_step: weight decay is {}, expected 0",
            config.weight_decay
        );
    }
    state.step += 1;
    if rows.is_empty() {
        return Ok(());
    }
    let [first, second] = [config.beta1, config.beta2].map(|beta| 1.0 - beta.powf(state.step as f64));
    let at = Tensor::new(rows, table.device())?;
    let g = gradients.to_dtype(table.dtype())?;
    let before = |var: &Var| var.as_detached_tensor().index_select(&at, 0);
    let (m, v) = (before(mean)?, before(square)?);
    // What is added to the rows.
    let dm = ((&g - &m)? * (1.0 - config.beta1))?;
    let dv = ((g.sqr()? - &v)? * (1.0 - config.beta2))?;
    let below = (((v + &dv)?.sqrt()? / second.sqrt())? + config.eps)?;
    let dw = (((m + &dm)? / below)? * (-lr / first))?;
    for (var, by) in [(mean, dm), (square, dv), (table, dw)] {
        var.set(&var.as_detached_tensor().index_add(&at, &by, 0)?)?;
    }
    Ok(())
}
