//! Gradients are sent in buckets (Li et al. 2020, "PyTorch Distributed", section 3.2): many small messages cost their
//! latencies, one large one must wait for the last gradient.

/// What may share a bucket with what: number type and device, as a name.
pub type Kind = &'static str;

/// Parameters whose gradients are sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Their indices in the model's order, in the order in which the backward walk is expected to make them.
    pub params: Vec<usize>,
    /// Bytes of all.
    pub bytes: usize,
    /// What they are.
    pub kind: Kind,
}

/// How large buckets grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSizes {
    /// The first one's bytes: small, so that sending begins early.
    pub first: usize,
    /// The others'.
    pub others: usize,
}

impl Default for BucketSizes {
    /// DDP's: 1 MiB, then 25 MiB.
    fn default() -> Self {
        Self {
            first: 1 << 20,
            others: 25 << 20,
        }
    }
}

/// Buckets for parameters of `(bytes, kind)`, in reverse order, as the backward walk makes gradients last layer first.
///
/// A bucket is closed by the parameter that fills it, so it may be larger than its size by that one, and none is empty.
/// The limit of the first bucket holds for the first of each kind.
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
    // The last ones hold the model's first parameters; in the order of their latest gradient, the same on every rank.
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
    fn the_first_bucket_is_small_and_the_last_layers() {
        let params = [(60, "f32"), (60, "f32"), (60, "f32"), (4, "f32"), (8, "f32")];
        assert_eq!(indices(&params), [vec![4, 3], vec![2, 1], vec![0]]);
    }

    #[test]
    fn number_types_do_not_mix() {
        let params = [(4, "f32"), (4, "bf16"), (4, "f32"), (4, "bf16")];
        assert_eq!(indices(&params), [vec![3, 1], vec![2, 0]]);
    }

    proptest! {
        #[test]
        fn every_parameter_is_in_one_bucket_and_later_ones_come_first(
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
