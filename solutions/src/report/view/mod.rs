//! A page with clouds turning in 3D: `canopy data view`.

use std::fmt::Write;

use anyhow::{Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

use super::html::{Page, escape, thousands};
use super::points::Grid;

/// Points that a page carries; of larger clouds an even share of each is shown, and the page says so.
const MOST_POINTS: usize = 1_500_000;
/// Clouds whose still picture stands in for the 3D view where there is none, and points of each.
const STILLS: usize = 8;
const STILL_POINTS: usize = 2_500;

/// What a point's colour says when the page opens; its reader can choose another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorBy {
    /// Metres above the cloud's lowest point.
    #[default]
    Height,
    /// Strength of the echo; by height where a cloud has none.
    Intensity,
    /// One colour a species.
    Species,
}

/// A cloud to show.
#[derive(Clone, Debug)]
pub struct ViewCloud<'a> {
    /// Its name in the page's list.
    pub title: String,
    /// Its species, where known.
    pub species: Option<String>,
    /// Its points, metres, z up. Those that are not finite are left out.
    pub points: &'a [[f32; 3]],
    /// Strength of the echo of each point, in the scanner's unit; empty where unknown.
    pub intensity: &'a [u16],
}

/// What the page's script is told of a cloud.
#[derive(Serialize)]
struct Meta<'a> {
    title: &'a str,
    species: Option<&'a str>,
    shown: usize,
    of: usize,
    /// Metres that 65,535 steps span.
    span: f64,
    /// Metres along x, y and z.
    size: [f64; 3],
    /// Second and ninety-eighth percentile.
    intensity: Option<[u16; 2]>,
}

/// The page: self-contained, opens from a folder; turned by mouse, finger or keys.
///
/// # Errors
/// Where there is no cloud, one has no finite point, or its intensities are not as many as its points.
pub fn view_page(clouds: &[ViewCloud], color_by: ColorBy) -> Result<String> {
    ensure!(!clouds.is_empty(), "there is no cloud to show");
    let total: usize = clouds.iter().map(|c| c.points.len()).sum();
    let mut metas = Vec::new();
    let (mut data, mut stills) = (String::new(), String::new());
    for (i, cloud) in clouds.iter().enumerate() {
        let n = cloud.points.len();
        let values = cloud.intensity.len();
        ensure!(
            values == 0 || values == n,
            "{}: {values} intensities for {n} points",
            cloud.title
        );
        let share = if total <= MOST_POINTS {
            n
        } else {
            (n as f64 / total as f64 * MOST_POINTS as f64) as usize
        };
        let grid = Grid::new(cloud.points, share.max(1));
        ensure!(
            !grid.steps.is_empty(),
            "{}: none of its {n} points is finite, nothing to show",
            cloud.title
        );
        let _ = writeln!(
            data,
            "<script type=\"text/plain\" id=\"cloud{i}\">{}</script>",
            encode(&grid, cloud.intensity)
        );
        if i < STILLS {
            still(&mut stills, cloud);
        }
        metas.push(Meta {
            title: &cloud.title,
            species: cloud.species.as_deref(),
            shown: grid.steps.len(),
            of: n,
            span: grid.metre * 65_535.0,
            size: grid.size(),
            intensity: middle(cloud.intensity),
        });
    }
    // `<` would end the element that holds it.
    let json = serde_json::to_string(&(color_by, metas))?.replace('<', "\\u003c");
    let title = match clouds {
        [one] => one.title.clone(),
        many => format!("{} clouds", thousands(many.len() as u64)),
    };
    let body = include_str!("body.html").replace("{stills}", &stills);
    let body = format!("{body}<script type=\"application/json\" id=\"clouds\">{json}</script>\n{data}");
    let notice = concat!(
        "The 3D view is drawn with twgl.js 7.0.0.\n",
        include_str!("../vendor/twgl-LICENSE.md")
    );
    let page = Page {
        title: &format!("{title} · canopy"),
        css: include_str!("view.css"),
        body: &body,
        scripts: &[
            include_str!("../vendor/twgl.min.js"),
            include_str!("colors.js"),
            include_str!("shaders.js"),
            include_str!("view.js"),
        ],
        notice,
    };
    Ok(page.html())
}

