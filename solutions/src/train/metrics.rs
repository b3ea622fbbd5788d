//! From predictions to scores. All scores are functions of the confusion matrix.

use serde::{Deserialize, Serialize};

// ANCHOR: Scores
/// The scores of a list of predictions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// `confusion[truth][prediction]`, counts, `[classes][classes]`.
    pub confusion: Vec<Vec<u64>>,
    /// Share classified correctly; 0 if there is no prediction.
    pub accuracy: f64,
    /// Mean recall over the classes that occur; 0 if none does.
    pub balanced_accuracy: f64,
    /// Mean F1 over the classes that occur; 0 if none does.
    pub macro_f1: f64,
}
// ANCHOR_END: Scores

/// Precision, recall and F1 of one species.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// The species' name.
    pub species: String,
    /// Clouds of this species in the evaluated set.
    pub support: u64,
    /// Share of the clouds predicted to be of this species that are; `None` if there is no such prediction.
    pub precision: Option<f64>,
    /// Share of the clouds of this species that are predicted to be; `None` if there is no such cloud.
    pub recall: Option<f64>,
    /// Harmonic mean of precision and recall; 0 if it is undefined but the species occurs.
    pub f1: Option<f64>,
}

/// The scores of a model on one part of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The part of the data: `train`, `validation`, `test`, `all`.
    pub part: String,
    /// Share of clouds classified correctly.
    pub accuracy: f64,
    /// Mean recall over the species that occur.
    pub balanced_accuracy: f64,
    /// Mean F1 over the species that occur.
    pub macro_f1: f64,
    /// Mean cross-entropy, nats.
    pub loss: f64,
    /// One row per species.
    pub classes: Vec<ClassRow>,
    /// `confusion[truth][prediction]`, counts.
    pub confusion: Vec<Vec<u64>>,
}

impl Evaluation {
    /// The scores of a classifier of these species, in the order of their labels, on a part of the data.
    pub fn new(part: &str, scores: Scores, loss: f64, species: &[String]) -> Self {
        Self {
            part: part.to_owned(),
            accuracy: scores.accuracy,
            balanced_accuracy: scores.balanced_accuracy,
            macro_f1: scores.macro_f1,
            loss,
            classes: class_rows(&scores.confusion, species),
            confusion: scores.confusion,
        }
    }

    /// Clouds that were evaluated.
    pub fn clouds(&self) -> u64 {
        self.classes.iter().map(|c| c.support).sum()
    }

    /// Clouds that were classified correctly.
    pub fn correct(&self) -> u64 {
        let diagonal = self.confusion.iter().enumerate();
        diagonal.filter_map(|(i, row)| row.get(i)).sum()
    }
}

/// All scores of the predictions `named` against `truth`.
///
/// # Panics
/// As [`confusion_matrix`].
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    of_confusion(confusion_matrix(truth, named, classes))
}

/// All scores of the predictions that a confusion matrix counts. The balanced accuracy is that of Brodersen et al. (2010).
pub fn of_confusion(confusion: Vec<Vec<u64>>) -> Scores {
    let classes: Vec<_> = (0..confusion.len())
        .map(|i| class_scores(&confusion, i))
        .collect();
    let correct = (0..confusion.len()).map(|i| confusion[i][i]).sum();
    Scores {
        accuracy: ratio(correct, confusion.iter().flatten().sum()).unwrap_or(0.0),
        balanced_accuracy: mean(classes.iter().filter_map(|class| class.1)),
        macro_f1: mean(classes.iter().filter_map(|class| class.2)),
        confusion,
    }
}

/// `matrix[truth][prediction]`: counts, `[classes][classes]`.
///
/// # Panics
/// Panics if the lists differ in length or a label is not below `classes`.
pub fn confusion_matrix(truth: &[u32], named: &[u32], classes: usize) -> Vec<Vec<u64>> {
    assert_eq!(truth.len(), named.len(), "one prediction for each label");
    let mut matrix = vec![vec![0; classes]; classes];
    for (&t, &n) in truth.iter().zip(named) {
        matrix[t as usize][n as usize] += 1;
    }
    matrix
}

