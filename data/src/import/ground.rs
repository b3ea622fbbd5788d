//! Height of the ground between ground points (ASPRS class 2).

use anyhow::{Result, ensure};

/// So many ground points speak for the ground at a place.
const NEIGHBOURS: usize = 8;
/// Edge of the grid's cells, metres: airborne plots have some five ground points a square metre.
const CELL: f64 = 1.0;
/// More cells than this are not laid out, whatever the extent says: the cells grow instead.
const MOST_CELLS: f64 = 1e6;

/// Ground points in a grid.
pub struct Ground {
    points: Vec<[f64; 3]>,
    /// Points of cell c are `order[starts[c]..starts[c + 1]]`.
    starts: Vec<usize>,
    order: Vec<usize>,
    west: f64,
    south: f64,
    cell: f64,
    columns: usize,
    rows: usize,
}

impl Ground {
    /// The ground through `points`, metres.
    ///
    /// # Errors
    /// No points.
    pub fn new(points: Vec<[f64; 3]>) -> Result<Self> {
        ensure!(
            !points.is_empty(),
            "no ground points (class 2), so no height above ground"
        );
        let edge = |axis: usize, pick: fn(f64, f64) -> f64| {
            points.iter().map(|p| p[axis]).reduce(pick).unwrap_or(0.0)
        };
        let (west, south) = (edge(0, f64::min), edge(1, f64::min));
        let (wide, deep) = (edge(0, f64::max) - west, edge(1, f64::max) - south);
        let cell = CELL
            .max((wide * deep / MOST_CELLS).sqrt())
            .max(wide.max(deep) / MOST_CELLS);
        let (columns, rows) = ((wide / cell) as usize + 1, (deep / cell) as usize + 1);
        let at = |p: &[f64; 3]| ((p[1] - south) / cell) as usize * columns + ((p[0] - west) / cell) as usize;
        let mut starts = vec![0; columns * rows + 1];
        for p in &points {
            starts[at(p) + 1] += 1;
        }
        for c in 0..columns * rows {
            starts[c + 1] += starts[c];
        }
        let mut next = starts.clone();
        let mut order = vec![0; points.len()];
        for (i, p) in points.iter().enumerate() {
            let place = &mut next[at(p)];
            order[*place] = i;
            *place += 1;
        }
        Ok(Self {
            points,
            starts,
            order,
            west,
            south,
            cell,
            columns,
            rows,
        })
    }

    /// Height of the ground at (x, y): the nearest ground points, weighted by the inverse square of their
    /// distance (Shepard 1968, "A two-dimensional interpolation function for irregularly-spaced data").
    pub fn height(&self, x: f64, y: f64) -> f64 {
        let mut near: Vec<(f64, usize)> = Vec::with_capacity(NEIGHBOURS + 1);
        let clamp = |v: f64, n: usize| (v.max(0.0) as usize).min(n - 1);
        let column = clamp((x - self.west) / self.cell, self.columns);
        let row = clamp((y - self.south) / self.cell, self.rows);
        for ring in 0..self.columns.max(self.rows) {
            // A point in this ring of cells, or beyond, is at least this far.
            let least = (ring as f64 - 1.0).max(0.0) * self.cell;
            if near.len() == NEIGHBOURS && near[NEIGHBOURS - 1].0 < least * least {
                break;
            }
            self.ring(column, row, ring, |i| {
                let p = self.points[i];
                let d = (p[0] - x).powi(2) + (p[1] - y).powi(2);
                if near.len() < NEIGHBOURS || (d, i) < near[NEIGHBOURS - 1] {
                    let place = near.partition_point(|&n| n < (d, i));
                    near.insert(place, (d, i));
                    near.truncate(NEIGHBOURS);
                }
            });
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for (d, i) in near {
            let w = 1.0 / d.max(1e-6);
            sum += w * self.points[i][2];
            weights += w;
        }
        sum / weights
    }

    /// Calls `each` with the points of the cells that lie `ring` cells from (column, row).
    fn ring(&self, column: usize, row: usize, ring: usize, mut each: impl FnMut(usize)) {
        let (low, high) = (row.saturating_sub(ring), (row + ring).min(self.rows - 1));
        let (left, right) = (column.saturating_sub(ring), (column + ring).min(self.columns - 1));
        for r in low..=high {
            let edge_row = r.abs_diff(row) == ring;
            for c in left..=right {
                if !edge_row && c.abs_diff(column) != ring {
                    continue;
                }
                let cell = r * self.columns + c;
                for &i in &self.order[self.starts[cell]..self.starts[cell + 1]] {
                    each(i);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Philox;

    fn naive(points: &[[f64; 3]], x: f64, y: f64) -> f64 {
        let mut all: Vec<(f64, usize)> = points
            .iter()
            .enumerate()
            .map(|(i, p)| ((p[0] - x).powi(2) + (p[1] - y).powi(2), i))
            .collect();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let w = |d: f64| 1.0 / d.max(1e-6);
        let near = &all[..NEIGHBOURS.min(all.len())];
        near.iter().map(|n| w(n.0) * points[n.1][2]).sum::<f64>() / near.iter().map(|n| w(n.0)).sum::<f64>()
    }

    #[test]
    fn the_grid_finds_the_same_ground_as_a_full_search() {
        let mut rng = Philox::new(4, 4);
        for n in [1, 5, 300] {
            let points: Vec<[f64; 3]> = (0..n)
                .map(|_| {
                    [
                        rng.range(5e5, 5e5 + 20.0),
                        rng.range(4e6, 4e6 + 9.0),
                        rng.range(0.0, 3.0),
                    ]
                })
                .collect();
            let ground = Ground::new(points.clone()).unwrap();
            for _ in 0..200 {
                let (x, y) = (rng.range(5e5 - 4.0, 5e5 + 24.0), rng.range(4e6 - 4.0, 4e6 + 14.0));
                approx::assert_abs_diff_eq!(ground.height(x, y), naive(&points, x, y), epsilon = 1e-9);
            }
        }
    }
}
