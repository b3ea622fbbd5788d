//! After the checks, with `--features cuda`: each kernel by NVRTC and on a GPU, beside the emulated grid.

use std::collections::HashSet;

use candle_core::cuda_backend::CudaDevice;
use grid::Error;
use kit::table::{Table, json, left};
use lesson11::Lesson11;
use lesson11::launch::to_do;

use super::gpu::{compile, run};
use super::network::{forward, off};
use super::on_grid;

/// Trees, and points of each.
const SIZE: (usize, usize) = (4, 50);
/// How far a result may differ, relative to its greatest value: a GPU may round a product and a sum only once.
const TOLERANCE: f32 = 1e-4;

/// Prints what NVRTC and a GPU say about the kernels, and returns whether no kernel is wrong there.
pub fn compare(answer: &Lesson11) -> bool {
    let device = CudaDevice::new_with_stream(0);
    let columns = ["kernel", "NVRTC", "grid", "GPU"].map(left);
    let (mut table, mut notes, mut right) = (Table::new(columns), Vec::new(), true);
    let mut seen = HashSet::new();
    let ran = forward(answer, SIZE, 0, |launch, by_candle| {
        // Each kernel gets candle's values, and of several launches of a kernel the first counts.
        let values = Ok(by_candle.to_vec());
        if !seen.insert(launch.kernel) {
            return values;
        }
        if to_do(&launch.text).is_some() {
            table.row(json!([launch.kernel, "not written"]));
            return values;
        }
        let ptx = compile(launch);
        let on_grid = on_grid(launch).map(|ran| ran.floats);
        let on_gpu = match (&device, &ptx, &on_grid) {
            (Ok(device), Ok(ptx), Ok(_)) => {
                run(device, launch, ptx).map_err(|error| Error::Wrong(format!("{error:#}")))
            }
            (Err(error), ..) => Err(Error::NotRun(error.to_string())),
            _ => Err(Error::NotRun(
                "the grid and NVRTC must accept a kernel first".into(),
            )),
        };
        let expected = on_grid.as_deref().unwrap_or(by_candle);
        let gpu = on_gpu.and_then(|(values, _)| shown(&values, expected));
        let grid = on_grid.and_then(|values| shown(&values, by_candle));
        let cells = [
            ("NVRTC", ptx.map(|_| "compiles".into())),
            ("grid", grid),
            ("GPU", gpu),
        ];
        let cells = cells.map(|(place, result)| {
            let (word, why) = match result {
                Ok(cell) => return cell,
                Err(Error::NotRun(why)) => ("not run", format!("not run, because {why}")),
                Err(Error::Wrong(why)) => ("wrong", format!("{}: {why}", launch.kernel)),
            };
            right &= word != "wrong";
            // Of a fault on the grid, the checks have shown the rest.
            notes.push(format!("{place}: {}", why.lines().next().unwrap_or_default()));
            word.to_owned()
        });
        table.row(json!([launch.kernel, cells[0], cells[1], cells[2]]));
        values
    });
    if let Err(error) = ran {
        right = false;
        notes.push(format!("{error:#}"));
    }
    notes.sort();
    notes.dedup();
    println!("Greatest differences: of the grid from candle, of the GPU from the grid");
    println!("{}{}", table.text(), notes.join("\n"));
    right
}

/// The greatest difference of a result from the expected one, if it is small.
fn shown(values: &[f32], expected: &[f32]) -> Result<String, Error> {
    let (most, off) = (
        TOLERANCE * off(expected, &vec![0.0; expected.len()]),
        off(values, expected),
    );
    if off <= most {
        return Ok(format!("{off:.1e}"));
    }
    Err(Error::Wrong(format!(
        "differs by {off:.1e}, more than {most:.1e}"
    )))
}
