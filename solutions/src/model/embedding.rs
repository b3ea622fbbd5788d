//! A vector for each category of a cloud, appended to the global feature.

use candle_core::{Result, Tensor, Var};

use super::layers::Init;
use crate::kernels::{self, Operator, Pass};
use crate::target::{embed, embedding_gradient};

/// Length of a category's vector.
pub(super) const WIDTH: usize = 8;

/// The table's name in a file of weights.
pub(super) const NAME: &str = "embedding.weight";

/// The table, `[categories, WIDTH]`.
#[derive(Clone, Debug)]
pub(super) struct Embedding {
    table: Var,
}

impl Embedding {
    pub fn new(init: &mut Init, categories: usize) -> Result<Self> {
        Ok(Self {
            table: init.uniform(NAME.to_owned(), &[categories, WIDTH], WIDTH)?,
        })
    }

    /// `feature` `[clouds, channels]` → `[clouds, channels + WIDTH]`, with the vector of each cloud's category `ids`.
    pub fn append(&self, feature: &Tensor, ids: &[u32], pass: &Pass) -> Result<Tensor> {
        let (channels, categories) = (feature.dim(1)?, self.table.dim(0)?);
        let inputs = [feature, self.table.as_tensor()];
        pass.operate(Operator::Concatenate, inputs, |[feature, table]| {
            let of_category = ids.to_vec();
            kernels::with_backward(
                [&feature, &table],
                pass,
                |[feature, table]| Tensor::cat(&[feature, &embed(table, ids)?], 1),
                move |gradient| {
                    let of_feature = gradient.narrow(1, 0, channels)?;
                    let looked_up = gradient.narrow(1, channels, WIDTH)?;
                    // Every optimizer takes a gradient for all rows.
                    let of_table = embedding_gradient(&of_category, &looked_up)?.dense(categories)?;
                    Ok([of_feature, of_table])
                },
            )
        })
    }
}
