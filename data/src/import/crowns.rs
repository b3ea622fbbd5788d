//! Crown outlines from ESRI shapefiles with their identifiers from the `.dbf` beside.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use shapefile::{Shape, dbase::FieldValue};

/// Outline of one crown, map coordinates, metres.
#[derive(Clone, Debug)]
pub struct Crown {
    /// The tree's identifier.
    pub id: String,
    /// West, south, east, north.
    pub bounds: [f64; 4],
    /// Rings of corners; empty where the crown is an upright box, which `bounds` then says all of.
    rings: Vec<Vec<[f64; 2]>>,
}

/// The column that names the tree in IDTReeS.
const ID: &str = "indvdID";
/// Outlines that fill more than this share of their box are boxes (drawn ones are turned by a hair).
const BOX: f64 = 0.995;

/// Reads every crown of `path`.
///
/// # Errors
/// A damaged shapefile, shapes that are not polygons, no column `indvdID`.
pub fn read(path: &Path) -> Result<Vec<Crown>> {
    let file = || path.display().to_string();
    let mut reader = shapefile::Reader::from_path(path)
        .with_context(|| format!("{}: not a shapefile, or its .dbf is missing", path.display()))?;
    let mut out = Vec::new();
    for (i, entry) in reader.iter_shapes_and_records().enumerate() {
        let (shape, record) = entry.with_context(|| format!("{}: shape {i} is damaged", file()))?;
        let id = match record.get(ID) {
            Some(FieldValue::Character(Some(id))) => id.trim().to_owned(),
            Some(FieldValue::Character(None)) => continue,
            _ => bail!("{}: shape {i} has no text column {ID}", file()),
        };
        let rings: Vec<Vec<[f64; 2]>> = match shape {
            Shape::Polygon(p) => p
                .rings()
                .iter()
                .map(|r| corners(r.points(), |q| [q.x, q.y]))
                .collect(),
            Shape::PolygonZ(p) => p
                .rings()
                .iter()
                .map(|r| corners(r.points(), |q| [q.x, q.y]))
                .collect(),
            Shape::NullShape => continue,
            other => bail!(
                "{}: shape {i} ({id}) is a {}, not a polygon",
                file(),
                other.shapetype()
            ),
        };
        out.push(Crown::new(id, rings).with_context(|| format!("{}: shape {i}", file()))?);
    }
    Ok(out)
}

fn corners<P>(points: &[P], xy: impl Fn(&P) -> [f64; 2]) -> Vec<[f64; 2]> {
    points.iter().map(xy).collect()
}

impl Crown {
    fn new(id: String, rings: Vec<Vec<[f64; 2]>>) -> Result<Self> {
        let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for &[x, y] in rings.iter().flatten() {
            ensure!(
                x.is_finite() && y.is_finite(),
                "crown {id} has a corner at {x}, {y}"
            );
            bounds = [
                bounds[0].min(x),
                bounds[1].min(y),
                bounds[2].max(x),
                bounds[3].max(y),
            ];
        }
        ensure!(
            bounds[0] < bounds[2] && bounds[1] < bounds[3],
            "crown {id} has no area"
        );
        let full = (bounds[2] - bounds[0]) * (bounds[3] - bounds[1]);
        let is_box = rings.len() == 1 && area(&rings[0]) > BOX * full;
        Ok(Self {
            id,
            bounds,
            rings: if is_box { Vec::new() } else { rings },
        })
    }

    /// Whether (x, y) is in the crown, whose edges belong to it if it is a box.
    pub fn contains(&self, x: f64, y: f64) -> bool {
        let [west, south, east, north] = self.bounds;
        let in_box = x >= west && x <= east && y >= south && y <= north;
        in_box && (self.rings.is_empty() || self.rings.iter().filter(|r| crosses(r, x, y)).count() % 2 == 1)
    }

    #[cfg(test)]
    pub fn is_box(&self) -> bool {
        self.rings.is_empty()
    }
}

/// Area of a ring (shoelace formula), about its first corner so that map coordinates keep their digits.
fn area(ring: &[[f64; 2]]) -> f64 {
    let Some(&[ox, oy]) = ring.first() else { return 0.0 };
    let twice: f64 = ring
        .windows(2)
        .map(|w| (w[0][0] - ox) * (w[1][1] - oy) - (w[1][0] - ox) * (w[0][1] - oy))
        .sum();
    (twice / 2.0).abs()
}

/// Whether a ray from (x, y) to the east crosses the ring an odd number of times.
fn crosses(ring: &[[f64; 2]], x: f64, y: f64) -> bool {
    let mut odd = false;
    for w in ring.windows(2) {
        let ([ax, ay], [bx, by]) = (w[0], w[1]);
        if (ay > y) != (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax) {
            odd = !odd;
        }
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crown(ring: &[[f64; 2]]) -> Crown {
        Crown::new("t".into(), vec![ring.to_vec()]).unwrap()
    }

    #[test]
    fn a_box_holds_its_edges_and_nothing_beyond() {
        let c = crown(&[[0.0, 0.0], [0.0, 2.0], [3.0, 2.0], [3.0, 0.0], [0.0, 0.0]]);
        assert!(c.is_box());
        assert!(c.contains(0.0, 0.0) && c.contains(3.0, 2.0) && c.contains(1.0, 1.0));
        assert!(!c.contains(3.01, 1.0) && !c.contains(1.0, -0.01));
    }

    #[test]
    fn a_triangle_holds_only_its_half_of_the_box() {
        let c = crown(&[[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, 0.0]]);
        assert!(!c.is_box());
        assert!(c.contains(1.0, 1.0));
        assert!(!c.contains(3.0, 3.0));
    }

    #[test]
    fn a_crown_without_area_is_refused() {
        assert!(Crown::new("t".into(), vec![vec![[1.0, 1.0], [2.0, 1.0]]]).is_err());
        assert!(Crown::new("t".into(), vec![]).is_err());
    }
}
