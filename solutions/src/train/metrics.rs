//! From predictions to scores. All scores are functions of the confusion matrix.

use crate::report::ClassRow;

/// The scores of a list of predictions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// `confusion[truth][named]`: how often each was named so, `[classes][classes]`.
    pub confusion: Vec<Vec<u64>>,
    /// Share named rightly; 0 where there is nothing.
    pub accuracy: f64,
    /// Mean recall over the classes that occur; 0 where none does.
    pub balanced_accuracy: f64,
    /// Mean F1 over the classes that occur; 0 where none does.
    pub macro_f1: f64,
}

/// All scores of `named` against `truth`.
///
/// # Panics
/// As [`confusion_matrix`].
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    let confusion = confusion_matrix(truth, named, classes);
    Scores {
        accuracy: accuracy(&confusion),
        balanced_accuracy: balanced_accuracy(&confusion),
        macro_f1: macro_f1(&confusion),
        confusion,
    }
}

/// `matrix[truth][named]`: how often each was named so. `[classes][classes]`.
///
/// # Panics
/// Where the lists differ in length or a label is not below `classes`.
pub fn confusion_matrix(truth: &[u32], named: &[u32], classes: usize) -> Vec<Vec<u64>> {
    assert_eq!(truth.len(), named.len(), "one name for each truth");
    let mut matrix = vec![vec![0; classes]; classes];
    for (&t, &n) in truth.iter().zip(named) {
        matrix[t as usize][n as usize] += 1;
    }
    matrix
}

/// Share named rightly; 0 where there is nothing.
pub fn accuracy(confusion: &[Vec<u64>]) -> f64 {
    let right: u64 = (0..confusion.len()).map(|i| confusion[i][i]).sum();
    let all: u64 = confusion.iter().flatten().sum();
    ratio(right, all).unwrap_or(0.0)
}

/// Mean recall over the classes that occur (Brodersen et al. 2010); 0 where none does.
pub fn balanced_accuracy(confusion: &[Vec<u64>]) -> f64 {
    mean((0..confusion.len()).filter_map(|i| ratio(confusion[i][i], confusion[i].iter().sum())))
}

/// Mean F1 over the classes that occur; 0 where none does.
pub fn macro_f1(confusion: &[Vec<u64>]) -> f64 {
    mean((0..confusion.len()).filter_map(|i| class_scores(confusion, i).2))
}

/// Precision, recall and F1 of class `i`. Precision is none where nothing was named so, recall and F1
/// where it does not occur. F1 = 2·hits / (occurs + named), so it is 0 where it occurs and was never found.
pub fn class_scores(confusion: &[Vec<u64>], i: usize) -> (Option<f64>, Option<f64>, Option<f64>) {
    let hits = confusion[i][i];
    let occurs: u64 = confusion[i].iter().sum();
    let named: u64 = confusion.iter().map(|row| row[i]).sum();
    let f1 = if occurs > 0 {
        ratio(2 * hits, occurs + named)
    } else {
        None
    };
    (ratio(hits, named), ratio(hits, occurs), f1)
}

/// The per-class table. `species` in label order.
pub fn class_rows(confusion: &[Vec<u64>], species: &[String]) -> Vec<ClassRow> {
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

/// The index of the greatest value, the first of equal ones; 0 for an empty row. NaN is never greatest.
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
    fn scores_are_those_worked_out_by_hand() {
        // truth 0: 3 right, 1 called 1; truth 1: 1 right, 1 called 0; truth 2 never occurs, once named.
        let m = confusion_matrix(&[0, 0, 0, 0, 1, 1, 1], &[0, 0, 0, 1, 1, 0, 2], 3);
        assert_eq!(m, [[3, 1, 0], [1, 1, 1], [0, 0, 0]]);
        assert_eq!(accuracy(&m), 4.0 / 7.0);
        assert_eq!(balanced_accuracy(&m), (0.75 + 1.0 / 3.0) / 2.0);
        assert_eq!(class_scores(&m, 0), (Some(0.75), Some(0.75), Some(0.75)));
        assert_eq!(class_scores(&m, 1), (Some(0.5), Some(1.0 / 3.0), Some(0.4)));
        assert_eq!(class_scores(&m, 2), (Some(0.0), None, None));
        assert_eq!(macro_f1(&m), (0.75 + 0.4) / 2.0);
    }

    #[test]
    fn a_class_that_is_never_found_has_f1_zero() {
        let m = confusion_matrix(&[0, 1], &[1, 1], 2);
        assert_eq!(class_scores(&m, 0), (None, Some(0.0), Some(0.0)));
    }

    #[test]
    fn nothing_evaluated_scores_zero_not_nan() {
        let m = confusion_matrix(&[], &[], 2);
        assert_eq!(
            (accuracy(&m), balanced_accuracy(&m), macro_f1(&m)),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn argmax_takes_the_first_of_equals_and_passes_over_nan() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
        assert_eq!(argmax(&[f32::NAN, 0.5, f32::NAN]), 1);
        assert_eq!(argmax(&[]), 0);
    }
}
