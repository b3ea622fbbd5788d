use canopy::train::metrics::Scores;
use grader::{Case, Draw, Values, Verdict, draw, given};

use crate::Lesson04;

/// Predictions over seven classes: two never occur but are predicted, one occurs and is never predicted, one occurs and is
/// predicted but never correctly, one does neither.
struct Predictions {
    truth: Vec<u32>,
    named: Vec<u32>,
    case: Case,
}

const CLASSES: usize = 7;

impl Predictions {
    fn new(draw: &mut Draw) -> Self {
        // Classes d and e never occur but are predicted, class c occurs and is never predicted, class f is never predicted
        // correctly. The second class never occurs, the last one does.
        let classes = [[0, 3, 6, 1, 4, 5], [0, 6, 3, 2, 4, 5]];
        let [a, b, c, d, e, f] = classes[draw.whole(0, 1)];
        let mut pairs = vec![
            (a, a),
            (a, a),
            (a, b),
            (b, b),
            (b, b),
            (b, d),
            (b, e),
            (c, a),
            (c, a),
            (a, b),
            (a, d),
            (f, a),
            (f, b),
            (b, f),
        ];
        let (more, wrong) = (draw.whole(2, 5), draw.whole(1, 3));
        pairs.extend(std::iter::repeat_n((a, a), more));
        pairs.extend(std::iter::repeat_n((b, a), wrong));
        // A share of an odd number is not exact in binary.
        if pairs.len() % 2 == 0 {
            pairs.push((a, a));
        }
        let turn = draw.whole(0, pairs.len() - 1);
        pairs.rotate_left(turn);
        let (truth, named): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        let case = given(format!("truth {truth:?}, named {named:?}, {CLASSES} classes"));
        Self { truth, named, case }
    }

    fn of(&self, answer: &Lesson04) -> Scores {
        (answer.scores)(&self.truth, &self.named, CLASSES)
    }

    fn count(&self, fits: impl Fn(u32, u32) -> bool) -> f64 {
        let pairs = self.truth.iter().zip(&self.named);
        pairs.filter(|&(&t, &n)| fits(t, n)).count() as f64
    }

    /// The mean over the classes that occur.
    fn mean(&self, of: impl Fn(u32) -> f64) -> f64 {
        let occur: Vec<u32> = (0..CLASSES as u32).filter(|c| self.truth.contains(c)).collect();
        occur.iter().map(|&c| of(c)).sum::<f64>() / occur.len() as f64
    }
}

pub fn has_true_classes_in_rows(answer: &Lesson04) -> Verdict {
    let p = Predictions::new(&mut draw());
    let confusion = p.of(answer).confusion;
    let square = confusion.len() == CLASSES && confusion.iter().all(|row| row.len() == CLASSES);
    let shape = format!("rows of {:?}", confusion.iter().map(Vec::len).collect::<Vec<_>>());
    p.case.require("7 rows of 7", square, shape)?;
    let of = |t: usize, n: usize| p.count(|a, b| (a as usize, b as usize) == (t, n));
    let expected = (0..CLASSES * CLASSES).map(|i| of(i / CLASSES, i % CLASSES));
    let table = |numbers: Vec<f64>| Values::tensor(numbers, &[CLASSES, CLASSES], "integer");
    let got = confusion.concat().into_iter().map(|v| v as f64).collect();
    p.case.close("confusion", table(got), table(expected.collect()))?;
    // The last two classes of nine do not occur in either list.
    let classes = CLASSES + 2;
    let case = given(format!(
        "truth {:?}, named {:?}, {classes} classes",
        p.truth, p.named
    ));
    let confusion = (answer.scores)(&p.truth, &p.named, classes).confusion;
    let lengths: Vec<usize> = confusion.iter().map(Vec::len).collect();
    case.close(
        "lengths of the rows of confusion",
        &lengths,
        &vec![classes; classes],
    )
}

pub fn accuracy_is_the_share_of_correct_predictions(answer: &Lesson04) -> Verdict {
    let p = Predictions::new(&mut draw());
    let expected = p.count(|t, n| t == n) / p.truth.len() as f64;
    p.case.close("accuracy", p.of(answer).accuracy, expected)
}

pub fn averages_recall_over_classes_that_occur(answer: &Lesson04) -> Verdict {
    let p = Predictions::new(&mut draw());
    let expected = p.mean(|c| p.count(|t, n| t == c && n == c) / p.count(|t, _| t == c));
    p.case
        .close("balanced accuracy", p.of(answer).balanced_accuracy, expected)
}

pub fn averages_f1_over_classes_that_occur(answer: &Lesson04) -> Verdict {
    let p = Predictions::new(&mut draw());
    let hits = |c| p.count(|t, n| t == c && n == c);
    let expected = p.mean(|c| 2.0 * hits(c) / (p.count(|t, _| t == c) + p.count(|_, n| n == c)));
    p.case.close("macro F1", p.of(answer).macro_f1, expected)
}

pub fn is_zero_without_clouds(answer: &Lesson04) -> Verdict {
    let case = given("no predictions, 3 classes");
    let got = (answer.scores)(&[], &[], 3);
    case.close("accuracy", got.accuracy, 0.0)?;
    case.close("balanced accuracy", got.balanced_accuracy, 0.0)?;
    case.close("macro F1", got.macro_f1, 0.0)?;
    let lengths: Vec<usize> = got.confusion.iter().map(Vec::len).collect();
    case.close("lengths of the rows of confusion", &lengths, &vec![3usize; 3])
}

pub fn counts_many_clouds(answer: &Lesson04) -> Verdict {
    let (right, wrong) = (66_000 + draw().whole(0, 900), 70_000);
    let case = given(format!(
        "{right} clouds of class 1 predicted as 1, {wrong} of class 0 predicted as 1; 2 classes"
    ));
    let truth: Vec<u32> = (0..right + wrong).map(|i| u32::from(i < right)).collect();
    let got = (answer.scores)(&truth, &vec![1; truth.len()], 2);
    case.close(
        "confusion",
        &got.confusion.concat(),
        &vec![0, wrong as u64, 0, right as u64],
    )?;
    case.close("accuracy", got.accuracy, right as f64 / truth.len() as f64)
}
