//! 9.3: gradients of stage 2.

use anyhow::Result;
use grader::{Check, Draw, Facts, Mistake, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers, ranks::*};

#[derive(Clone, Debug)]
struct GradientsByRank(Vec<Vec<f32>>);

fn drawn(d: &mut Draw, world: usize, length: usize) -> GradientsByRank {
    GradientsByRank(lists(d, world, length))
}

impl OnRanks for GradientsByRank {
    fn world(&self) -> usize {
        self.0.len()
    }

    fn run(&self, answer: &Lesson09, end: &End, _: &str) -> Result<Facts> {
        let mine = (answer.reduce_gradients)(end, self.0[end.rank()].clone())?;
        let wasteful = mine.capacity() > 2 * mine.len() + 8;
        Ok(Facts::default()
            .values("result", &mine)
            .items(
                "whether the list has room for more than twice its chunk",
                [wasteful],
            )
            .cause("Return a new list, as long as the chunk: `truncate`, `drain` and `clear` free nothing.")
            .asked("at most twice its length"))
    }
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.3";
    by results {
        returns_its_chunk_of_the_mean: "This rank's `chunk` of the mean of `gradients` over the ranks",
            "Return this rank's chunk of the sum, divided by the number of ranks, once." =>
            |d| [(1, 3), (3, 9), (2, 6), (4, 1200), (5, 10)].map(|(world, n)| drawn(d, world, n)).into();
        accepts_uneven_and_empty_chunks: "This rank's `chunk`",
            "`mine` is as long as `chunk(length, rank, p)`, also an empty one; every rank makes the same call." =>
            |d| [(1, 5), (2, 5), (3, 7), (4, 10), (4, 3), (3, 1), (2, 0)].map(|(world, n)| drawn(d, world, n)).into();
    }
    by errors {
        passes_on_the_error: "Returns its error", "Pass on the error of `reduce_scatter` with `?`." =>
            |d| vec![(drawn(d, 2, 4), "")];
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.3" reduce_gradients;
    1 "This is the sum over the ranks: divide it by their number.";
    2 "These are this rank's own gradients: nothing is summed over the ranks.";
    3 "An all-reduce sends twice as much: most of its result is thrown away here.";
    4 "A rank with an empty chunk makes no call, and the others wait for it: every rank makes the same calls.";
};
