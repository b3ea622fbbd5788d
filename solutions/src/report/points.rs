//! Clouds for pages: 16 bits per coordinate, and static pictures for print.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use minijinja::HtmlEscape;

/// A cloud quantised to 65,536 steps along its longest side.
///
/// A step of a 40 m tree is 0.6 mm, less than the noise of a scanner. Non-finite points are left out.
pub(super) struct Grid {
    /// Steps from the corner with the smallest coordinates.
    pub steps: Vec<[u16; 3]>,
    /// Metres per step.
    pub metre: f64,
    /// Largest step along each axis.
    pub top: [u16; 3],
    /// The index of each point in the cloud.
    pub index: Vec<usize>,
}

impl Grid {
    /// Quantises at most `most` of the points, evenly spaced in their order.
    pub fn new(points: &[[f32; 3]], most: usize) -> Self {
        let finite = |p: &[f32; 3]| p.iter().all(|c| c.is_finite());
        let good: Vec<usize> = (0..points.len()).filter(|&i| finite(&points[i])).collect();
        let keep = good.len().min(most);
        let index: Vec<usize> = (0..keep).map(|k| good[k * good.len() / keep]).collect();
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for &i in &index {
            for a in 0..3 {
                low[a] = low[a].min(f64::from(points[i][a]));
                high[a] = high[a].max(f64::from(points[i][a]));
            }
        }
        let longest = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
        let metre = if longest > 0.0 { longest / 65_535.0 } else { 1e-3 };
        let step = |p: &[f32; 3], a: usize| ((f64::from(p[a]) - low[a]) / metre).round() as u16;
        let of_point = |&i: &usize| [0, 1, 2].map(|a| step(&points[i], a));
        let steps: Vec<[u16; 3]> = index.iter().map(of_point).collect();
        let top = [0, 1, 2].map(|a| steps.iter().map(|s| s[a]).max().unwrap_or(0));
        Self {
            steps,
            metre,
            top,
            index,
        }
    }

    /// Width, depth and height in metres.
    pub fn size(&self) -> [f64; 3] {
        self.top.map(|t| f64::from(t) * self.metre)
    }

    /// The steps as base64 of little-endian `u16`: x, y, z of each point.
    pub fn base64(&self) -> String {
        let steps = self.steps.as_flattened().iter();
        let bytes: Vec<u8> = steps.flat_map(|v| v.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    }

    /// An SVG picture from the side (x to the right, z up), of this width and height in pixels, coloured by height.
    ///
    /// `label` is for screen readers. The points of a colour are one path with the class `layerN`, so that a point takes about
    /// eight bytes.
    pub fn still(&self, size: (f64, f64), label: &str) -> String {
        const LAYERS: usize = 6;
        // The unit is a tenth of a pixel, so that coordinates are integers.
        let (width, height) = (10.0 * size.0, 10.0 * size.1);
        const MARGIN: f64 = 40.0;
        let [w, _, h] = self.top.map(f64::from);
        let scale = ((width - 2.0 * MARGIN) / w.max(1.0)).min((height - 2.0 * MARGIN) / h.max(1.0));
        let mut paths = vec![String::new(); LAYERS];
        for s in &self.steps {
            let x = width / 2.0 + (f64::from(s[0]) - w / 2.0) * scale;
            let y = height - MARGIN - f64::from(s[2]) * scale;
            // `h0` draws a line of length 0: a dot, because line ends are round.
            let layer = f64::from(s[2]) / h.max(1.0) * LAYERS as f64;
            let _ = write!(paths[(layer as usize).min(LAYERS - 1)], "M{x:.0} {y:.0}h0");
        }
        let label = HtmlEscape(label);
        let mut out = format!(
            "<svg class=\"still\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">"
        );
        for (i, path) in paths.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
            let _ = write!(out, "<path class=\"layer{i}\" d=\"{path}\"/>");
        }
        out + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_thinned_evenly_and_quantised_to_half_a_step() {
        let point = |i| [i as f32 * 0.01, -3.0, 40.0 - i as f32 * 0.08];
        let points: Vec<[f32; 3]> = (0..500).map(point).collect();
        let grid = Grid::new(&points, 500);
        for (s, p) in grid.steps.iter().zip(&points) {
            assert!((f64::from(s[2]) * grid.metre + 0.08 - f64::from(p[2])).abs() < 0.51 * grid.metre + 1e-5);
        }
        assert!((grid.size()[2] - 39.92).abs() < 1e-3);
        let thin = Grid::new(&points, 10);
        assert!(thin.index.iter().copied().eq((0..500).step_by(50)));
        assert_eq!(STANDARD.decode(thin.base64()).unwrap().len(), 60);
    }

    #[test]
    fn degenerate_clouds_do_not_panic() {
        let nan = [f32::NAN, 0.0, 1.0];
        assert!(Grid::new(&[], 10).steps.is_empty());
        assert!(Grid::new(&[nan, [f32::INFINITY; 3]], 10).steps.is_empty());
        assert_eq!(Grid::new(&[[1.0; 3]; 5], 3).steps, [[0; 3]; 3]);
        let far = Grid::new(&[[f32::MAX; 3], [f32::MIN; 3], nan], 10);
        assert_eq!(far.steps, [[65_535; 3], [0; 3]]);
        assert_eq!(far.index, [0, 1]);
        assert!(far.still((100.0, 100.0), "two").contains("M"));
    }
}
