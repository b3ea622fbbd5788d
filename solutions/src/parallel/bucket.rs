//! Gradient bucketing (Li et al. 2020, "PyTorch Distributed", section 3.2): many small messages add up their latencies,
//! while one large message must wait for the last gradient.

// ANCHOR: Kind
/// The dtype and device of a gradient, as a name. Only gradients of the same kind share a bucket.
pub type Kind = &'static str;
// ANCHOR_END: Kind

// ANCHOR: Bucket
/// Parameters whose gradients are sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Indices of the parameters in the model, in the order in which the backward pass is expected to compute their
    /// gradients.
    pub params: Vec<usize>,
    /// Total size of the gradients, in bytes.
    pub bytes: usize,
    /// Dtype and device of the gradients.
    pub kind: Kind,
}
// ANCHOR_END: Bucket

// ANCHOR: BucketSizes
/// Bucket sizes at which a bucket is closed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSizes {
    /// Size of the first bucket of each kind: small, so that communication starts early.
    pub first: usize,
    /// Size of the other buckets.
    pub others: usize,
}
// ANCHOR_END: BucketSizes

impl Default for BucketSizes {
    /// The defaults of PyTorch's `DistributedDataParallel`: 1 MiB, then 25 MiB.
    fn default() -> Self {
        Self {
            first: 1 << 20,
            others: 25 << 20,
        }
    }
}

/// Assigns parameters, given as `(bytes, kind)`, to buckets in reverse order, because the backward pass computes the
/// gradients of the last layer first.
///
/// A bucket is closed by the parameter that reaches its size, so it may exceed that size by one parameter. No bucket is
/// empty. [`BucketSizes::first`] applies to the first bucket of each kind.
pub fn buckets(params: &[(usize, Kind)], sizes: BucketSizes) -> Vec<Bucket> {
    let mut done: Vec<Bucket> = Vec::new();
    let mut open: Vec<Bucket> = Vec::new();
    for (index, &(bytes, kind)) in params.iter().enumerate().rev() {
        let at = open.iter().position(|b| b.kind == kind).unwrap_or_else(|| {
            open.push(Bucket {
                params: Vec::new(),
                bytes: 0,
                kind,
            });
            open.len() - 1
        });
        open[at].params.push(index);
        open[at].bytes += bytes;
        let first = !done.iter().any(|b| b.kind == kind);
        let limit = if first { sizes.first } else { sizes.others };
        if open[at].bytes >= limit {
            done.push(open.swap_remove(at));
        }
    }
    // The buckets that are still open hold the model's first parameters. They are sorted by their latest gradient, so that
    // every rank sends them in the same order.
    open.sort_by_key(|b| std::cmp::Reverse(b.params.last().copied()));
    done.extend(open);
    done
}
