use std::collections::HashMap;

use candle_core::{DType, Result, Tensor};
use canopy::{
    kernels::Pass,
    loader::epoch_order,
    model::{Kind, PointNet},
    optim::{OptimConfig, Optimizer},
    train::{Loss, Saved, train_step},
};
use grader::{Draw, Verdict, draw, given};

use super::{
    refuse, said,
    tiny::{batch, bits, network, tensor_bits},
};
use crate::Lesson04;

/// The seed of the network in which the student resumes the run.
const NEW: u64 = 77_777;

/// A run that was saved after some steps, in the middle of an epoch.
struct Run {
    model: PointNet,
    optimizer: Box<dyn Optimizer>,
    data: Vec<(Tensor, Tensor)>,
    records: Vec<usize>,
    saved: Saved,
    size: usize,
}

impl Run {
    fn new(draw: &mut Draw) -> Result<Self> {
        let model = network(Kind::Vanilla, DType::F32, draw.whole(1, 10_000) as u64)?;
        let optimizer = said(OptimConfig::adam().build(model.params()))?;
        let data = (0..5).map(|_| batch(draw, 4)).collect::<Result<Vec<_>>>()?;
        let mut run = Self {
            model,
            optimizer,
            data,
            records: Vec::new(),
            saved: Saved {
                model: HashMap::new(),
                optimizer: HashMap::new(),
                seed: draw.whole(1, 10_000) as u64,
                epoch: draw.whole(2, 5),
                batch: draw.whole(2, 3),
            },
            size: draw.whole(3, 5),
        };
        // Record numbers that differ from their positions: every third record, as after a split.
        let count = run.size * 6 + draw.whole(1, run.size - 1);
        // They are not sorted, either.
        run.records = (0..count).map(|i| 100 + 3 * (i * 7 % count)).collect();
        // A step of 7 would visit some twice.
        if count.is_multiple_of(7) {
            run.records = (0..count).rev().map(|i| 100 + 3 * i).collect();
        }
        run.train(0..3)?;
        run.saved.model = said(run.model.to_map())?.into_iter().collect();
        run.saved.optimizer = said(run.optimizer.state())?.into_iter().collect();
        Ok(run)
    }

    fn train(&mut self, steps: std::ops::Range<usize>) -> Result<()> {
        for step in steps {
            let (points, labels) = &self.data[step];
            train(&self.model, &mut *self.optimizer, (points, labels), step as u64)?;
        }
        Ok(())
    }

    fn said(&self) -> String {
        let (epoch, batch) = (self.saved.epoch, self.saved.batch);
        format!(
            "a narrow vanilla PointNet after 3 steps of Adam; {} records from {} to {}, not sorted, batches of {}, seed {}, \
             epoch {epoch}, {batch} batches done",
            self.records.len(),
            self.records.iter().min().unwrap_or(&0),
            self.records.iter().max().unwrap_or(&0),
            self.size,
            self.saved.seed
        )
    }

    /// Another network and optimizer, in which the student resumes the run.
    fn resumed(&self, answer: &Lesson04) -> Result<Resumed> {
        said(self.try_resume(answer)?)
    }

    fn try_resume(&self, answer: &Lesson04) -> Result<anyhow::Result<Resumed>> {
        let model = network(Kind::Vanilla, DType::F32, NEW)?;
        let mut optimizer = said(OptimConfig::adam().build(model.params()))?;
        // A copy, because an answer can write into a tensor, and the result is compared with what was saved.
        let saved = Saved {
            model: copied(&self.saved.model)?,
            optimizer: copied(&self.saved.optimizer)?,
            ..self.saved.clone()
        };
        let todo = (answer.resume_batches)(&saved, &model, &mut *optimizer, &self.records, self.size);
        Ok(todo.map(|todo| Resumed {
            model,
            optimizer,
            todo,
        }))
    }

    /// The batches of the current epoch.
    fn epoch(&self) -> Vec<Vec<usize>> {
        let order = epoch_order(self.records.len(), self.saved.seed, self.saved.epoch as u64);
        let mut all = vec![Vec::new()];
        for i in order {
            if all[all.len() - 1].len() == self.size {
                all.push(Vec::new());
            }
            let last = all.len() - 1;
            all[last].push(self.records[i]);
        }
        all
    }
}

fn copied(tensors: &HashMap<String, Tensor>) -> Result<HashMap<String, Tensor>> {
    let copy = |(name, tensor): (&String, &Tensor)| Ok((name.clone(), tensor.copy()?));
    tensors.iter().map(copy).collect()
}

struct Resumed {
    model: PointNet,
    optimizer: Box<dyn Optimizer>,
    todo: Vec<Vec<usize>>,
}

fn train(model: &PointNet, optimizer: &mut dyn Optimizer, data: (&Tensor, &Tensor), step: u64) -> Result<()> {
    let loss = Loss {
        smoothing: 0.0,
        class_weights: None,
        orthogonality: 0.0,
    };
    said(train_step(
        model,
        optimizer,
        data,
        &loss,
        &Pass::train(5, step),
        0.05,
        0.0,
    ))
    .map(drop)
}

