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
    /// Size of the first bucket: small, so that communication starts early.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: BucketSizes = BucketSizes {
        first: 10,
        others: 100,
    };

    fn indices(params: &[(usize, Kind)]) -> Vec<Vec<usize>> {
        buckets(params, SMALL).into_iter().map(|b| b.params).collect()
    }

    #[test]
    fn the_first_bucket_is_small_and_holds_the_last_layers() {
        let params = [(60, "f32"), (60, "f32"), (60, "f32"), (4, "f32"), (8, "f32")];
        assert_eq!(indices(&params), [vec![4, 3], vec![2, 1], vec![0]]);
    }

    #[test]
    fn a_bucket_holds_one_dtype() {
        let params = [(4, "f32"), (4, "bf16"), (4, "f32"), (4, "bf16")];
        assert_eq!(indices(&params), [vec![3, 1], vec![2, 0]]);
    }

    proptest! {
        #[test]
        fn every_parameter_is_in_one_bucket_in_reverse_order(
            sizes in prop::collection::vec(0usize..200, 0..40),
        ) {
            let params: Vec<(usize, Kind)> = sizes.iter().map(|&s| (s, "f32")).collect();
            let all: Vec<usize> = indices(&params).concat();
            let expected: Vec<usize> = (0..sizes.len()).rev().collect();
            prop_assert_eq!(all, expected);
            for bucket in buckets(&params, SMALL) {
                prop_assert!(!bucket.params.is_empty());
                prop_assert_eq!(bucket.bytes, bucket.params.iter().map(|&i| sizes[i]).sum::<usize>());
            }
        }
    }
}
