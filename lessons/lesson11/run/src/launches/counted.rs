//! Launches on the emulated grid: their results, and the bytes that they move.

use anyhow::{Result, ensure};
use grid::{Place, Trace};
use kit::table::{Table, Value, count, fixed, json, left};
use lesson11::launch::Launch;

use super::on_grid;

/// What a launch read and wrote.
pub struct Counts {
    /// Bytes of the sectors that its requests touched.
    pub moved: usize,
    /// The name of a page that draws its most costly request, and the page.
    pub page: Option<(String, String)>,
    row: Value,
}

/// Runs a launch on the grid.
///
/// # Errors
/// Returns an error if the kernel cannot be compiled, or does something wrong.
pub fn run(launch: &Launch) -> Result<(Vec<f32>, Counts)> {
    let ran = on_grid(launch)?;
    let whole = !ran.trace.truncated;
    ensure!(whole, "{}: too many accesses to count", launch.kernel);
    Ok((ran.floats, counts(launch, &ran.trace)))
}

fn counts(launch: &Launch, trace: &Trace) -> Counts {
    let is_global = |place| matches!(place, Place::Buffer(_));
    let global = trace.accesses.iter().filter(|access| is_global(access.memory));
    let asked = global.map(|access| access.bytes as usize).sum();
    // The memory of a launch has at most a buffer for each argument.
    let buffers = (0..launch.arguments.len()).map(|index| trace.traffic(Place::Buffer(index)));
    let (mut moved, mut fewest, mut worst) = (0, 0, None);
    for traffic in buffers {
        moved += 32 * traffic.sectors as usize;
        fewest += 32 * traffic.fewest as usize;
        worst = worst.or(traffic.worst);
    }
    let conflicts = trace.conflicts();
    let passes = (conflicts.requests > 0).then(|| conflicts.passes as f64 / conflicts.requests as f64);
    let (name, grid, block) = (launch.kernel, launch.grid, launch.block);
    let (blocks, threads) = (grid.0 * grid.1, block.0 * block.1);
    let bytes = [asked, moved, fewest, launch.bytes()];
    let [asked, sectors, fewest, once] = bytes.map(|bytes| bytes as f64 / 1024.0);
    let row = json!([name, blocks, threads, asked, sectors, fewest, once, passes]);
    let page = conflicts.worst.or(worst).map(|at| {
        let title = format!("{name}: a request that costs more than it must");
        (format!("11-{name}.html"), trace.page(&title, at))
    });
    Counts { moved, page, row }
}

/// The table of these launches.
pub fn table(launches: &[Counts]) -> Table {
    let bytes = ["asked", "moved", "fewest", "once"].map(|name| fixed(name, 1));
    let first = [left("kernel"), count("blocks"), count("threads")];
    let mut table = Table::new(first.into_iter().chain(bytes).chain([fixed("passes", 2)]));
    launches.iter().for_each(|launch| table.row(launch.row.clone()));
    table
}
