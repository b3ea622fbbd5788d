//! The links for all but gradients: batch norm's sums, and what is compared after each step.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;

use crate::{
    kernels::SumOverRanks,
    parallel::{Collective, Rank},
};

/// The link for all but gradients.
pub struct Control {
    link: Mutex<Rank>,
    /// An error that has to pass through candle, which keeps only its words.
    fault: Mutex<Option<anyhow::Error>>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

impl Control {
    pub fn new(link: Rank) -> Self {
        Self {
            link: Mutex::new(link),
            fault: Mutex::default(),
        }
    }

    /// The error that broke a pass off, if it was a sum's.
    pub fn fault(&self) -> Option<anyhow::Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub fn link(&self) -> MutexGuard<'_, Rank> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `mine` of all ranks, one after another.
    pub fn gather(&self, mine: &[f32]) -> Result<Vec<f32>> {
        let link = self.link();
        let mut whole = vec![0.0; mine.len() * Collective::world_size(&*link)];
        link.all_gather(mine, &mut whole)?;
        Ok(whole)
    }
}

impl SumOverRanks for Control {
    /// In the order of the ranks, in f64; each number travels as two of f32, with 48 of its 53 bits.
    fn sum(&self, values: &mut [f64]) -> candle_core::Result<()> {
        let halves = |&v: &f64| [v as f32, (v - f64::from(v as f32)) as f32];
        let mine: Vec<f32> = values.iter().flat_map(halves).collect();
        let whole = self.gather(&mine).map_err(|error| {
            let said = candle_core::Error::Msg(format!("{error:#}"));
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            said
        })?;
        values.fill(0.0);
        for rank in whole.chunks_exact(mine.len()) {
            for (sum, part) in values.iter_mut().zip(rank.chunks_exact(2)) {
                *sum += f64::from(part[0]) + f64::from(part[1]);
            }
        }
        Ok(())
    }
}
