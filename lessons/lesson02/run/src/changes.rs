//! Changes of the trees, and what they do to the predictions of the network.

use anyhow::Result;
use canopy::{loader::random_sample, train::metrics::argmax};
use canopy_data::Philox;
use kit::table::{Table, json, left, percent, scientific};
use lesson02::Lesson02;

use crate::{
    net::Net,
    train::{Cloud, Tree, batch, sampled},
};

/// Unchanged trees as the network sees them, and its predictions.
pub struct Baseline {
    pub clouds: Vec<Cloud>,
    pub species: Vec<u32>,
    pub logits: Vec<Vec<f32>>,
    /// The points of each tree that are the maximum of a channel in any of the three max-pools.
    pub critical: Vec<Vec<usize>>,
}

impl Baseline {
    pub fn new(net: &Net, answer: &Lesson02, trees: &[Tree], seed: u64) -> Result<Self> {
        let sample = |(i, tree)| sampled(answer, tree, &mut Philox::new(seed, 1000 + i as u64));
        let clouds: Vec<Cloud> = trees.iter().enumerate().map(sample).collect();
        let (mut logits, mut critical) = (Vec::new(), Vec::new());
        for cloud in &clouds {
            let output = net.forward(&batch(std::slice::from_ref(cloud))?)?;
            logits.extend(output.logits.to_vec2::<f32>()?);
            let mut points = Vec::new();
            for values in &output.pooled {
                points.extend((answer.survivors)(&values.squeeze(0)?)?);
            }
            points.sort_unstable();
            points.dedup();
            critical.push(points);
        }
        let species = trees.iter().map(|t| t.species).collect();
        Ok(Self {
            clouds,
            species,
            logits,
            critical,
        })
    }

    /// Whether `logits` classify tree `i` correctly.
    pub fn correct(&self, i: usize, logits: &[f32]) -> bool {
        argmax(logits) == self.species[i] as usize
    }

    /// The share of trees that `logits` classify correctly.
    pub fn accuracy(&self, logits: &[Vec<f32>]) -> f64 {
        let correct = (0..logits.len()).filter(|&i| self.correct(i, &logits[i]));
        correct.count() as f64 / logits.len() as f64
    }
}

/// The predictions after each change, over all trees.
pub fn table(baseline: &Baseline, net: &Net, answer: &Lesson02, seed: u64) -> Result<Table> {
    let mut table = Table::new([
        left("change"),
        scientific("logits move"),
        percent("same class", 0),
        percent("accuracy", 0),
    ]);
    let mut row = |name: &str, change: &dyn Fn(usize, &mut Cloud)| -> Result<()> {
        let mut logits = Vec::new();
        for (i, cloud) in baseline.clouds.iter().enumerate() {
            let mut cloud = cloud.clone();
            change(i, &mut cloud);
            logits.extend(net.forward(&batch(&[cloud])?)?.logits.to_vec2::<f32>()?);
        }
        let pairs = || logits.iter().zip(&baseline.logits);
        let off = pairs().flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())));
        let same = pairs().filter(|(a, b)| argmax(a) == argmax(b)).count();
        let same = same as f64 / logits.len() as f64;
        table.row(json!([
            name,
            off.fold(0.0, f64::max),
            same,
            baseline.accuracy(&logits)
        ]));
        Ok(())
    };
    let random = |i: usize| Philox::new(seed, 5000 + i as u64);
    let turn = |c: &mut Cloud, degrees: f64| (answer.turn)(c, degrees.to_radians());
    let critical = |i: usize| &baseline.critical[i];
    row("nothing", &|_, _| ())?;
    row("points in another order", &|i, c| random(i).shuffle(c))?;
    row("turned by 10° about the trunk", &|_, c| turn(c, 10.0))?;
    row("turned by 90° about the trunk", &|_, c| turn(c, 90.0))?;
    row("tilted by 10°", &|_, c| tilt(c, 10.0))?;
    row("tilted by 45°", &|_, c| tilt(c, 45.0))?;
    row("tilted by 90°", &|_, c| tilt(c, 90.0))?;
    for noise in [0.01, 0.05] {
        let name = format!("noise of {noise} on each coordinate");
        row(&name, &|i, c| (answer.jitter)(c, noise, &mut random(i)))?;
    }
    row("only the critical points left", &|i, c| {
        *c = critical(i).iter().map(|&p| c[p]).collect();
    })?;
    row("as many points, drawn at random", &|i, c| {
        *c = random_sample(c, critical(i).len(), &mut random(i));
    })?;
    row("only the other points left", &|i, c| {
        let others = (0..c.len()).filter(|p| critical(i).binary_search(p).is_err());
        *c = others.map(|p| c[p]).collect();
    })?;
    Ok(table)
}

/// Tilts a cloud about the x axis, so that the trunk is no longer upright.
fn tilt(cloud: &mut Cloud, degrees: f64) {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (sin, cos) = (sin as f32, cos as f32);
    for p in cloud {
        *p = [p[0], cos * p[1] - sin * p[2], sin * p[1] + cos * p[2]];
    }
}
