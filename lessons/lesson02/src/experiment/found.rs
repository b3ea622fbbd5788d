//! What a run found, as tables and as JSON.

use anyhow::Result;
use canopy::model::{Kind, PointNetConfig};
use serde_json::{Value, json};

use super::size::{self, size};
use super::train;
use super::trials::Row;
use grader::experiment::Piece;

/// What the run found.
pub struct Found {
    pub seed: u64,
    pub species: Vec<String>,
    pub pieces: Vec<Piece>,
    /// Seconds of training.
    pub seconds: f64,
    /// Of each epoch.
    pub losses: Vec<f64>,
    /// Trees that were tried, and the share of them named rightly.
    pub trees: usize,
    pub right: f64,
    /// The greatest difference from canopy's own forward pass.
    pub off: f64,
    pub rows: Vec<Row>,
    pub watched: Watched,
    /// Critical points of a tree: the mean, the least, the most.
    pub critical: (f64, usize, usize),
}

/// One tree's species, and its logits after some changes.
pub struct Watched {
    /// Which of those tried.
    pub tree: usize,
    pub species: String,
    pub logits: Vec<(&'static str, Vec<f32>)>,
}

/// Name, parameters, multiplications: of the published sizes, and of this run's network.
fn sizes() -> Result<Vec<(&'static str, usize, usize)>> {
    let published = |kind| PointNetConfig {
        kind,
        classes: 40,
        ..PointNetConfig::default()
    };
    let all = [
        ("full, 40 classes", published(Kind::Full)),
        ("vanilla, 40 classes", published(Kind::Vanilla)),
        ("full, ¼ wide, 7 classes", train::config(7)),
    ];
    all.into_iter()
        .map(|(name, config)| {
            let (parameters, products) = size(&config)?;
            Ok((name, parameters, products))
        })
        .collect()
}

impl Found {
    /// The tables, within 80 columns.
    pub fn tables(&self) -> Result<String> {
        let mut out = format!(
            "\ntrained in {:.0} s; {:.0} % of {} other trees are named rightly\n\
             the pieces' logits differ from canopy's own by at most {:.0e}\n\n",
            self.seconds,
            100.0 * self.right,
            self.trees,
            self.off
        );
        out += &format!("Logits of one tree, {}\n\n{:<24}", self.watched.species, "");
        for name in &self.species {
            // An oak and a red oak must not look the same.
            let fits = name.chars().count() <= 7;
            let word = if fits { None } else { name.split(' ').next_back() };
            let short: String = word.unwrap_or(name).chars().take(7).collect();
            out += &format!("{short:>8}");
        }
        for (change, logits) in &self.watched.logits {
            out += &format!("\n{change:<24}");
            logits.iter().for_each(|l| out += &format!("{l:>8.3}"));
        }
        out += &format!(
            "\n\nAll {} trees{:<27}{:>12}{:>12}{:>14}\n",
            self.trees, "", "logits move", "same name", "rightly named"
        );
        for row in &self.rows {
            out += &format!(
                "{:<39}{:>12}{:>10.0} %{:>12.0} %\n",
                row.change,
                if row.moved == 0.0 {
                    "0".into()
                } else {
                    format!("{:.1e}", row.moved)
                },
                100.0 * row.same,
                100.0 * row.right
            );
        }
        let (mean, least, most) = self.critical;
        out += &format!(
            "\ncritical points of a tree: {mean:.0} on average, from {least} to {most}, of {}\n",
            super::forest::POINTS
        );
        let head = format!("multiplications at {} points", size::POINTS);
        out += &format!("\n{:<26}{:>12}{head:>34}\n", "", "parameters");
        for (name, parameters, products) in sizes()? {
            out += &format!(
                "{name:<26}{:>10.2} M{:>32.0} M\n",
                parameters as f64 / 1e6,
                products as f64 / 1e6
            );
        }
        Ok(out)
    }

    /// The same for a program to read.
    pub fn json(&self) -> Result<Value> {
        let pieces = self.pieces.iter();
        let pieces = pieces.map(|p| json!({ "exercise": p.id, "whose": p.whose }));
        let rows = self.rows.iter().map(|r| {
            json!({
                "change": r.change, "greatest_change_of_a_logit": r.moved, "same_name": r.same, "rightly_named": r.right,
            })
        });
        let logits = self.watched.logits.iter();
        let logits = logits.map(|(change, logits)| json!({ "change": change, "logits": logits }));
        let sizes = sizes()?.into_iter().map(|(name, parameters, products)| {
            json!({ "network": name, "parameters": parameters, "multiplications": products })
        });
        let (mean, least, most) = self.critical;
        Ok(json!({
            "seed": self.seed,
            "pieces": pieces.collect::<Vec<_>>(),
            "training": { "seconds": self.seconds, "losses": self.losses },
            "trees": self.trees,
            "rightly_named": self.right,
            "off_canopy": self.off,
            "changes": rows.collect::<Vec<_>>(),
            "one_tree": { "species": self.watched.species, "species_names": self.species, "after": logits.collect::<Vec<_>>() },
            "critical_points": { "mean": mean, "least": least, "most": most, "of": super::forest::POINTS },
            "sizes": sizes.collect::<Vec<_>>(),
        }))
    }
}
