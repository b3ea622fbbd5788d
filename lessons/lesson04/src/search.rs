//! 4.8: a batch that runs, by trying.

use canopy::train::Failure;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

/// Start, least, and how many clouds fit; an attempt from which on each fails for another reason, and that.
type Input = ((usize, usize, usize), (usize, &'static str));

/// More attempts than any search needs.
const NEVER: (usize, &str) = (200, "this search does not end");

fn searched(answer: &Lesson04, ((start, least, room), (from, other)): Input) -> Verdict {
    let others = format!("attempt {from} and all later ones fail with Other(\"{other}\")");
    let case = given(format!(
        "start {start}, least {least}, {room} clouds fit, {others}"
    ));
    let search = |answer: &Lesson04, most: usize| {
        let mut tried = Vec::new();
        let found = (answer.executable_batch)(start, least, &mut |batch| {
            tried.push(batch);
            match tried.len() {
                count if count >= from => Err(Failure::Other(other.into())),
                _ if batch > room => Err(Failure::OutOfMemory),
                _ => Ok(()),
            }
        });
        // What follows one attempt too many depends on how the mistake is written.
        let shown = tried.iter().take(most);
        let facts = Facts::default().items("batches tried", shown);
        (facts.text("result", format!("{found:?}")), tried.len())
    };
    let (expected, count) = search(&REFERENCE, usize::MAX);
    case.same(search(answer, count + 1).0, expected)
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.8";
    by searched {
        stops_at_the_first_success: "with which `attempt` succeeds",
            "Try `start`, then its half, rounded down, each once; return the first with which `attempt` succeeds." => |d| {
            let start = 2 * d.whole(10, 30) + 1;
            vec![((start, 2, start), NEVER), ((start, 2, start - 1), NEVER)]
        };
        halves_the_batch_after_each_failure: "start, start/2, start/4",
            "Divide the batch by 2, rounded down, after each failure, down to `least`." => |d| {
            let start = 8 * d.whole(5, 12) + 7;
            vec![((start, 2, start / 8), NEVER), ((100_000 + start, 1, 1), NEVER)]
        };
        tries_no_batch_below_the_least: "none below `least` or 1",
            "Compare with `least` and with 0 before each attempt; if none is left, return `OutOfMemory`." => |d| {
            let least = d.whole(3, 6);
            let start = 4 * least + 1;
            [
                // In the last one, `least` itself is no half.
                (start, least, least), (start, least, 0), (start, start + 1, start), (start, least - 1, 0),
                (5, 1, 1), (2, 0, 0), (0, 0, 9), (0, 1, 9),
            ].map(|numbers| (numbers, NEVER)).to_vec()
        };
        returns_other_failures_at_once: "is returned at once",
            "Halve only after `OutOfMemory`; return any other failure as it is, after one attempt." => |d| {
            let others = [(1, "label 9 is no class"), (1, "out of memory is not the reason"), (2, "shape mismatch")];
            others.map(|other| ((d.whole(20, 60), 2, 0), other)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.8" executable_batch;
    1 "Batches below `least` are tried.";
    2 "If the half is too small, `least` is tried instead; try only halves.";
    3 "Every failure is treated as out of memory: a smaller batch does not help against others.";
};
