//! Clouds that an answer of 2.1, 2.6 or 2.7 is given.

use grader::{Draw, Values};

pub type Cloud = Vec<[f32; 3]>;

/// As large as a tree: tall, not round, and another extent along each axis.
pub fn cloud(d: &mut Draw, count: usize) -> Cloud {
    let [x, y, z] = [(1.0, 4.0), (-2.0, 0.5), (3.0, 15.0)].map(|(low, high)| d.list(count, low, high));
    (0..count).map(|i| [x[i], y[i], z[i]]).collect()
}

/// The coordinates, `[points, 3]`.
pub fn places(points: &[[f32; 3]]) -> Values {
    let numbers = points.iter().flatten().map(|&c| f64::from(c)).collect();
    Values::tensor(numbers, &[points.len(), 3], "f32")
}
