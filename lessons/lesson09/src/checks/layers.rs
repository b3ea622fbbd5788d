use anyhow::{Result, bail};
use canopy::{
    parallel::{Link, chunk},
    shard::{Memory, Sharded},
};
use grader::{Verdict, draw, given};
use kit::{End, Operation, Ran, broken, on_ranks, refused};

use super::{all_finish, calls_are, lists, mean, ranks, values};
use crate::Lesson09;

/// A call of `work`.
#[derive(Clone)]
struct Used {
    index: usize,
    params: Vec<f32>,
    /// Numbers in buffers during the call.
    live: usize,
}

/// A pass on one rank.
#[derive(Clone)]
struct Pass {
    used: Vec<Used>,
    means: Vec<Vec<f32>>,
    /// Numbers in buffers afterwards, and at most.
    live: usize,
    peak: usize,
}

/// A model: the parameters of each layer, and each rank's gradients of them.
#[derive(Clone)]
struct Model {
    params: Vec<Vec<f32>>,
    /// By layer and rank.
    gradients: Vec<Vec<Vec<f32>>>,
    world: usize,
    backward: bool,
}

impl Model {
    fn new(world: usize, sizes: &[usize], backward: bool) -> Self {
        let mut draw = draw();
        Self {
            params: sizes.iter().map(|&n| draw.list(n, -9.0, 9.0)).collect(),
            gradients: sizes.iter().map(|&n| lists(&mut draw, world, n)).collect(),
            world,
            backward,
        }
    }

    fn sizes(&self) -> Vec<usize> {
        self.params.iter().map(Vec::len).collect()
    }

    fn input(&self) -> String {
        let name = ["forward_sharded", "backward_sharded"][usize::from(self.backward)];
        format!(
            "{name} on {}, layers of {:?} parameters",
            ranks(self.world),
            self.sizes()
        )
    }

    /// The layers as rank `rank` has them.
    fn layers(&self, rank: usize) -> Vec<Sharded> {
        let one = |params: &Vec<f32>| Sharded::new(params, rank, self.world);
        self.params.iter().map(one).collect()
    }

    /// Runs the pass on all ranks.
    fn run(&self, answer: &Lesson09) -> Ran<Pass> {
        let (answer, model) = (*answer, self.clone());
        on_ranks(self.world, move |end: &End| {
            let rank = Link::rank(end);
            let (layers, memory) = (model.layers(rank), Memory::default());
            let mut used = Vec::new();
            let mut note = |index: usize, params: &[f32]| {
                used.push(Used {
                    index,
                    params: params.to_vec(),
                    live: memory.live(),
                });
            };
            let means = if model.backward {
                (answer.backward_sharded)(end, &layers, &memory, &mut |index, params| {
                    note(index, params);
                    Ok(model.gradients[index][rank].clone())
                })?
            } else {
                (answer.forward_sharded)(end, &layers, &memory, &mut |index, params| {
                    note(index, params);
                    Ok(())
                })?;
                Vec::new()
            };
            Ok(Pass {
                used,
                means,
                live: memory.live(),
                peak: memory.peak(),
            })
        })
    }

    /// Tests which layers were used in which order, and their parameters.
    fn uses(&self, answer: &Lesson09) -> Verdict {
        let input = self.input();
        let case = given(&input);
        let ran = self.run(answer);
        all_finish(&input, &ran)?;
        let mut order: Vec<usize> = (0..self.params.len()).collect();
        if self.backward {
            order.reverse();
        }
        for (rank, pass) in ran.ranks.iter().flatten().enumerate() {
            let got = |u: &Used| [u.index, u.params.len()];
            let got: Vec<usize> = pass.used.iter().flat_map(got).collect();
            let expected = |&i: &usize| [i, self.params[i].len()];
            let expected: Vec<usize> = order.iter().flat_map(expected).collect();
            let what = format!("index and number of parameters in each call of work on rank {rank}");
            case.close(&what, &got, &expected)?;
            for used in &pass.used {
                let what = format!("parameters that work({}, …) got on rank {rank}", used.index);
                case.close(&what, &used.params, &self.params[used.index])?;
            }
        }
        Ok(())
    }

    /// Tests the mean gradients.
    fn means(&self, answer: &Lesson09) -> Verdict {
        let input = self.input();
        let case = given(&input).at_scale(1.0);
        let ran = self.run(answer);
        all_finish(&input, &ran)?;
        for (rank, pass) in ran.ranks.iter().flatten().enumerate() {
            case.close(
                "number of layers in the result",
                pass.means.len(),
                self.params.len(),
            )?;
            for (layer, got) in pass.means.iter().enumerate() {
                let mean = mean(&self.gradients[layer]);
                let own = chunk(mean.len(), rank, self.world);
                let what = format!("gradients of layer {layer} on rank {rank}");
                case.close(&what, got, values(&mean[own]))?;
            }
        }
        Ok(())
    }

