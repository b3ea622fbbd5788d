//! The score of the capstone, and how two scores are compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Draw;

/// Bootstrap samples of a score.
const SAMPLES: usize = 2_000;

/// Of one cloud: the tree of which it is a scan, its species, and the species that a model predicts.
pub type Answer = [String; 3];

/// The balanced accuracy of a model: the mean recall over the species that occur.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// The place among the scores that were compared.
    pub place: usize,
    /// That of all clouds.
    pub value: f64,
    /// Its 95 % interval: percentiles of the bootstrap samples.
    pub interval: [f64; 2],
    /// Those of bootstrap samples. A sample draws trees with replacement, because two scans of a tree are not independent,
    /// and is the same for all models that answer for the same clouds.
    #[serde(skip)]
    samples: Vec<f64>,
}

impl Score {
    /// The score of the answers, at place 1.
    pub fn new(answers: &[Answer]) -> Self {
        let mut scans = BTreeMap::<_, Vec<_>>::new();
        for [tree, truth, predicted] in answers {
            scans.entry(tree).or_default().push((truth, truth == predicted));
        }
        let trees = Vec::from_iter(scans.into_values());
        let balanced = |drawn: &mut dyn Iterator<Item = usize>| {
            let mut species = BTreeMap::new();
            for &(truth, is_correct) in drawn.flat_map(|tree| &trees[tree]) {
                let [correct, all] = species.entry(truth).or_insert([0.0, 0.0]);
                *correct += f64::from(is_correct);
                *all += 1.0;
            }
            let recalls = species.values().map(|[correct, all]| correct / all);
            recalls.sum::<f64>() / species.len().max(1) as f64
        };
        let (count, mut draw) = (trees.len(), Draw::new(1, "bootstrap"));
        let mut sample = || balanced(&mut (0..count).map(|_| draw.whole(0, count - 1)));
        let samples: Vec<f64> = (0..SAMPLES).map(|_| sample()).collect();
        Self {
            place: 1,
            value: balanced(&mut (0..count)),
            interval: percentiles(samples.clone()),
            samples,
        }
    }

    /// Whether this score is higher than another one of the same clouds: the interval of the paired differences is above 0.
    pub fn is_above(&self, other: &Self) -> bool {
        let pairs = self.samples.iter().zip(&other.samples);
        percentiles(pairs.map(|(a, b)| a - b).collect())[0] > 0.0
    }
}

/// Gives each score its place: 1, and one more for each score that is above it.
pub fn place(scores: &mut [&mut Score]) {
    for i in 0..scores.len() {
        scores[i].place = 1 + scores.iter().filter(|other| other.is_above(scores[i])).count();
    }
}

fn percentiles(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let outside = SAMPLES / 40;
    [values[outside], values[values.len() - 1 - outside]]
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
        let [low, high] = half.interval;
        let is_as_expected = (0.66..0.70).contains(&low) && (0.80..0.84).contains(&high);
        assert!(is_as_expected, "{low} {high}");
        // Nine trees more are wrong: the intervals overlap, and the difference is certain.
        let worse = model(|i| i / 2 % 4 == 1 || i / 2 % 12 == 0);
        assert!(worse.interval[1] > low && half.is_above(&worse) && !worse.is_above(&half));
        // Each is wrong where the other is right.
        let other = model(|i| i / 2 % 4 == 3);
        assert_eq!(other.value, half.value);
        let mut scores = [worse, half, other];
        place(&mut scores.each_mut());
        assert_eq!(scores.map(|score| score.place), [2, 1, 1]);
        assert_eq!(Score::new(&[]).value, 0.0);
    }
}
