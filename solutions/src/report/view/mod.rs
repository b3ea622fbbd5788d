//! A page with rotating clouds in 3D: `canopy data view`.

use anyhow::{Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use canopy_data::Philox;
use indicatif::HumanCount;
use minijinja::{Value, context};
use serde_json::json;

use super::{html::render, points::Grid};

/// Points per page, at most. Of larger clouds a sample is shown, and the page says so.
const MOST_POINTS: usize = 1_500_000;
/// Clouds with a static picture, for browsers without WebGL, and points of each.
const STILLS: usize = 8;
const STILL_POINTS: usize = 2_500;

const SCRIPTS: [&str; 4] = [
    concat!(
        "/* twgl.js 7.0.0\n",
        include_str!("../vendor/twgl-LICENSE.md"),
        "*/\n",
        include_str!("../vendor/twgl.min.js")
    ),
    include_str!("colors.js"),
    include_str!("shaders.js"),
    include_str!("view.js"),
];

/// A cloud to show.
#[derive(Clone, Debug)]
pub struct ViewCloud<'a> {
    /// Its name on the page.
    pub title: String,
    /// Its species, if known.
    pub species: Option<String>,
    /// Its points, metres, z up. Non-finite points are left out.
    pub points: &'a [[f32; 3]],
    /// Intensity of each point, in the scanner's unit; empty if unknown.
    pub intensity: &'a [u16],
}

/// The page: self-contained, needs no network, rotated by mouse, touch or keys. When it opens, colours show `color_by`, which is
/// `height`, `intensity` or `species`; the reader can change it.
///
/// # Errors
/// Returns an error if there is no cloud, a cloud has no finite point, or the numbers of intensities and points differ.
pub fn view_page(clouds: &[ViewCloud], color_by: &str) -> Result<String> {
    ensure!(!clouds.is_empty(), "there is no cloud to show");
    let total: usize = clouds.iter().map(|c| c.points.len()).sum();
    let (mut metas, mut data) = (Vec::new(), Vec::new());
    for cloud in clouds {
        let (n, title) = (cloud.points.len(), &cloud.title);
        let values = cloud.intensity.len();
        ensure!(
            values == 0 || values == n,
            "{title}: {values} intensities for {n} points"
        );
        let share = match total <= MOST_POINTS {
            true => n,
            false => (n as f64 / total as f64 * MOST_POINTS as f64) as usize,
        };
        let grid = Grid::new(cloud.points, share.max(1));
        let shown = grid.steps.len();
        ensure!(shown > 0, "{title}: none of its {n} points is finite");
        data.push(encode(&grid, cloud.intensity));
        metas.push(json!({
            "title": title,
            "species": cloud.species,
            "shown": shown,
            "of": n,
            // Length of 65,535 steps, metres.
            "span": grid.metre * 65_535.0,
            "size": grid.size(),
            "intensity": middle(cloud.intensity),
        }));
    }
    // `<` could end the script element.
    let json = json!([color_by, metas]).to_string().replace('<', "\\u003c");
    let title = match clouds {
        [one] => one.title.clone(),
        many => format!("{} clouds", HumanCount(many.len() as u64)),
    };
    let still = |cloud: &ViewCloud| {
        let label = format!("{} from the side", cloud.title);
        let picture = Grid::new(cloud.points, STILL_POINTS).still((220.0, 300.0), &label);
        context!(picture, title => cloud.title.as_str())
    };
    let stills: Vec<Value> = clouds.iter().take(STILLS).map(still).collect();
    let [template, css] = [include_str!("view.html"), include_str!("view.css")];
    render(template, css, &SCRIPTS, context!(title, stills, json, data))
}

/// Little-endian `u16`: x, y, z, intensity of each point, the vertex layout of the page's shaders.
///
/// The order is random, so that any prefix is an even sample. Slow machines draw a prefix while the cloud rotates.
fn encode(grid: &Grid, intensity: &[u16]) -> String {
    let mut order: Vec<usize> = (0..grid.steps.len()).collect();
    Philox::new(0, 0).shuffle(&mut order);
    let words = order.into_iter().flat_map(|k| {
        let strength = intensity.get(grid.index[k]).copied().unwrap_or(0);
        let [x, y, z] = grid.steps[k];
        [x, y, z, strength]
    });
    let bytes: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

/// 2nd and 98th percentile: a few very strong returns must not darken all others.
fn middle(intensity: &[u16]) -> Option<[u16; 2]> {
    let mut sorted = intensity.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1) as f64;
    let at = |share: f64| sorted.get((share * last) as usize).copied();
    let (low, high) = (at(0.02)?, at(0.98)?);
    (high > low).then_some([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_why_a_cloud_cannot_be_shown() {
        for (points, intensity, reason) in [
            (&[][..], &[][..], "none of its 0 points"),
            (&[[f32::NAN; 3]], &[], "none of its 1 points"),
            (&[[0.0; 3]; 2], &[1], "1 intensities for 2 points"),
        ] {
            let cloud = ViewCloud {
                title: "t".into(),
                species: None,
                points,
                intensity,
            };
            let error = view_page(&[cloud], "height").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(view_page(&[], "height").is_err());
    }

    #[test]
    fn every_point_is_encoded_once_with_its_intensity() {
        let points: Vec<[f32; 3]> = (0..1000).map(|i| [i as f32, 0.0, 0.0]).collect();
        let intensity: Vec<u16> = (0..1000).collect();
        let grid = Grid::new(&points, 1000);
        let bytes = STANDARD.decode(encode(&grid, &intensity)).unwrap();
        let words: Vec<u16> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| u16::from_le_bytes(*b))
            .collect();
        let mut seen: Vec<(u16, u16)> = words.as_chunks().0.iter().map(|&[x, _, _, i]| (i, x)).collect();
        seen.sort_unstable();
        let expected = (0..1000).map(|i| (i, grid.steps[usize::from(i)][0]));
        assert!(seen.into_iter().eq(expected));
    }

    #[test]
    fn percentiles_ignore_outliers() {
        let mut values: Vec<u16> = (0..1000).collect();
        values[999] = 65_535;
        assert_eq!(middle(&values), Some([19, 979]));
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[7; 5]), None);
    }
}
