//! The score of the capstone, and how two scores are compared.

use std::collections::BTreeMap;

use crate::Draw;

/// Bootstrap samples of a score.
const SAMPLES: usize = 2_000;

/// Of one cloud: the tree of which it is a scan, its species, and the species that a model predicts.
pub type Answer = [String; 3];

/// The balanced accuracy of a model: the mean recall over the species that occur.
#[derive(Clone, Debug)]
pub struct Score {
    /// That of all clouds.
    pub value: f64,
    /// Those of bootstrap samples. A sample draws trees with replacement, because two scans of a tree are not independent,
    /// and is the same for all models that answer for the same clouds.
    samples: Vec<f64>,
}

impl Score {
    /// The score of the answers.
    pub fn new(answers: &[Answer]) -> Self {
        let (mut trees, mut species) = (BTreeMap::new(), BTreeMap::new());
        let mut clouds = Vec::new();
        for [tree, truth, predicted] in answers {
            let next = trees.len();
            let tree = *trees.entry(tree).or_insert(next);
            let next = species.len();
            let label = *species.entry(truth).or_insert(next);
            clouds.push((tree, label, truth == predicted));
        }
        // With how often each tree was drawn.
        let balanced = |times: &[u32]| {
            let mut counts = vec![[0, 0]; species.len()];
            for &(tree, label, is_correct) in &clouds {
                counts[label][0] += times[tree] * u32::from(is_correct);
                counts[label][1] += times[tree];
            }
            counts.retain(|[_, all]| *all > 0);
            let recalls = counts
                .iter()
                .map(|[correct, all]| f64::from(*correct) / f64::from(*all));
            recalls.sum::<f64>() / counts.len().max(1) as f64
        };
        let mut draw = Draw::new(1, "bootstrap");
        let mut sample = || {
            let mut times = vec![0; trees.len()];
            (0..trees.len()).for_each(|_| times[draw.whole(0, trees.len() - 1)] += 1);
            balanced(&times)
        };
        Self {
            samples: (0..SAMPLES).map(|_| sample()).collect(),
            value: balanced(&vec![1; trees.len()]),
        }
    }

    /// The score and its 95 % interval: percentiles of the bootstrap samples.
    pub fn with_interval(&self) -> [f64; 3] {
        let (low, high) = percentiles(self.samples.clone());
        [self.value, low, high]
    }

    /// Whether this score is higher than another one of the same clouds: the interval of the paired differences is above 0.
    pub fn is_above(&self, other: &Self) -> bool {
        let pairs = self.samples.iter().zip(&other.samples);
        percentiles(pairs.map(|(a, b)| a - b).collect()).0 > 0.0
    }
}

fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let outside = SAMPLES / 40;
    (values[outside], values[values.len() - 1 - outside])
}

/// The place of each score: 1, and one more for each score that is above it.
pub fn places(scores: &[Score]) -> Vec<usize> {
    let above = |score| scores.iter().filter(|other| other.is_above(score)).count();
    scores.iter().map(|score| 1 + above(score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 scans of 100 trees of two species; `wrong` scans of a model are wrong.
    fn model(wrong: impl Fn(usize) -> bool) -> Score {
        let answer = |i: usize| {
            let truth = ["oak", "ash"][i / 2 % 2];
            let predicted = if wrong(i) { "elm" } else { truth };
            [format!("t{}", i / 2), truth.into(), predicted.into()]
        };
        Score::new(&(0..200).map(answer).collect::<Vec<_>>())
    }

    #[test]
    fn the_interval_is_that_of_trees_and_a_small_paired_difference_separates() {
        // All oaks and half of the ashes.
        let half = model(|i| i / 2 % 4 == 1);
        assert_eq!(half.value, 0.75);
        // 50 ashes with a recall of 0.5: a standard deviation of 0.07, halved by the mean of two species. If scans counted as
        // independent, the interval would be narrower by √2.
        let [_, low, high] = half.with_interval();
        assert!(
            (0.66..0.70).contains(&low) && (0.80..0.84).contains(&high),
            "{low} {high}"
        );
        // Nine trees more are wrong: the intervals overlap, and the difference is certain.
        let worse = model(|i| i / 2 % 4 == 1 || i / 2 % 12 == 0);
        assert!(worse.with_interval()[2] > low && half.is_above(&worse) && !worse.is_above(&half));
        // Each is wrong where the other is right.
        let other = model(|i| i / 2 % 4 == 3);
        assert_eq!(other.value, half.value);
        assert_eq!(places(&[worse, half, other]), [2, 1, 1]);
        assert_eq!(Score::new(&[]).value, 0.0);
    }
}
