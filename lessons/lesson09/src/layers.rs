//! 9.4: layers of stage 3.

use anyhow::Result;
use canopy::shard::{Memory, Sharded};
use grader::{Check, Draw, Facts, Mistake, mistakes, rows};

use crate::{Lesson09, REFERENCE, answers, ranks::*};

/// A pass over a model.
#[derive(Clone, Debug)]
struct Pass {
    backward: bool,
    params: Vec<Vec<f32>>,
    /// Of each layer.
    gradients_by_rank: Vec<Vec<Vec<f32>>>,
}

const FORWARD: bool = false;
const BACKWARD: bool = true;

fn drawn(d: &mut Draw, backward: bool, world: usize, sizes: &[usize]) -> Pass {
    let mut model = || sizes.iter().map(|&n| d.list(n, -2.0, 2.0)).collect::<Vec<_>>();
    let params = model();
    let gradients_by_rank = (0..world).map(|_| model()).collect();
    Pass {
        backward,
        params,
        gradients_by_rank,
    }
}

impl OnRanks for Pass {
    fn world(&self) -> usize {
        self.gradients_by_rank.len()
    }

    fn run(&self, answer: &Lesson09, end: &End, fails: &str) -> Result<Facts> {
        let memory = Memory::default();
        let own = |params: &Vec<f32>| Sharded::new(params, end.rank(), self.world());
        let layers: Vec<Sharded> = self.params.iter().map(own).collect();
        let (mut calls, mut gathered, mut live) = (Vec::new(), Vec::new(), Vec::new());
        let mut work = |index: usize, params: &[f32]| {
            calls.push((index, params.len()));
            gathered.extend_from_slice(params);
            live.push(memory.live());
            well(fails, "work")?;
            Ok(self.gradients_by_rank[end.rank()][index].clone())
        };
        let mut means = Vec::new();
        if self.backward {
            means = (answer.backward_sharded)(end, &layers, &memory, &mut work)?;
        } else {
            let work = &mut |index: usize, params: &[f32]| work(index, params).map(drop);
            (answer.forward_sharded)(end, &layers, &memory, work)?;
        }
        let at = "Reduce what `work` returns as 9.3 does, and store the result at the layer's own index.";
        let one =
            "Get the buffer of a layer from `memory` when it is its turn, and drop it before the next one.";
        Ok(Facts::default()
            .items("index and number of parameters in each call of work", calls)
            .values("all parameters that work got", &gathered)
            .items("length of each layer's result", means.iter().map(Vec::len))
            .cause(at)
            .asked("in the order of `layers`")
            .values("all gradients", &means.concat())
            .cause(at)
            .asked("reduced at once")
            .values("numbers in buffers during each call of work", &live)
            .cause(one)
            .asked("release")
            .values(
                "numbers in buffers at most, and after the pass",
                &vec![memory.peak(), memory.live()],
            )
            .cause(one)
            .asked("release"))
    }
}

/// Models that their ranks divide, then models with layers that have fewer parameters than ranks, or none.
fn models(d: &mut Draw, backward: bool) -> Vec<Pass> {
    let even = [1, 2, 3, 4].map(|world| (world, [(); 4].map(|()| world * d.whole(1, 3))));
    let uneven = [(4, [5, 3, 0, 1]), (3, [0, 7, 2, 4]), (2, [1, 0, 0, 5])];
    let all = even.into_iter().chain(uneven);
    let mut all: Vec<Pass> = all
        .map(|(world, sizes)| drawn(d, backward, world, &sizes))
        .collect();
    all.push(drawn(d, backward, 2, &[]));
    all
}

pub const CHECKS: &[Check<Lesson09>] = rows! { "9.4";
    by results {
        forward_uses_each_layer_in_order: "gathers each layer, in order",
            "For each layer, also an empty one, from the first on: gather it into `memory.buffer(layer.length)`, then call `work` with index and buffer." =>
            |d| models(d, FORWARD);
        backward_runs_from_the_last_layer: "from the last to the first",
            "For each layer, also an empty one, from the last on: gather its parameters again, then call `work` with its own index." =>
            |d| models(d, BACKWARD);
    }
    by errors {
        returns_errors: "any error at once",
            "Pass on the error of each call with `?`, in both passes: of the collectives and of `work`." => |d| [
                (FORWARD, 2, ""), (BACKWARD, 2, ""), (FORWARD, 1, "work"), (BACKWARD, 1, "work"), (BACKWARD, 2, "work"),
            ].map(|(backward, world, fails)| (drawn(d, backward, world, &[4]), fails)).into();
    }
};

pub const MISTAKES: &[Mistake<Lesson09>] = mistakes! { "9.4" [forward_sharded, backward_sharded];
    1 "`work` gets this rank's chunk only: gather the layer first.";
    2 "The backward pass goes from the first layer to the last; gradients come from the last to the first.";
    3 "Your results are in the order of the backward pass, last layer first: reverse them.";
    4 "The gradients are sums over the ranks: divide them by the number of ranks.";
    5 "A rank that has no parameters of a layer skips it, and the others wait: every rank makes the same calls.";
};
