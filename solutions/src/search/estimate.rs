//! An honest estimate of the best trial: its validation accuracy is too high because it was selected by it.

use canopy_data::Philox;
use serde::Serialize;

// ANCHOR: Estimate
/// Accuracy of the best trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The trial with the most correct predictions; the first of equals.
    pub best: usize,
    /// Its accuracy on the validation set, which is too high because the trial was selected by it.
    pub apparent: f64,
    /// The accuracy to expect on new clouds.
    pub corrected: f64,
}
// ANCHOR_END: Estimate

/// Estimates the accuracy of the best trial without selection bias, by bootstrap bias correction (Tsamardinos et al. 2018).
/// `correct[t][i]`: whether trial t classifies validation cloud i correctly; at least one trial and one cloud.
///
/// Each of `draws` times: draw n of the n clouds with replacement, by n times `random.below(n)`; select the trial with the most
/// correct predictions among them, the first of equals; take its accuracy on the clouds that were not drawn. `corrected` is the
/// mean over the draws that leave a cloud out, and `apparent` if there is none.
pub fn corrected_estimate(correct: &[Vec<bool>], draws: usize, random: &mut Philox) -> Estimate {
    let n = correct.first().map_or(0, Vec::len);
    let all: Vec<usize> = (0..n).collect();
    let hits = |trial: usize, clouds: &[usize]| clouds.iter().filter(|&&i| correct[trial][i]).count();
    // `max_by_key` returns the last of equals, and the first is wanted.
    let best_on = |clouds: &[usize]| {
        let last_first = (0..correct.len()).rev();
        last_first.max_by_key(|&trial| hits(trial, clouds)).unwrap_or(0)
    };
    let accuracy = |trial, clouds: &[usize]| hits(trial, clouds) as f64 / clouds.len() as f64;
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..draws {
        let drawn: Vec<usize> = all.iter().map(|_| random.below(n)).collect();
        let mut is_drawn = vec![false; n];
        drawn.iter().for_each(|&i| is_drawn[i] = true);
        let left_out: Vec<usize> = all.iter().copied().filter(|&i| !is_drawn[i]).collect();
        if !left_out.is_empty() {
            sum += accuracy(best_on(&drawn), &left_out);
            count += 1.0;
        }
    }
    let best = best_on(&all);
    let apparent = accuracy(best, &all);
    let corrected = if count > 0.0 { sum / count } else { apparent };
    Estimate {
        best,
        apparent,
        corrected,
    }
}