    /// Tests the numbers in buffers.
    fn memory(&self, answer: &Lesson09) -> Verdict {
        let input = self.input();
        let case = given(&input);
        let ran = self.run(answer);
        all_finish(&input, &ran)?;
        let sizes = self.sizes();
        for pass in ran.ranks.iter().flatten() {
            let got: Vec<usize> = pass.used.iter().map(|u| u.live).collect();
            let expected: Vec<usize> = pass.used.iter().map(|u| sizes[u.index]).collect();
            case.close("numbers in buffers during each call of work", &got, &expected)?;
            let most = sizes.iter().copied().max().unwrap_or_default();
            case.close("numbers in buffers at once, at most", pass.peak, most)?;
            case.close("numbers in buffers after the pass", pass.live, 0usize)?;
        }
        Ok(())
    }
}

/// One rank has all parameters. A stub panics here, on the thread of the check.
fn alone(answer: &Lesson09, backward: bool) -> Verdict {
    Model::new(1, &[2, 3], backward).uses(answer)
}

/// Sizes that the ranks divide.
fn sizes(world: usize) -> Vec<usize> {
    let mut draw = draw();
    (0..4).map(|_| world * draw.whole(1, 4)).collect()
}

pub fn forward_uses_each_layer_in_order(answer: &Lesson09) -> Verdict {
    alone(answer, false)?;
    for world in [2, 3, 4] {
        Model::new(world, &sizes(world), false).uses(answer)?;
    }
    Ok(())
}

pub fn backward_runs_from_the_last_layer(answer: &Lesson09) -> Verdict {
    alone(answer, true)?;
    for world in [2, 3, 4] {
        Model::new(world, &sizes(world), true).uses(answer)?;
    }
    Ok(())
}

pub fn holds_one_layer_at_a_time(answer: &Lesson09) -> Verdict {
    for backward in [false, true] {
        alone(answer, backward)?;
        Model::new(1, &[2, 3, 4], backward).memory(answer)?;
        for world in [2, 3, 4] {
            Model::new(world, &sizes(world), backward).memory(answer)?;
        }
    }
    Ok(())
}

pub fn returns_mean_gradients_in_the_order_of_the_layers(answer: &Lesson09) -> Verdict {
    alone(answer, true)?;
    for world in [1, 2, 3, 4] {
        Model::new(world, &sizes(world), true).means(answer)?;
    }
    Ok(())
}

pub fn sends_three_times_a_part(answer: &Lesson09) -> Verdict {
    for backward in [false, true] {
        alone(answer, backward)?;
        for world in [2, 3, 4] {
            let model = Model::new(world, &sizes(world), backward);
            let input = model.input();
            given(&input);
            let ran = model.run(answer);
            all_finish(&input, &ran)?;
            let mut expected = Vec::new();
            for &n in &model.sizes() {
                expected.push((Operation::AllGather, n));
            }
            if backward {
                let both = |&n: &usize| [(Operation::AllGather, n), (Operation::ReduceScatter, n)];
                expected = model.sizes().iter().rev().flat_map(both).collect();
            }
            calls_are(&input, &ran, &expected)?;
        }
    }
    Ok(())
}

pub fn accepts_short_and_empty_layers(answer: &Lesson09) -> Verdict {
    for backward in [false, true] {
        alone(answer, backward)?;
        for (world, sizes) in [(4, [5, 3, 0, 1]), (3, [0, 7, 2, 4]), (2, [1, 0, 0, 5])] {
            let model = Model::new(world, &sizes, backward);
            model.uses(answer)?;
            if backward {
                model.means(answer)?;
            }
        }
    }
    let none = Model::new(2, &[], true);
    none.uses(answer)?;
    none.means(answer)
}

pub fn returns_errors(answer: &Lesson09) -> Verdict {
    for (backward, call) in [
        (false, "all_gather"),
        (true, "all_gather"),
        (false, "work"),
        (true, "work"),
    ] {
        let name = ["forward_sharded", "backward_sharded"][usize::from(backward)];
        let ranks = if call == "work" { "1 rank" } else { "rank 0 of 2" };
        let input = format!("{name}, {ranks}, a layer of 4 parameters; {call} returns an error");
        given(&input);
        let is_ok = if call == "work" {
            let answer = *answer;
            let ran = on_ranks(1, move |end: &End| Ok(is_ok(&answer, end, 1, backward, true)));
            matches!(ran.ranks[0], Ok(true))
        } else {
            is_ok(answer, &broken(), 2, backward, false)
        };
        if is_ok {
            refused(&input, "result", "Ok, expected the error")?;
        }
    }
    Ok(())
}

/// Whether a pass over one layer succeeds on rank 0 of `world`.
fn is_ok(answer: &Lesson09, end: &End, world: usize, backward: bool, fails: bool) -> bool {
    let layers = [Sharded::new(&[1.0; 4], 0, world)];
    let memory = Memory::default();
    let end_of_work = || -> Result<()> {
        if fails {
            bail!("the layer's error");
        }
        Ok(())
    };
    if backward {
        let work = &mut |_: usize, _: &[f32]| end_of_work().map(|()| vec![1.0; 4]);
        (answer.backward_sharded)(end, &layers, &memory, work).is_ok()
    } else {
        (answer.forward_sharded)(end, &layers, &memory, &mut |_, _| end_of_work()).is_ok()
    }
}
