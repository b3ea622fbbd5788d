//! A synthetic run to draw pages from. Its numbers and trees come from formulas and mean nothing.

use canopy::train::{EpochRow, Evaluation, RunReport, Target, WrongTree, metrics};

/// Hostile text: none of it may reach the page as markup.
pub const HOSTILE: &str = "<script>document.title='owned'</script>\"'><img src=x onerror=alert(1)>";

/// A small random generator, so that every test sees the same values (Knuth's MMIX constants).
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// A cone or an ellipsoid on a stem.
pub fn tree(seed: u64, points: usize) -> Vec<[f32; 3]> {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 7);
    let height = 12.0 + 18.0 * draw.unit();
    let conical = seed.is_multiple_of(2);
    (0..points)
        .map(|i| {
            let angle = std::f32::consts::TAU * draw.unit();
            if i % 6 == 0 {
                return [0.2 * angle.cos(), 0.2 * angle.sin(), 0.9 * height * draw.unit()];
            }
            let up = draw.unit();
            let wide = if conical {
                0.2 * (1.0 - up)
            } else {
                0.25 * (1.0 - (2.0 * up - 1.0).powi(2)).sqrt()
            };
            let r = height * wide * (0.6 + 0.4 * draw.unit());
            [r * angle.cos(), r * angle.sin(), height * (0.3 + 0.7 * up)]
        })
        .collect()
}

/// A run with these species and these numbers of epochs and wrongly classified trees; with non-finite values if `odd`.
pub fn run(names: &[String], epochs: usize, wrong: usize, odd: bool) -> RunReport {
    let k = names.len();
    let mut draw = Draw(3);
    let mut cell = |truth: usize, predicted: usize| match truth == predicted {
        true => 17,
        false => u64::from(draw.unit() < 0.2) * (1 + (truth + predicted) as u64 % 4),
    };
    let confusion: Vec<Vec<u64>> = (0..k).map(|t| (0..k).map(|p| cell(t, p)).collect()).collect();
    let rows = (1..=epochs)
        .map(|e| epoch_row(e, epochs, odd, &mut draw))
        .collect();
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
        epochs: rows,
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

fn epoch_row(epoch: usize, of: usize, odd: bool, draw: &mut Draw) -> EpochRow {
    let t = epoch as f64 / of as f64;
    let shake = 0.06 * (f64::from(draw.unit()) - 0.5);
    let bad = odd && epoch % 7 == 3;
    EpochRow {
        epoch,
        step: 30 * epoch as u64,
        learning_rate: 1e-3 * (1.0 + (std::f64::consts::PI * t).cos()) / 2.0,
        train_loss: if bad {
            f64::NAN
        } else {
            1.9 * (-2.2 * t).exp() + 0.1 + shake
        },
        train_accuracy: 0.3 + 0.6 * t.sqrt() + shake,
        val_loss: Some(if odd && epoch % 11 == 5 {
            f64::INFINITY
        } else {
            1.9 * (-1.8 * t).exp() + 0.25 - 2.0 * shake
        }),
        val_accuracy: Some(0.28 + 0.56 * t.sqrt() + 2.0 * shake),
        val_balanced: epoch
            .is_multiple_of(2)
            .then_some(0.25 + 0.56 * t.sqrt() + 2.0 * shake),
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
    [
        "European beech",
        "Douglas fir",
        "oak",
        "ash",
        "Norway spruce",
        "Scots pine",
        "red oak",
    ]
    .map(String::from)
    .to_vec()
}
