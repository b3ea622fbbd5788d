//! The search for the greatest product of each cloud and channel, without storing the products.

use candle_core::{DType, Result, Tensor};

use super::launch::{Argument, Grid, Kernels, suffix};

/// Candidates that the filter may list for each cloud and channel; trees have some four.
const CANDIDATES: usize = 16;

/// The operands of the widest layer: A `[points, k]`, W `[n, k]`, γ `[n]`, and the clouds' rows.
pub(super) struct Search<'a> {
    pub kernels: &'a Kernels,
    pub a: &'a Tensor,
    pub w: &'a Tensor,
    pub gamma: &'a Tensor,
    /// `[clouds + 1]`.
    pub starts: &'a Tensor,
    /// Rows of the longest cloud.
    pub longest: usize,
}

impl Search<'_> {
    /// The greatest product with its row, as keys `[clouds, n]`. Of f32 tensors exactly, unless the launcher rounds to tf32.
    pub fn keys(&self) -> Result<Tensor> {
        match self.a.dtype() {
            DType::F32 if !self.kernels.0.tf32() => self.filtered(),
            DType::F32 => self.on_tensor_cores("tf32"),
            dtype => self.on_tensor_cores(suffix(dtype)?),
        }
    }

    fn on_tensor_cores(&self, form: &str) -> Result<Tensor> {
        let keys = self.no_keys()?;
        let ((n, k), (grid, parts)) = (self.w.dims2()?, self.grid(true)?);
        let arguments = [
            Argument::Read(self.a),
            Argument::Read(self.w),
            Argument::Read(self.gamma),
            Argument::Read(self.starts),
            Argument::Write(&keys),
            Argument::int(n),
            Argument::int(k),
            Argument::int(parts),
        ];
        let kernel = format!("widest_{form}");
        self.kernels
            .launch("shared_mlp/widest.cu", &kernel, grid, &arguments)?;
        Ok(keys)
    }

    /// In f32, of which a filter on tensor cores leaves few candidates. If they are too many for its list, all products are
    /// computed in f32.
    fn filtered(&self) -> Result<Tensor> {
        const SOURCE: &str = "filter/filter.cu";
        let ((rows, k), n, clouds) = (self.a.dims2()?, self.w.dim(0)?, self.clouds());
        let width = k.next_multiple_of(16) + 16;
        let [rounded, lower, upper] =
            [rows, n, n].map(|rows| self.kernels.output(&[rows, width], DType::BF16));
        let (rounded, lower, upper) = (rounded?, lower?, upper?);
        let arguments = [
            Argument::Read(self.a),
            Argument::Write(&rounded),
            Argument::int(rows),
            Argument::int(k),
        ];
        let warps = |count: usize| Grid::of(count.div_ceil(4), 128);
        self.kernels
            .launch(SOURCE, "filter_rows", warps(rows), &arguments)?;
        let arguments = [
            Argument::Read(self.w),
            Argument::Read(self.gamma),
            Argument::Write(&lower),
            Argument::Write(&upper),
            Argument::int(n),
            Argument::int(k),
        ];
        self.kernels
            .launch(SOURCE, "filter_channels", warps(n), &arguments)?;

        let ones = self.gamma.ones_like()?;
        let bounds = Search {
            a: &rounded,
            w: &lower,
            gamma: &ones,
            ..*self
        };
        let (grid, parts) = bounds.grid(true)?;
        let bounds = bounds.on_tensor_cores("bf16")?;
        let capacity = clouds * n * CANDIDATES;
        let list = self.kernels.output(&[capacity, 3], DType::I32)?;
        let count = Tensor::zeros((), DType::U32, self.a.device())?;
        let capacity = Argument::U32(capacity.try_into().unwrap_or(u32::MAX));
        let arguments = [
            Argument::Read(&rounded),
            Argument::Read(&upper),
            Argument::Read(&bounds),
            Argument::Read(self.starts),
            Argument::Write(&list),
            Argument::Write(&count),
            capacity,
            Argument::int(n),
            Argument::int(width),
            Argument::int(parts),
        ];
        self.kernels
            .launch(SOURCE, "filter_candidates", grid, &arguments)?;
        let keys = self.no_keys()?;
        let arguments = [
            Argument::Read(&list),
            Argument::Read(&count),
            capacity,
            Argument::Read(self.a),
            Argument::Read(self.w),
            Argument::Read(self.gamma),
            Argument::Write(&keys),
            Argument::int(n),
            Argument::int(k),
        ];
        let grid = Grid::over(clouds * n * CANDIDATES / 4);
        let grid = Grid {
            threads: [128, 1, 1],
            ..grid
        };
        self.kernels.launch(SOURCE, "filter_exact", grid, &arguments)?;
        self.exact(&keys, Argument::Read(&count), capacity)?;
        Ok(keys)
    }

    /// All products in f32, unless the `count` of candidates is at most `capacity`.
    fn exact(&self, keys: &Tensor, count: Argument, capacity: Argument) -> Result<()> {
        let ((n, k), (grid, parts)) = (self.w.dims2()?, self.grid(false)?);
        let arguments = [
            Argument::Read(self.a),
            Argument::Read(self.w),
            Argument::Read(self.gamma),
            Argument::Read(self.starts),
            Argument::Write(keys),
            Argument::int(n),
            Argument::int(k),
            Argument::int(parts),
            count,
            capacity,
        ];
        self.kernels
            .launch("shared_mlp/widest_exact.cu", "widest_f32", grid, &arguments)
    }

    fn clouds(&self) -> usize {
        self.starts.elem_count() - 1
    }

    fn no_keys(&self) -> Result<Tensor> {
        Tensor::zeros((self.clouds(), self.w.dim(0)?), DType::I64, self.a.device())
    }

    /// The grid of a search, and the number of blocks that share a cloud, so that small batches fill a GPU too. A block has
    /// 64 channels of two or more tiles of 128 rows on tensor cores, otherwise of 64 rows: it reads its weights once.
    fn grid(&self, tensor_cores: bool) -> Result<(Grid, usize)> {
        let ((n, k), clouds) = (self.w.dims2()?, self.clouds());
        let tiles = self.longest.div_ceil(if tensor_cores { 128 } else { 64 });
        let parts = (512 / (n.div_ceil(64) * clouds)).clamp(1, tiles.div_ceil(2));
        let mut grid = Grid::new([n.div_ceil(64), clouds, parts], [256, 1, 1]);
        if tensor_cores {
            grid.shared = shared_bytes(k * self.a.dtype().size_in_bytes());
        }
        Ok((grid, parts))
    }
}

/// Dynamic shared memory of the product on tensor cores: 64 rows of W in whole chunks and 16 bytes more, and two buffers of
/// 128 such chunks.
fn shared_bytes(row: usize) -> usize {
    const CHUNK: usize = 128;
    64 * (row.next_multiple_of(CHUNK) + 16) + 2 * 128 * (CHUNK + 16)
}