/// Little-endian `u16`: x, y, z, intensity a point, the vertex layout that the page hands to the GPU.
///
/// In strides that visit every point once, so that any first part is an even sample: what a slow machine draws
/// while the cloud turns.
fn encode(grid: &Grid, intensity: &[u16]) -> String {
    let n = grid.steps.len();
    let stride = ((n as f64 * 0.618) as usize + 1..)
        .find(|&s| coprime(s, n))
        .unwrap_or(1);
    let mut bytes = Vec::with_capacity(8 * n);
    for k in (0..n).map(|i| (i as u64 * stride as u64 % n as u64) as usize) {
        let strength = intensity.get(grid.index[k]).copied().unwrap_or(0);
        let [x, y, z] = grid.steps[k];
        for v in [x, y, z, strength] {
            bytes.extend_from_slice(&v.to_le_bytes());
        }
    }
    STANDARD.encode(bytes)
}

fn coprime(a: usize, b: usize) -> bool {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

/// Second and ninety-eighth percentile: a few mirror-like echoes must not darken all others.
fn middle(intensity: &[u16]) -> Option<[u16; 2]> {
    let mut counts = vec![0usize; 65_536];
    for &v in intensity {
        counts[usize::from(v)] += 1;
    }
    let at = |share: f64| {
        let mut left = (share * intensity.len().saturating_sub(1) as f64) as usize;
        counts.iter().position(|&c| {
            let here = left < c;
            left = left.saturating_sub(c);
            here
        })
    };
    let (low, high) = (at(0.02)?, at(0.98)?);
    (high > low).then_some([low as u16, high as u16])
}

fn still(out: &mut String, cloud: &ViewCloud) {
    let grid = Grid::new(cloud.points, STILL_POINTS);
    let top = f64::from(grid.top[2].max(1));
    let label = format!("{} from the side", cloud.title);
    let picture = grid.still(220.0, 300.0, &label, 6, |k| {
        (f64::from(grid.steps[k][2]) / top * 6.0) as usize
    });
    let _ = writeln!(
        out,
        "<figure>{picture}<figcaption>{}</figcaption></figure>",
        escape(&cloud.title)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud<'a>(points: &'a [[f32; 3]], intensity: &'a [u16]) -> ViewCloud<'a> {
        ViewCloud {
            title: "</script><b>".into(),
            species: None,
            points,
            intensity,
        }
    }

    #[test]
    fn clouds_that_cannot_be_shown_are_errors_that_say_why() {
        let error = |clouds: &[ViewCloud]| view_page(clouds, ColorBy::Height).unwrap_err().to_string();
        assert!(error(&[]).contains("no cloud"));
        assert!(error(&[cloud(&[], &[])]).contains("none of its 0 points"));
        assert!(error(&[cloud(&[[f32::NAN; 3]], &[])]).contains("none of its 1 points"));
        assert!(error(&[cloud(&[[0.0; 3]; 2], &[1])]).contains("1 intensities for 2 points"));
    }

    #[test]
    fn a_hostile_title_opens_no_element() {
        let html = view_page(&[cloud(&[[0.0; 3]], &[])], ColorBy::Species).unwrap();
        assert!(!html.contains("<b>") && html.contains("\\u003c/script>"));
    }

    #[test]
    fn every_point_is_encoded_once_with_its_own_intensity() {
        for n in [1, 2, 6, 97, 1000] {
            let points: Vec<[f32; 3]> = (0..n).map(|i| [i as f32, 0.0, 0.0]).collect();
            let intensity: Vec<u16> = (0..n as u16).collect();
            let grid = Grid::new(&points, n);
            let bytes = STANDARD.decode(encode(&grid, &intensity)).unwrap();
            let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
            let mut seen: Vec<(u16, u16)> = (0..n).map(|i| (word(8 * i + 6), word(8 * i))).collect();
            seen.sort_unstable();
            let expected: Vec<(u16, u16)> = (0..n).map(|i| (i as u16, grid.steps[i][0])).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn the_middle_of_intensities_ignores_mirrors() {
        let mut values: Vec<u16> = (0..1000).collect();
        values[999] = 65_535;
        assert_eq!(middle(&values), Some([19, 979]));
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[7; 5]), None);
    }
}
