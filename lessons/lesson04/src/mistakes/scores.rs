//! Known wrong answers to exercise 4.4.

use super::*;

/// Wrong scores, from the right ones and the confusion matrix.
macro_rules! scoring {
    ($caught_by:ident, $cause:literal, $twist:expr) => {
        wrong!("4.4", $caught_by, $cause, scores: |t, n, c| {
            let twist: fn(Scores) -> Scores = $twist;
            twist((REFERENCE.scores)(t, n, c))
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.4", has_true_classes_in_rows, "Rows and columns are swapped: the true class is the row.",
        scores: |t, n, c| scored((n, t, c), |&[_, column, hits]| recall(&[column, 0.0, hits]), |&[r, c, h]| f1(&[c, r, h]), 0.0)),
    wrong!("4.4", accuracy_is_the_share_of_correct_predictions, "This is the balanced accuracy; the accuracy is the share of all clouds.", scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { accuracy: s.balanced_accuracy, ..s }
    }),
    wrong!("4.4", averages_recall_over_classes_that_occur, "A class that does not occur counts with a recall of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), |v| Some(recall(v).unwrap_or(0.0)), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "Correct predictions are divided by all predictions of the class: that is precision. Recall divides by the clouds of the class.",
        scores: |t, n, c| scored((t, n, c), |&[_, named, hits]| (named > 0.0).then(|| hits / named), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "Correct predictions are divided by all predictions of the class: that is precision. Recall divides by the clouds of the class.",
        scores: |t, n, c| scored((t, n, c), |&[row, named, hits]| (row > 0.0).then(|| hits / named.max(1.0)), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "A class that is predicted but does not occur in `truth` counts with a recall of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), |v| (v[0] + v[1] > 0.0).then(|| recall(v).unwrap_or(0.0)), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "The means are over the classes in `truth` or `named`: exclude a class that is predicted but does not occur in `truth`.",
        scores: |t, n, c| scored((t, n, c), |v| (v[0] + v[1] > 0.0).then(|| recall(v).unwrap_or(0.0)), either, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "0/0 is NaN: a class without clouds has no recall; exclude it.",
        scores: |t, n, c| scored((t, n, c), |&[r, _, h]| Some(h / r), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "0/0 is NaN: a class without clouds has neither recall nor F1; exclude it from both means.",
        scores: |t, n, c| scored((t, n, c), |&[r, _, h]| Some(h / r), |&[r, named, h]| Some(2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "0/0 is NaN: a class without clouds and predictions has no F1; exclude each class that does not occur in `truth`.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| Some(2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "A class that does not occur counts as 1; exclude it.",
        scores: |t, n, c| scored((t, n, c), |v| Some(recall(v).unwrap_or(1.0)), |v| Some(f1(v).unwrap_or(1.0)), 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "A class that occurs but has no correct prediction is left out; its recall is 0.",
        scores: |t, n, c| scored((t, n, c), |v| recall(v).filter(|&r| r > 0.0), f1, 0.0)),
    wrong!("4.4", averages_recall_over_classes_that_occur, "The recalls are divided by the number of predicted classes; divide by the number of classes that occur.",
    scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        let of = |fits: &dyn Fn(u32) -> bool| (0..c as u32).filter(|&c| fits(c)).count().max(1) as f64;
        let sum = s.balanced_accuracy * of(&|c| t.contains(&c));
        Scores { balanced_accuracy: sum / of(&|c| n.contains(&c)), ..s }
    }),
    wrong!("4.4", has_true_classes_in_rows, "The matrix ends at the greatest class in the lists; it has `classes` rows of `classes`.",
    scores: |t, n, _| {
        let classes = t.iter().chain(n).max().map_or(0, |&c| c as usize + 1);
        (REFERENCE.scores)(t, n, classes)
    }),
    wrong!("4.4", has_true_classes_in_rows, "The matrix ends at the greatest class in the lists; it has `classes` rows of `classes`.",
    scores: |t, n, c| {
        let classes = t.iter().chain(n).max().map_or(c, |&c| c as usize + 1);
        (REFERENCE.scores)(t, n, classes)
    }),
    wrong!("4.4", averages_recall_over_classes_that_occur, "This is the plain accuracy; the balanced accuracy is a mean over the classes.",
    scores: |t, n, c| {
        let s = (REFERENCE.scores)(t, n, c);
        canopy::train::metrics::Scores { balanced_accuracy: s.accuracy, ..s }
    }),
    wrong!("4.4", averages_f1_over_classes_that_occur, "The mean is over the predicted classes; it should be over the classes that occur.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (named > 0.0).then(|| 2.0 * h / (r + named)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that occurs but has no correct prediction is left out; its F1 is 0.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).filter(|&f| f > 0.0), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that occurs but is never predicted is left out; its F1 is 0.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).filter(|_| v[1] > 0.0), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "correct/(clouds + predictions − correct) is intersection over union, not F1.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r > 0.0).then(|| h / (r + named - h)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that was predicted but does not occur counts with an F1 of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), recall, either, 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "A class that does not occur counts with an F1 of 0; exclude it.",
        scores: |t, n, c| scored((t, n, c), recall, |v| Some(f1(v).unwrap_or(0.0)), 0.0)),
    wrong!("4.4", averages_f1_over_classes_that_occur, "F1 from precision and recall is 0/0 for a class without a correct prediction: use the formula in the comment.",
        scores: |t, n, c| scored((t, n, c), recall, |&[r, named, h]| (r > 0.0).then(|| {
            let (p, r) = (h / named, h / r);
            2.0 * p * r / (p + r)
        }), 0.0)),
    scoring!(
        averages_f1_over_classes_that_occur,
        "The classes are weighted by their clouds; macro F1 weights all alike.",
        |s| {
            let row = |c: usize| s.confusion[c].iter().sum::<u64>() as f64;
            let f1 = |c: usize| {
                let column = s.confusion.iter().map(|r| r[c]).sum::<u64>() as f64;
                2.0 * s.confusion[c][c] as f64 / (row(c) + column)
            };
            let classes = (0..s.confusion.len()).filter(|&c| row(c) > 0.0);
            let (sum, all) = classes.fold((0.0, 0.0), |(sum, all), c| (sum + row(c) * f1(c), all + row(c)));
            Scores {
                macro_f1: if all > 0.0 { sum / all } else { 0.0 },
                ..s
            }
        }
    ),
    wrong!("4.4", averages_f1_over_classes_that_occur, "correct/(clouds + predictions) is half of F1.",
        scores: |t, n, c| scored((t, n, c), recall, |v| f1(v).map(|f| f / 2.0), 0.0)),
    scoring!(
        averages_f1_over_classes_that_occur,
        "This is the F1 over all clouds together, which equals the accuracy; take the mean of the classes' F1.",
        |s| Scores {
            macro_f1: s.accuracy,
            ..s
        }
    ),
    scoring!(
        averages_f1_over_classes_that_occur,
        "This is the F1 of the mean precision and the mean recall; take the mean of the classes' F1.",
        |s| {
            let occur: Vec<usize> = (0..s.confusion.len())
                .filter(|&c| s.confusion[c].iter().sum::<u64>() > 0)
                .collect();
            let precision = |&c: &usize| {
                s.confusion[c][c] as f64 / s.confusion.iter().map(|r| r[c]).sum::<u64>().max(1) as f64
            };
            let p = occur.iter().map(precision).sum::<f64>() / occur.len().max(1) as f64;
            let sum = p + s.balanced_accuracy;
            Scores {
                macro_f1: if sum > 0.0 {
                    2.0 * p * s.balanced_accuracy / sum
                } else {
                    0.0
                },
                ..s
            }
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The scores are percentages; they should be shares from 0 to 1.",
        |s| Scores {
            accuracy: 100.0 * s.accuracy,
            balanced_accuracy: 100.0 * s.balanced_accuracy,
            macro_f1: 100.0 * s.macro_f1,
            ..s
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The scores are computed in f32; compute in f64.",
        |s| Scores {
            accuracy: f64::from(s.accuracy as f32),
            balanced_accuracy: f64::from(s.balanced_accuracy as f32),
            macro_f1: f64::from(s.macro_f1 as f32),
            ..s
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "A division of integers is 0, unless all are correct: divide in f64.",
        |s| Scores {
            accuracy: s.accuracy.floor(),
            ..s
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The scores are rounded; return them as they are.",
        |s| {
            let rounded = |score: f64| (score * 1000.0).round() / 1000.0;
            Scores {
                accuracy: rounded(s.accuracy),
                balanced_accuracy: rounded(s.balanced_accuracy),
                macro_f1: rounded(s.macro_f1),
                ..s
            }
        }
    ),
    scoring!(
        has_true_classes_in_rows,
        "Correct predictions are missing in the matrix; they are its diagonal.",
        |mut s| {
            (0..s.confusion.len()).for_each(|c| s.confusion[c][c] = 0);
            s
        }
    ),
    scoring!(
        averages_recall_over_classes_that_occur,
        "The loop ends at the first class that does not occur; skip it and go on.",
        |s| {
            let occurs = |row: &&Vec<u64>| row.iter().sum::<u64>() > 0;
            let first = s.confusion.iter().take_while(occurs).count();
            let part = of_confusion(s.confusion[..first].to_vec());
            Scores {
                balanced_accuracy: part.balanced_accuracy,
                macro_f1: part.macro_f1,
                ..s
            }
        }
    ),
    scoring!(
        accuracy_is_the_share_of_correct_predictions,
        "The loop ends at the first class that does not occur; skip it and go on.",
        |s| {
            let occurs = |row: &&Vec<u64>| row.iter().sum::<u64>() > 0;
            let first = s.confusion.iter().take_while(occurs).count();
            let correct: u64 = (0..first).map(|c| s.confusion[c][c]).sum();
            Scores {
                accuracy: correct as f64 / s.confusion.iter().flatten().sum::<u64>().max(1) as f64,
                ..s
            }
        }
    ),
    scoring!(
        counts_many_clouds,
        "The counts are of a small integer type and overflow: use u64.",
        |mut s| {
            s.confusion.iter_mut().flatten().for_each(|n| *n %= 65_536);
            Scores {
                accuracy: of_confusion(s.confusion.clone()).accuracy,
                ..s
            }
        }
    ),
    wrong!("4.4", counts_many_clouds, "The counts are of a small integer type and overflow; use u64.", scores: |t, n, c| {
        assert!(t.len() < 65_536, "attempt to add with overflow");
        (REFERENCE.scores)(t, n, c)
    }),
    scoring!(
        is_zero_without_clouds,
        "Without clouds the matrix is empty; it should have a row of zeros for each class.",
        |s| {
            let none = s.confusion.iter().flatten().all(|&n| n == 0);
            Scores {
                confusion: if none { Vec::new() } else { s.confusion },
                ..s
            }
        }
    ),
    wrong!("4.4", is_zero_without_clouds, "0/0 is NaN: without clouds the scores are 0.",
        scores: |t, n, c| scored((t, n, c), recall, f1, f64::NAN)),
];

/// F1, also of a class that was only predicted.
fn either(&[row, named, hits]: &[f64; 3]) -> Option<f64> {
    (row + named > 0.0).then(|| 2.0 * hits / (row + named))
}
