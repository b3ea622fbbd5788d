//! How fast a LAS or LAZ file is read: `cargo run --example read_speed -p canopy-data -- FILE [RUNS]`.
//!
//! Measured on 2026-11-21, two cores, best of three (laspy: of two), 20 million points with GPS times that `make` and
//! laspy 2.7.0 with lazrs 0.8.2 (two threads) wrote, coordinates, intensity, class and returns as arrays:
//! point format 6 (LAS 1.4): 2.69 s, laspy 6.08 s; point format 1 (LAS 1.2): 3.89 s, laspy 6.07 s in the same minute.
//!
//! With `make N FILE` it first writes a file of N points to read. `read_speed_laspy.py` beside it measures laspy.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use canopy_data::{
    Cloud, Philox,
    formats::{self, Options, Writer},
};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", n, file] => make(n.parse()?, Path::new(file)),
        [file] => time(Path::new(file), 3),
        [file, runs] => time(Path::new(file), runs.parse()?),
        _ => anyhow::bail!("expected FILE [RUNS], or make N FILE"),
    }
}

fn time(path: &Path, runs: usize) -> Result<()> {
    let mut best = f64::INFINITY;
    let mut points = 0;
    for _ in 0..runs {
        let begin = Instant::now();
        let cloud = formats::read(path)?;
        best = best.min(begin.elapsed().as_secs_f64());
        points = cloud.len();
    }
    println!(
        "canopy: {points} points in {best:.3} s, {:.2} million a second",
        points as f64 / best / 1e6
    );
    Ok(())
}

/// A slope with noise, in the order that a scanner would give.
fn make(n: usize, path: &Path) -> Result<()> {
    let mut random = Philox::new(1, 0);
    let mut writer = Writer::create(path, &Options::default())?;
    let mut left = n;
    while left > 0 {
        let m = left.min(1_000_000);
        let mut c = Cloud {
            origin: [432_100.0, 5_403_200.0, 0.0],
            ..Cloud::default()
        };
        for i in n - left..n - left + m {
            let (x, y) = ((i % 4_000) as f32 * 0.05, (i / 4_000) as f32 * 0.05);
            let noise = [0.02, 0.02, 2.0].map(|s| (random.uniform() - 0.5) * s);
            c.xyz.push([x + noise[0], y + noise[1], 0.1 * x + noise[2]]);
            c.intensity.push(1_000 + random.below(500) as u16);
            c.class.push([2, 5][random.below(2)]);
        }
        writer.write(&c)?;
        left -= m;
    }
    let written = writer.finish().context("the file was not written")?;
    println!("wrote {written} points");
    Ok(())
}
