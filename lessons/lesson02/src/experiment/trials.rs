//! What is done to trees, and what the network says then.

use anyhow::Result;
use candle_core::Tensor;
use canopy::loader::random_sample;
use canopy_data::Philox;
use lesson02::Lesson02;

use super::forest::{Cloud, Tree, batch, seen};
use super::net::Net;

/// Trees as the network sees them, and what it says of them.
pub struct Stand {
    pub clouds: Vec<Cloud>,
    pub species: Vec<u32>,
    pub logits: Vec<Vec<f32>>,
    /// Of each tree, the points that survive any of the three maxima.
    pub critical: Vec<Vec<usize>>,
}

impl Stand {
    pub fn new(net: &Net, answer: &Lesson02, trees: &[Tree], seed: u64) -> Result<Self> {
        let sees = |(i, tree)| seen(answer, tree, &mut Philox::new(seed, 1000 + i as u64));
        let clouds: Vec<Cloud> = trees.iter().enumerate().map(sees).collect();
        let (mut logits, mut critical) = (Vec::new(), Vec::new());
        for cloud in &clouds {
            let seen = net.see(&batch(std::slice::from_ref(cloud))?)?;
            logits.extend(seen.logits.to_vec2::<f32>()?);
            let mut points = Vec::new();
            for values in &seen.under_max {
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
            all.extend(net.see(&batch(&[cloud])?)?.logits.to_vec2::<f32>()?);
        }
        Ok(all)
    }

    /// The share of trees that `logits` name rightly.
    pub fn right(&self, logits: &[Vec<f32>]) -> f64 {
        let pairs = logits.iter().zip(&self.species);
        let right = pairs.filter(|(l, s)| named(l) == **s as usize).count();
        right as f64 / self.species.len().max(1) as f64
    }
}

/// The number of the greatest logit.
pub fn named(logits: &[f32]) -> usize {
    (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
}

/// One row of the table.
pub struct Row {
    pub change: String,
    /// The greatest change of any logit of any tree.
    pub moved: f64,
    /// Share of trees whose name stays.
    pub same: f64,
    /// Share of trees named rightly.
    pub right: f64,
}

/// Every change of the table, tried on every tree.
pub fn rows(stand: &Stand, net: &Net, answer: &Lesson02, seed: u64) -> Result<Vec<Row>> {
    let random = |i: usize| Philox::new(seed, 5000 + i as u64);
    let degrees = |d: f64| d.to_radians();
    let kept = |i: usize| stand.critical[i].clone();
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
        Box::new(move |i, c| *c = random_sample(c, stand.critical[i].len(), &mut random(i))),
    ));
    changes.push((
        "only the other points left".into(),
        Box::new(move |i, c| {
            let critical = &stand.critical[i];
            let others = (0..c.len()).filter(|p| critical.binary_search(p).is_err());
            *c = others.map(|p| c[p]).collect();
        }),
    ));
    let mut rows = Vec::new();
    for (change, apply) in changes {
        let logits = stand.after(net, apply)?;
        let pairs = || logits.iter().zip(&stand.logits);
        let off = pairs().flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())));
        let same = pairs().filter(|(a, b)| named(a) == named(b)).count();
        rows.push(Row {
            change,
            moved: off.fold(0.0, f64::max),
            same: same as f64 / logits.len().max(1) as f64,
            right: stand.right(&logits),
        });
    }
    Ok(rows)
}

/// Tilts a cloud about the x axis: up no longer is up.
pub fn tilt(cloud: &mut Cloud, angle: f64) {
    let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
    for p in cloud {
        *p = [p[0], cos * p[1] - sin * p[2], sin * p[1] + cos * p[2]];
    }
}

/// The greatest difference between the pieces' logits and those of canopy's own forward pass.
pub fn off_canopy(stand: &Stand, own: &Tensor) -> Result<f64> {
    let own = own.to_vec2::<f32>()?;
    let pairs = own.iter().flatten().zip(stand.logits.iter().flatten());
    Ok(pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max))
}
