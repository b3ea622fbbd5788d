//! 9.1: the slices of a rank.

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers};

/// Sizes, rank, number of ranks.
type Input = (Vec<usize>, usize, usize);

fn parts(answer: &Lesson09, (sizes, rank, world): Input) -> Verdict {
    let facts = |answer: &Lesson09| {
        let parts = (answer.slices_of_rank)(&sizes, rank, world);
        Facts::default()
            .items("ranges of the parts", parts.iter().map(|s| &s.range))
            .items("parameters of the parts", parts.iter().map(|s| s.param))
            .cause("`param` is an index among all parameters, also those without a part and those without elements.")
            .asked("part for each parameter")
    };
    given(format!("sizes {sizes:?}, rank {rank} of {world}")).same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.1";
    by parts {
        // Each way to give out whole parameters has another result.
        cuts_parameters_where_chunks_end: "laid end to end",
            "A part has the elements of a parameter that are in the rank's chunk, by their index in the parameter." =>
            |_| vec![(vec![5, 1, 1, 1], 0, 2), (vec![6], 0, 2), (vec![6], 1, 2), (vec![5, 3], 0, 2), (vec![9], 1, 3)];
        counts_from_the_start_of_each_parameter: "The parts of the parameters",
            "Start and end of a range count from its parameter's first element: subtract its position." => |d| {
            let (a, b) = (d.whole(1, 5), d.whole(10, 30));
            vec![(vec![5, 3], 1, 2), (vec![2 * a, 2 * b], 1, 2)]
        };
        returns_one_part_for_each_parameter: "part for each parameter that the chunk touches",
            "Return exactly one part for each parameter that the chunk touches." => |d| {
            let each = d.whole(2, 6);
            let all = vec![1, 2, 2, 2, 1];
            vec![(vec![each, 1, 2, each], 0, 1), (all.clone(), 0, 2), (all, 1, 2)]
        };
        leaves_out_empty_parts: "One non-empty part",
            "A parameter without elements has no part and does not move the positions of the next ones; go on after it." =>
            // In the last, an answer with one part is another than one that ends at the empty parameter.
            |_| {
            let odd = vec![0, 4, 0, 4, 0];
            vec![(odd.clone(), 0, 2), (odd, 1, 2), (vec![], 1, 3), (vec![0, 0], 0, 1), (vec![4, 3, 0, 2], 0, 1)]
        };
        covers_every_element_once: "its `chunk` of all elements",
            "The rank owns `chunk(total, rank, world_size)`, with the sum of all sizes as total." => |d| {
            let mut all = vec![(vec![2], 0, 3), (vec![2], 1, 3)];
            for world in 1..=9 {
                let count = d.whole(1, 7);
                let sizes: Vec<usize> = (0..count).map(|_| d.whole(0, 12)).collect();
                all.extend((0..world).map(|rank| (sizes.clone(), rank, world)));
            }
            all
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.1" slices_of_rank;
    1 "A parameter belongs as a whole to the rank in whose chunk it begins; cut it where the chunk ends.";
    2 "The ranges are positions in the list of all parameters; subtract the position at which the parameter starts.";
    3 "Each range is start and length; a range in Rust is start and end.";
    4 "There is one part only; a chunk may touch several parameters.";
    5 "The position does not advance past a parameter that the chunk does not touch; later ones are then misplaced.";
};
