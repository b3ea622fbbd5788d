//! Writing points as lines of text.

use std::{
    fs::File,
    io::{BufWriter, Write},
};

use anyhow::Result;

use crate::{Cloud, shard::attributes};

/// Flag (see [`attributes`]) and name of the columns that follow x, y and z.
const COLUMNS: [(u8, &str); 4] = [
    (1, "intensity"),
    (2, "class"),
    (4, "return_number"),
    (4, "number_of_returns"),
];

/// Writes `x y z`, then intensity, class, return number and number of returns if the cloud has them: with commas between the
/// values, below the names of the columns, or with blanks.
pub fn write(file: File, cloud: &Cloud, commas: bool) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let attributes = attributes(cloud);
    let has = COLUMNS.iter().filter(|(flag, _)| attributes & flag != 0);
    let names: Vec<&str> = ["x", "y", "z"].into_iter().chain(has.map(|c| c.1)).collect();
    match commas {
        true => writeln!(out, "{}", names.join(","))?,
        // Some programs cannot read column names, and x y z does not need them.
        false if names.len() == 3 => {}
        false => writeln!(out, "# {}", names.join(" "))?,
    }
    for i in 0..cloud.len() {
        writeln!(out, "{}", row(cloud, i).join(if commas { "," } else { " " }))?;
    }
    Ok(out.flush()?)
}

fn row(cloud: &Cloud, i: usize) -> Vec<String> {
    let coordinate = |(origin, v): (f64, f32)| match origin == 0.0 {
        // The shortest digits that parse to the same f32.
        true => v.to_string(),
        // To the micrometre, which is finer than an f32 far from its origin.
        false => format!("{:.6}", origin + f64::from(v)),
    };
    let mut values: Vec<String> = cloud
        .origin
        .into_iter()
        .zip(cloud.xyz[i])
        .map(coordinate)
        .collect();
    values.extend(cloud.intensity.get(i).map(u16::to_string));
    values.extend(cloud.class.get(i).map(u8::to_string));
    let returns = cloud.returns.get(i).map(|r| [r.number, r.of]);
    values.extend(returns.into_iter().flatten().map(|number| number.to_string()));
    values
}
