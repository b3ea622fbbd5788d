//! Right answers that are not written as canopy's.

use canopy::profile::Amdahl;
use grader::{Right, right};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson05>] = &[
    right!("5.1", "every span against every other, no stack", totals: |spans| added(spans, ADDING)),
    right!("5.2", "each run by two readings kept in a list", time_device: |d, w, n, f| {
        (0..w).try_for_each(|_| f())?;
        d.wait()?;
        let readings: candle_core::Result<Vec<(u64, u64)>> = (0..n)
            .map(|_| {
                let start = d.now();
                f()?;
                d.wait()?;
                Ok((start, d.now()))
            })
            .collect();
        Ok(readings?.into_iter().map(|(a, b)| b - a).collect())
    }),
    right!("5.2", "each run after a wait of its own", time_device: |d, w, n, f| {
        for _ in 0..w {
            f()?;
        }
        (0..n)
            .map(|_| {
                d.wait()?;
                let start = d.now();
                f()?;
                d.wait()?;
                Ok(d.now() - start)
            })
            .collect()
    }),
    right!("5.3", "moment by moment, over all bounds", name_pattern: |s, w| named(s, w, NAMING)),
    right!("5.4", "by the times that the whole and the rest take", amdahl: |share, wanted| {
        let rest = 1.0 - share;
        let needed = match wanted {
            w if w <= 1.0 => Some(1.0),
            w if w * rest >= 1.0 => None,
            w => Some(w * share / (1.0 - w * rest)),
        };
        Amdahl { limit: rest.recip(), needed }
    }),
    right!("5.5", "cut into tables first", copy_share: |cells| shared(cells, READING)),
    right!("5.6", "by the two times, the longer of which counts", matmul_roof: |p, m| {
        roof_by(p, m, counts, |intensity, ridge| intensity < ridge)
    }),
];
