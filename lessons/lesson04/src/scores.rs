//! 4.4: scores of a classifier.

use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

/// Truth, predictions, classes.
type Input = (Vec<u32>, Vec<u32>, usize);

fn scored(answer: &Lesson04, (truth, named, classes): Input) -> Verdict {
    let lists = match truth.len() {
        0..100 => format!("truth {truth:?}, named {named:?}"),
        count => format!(
            "{count} clouds, first {} of class 1, then of class 0, all named 1",
            truth.iter().sum::<u32>()
        ),
    };
    let facts = |of: &Lesson04| {
        let s = (of.scores)(&truth, &named, classes);
        Facts::default()
            .items("rows of confusion", &s.confusion)
            .asked("The scores of predictions")
            .values("accuracy", s.accuracy)
            .cause("Divide the correct predictions by all clouds, in f64, not rounded; without clouds it is 0, not 0/0.")
            .asked("The scores of predictions")
            .values("balanced accuracy", s.balanced_accuracy)
            .cause("Add correct/clouds of all classes that occur in `truth`, and divide by their number, if any.")
            .values("macro F1", s.macro_f1)
            .cause("Add 2·correct/(clouds + predictions) of all classes in `truth`, and divide by their number, if any.")
    };
    given(format!("{lists}; {classes} classes")).same(facts(answer), facts(&REFERENCE))
}

/// Predictions over seven classes: 1 and 4 never occur but are predicted, 6 occurs and is never predicted, 5 occurs and
/// is predicted but never correctly, 2 does neither. Their number is odd, so that no share is exact in binary.
fn predictions(d: &mut Draw, classes: usize) -> Input {
    let mut truth = vec![0, 0, 0, 3, 3, 3, 3, 6, 6, 0, 0, 5, 5, 3, 3, 3];
    let mut named = vec![0, 0, 3, 3, 3, 1, 4, 0, 0, 3, 1, 0, 3, 5, 0, 0];
    let (more, turn) = (2 * d.whole(1, 3) + 1, d.whole(0, 13));
    for list in [&mut truth, &mut named] {
        list.resize(16 + more, 0);
        list.rotate_left(turn);
    }
    (truth, named, classes)
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.4";
    by scored {
        scores_classes_that_occur: "over the classes in `truth`",
            "Count each cloud in the row of its true class; there are `classes` rows of `classes`." =>
            // The last two classes of nine do not occur in either list.
            |d| vec![predictions(d, 7), predictions(d, 9)];
        is_zero_without_clouds: "The scores of predictions",
            "Without clouds the scores are 0, not 0/0, and the matrix has `classes` rows of `classes` zeros." =>
            |_| vec![(Vec::new(), Vec::new(), 3)];
        counts_many_clouds: "The scores of predictions",
            "u8 and u16 overflow: count in u64." => |d| {
            let (right, wrong) = (66_000 + d.whole(0, 900), 70_000);
            let truth: Vec<u32> = (0..right + wrong).map(|i| u32::from(i < right)).collect();
            vec![(truth.clone(), vec![1; truth.len()], 2)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.4" scores;
    1 "Rows and columns are swapped: the true class is the row.";
    2 "A class that does not occur counts with a score of 0; exclude it from both means.";
    3 "0/0 is NaN: a class without clouds has neither recall nor F1; exclude it from both means.";
};
