//! The search for the greatest product of each cloud and channel, without storing the products.

use candle_core::{DType, Result, Tensor};

use super::launch::{Grid, Kernels, args, suffix};

/// Candidates that the filter may list for each cloud and channel; trees have some four.
const CANDIDATES: usize = 16;

/// The operands of the widest layer.
pub(super) struct Operands {
    pub kernels: Kernels,
    /// `[points, k]`.
    pub a: Tensor,
    /// `[n, k]`.
    pub w: Tensor,
    /// `[n]`.
    pub gamma: Tensor,
    /// The first row of each cloud, and the end of the last one: `[clouds + 1]`.
    pub starts: Tensor,
    /// Rows of the longest cloud.
    pub longest: usize,
}

impl Operands {
    /// The greatest product with its row, as keys `[clouds, n]`. Of f32 tensors exactly, unless the launcher rounds to tf32.
    pub fn keys(&self) -> Result<Tensor> {
        let operands = [&self.a, &self.w, &self.gamma];
        match self.a.dtype() {
            DType::F32 if !self.kernels.tf32() => self.filtered(),
            DType::F32 => self.on_tensor_cores("tf32", operands),
            dtype => self.on_tensor_cores(suffix(dtype)?, operands),
        }
    }

    fn on_tensor_cores(&self, form: &str, [a, w, gamma]: [&Tensor; 3]) -> Result<Tensor> {
        let ((n, k), keys, (grid, parts)) = (w.dims2()?, self.no_keys()?, self.grid(Some(a)));
        let arguments = args![a, w, gamma, &self.starts, &keys, n, k, parts];
        let kernel = format!("widest_{form}");
        self.kernels
            .launch("shared_mlp/widest.cu", &kernel, grid, &arguments)?;
        Ok(keys)
    }

    /// In f32, of which a filter on tensor cores leaves few candidates. If they are too many for its list, all products are
    /// computed in f32.
    fn filtered(&self) -> Result<Tensor> {
        const SOURCE: &str = "filter/filter.cu";
        let (kernels, a, w, gamma, starts) = (&self.kernels, &self.a, &self.w, &self.gamma, &self.starts);
        let ((rows, k), n) = (a.dims2()?, w.dim(0)?);
        let width = k.next_multiple_of(16) + 16;
        let [rounded, lower, upper] = [rows, n, n].map(|rows| kernels.output(&[rows, width], DType::BF16));
        let (rounded, lower, upper) = (rounded?, lower?, upper?);
        let warps = |count: usize| Grid::of(count.div_ceil(4), 128);
        let arguments = args![a, &rounded, rows, k];
        kernels.launch(SOURCE, "filter_rows", warps(rows), &arguments)?;
        let arguments = args![w, gamma, &lower, &upper, n, k];
        kernels.launch(SOURCE, "filter_channels", warps(n), &arguments)?;

        let bounds = self.on_tensor_cores("bf16", [&rounded, &lower, &gamma.ones_like()?])?;
        let capacity = bounds.elem_count() * CANDIDATES;
        let list = kernels.output(&[capacity, 3], DType::I32)?;
        let count = Tensor::zeros((), DType::U32, a.device())?;
        let room = u32::try_from(capacity).unwrap_or(u32::MAX);
        let (grid, parts) = self.grid(Some(&rounded));
        let arguments = args![
            &rounded, &upper, &bounds, starts, &list, &count, room, n, width, parts
        ];
        kernels.launch(SOURCE, "filter_candidates", grid, &arguments)?;
        let keys = self.no_keys()?;
        let arguments = args![&list, &count, room, a, w, gamma, &keys, n, k];
        let grid = Grid {
            threads: [128, 1, 1],
            ..Grid::over(capacity / 4)
        };
        kernels.launch(SOURCE, "filter_exact", grid, &arguments)?;

        // All products in f32, unless the candidates fit into the list.
        let (grid, parts) = self.grid(None);
        let arguments = args![a, w, gamma, starts, &keys, n, k, parts, &count, room];
        kernels.launch("shared_mlp/widest_exact.cu", "widest_f32", grid, &arguments)?;
        Ok(keys)
    }

    fn clouds(&self) -> usize {
        self.starts.elem_count() - 1
    }

    fn no_keys(&self) -> Result<Tensor> {
        Tensor::zeros((self.clouds(), self.w.dim(0)?), DType::I64, self.a.device())
    }

    /// The grid of a search, and the number of blocks that share a cloud, so that small batches fill a GPU too. A block has
    /// 64 channels of two or more tiles of 128 rows of `rows` on tensor cores, otherwise of 64 rows: it reads its weights once.
    fn grid(&self, rows: Option<&Tensor>) -> (Grid, usize) {
        let (n, clouds) = (self.gamma.elem_count(), self.clouds());
        let tiles = self.longest.div_ceil(if rows.is_some() { 128 } else { 64 });
        let parts = (512 / (n.div_ceil(64) * clouds)).clamp(1, tiles.div_ceil(2));
        let mut grid = Grid::new([n.div_ceil(64), clouds, parts], [256, 1, 1]);
        if let Some(rows) = rows {
            grid.shared = shared_bytes(rows.dims()[1] * rows.dtype().size_in_bytes());
        }
        (grid, parts)
    }
}

/// Dynamic shared memory of the product on tensor cores: 64 rows of W in whole chunks and 16 bytes more, and two buffers of
/// 128 such chunks.
fn shared_bytes(row: usize) -> usize {
    const CHUNK: usize = 128;
    64 * (row.next_multiple_of(CHUNK) + 16) + 2 * 128 * (CHUNK + 16)
}
