//! Changes of the trees, and what they do to the predictions of the network.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{loader::random_sample, train::metrics::argmax};
use canopy_data::Philox;
use grader::{
    cells,
    table::{Table, left, percent, scientific},
};
use lesson02::Lesson02;

use super::clouds::{Cloud, Tree, batch, sampled};
use super::net::Net;

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

    /// The logits of each tree after `change`.
    pub fn after(&self, net: &Net, change: impl Fn(usize, &mut Cloud)) -> Result<Vec<Vec<f32>>> {
        let mut all = Vec::new();
        for (i, cloud) in self.clouds.iter().enumerate() {
            let mut cloud = cloud.clone();
            change(i, &mut cloud);
            all.extend(net.forward(&batch(&[cloud])?)?.logits.to_vec2::<f32>()?);
        }
        Ok(all)
    }

    /// The share of trees that `logits` classify correctly.
    pub fn accuracy(&self, logits: &[Vec<f32>]) -> f64 {
        let pairs = logits.iter().zip(&self.species);
        let right = pairs.filter(|(l, s)| argmax(l) == **s as usize).count();
        right as f64 / self.species.len().max(1) as f64
    }
}

/// The predictions after each change, over all trees.
pub fn table(baseline: &Baseline, net: &Net, answer: &Lesson02, seed: u64) -> Result<Table> {
    let random = |i: usize| Philox::new(seed, 5000 + i as u64);
    let degrees = |d: f64| d.to_radians();
    let kept = |i: usize| baseline.critical[i].clone();
    type Change<'a> = Box<dyn Fn(usize, &mut Cloud) + 'a>;
    let mut changes: Vec<(String, Change)> = vec![
        ("nothing".into(), Box::new(|_, _| ())),
        (
            "points in another order".into(),
            Box::new(move |i, c| random(i).shuffle(c)),
        ),
    ];
    for angle in [10.0, 90.0] {
        changes.push((
            format!("turned by {angle}° about the trunk"),
            Box::new(move |_, c| (answer.turn)(c, degrees(angle))),
        ));
    }
    for angle in [10.0, 45.0, 90.0] {
        changes.push((
            format!("tilted by {angle}°"),
            Box::new(move |_, c| tilt(c, degrees(angle))),
        ));
    }
    for noise in [0.01, 0.05] {
        changes.push((
            format!("noise of {noise} on each coordinate"),
            Box::new(move |i, c| (answer.jitter)(c, noise, &mut random(i))),
        ));
    }
    changes.push((
        "only the critical points left".into(),
        Box::new(move |i, c| *c = kept(i).into_iter().map(|p| c[p]).collect()),
    ));
    changes.push((
        "as many points, drawn at random".into(),
        Box::new(move |i, c| *c = random_sample(c, baseline.critical[i].len(), &mut random(i))),
    ));
    changes.push((
        "only the other points left".into(),
        Box::new(move |i, c| {
            let critical = &baseline.critical[i];
            let others = (0..c.len()).filter(|p| critical.binary_search(p).is_err());
            *c = others.map(|p| c[p]).collect();
        }),
    ));
    let mut table = Table::new([
        left("change"),
        scientific("logits move"),
        percent("same class", 0),
        percent("accuracy", 0),
    ]);
    for (change, apply) in changes {
        let logits = baseline.after(net, apply)?;
        let pairs = || logits.iter().zip(&baseline.logits);
        let off = pairs().flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())));
        let same = pairs().filter(|(a, b)| argmax(a) == argmax(b)).count();
        table.row(cells![
            change,
            off.fold(0.0, f64::max),
            same as f64 / logits.len().max(1) as f64,
            baseline.accuracy(&logits)
        ]);
    }
    Ok(table)
}

/// Tilts a cloud about the x axis, so that the trunk is no longer upright.
pub fn tilt(cloud: &mut Cloud, angle: f64) {
    let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
    for p in cloud {
        *p = [p[0], cos * p[1] - sin * p[2], sin * p[1] + cos * p[2]];
    }
}

/// The greatest difference between these logits and those of canopy's own forward pass.
pub fn difference(baseline: &Baseline, own: &Tensor) -> Result<f64> {
    let own = own.to_vec2::<f32>()?;
    let pairs = own.iter().flatten().zip(baseline.logits.iter().flatten());
    Ok(pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max))
}