/// Tests that the tensors of two networks whose names `wanted` accepts are bit-identical.
fn check_bits(run: &Run, own: &PointNet, other: &PointNet, wanted: fn(&str) -> bool) -> Verdict {
    let case = given(run.said());
    let (a, b) = (bits(own)?, bits(other)?);
    let mut names: Vec<&String> = a.keys().filter(|n| wanted(n)).collect();
    names.sort();
    let off: Vec<&&String> = names.iter().filter(|n| a[**n] != b[**n]).collect();
    let first = off.first().map_or("none", |n| n.as_str());
    let new = bits(&network(Kind::Vanilla, DType::F32, NEW)?)?;
    let same = off.iter().filter(|n| b[***n] == new[***n]).count();
    let told = format!(
        "{} of {} tensors differ, the first {first}; {same} are still those of the new network",
        off.len(),
        names.len()
    );
    case.require("bits", off.is_empty(), told)
}

pub fn restores_weights(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    // Also at the start of an epoch, and at its end.
    for batch in [run.saved.batch, 0, 6] {
        run.saved.batch = batch;
        given(run.said());
        let resumed = run.resumed(answer)?;
        check_bits(&run, &run.model, &resumed.model, |n| !n.contains("running"))?;
    }
    Ok(())
}

pub fn restores_running_statistics(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    // Also at the start of an epoch, and at its end.
    for batch in [run.saved.batch, 0, 6] {
        run.saved.batch = batch;
        given(run.said());
        let resumed = run.resumed(answer)?;
        check_bits(&run, &run.model, &resumed.model, |n| n.contains("running"))?;
    }
    Ok(())
}

pub fn restores_the_optimizer(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    for batch in [run.saved.batch, 6] {
        run.saved.batch = batch;
        check_optimizer(&run, answer)?;
    }
    Ok(())
}

fn check_optimizer(run: &Run, answer: &Lesson04) -> Verdict {
    let case = given(run.said());
    let resumed = run.resumed(answer)?;
    let state: HashMap<String, Tensor> = said(resumed.optimizer.state())?.into_iter().collect();
    let mut off = Vec::new();
    for (name, tensor) in &run.saved.optimizer {
        let same = state.get(name).map(tensor_bits).transpose()? == Some(tensor_bits(tensor)?);
        if !same {
            off.push(name.as_str());
        }
    }
    off.sort_unstable();
    let (count, first) = (off.len(), off.first().copied().unwrap_or("none"));
    case.require(
        "state of the optimizer",
        off.is_empty(),
        format!(
            "{count} of {} entries differ, the first {first}",
            run.saved.optimizer.len()
        ),
    )
}

pub fn returns_the_rest_of_the_epoch(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    // From the start, from the middle, and from the start of epoch 0.
    for (epoch, done) in [(run.saved.epoch, run.saved.batch), (run.saved.epoch, 0), (0, 2)] {
        (run.saved.epoch, run.saved.batch) = (epoch, done);
        let case = given(run.said());
        let todo = run.resumed(answer)?.todo;
        let expected = &run.epoch()[done..];
        case.require("remaining batches", !todo.is_empty(), "none")?;
        case.close("the first remaining batch", &todo[0], &expected[0])?;
        let empty = Vec::new();
        for (i, expected) in expected.iter().enumerate().take(6 - done).skip(1) {
            let got = todo.get(i).unwrap_or(&empty);
            case.close(&format!("remaining batch {i}"), got, expected)?;
        }
    }
    Ok(())
}

pub fn drops_an_incomplete_batch(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    for done in [run.saved.batch, 0, 5, 6] {
        run.saved.batch = done;
        let case = given(run.said());
        let sizes: Vec<usize> = run.resumed(answer)?.todo.iter().map(Vec::len).collect();
        case.close("sizes of the batches", &sizes, &vec![run.size; 6 - done])?;
    }
    Ok(())
}

pub fn returns_errors_of_other_tensors(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    let whole = run.saved.clone();
    for (code, what) in [(1.0, "model"), (2.0, "optimizer")] {
        run.saved = whole.clone();
        let map = if code < 2.0 {
            &mut run.saved.model
        } else {
            &mut run.saved.optimizer
        };
        let Some(lost) = map.keys().filter(|name| name.contains("mlp.0")).min().cloned() else {
            return grader::not_run("the network has no layer mlp.0");
        };
        map.remove(&lost);
        let input = format!("{}; {lost} is missing in the checkpoint's {what}", run.said());
        given(&input);
        if run.try_resume(answer)?.is_ok() {
            return refuse(&input, "result", vec![code], "an error", "Ok");
        }
    }
    Ok(())
}

pub fn is_bit_identical_to_an_uninterrupted_run(answer: &Lesson04) -> Verdict {
    let mut run = Run::new(&mut draw())?;
    given(run.said() + "; then two steps more");
    let mut resumed = run.resumed(answer)?;
    for step in 3..5 {
        let (points, labels) = &run.data[step];
        train(
            &resumed.model,
            &mut *resumed.optimizer,
            (points, labels),
            step as u64,
        )?;
    }
    run.train(3..5)?;
    check_bits(&run, &run.model, &resumed.model, |_| true)
}
