//! 8.3: gradient buckets.

use canopy::parallel::{BucketSizes, Kind};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson08, REFERENCE, answers};

/// Parameters, and the limits of the first bucket and of the others.
type Input = (Vec<(usize, Kind)>, usize, usize);

const KINDS: [Kind; 6] = ["f32", "bf16", "f16", "f64", "f32 cuda:1", "u8"];

fn filled(answer: &Lesson08, (params, first, others): Input) -> Verdict {
    let of = |lesson: &Lesson08| {
        let buckets = (lesson.buckets)(&params, BucketSizes { first, others });
        let rest = buckets.iter().map(|b| (b.bytes, b.kind));
        Facts::default()
            .items("parameters of each bucket", buckets.iter().map(|b| &b.params))
            .items("bytes and kind of each bucket", rest)
            .cause("`bytes` is the sum of the bytes of the bucket's own parameters, and `kind` is theirs.")
    };
    let case = given(format!(
        "limits: first {first}, others {others}; parameters {params:?}"
    ));
    case.same(of(answer), of(&REFERENCE))
}

/// Parameters of `bytes`; the digits of `kinds`, repeated as often as necessary, number the kinds.
fn model(bytes: &[usize], kinds: &str, first: usize, others: usize) -> Input {
    let kinds = kinds.bytes().map(|digit| KINDS[usize::from(digit - b'0')]);
    (bytes.iter().copied().zip(kinds.cycle()).collect(), first, others)
}

fn any_model(d: &mut Draw) -> Input {
    let (kinds, count) = (d.whole(1, 6), d.whole(0, 16));
    let mut one = || (d.whole(1, 9), KINDS[d.whole(0, kinds - 1)]);
    (
        (0..count).map(|_| one()).collect(),
        d.whole(1, 12),
        d.whole(1, 25),
    )
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.3";
    by filled {
        fills_from_the_last_parameter: "from the last to the first",
            "List the parameters from the last to the first. A bucket ends at the limit; none is empty." =>
            |d| vec![
                // Each alone, then all together.
                model(&[30, 20, 40], "0", 10, 10),
                model(&[1, 2, 3], "0", 10, 10),
                model(&[d.whole(20, 30); 3], "0", 10, 20),
            ];
        closes_at_the_byte_limit: "that reaches a bucket's limit closes it",
            "Add the parameter, then close its bucket if that has reached the limit. Open ones come last." => |d| {
            let size = d.whole(20, 30);
            // Exactly full, then beyond.
            let exact = model(&[2, 7, 6, 4, 6], "0", 10, 10);
            vec![exact, model(&[8, size, size, 9, 2], "0", 10, 10), model(&[3, 5, 5, 10], "0", 10, 10)]
        };
        keeps_the_first_bucket_small: "`sizes.first` for the first of its kind",
            "The limit is `sizes.first` until a bucket of this kind is closed, and then `sizes.others`." => |d| vec![
                model(&[2, 5, 8, 7, 6, 8], "0", 10, 20),
                model(&[10; 9], "0", d.whole(5, 9), d.whole(31, 39)),
                // The first may also be the greater one.
                model(&[10; 5], "0", 25, 10),
            ];
        separates_dtypes: "the open bucket of its `kind`",
            "Each kind has its own open bucket, with its name, and its own first one. List them as they close." => |d| {
            let size = d.whole(10, 19);
            vec![
                model(&[3, 4, 5, 5, 8, 2], "001101", 10, 20),
                model(&[60, 60, 60, 60, size, size], "10", 10, 20),
            ]
        };
        keeps_the_order_of_closing: "in the order of closing",
            "List buckets as they close, then those still open: the one with the greatest last index first." => |d| {
            let size = d.whole(10, 19);
            // The bucket that is opened first is closed last.
            vec![model(&[7, 8, 8, 8, 8, 4], "110001", 10, 20), model(&[9, size, size, 1], "1001", 10, 20)]
        };
        orders_the_remaining_buckets: "then the open ones by their latest additions",
            "Sort those still open by the parameter added last, the greatest index first; a map has another order." => |_| {
            let mut all = vec![model(&[5, 5, 5, 4, 5, 2], "202120", 10, 20)];
            all.extend([&[][..], &[12]].map(|bytes| model(bytes, "0", 10, 20)));
            // Six are open, in each order of their kinds.
            let orders = ["012345", "123450", "234501", "345012", "450123", "501234"];
            all.extend(orders.map(|kinds| model(&[1; 6], kinds, 10, 20)));
            all
        };
        puts_each_parameter_into_one_bucket: "Each goes into the open bucket",
            "Each parameter is in one bucket, be there one kind or several." => |d| (0..60).map(|_| any_model(d)).collect();
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.3" buckets;
    1 "The buckets start with the first parameter; gradients arrive from the last layer first.";
    2 "The parameters within a bucket are in the order of the model; they should be in the order of their gradients.";
    3 "A bucket that is exactly full stays open: close it when its bytes reach the limit.";
    4 "Dtypes share a bucket: a message has a single dtype.";
    5 "Only the very first bucket is small; each kind has a first one.";
    6 "Buckets that are open at the end are lost: the first parameters of the model are never sent.";
};
