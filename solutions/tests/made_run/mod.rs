//! A synthetic run to draw pages from. Its numbers and trees come from formulas and mean nothing.

use std::f32::consts::TAU;

use canopy::train::{EpochRow, Evaluation, RunReport, Target, WrongTree, metrics};
use canopy_data::Philox;

/// Hostile text: none of it may reach the page as markup.
pub const HOSTILE: &str = "<script>document.title='owned'</script>\"'><img src=x onerror=alert(1)>";

/// A cone.
pub fn tree(seed: u64, points: usize) -> Vec<[f32; 3]> {
    let mut random = Philox::new(seed, 7);
    let point = |_| {
        let (angle, up) = (TAU * random.uniform(), random.uniform());
        let wide = 5.0 * (1.0 - up) * random.uniform();
        [wide * angle.cos(), wide * angle.sin(), 25.0 * up]
    };
    (0..points).map(point).collect()
}

/// A run with these species and these numbers of epochs and wrongly classified trees; with non-finite values if `odd`.
pub fn run(names: &[String], epochs: usize, wrong: usize, odd: bool) -> RunReport {
    let k = names.len();
    let cell = |truth: usize, predicted: usize| match truth == predicted {
        true => 17,
        false => [0, 0, 3, 0, 1][(3 * truth + predicted) % 5],
    };
    let confusion = (0..k).map(|t| (0..k).map(|p| cell(t, p)).collect()).collect();
    RunReport {
        title: "A synthetic run, to draw the page from".into(),
        command: "canopy train --preset quick --seed 1 --data 'my trees'".into(),
        version: "0.0.0".into(),
        started: "2000-01-01T00:00:00Z".into(),
        seconds: 98.4,
        facts: vec![
            ("Device".into(), "CPU, 2 threads".into()),
            ("Parameters".into(), "821,000".into()),
        ],
        config: "[model]\nkind = \"vanilla\"\npoints = 1024\n".into(),
        epochs: (1..=epochs).map(|e| epoch_row(e, epochs, odd)).collect(),
        best_epoch: Some(epochs),
        target: Target::Species,
        number: None,
        evaluation: Some(Evaluation::new(
            "test",
            metrics::of_confusion(confusion),
            if odd { f64::NAN } else { 0.412 },
            names,
        )),
        training_counts: names.iter().map(|n| (n.clone(), 80)).collect(),
        wrong: (0..wrong).map(|i| wrong_tree(i, names)).collect(),
    }
}

fn epoch_row(epoch: usize, of: usize, odd: bool) -> EpochRow {
    let t = epoch as f64 / of as f64;
    let or_bad = |value: f64, bad: f64, rest: usize| if odd && epoch % 7 == rest { bad } else { value };
    EpochRow {
        epoch,
        step: 30 * epoch as u64,
        learning_rate: 1e-3 * (1.1 - t),
        train_loss: or_bad(2.0 - 1.8 * t, f64::NAN, 3),
        train_accuracy: 0.3 + 0.6 * t,
        val_loss: Some(or_bad(2.1 - 1.6 * t, f64::INFINITY, 5)),
        val_accuracy: Some(0.28 + 0.56 * t),
        val_balanced: epoch.is_multiple_of(2).then_some(0.25 + 0.56 * t),
        seconds: 4.1,
        clouds_per_second: 212.0,
        ..EpochRow::default()
    }
}

fn wrong_tree(i: usize, names: &[String]) -> WrongTree {
    WrongTree {
        tree: format!("plot {}, tree {i}", i % 10),
        truth: names[i % names.len()].clone(),
        predicted: names[(i + 1) % names.len()].clone(),
        probability: 0.99 / (1.0 + 0.03 * i as f32),
        points: tree(i as u64, 1024),
    }
}

/// The seven species of the built-in data set.
pub fn seven() -> Vec<String> {
    let names = "European beech,Douglas fir,oak,ash,Norway spruce,Scots pine,red oak";
    names.split(',').map(String::from).collect()
}
