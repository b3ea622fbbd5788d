//! Crown outlines from ESRI shapefiles with their identifiers from the `.dbf` beside.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use shapefile::{
    Polygon,
    dbase::{FieldValue, Record},
};

/// Outline of one crown, map coordinates, metres.
#[derive(Clone, Debug)]
pub struct Crown {
    /// West, south, east, north.
    pub bounds: [f64; 4],
    /// Rings of corners; empty if the crown is an upright box, which `bounds` describes.
    rings: Vec<Vec<[f64; 2]>>,
}

/// The column that names the tree in IDTReeS.
const ID: &str = "indvdID";
/// Outlines that fill more than this share of their box are boxes (drawn ones are turned by a hair).
const BOX: f64 = 0.995;
/// The bounds of nothing.
pub const NOWHERE: [f64; 4] = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];

/// Bounds that `b` and the point have.
pub fn extended(b: [f64; 4], &[x, y]: &[f64; 2]) -> [f64; 4] {
    [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)]
}

/// Reads every crown of `path`, with the identifier of its tree.
///
/// # Errors
/// Returns an error for a damaged shapefile, shapes that are not polygons, and a table without the column `indvdID`.
pub fn read(path: &Path) -> Result<Vec<(String, Crown)>> {
    let file = path.display();
    let shapes = shapefile::read_as::<_, Polygon, Record>(path)
        .with_context(|| format!("{file}: not a shapefile of polygons, damaged, or without its .dbf"))?;
    let mut out = Vec::new();
    for (i, (shape, record)) in shapes.into_iter().enumerate() {
        let id = match record.get(ID) {
            Some(FieldValue::Character(Some(id))) => id.trim().to_owned(),
            Some(FieldValue::Character(None)) => continue,
            _ => bail!("{file}: shape {i} has no text column {ID}"),
        };
        let rings = shape.rings().iter();
        let rings = rings.map(|r| r.points().iter().map(|q| [q.x, q.y]).collect());
        let crown = Crown::new(rings.collect()).with_context(|| format!("{file}: shape {i}: crown {id}"))?;
        out.push((id, crown));
    }
    Ok(out)
}

impl Crown {
    fn new(rings: Vec<Vec<[f64; 2]>>) -> Result<Self> {
        let corners = rings.iter().flatten();
        let finite = corners.clone().flatten().all(|c| c.is_finite());
        ensure!(finite, "a corner is not at finite coordinates");
        let bounds = corners.fold(NOWHERE, extended);
        let full = (bounds[2] - bounds[0]) * (bounds[3] - bounds[1]);
        ensure!(
            bounds[0] < bounds[2] && bounds[1] < bounds[3],
            "the outline has no area"
        );
        let is_box = rings.len() == 1 && area(&rings[0]) > BOX * full;
        Ok(Self {
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
    let crossed = ring.windows(2).filter(|w| {
        let ([ax, ay], [bx, by]) = (w[0], w[1]);
        (ay > y) != (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)
    });
    crossed.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_its_edges_a_triangle_half_of_its_box_and_a_line_no_area() {
        let crown = |ring: &[[f64; 2]]| Crown::new(vec![ring.to_vec()]);
        let c = crown(&[[0.0, 0.0], [0.0, 2.0], [3.0, 2.0], [3.0, 0.0], [0.0, 0.0]]).unwrap();
        assert!(c.rings.is_empty());
        assert!(c.contains(0.0, 0.0) && c.contains(3.0, 2.0) && c.contains(1.0, 1.0));
        assert!(!c.contains(3.01, 1.0) && !c.contains(1.0, -0.01));
        let c = crown(&[[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, 0.0]]).unwrap();
        assert!(!c.rings.is_empty());
        assert!(c.contains(1.0, 1.0) && !c.contains(3.0, 3.0));
        assert!(crown(&[[1.0, 1.0], [2.0, 1.0]]).is_err());
        assert!(Crown::new(vec![]).is_err());
    }
}