/// Precision, recall and F1 of class `i`. Precision is `None` if the class was never predicted, recall and F1 if it does not
/// occur. F1 = 2 · correct / (occurring + predicted), so it is 0 if the class occurs and was never predicted correctly.
fn class_scores(confusion: &[Vec<u64>], i: usize) -> (Option<f64>, Option<f64>, Option<f64>) {
    let correct = confusion[i][i];
    let occurs: u64 = confusion[i].iter().sum();
    let predicted: u64 = confusion.iter().map(|row| row[i]).sum();
    let recall = ratio(correct, occurs);
    let f1 = recall.and_then(|_| ratio(2 * correct, occurs + predicted));
    (ratio(correct, predicted), recall, f1)
}

/// The table of classes. `species` in the order of their labels.
fn class_rows(confusion: &[Vec<u64>], species: &[String]) -> Vec<ClassRow> {
    let row = |(i, name): (usize, &String)| {
        let (precision, recall, f1) = class_scores(confusion, i);
        ClassRow {
            species: name.clone(),
            support: confusion[i].iter().sum(),
            precision,
            recall,
            f1,
        }
    };
    species.iter().enumerate().map(row).collect()
}

/// The 97.5th percentile of the standard normal distribution.
const Z: f64 = 1.959_964;

/// The 95 % Wilson score interval of a share of which `correct` of `all` were observed (Wilson 1927). It is never of width 0:
/// one tree of one is 21 % to 100 %. Brown, Cai and DasGupta (2001) recommend it for few observations. `None` without any.
pub fn wilson(correct: u64, all: u64) -> Option<(f64, f64)> {
    let share = ratio(correct, all)?;
    let n = all as f64;
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// A 95 % interval of the balanced accuracy: the Wilson intervals of the species' recalls, combined by the MOVER (Zou, Huang
/// and Zhang 2009). The trees count as independent. `None` if nothing was evaluated.
pub fn balanced_interval(classes: &[ClassRow]) -> Option<(f64, f64)> {
    let (mut count, mut sum, mut below, mut above) = (0.0, 0.0, 0.0, 0.0);
    for class in classes {
        let Some(recall) = class.recall else { continue };
        let correct = (recall * class.support as f64).round() as u64;
        let Some((low, high)) = wilson(correct, class.support) else {
            continue;
        };
        count += 1.0;
        sum += recall;
        below += (recall - low).powi(2);
        above += (high - recall).powi(2);
    }
    (count > 0.0).then(|| ((sum - below.sqrt()) / count, (sum + above.sqrt()) / count))
}

/// The index of the largest value, the first one of equals; 0 for an empty row. NaN is never the largest.
pub fn argmax(row: &[f32]) -> usize {
    let mut best = 0;
    for (i, v) in row.iter().enumerate() {
        if *v > row[best] || row[best].is_nan() {
            best = i;
        }
    }
    best
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0, 0.0), |(n, sum), v| (n + 1, sum + v));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argmax_returns_the_first_of_equals_and_skips_nan() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
        assert_eq!(argmax(&[f32::NAN, 0.5, f32::NAN]), 1);
        assert_eq!(argmax(&[]), 0);
    }

    #[test]
    fn wilson_matches_published_values() {
        // Newcombe (1998), Statistics in Medicine 17, table I, method 3.
        for (correct, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (l, h) = wilson(correct, all).unwrap();
            assert!(
                (l - low).abs() < 5e-5 && (h - high).abs() < 5e-5,
                "{correct}/{all}: {l} {h}"
            );
        }
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn the_interval_of_few_trees_is_wide() {
        let row = |support, recall| ClassRow {
            support,
            recall,
            ..ClassRow::default()
        };
        // Three species of one tree, all correct: that is not certainty.
        let (low, high) = balanced_interval(&vec![row(1, Some(1.0)); 3]).unwrap();
        assert!(low < 0.6 && high == 1.0, "{low} {high}");
        let (low, high) = balanced_interval(&[row(1000, Some(0.5)), row(0, None)]).unwrap();
        assert!((0.46..0.5).contains(&low) && high > 0.5 && high < 0.54);
        assert_eq!(balanced_interval(&[row(0, None)]), None);
    }
}
