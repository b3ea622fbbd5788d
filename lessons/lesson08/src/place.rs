//! 8.5: rank and device from the environment.

use canopy::parallel::Place;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::said;

use crate::{Lesson08, REFERENCE, answers};

const SLURM: &str = "SLURM_PROCID SLURM_NTASKS SLURM_LOCALID";
const MPI: &str = "OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK";
const TORCHRUN: &str = "RANK WORLD_SIZE LOCAL_RANK";

/// Slurm comes last, because it has further variables that an answer may look at.
const ALL: [&str; 3] = [MPI, TORCHRUN, SLURM];

/// An inner launcher and one around it.
const NESTED: [[&str; 2]; 3] = [[MPI, SLURM], [TORCHRUN, SLURM], [TORCHRUN, MPI]];

/// Variables that are set.
type Set = Vec<(&'static str, String)>;

/// Of a launcher: rank, world size and local rank.
fn set(names: &'static str, numbers: [usize; 3]) -> Set {
    let texts = numbers.map(|n| n.to_string());
    names.split(' ').zip(texts).collect()
}

/// An inner launcher with rank 1 of 4, and an outer one with rank 0 of 1.
fn nested([inner, outer]: [&'static str; 2]) -> Set {
    [set(inner, [1, 4, 1]), set(outer, [0, 1, 0])].concat()
}

/// Variables, and the name that an error must contain, if any.
type Input = (Set, &'static str);

/// With another text of one variable.
fn with((at, text): (usize, &str), mut set: Set) -> Input {
    set[at].1 = text.into();
    let name = set[at].0;
    (set, name)
}

fn placed(answer: &Lesson08, set: Set) -> Verdict {
    named(answer, (set, ""))
}

fn named(answer: &Lesson08, (set, name): Input) -> Verdict {
    let shown: Vec<String> = set
        .iter()
        .map(|(name, text)| format!("{name}={text:?}"))
        .collect();
    let case = given(format!("{} variables: {}", set.len(), shown.join(" ")));
    let facts = |lesson: &Lesson08| {
        let result = (lesson.place_from)(&|name| Some(set.iter().find(|(n, _)| *n == name)?.1.clone()));
        let said = result.as_ref().map_or_else(said, |_| String::new());
        // LOCAL_RANK is not RANK.
        let mut words = said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let has = name.is_empty() || words.any(|word| word == name);
        Facts::of(result, |place| Facts::default().items("place", [place]))
            .text("the error names the variable", if has { name } else { &said })
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// Rank, local rank, and the GPUs that are seen.
type Seen = (usize, usize, usize);

fn device(answer: &Lesson08, (rank, local_rank, gpus): Seen) -> Verdict {
    let (world_size, launcher) = (64, "Slurm");
    let place = Place {
        rank,
        world_size,
        local_rank,
        launcher,
    };
    let case = given(format!(
        "rank {rank}, local rank {local_rank}; {gpus} GPUs are seen"
    ));
    let facts = |lesson: &Lesson08| {
        let result = (lesson.device_for)(&place, gpus);
        Facts::of(result, |device| Facts::default().text("device", device))
    };
    case.same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson08>] = rows! { "8.5";
    by placed {
        reads_each_launcher: "The place of this process",
            "Ask `variable` for the three names of each launcher, and return its own name as in the table." => |d| {
            // 5 is not the rest of 6 by any number of GPUs.
            let mut places = |_| [[6, 8, 5], [d.whole(3, 8), d.whole(9, 999), d.whole(0, 2)], [0, 1, 0]];
            ALL.iter().flat_map(|&names| places(names).map(|numbers| set(names, numbers))).collect()
        };
        prefers_the_inner_launcher: "first launcher whose rank is set",
            "Go through the table from its top. The first launcher whose rank is set gives all three numbers." => |d| {
            let rank = d.whole(2, 7);
            let script = set(SLURM, [0, 1, 0]);
            let mut all = vec![
                // In a batch script of one task, mpirun or torchrun starts eight.
                [script.clone(), set(MPI, [rank, 8, 1])].concat(),
                [script.clone(), set(TORCHRUN, [rank, 8, 1])].concat(),
                [script, set(MPI, [0, 2, 0]), set(TORCHRUN, [rank, 8, 0])].concat(),
            ];
            // The size and the local rank of a launcher without a rank do not count.
            let without_rank = |names| set(names, [0, 2, 0]).split_off(1);
            all.extend(NESTED.map(|[inner, outer]| [set(outer, [rank, 8, 1]), without_rank(inner)].concat()));
            all
        };
        is_a_single_rank_without_launcher: "launcher `alone`",
            "If no launcher's rank is set, the result is rank 0 of 1, local rank 0, launcher `alone`." => |d| {
            let tasks = d.whole(2, 9).to_string();
            // The variables of a job do not come from a launcher.
            let job = [("SLURM_NTASKS", &*tasks), ("SLURM_LOCALID", "0"), ("WORLD_SIZE", &tasks), ("PATH", "/usr/bin")];
            vec![Vec::new(), job.map(|(name, text)| (name, text.to_owned())).into()]
        };
    }
    by named {
        reports_the_missing_variable: "is missing",
            "Return an error with the name of a missing variable: assume no number, and skip no launcher." => |d| {
            let some = d.whole(1, 3);
            let ranks = ALL.iter().flat_map(|&names| [0, some].map(|rank| set(names, [rank, 4, 0])));
            // With an outer launcher that is complete, the inner one still counts.
            let sets = ranks.chain(NESTED.map(nested)).flat_map(|set| [(set.clone(), 1), (set, 2)]);
            let without = |(mut set, at): (Set, usize)| {
                let (name, _) = set.remove(at);
                (set, name)
            };
            sets.map(without).collect()
        };
        rejects_a_value_that_is_not_a_number: "not a `usize`",
            "If `parse::<usize>()` fails, return an error with the variable's name." =>
            |_| {
            let texts = ["first", "-1", "2.5", "1.0", "4(x2)", "1 0", "0x1"];
            let one = |at: usize| texts.map(|text| with((at % 3, text), set(ALL[at / 3], [1, 4, 1])));
            let inner = NESTED.iter().map(|&pair| with((0, "x"), nested(pair)));
            (0..9).flat_map(one).chain(inner).collect()
        };
    }
    by placed {
        rejects_a_rank_beyond_world_size: "not below the world size",
            "Return an error unless the rank is below the world size: ranks are 0 to p − 1." => |d| {
            let (world, more) = (d.whole(2, 8), d.whole(1, 5));
            let places = [[world + more, world, 0], [world, world, 0], [0, 0, 0], [world - 1, world, 0]];
            ALL.iter().flat_map(|&names| places.map(|numbers| set(names, numbers))).collect()
        };
    }
    by device {
        chooses_the_gpu_by_local_rank: "local rank N",
            "Of several GPUs, use the one whose number is the local rank: each node numbers its own from 0." => |d| {
            let (local, node) = (d.whole(1, 3), d.whole(2, 9));
            let mut all = vec![(4 * node + local, local, 4), (4 * node + local, 0, 4)];
            all.extend((2..=9).flat_map(|gpus| (0..gpus).map(move |local| (10 * node + local, local, gpus))));
            all
        };
        uses_the_only_gpu_or_the_cpu: "`cuda:0` for one",
            "Without a GPU the device is `cpu`, with one it is `cuda:0`, whatever the local rank." => |d| {
            let (local, rank) = (d.whole(1, 3), d.whole(4, 40));
            vec![(rank, local, 0), (rank, local, 1), (rank, 0, 0), (rank, 0, 1)]
        };
        rejects_more_ranks_than_gpus: "not below `gpus`",
            "With several GPUs, return an error unless the local rank is below their number." => |d| {
            let (few, many, more) = (d.whole(2, 4), d.whole(5, 9), d.whole(1, 3));
            let locals = [few, many].into_iter().flat_map(|n| [n + more, n, 2 * n].map(|local| (local, n)));
            // A rank that is below the number of GPUs does not help.
            locals.flat_map(|(local, gpus)| [1, local].map(|rank| (rank, local, gpus))).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson08>] = mistakes! { "8.5" [place_from, device_for];
    1 "Rank and local rank are swapped.";
    2 "The local rank is the rank: that is right only on the first node.";
    3 "Slurm is read first; under mpirun or torchrun in a Slurm job, its numbers are those of the batch script.";
    4 "The GPU is chosen by the rank; each node numbers its GPUs from 0, so use the local rank.";
    5 "A rank that sees one GPU chooses it by its local rank; the scheduler gave it that one, and its number is 0.";
};
