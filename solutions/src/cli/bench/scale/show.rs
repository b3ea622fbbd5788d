//! The tables and the plot of `canopy bench scale`.

use anyhow::Result;

use super::{Args, Found, engine::Engine, predict::Predicted};
use crate::{
    parallel::Cost,
    report::svg::{LinePlot, Series},
};

pub fn print(found: &Found, args: &Args) -> Result<()> {
    say!(
        "bench scale: {} PointNet, {} points per cloud, {:.2} MB of gradients;\n{}; this process may use {} of them; one thread per rank",
        found.model,
        found.points,
        found.gradient_bytes as f64 / 1e6,
        found.processor,
        found.cores
    );
    for engine in &found.engines {
        print_engine(engine, args)?;
    }
    if let Some(reason) = &found.without_mpi {
        say!("\nMPI: not run, because {reason}");
    }
    print_predicted(found, args)?;
    Ok(())
}

fn print_engine(engine: &Engine, args: &Args) -> Result<()> {
    say!("\nMEASURED: {}", engine.name);
    let most = args.batch * args.most();
    for (name, batch, one, rows) in [
        ("weak scaling", args.batch, engine.one_ms, &engine.weak),
        ("strong scaling", most, engine.one_strong_ms, &engine.strong),
    ] {
        say!(
            "\n{name:<14}{:>6}{:>12}{:>11}{:>14}{:>9}{:>13}{:>12}{:>12}",
            "batch",
            "a step",
            "efficiency",
            "reduced after",
            "overlap",
            "gradients",
            "all-reduce",
            "waited for"
        );
        say!("  {:<12}{batch:>6}{one:>9.1} ms", "1 rank");
        for row in rows {
            say!(
                "  {:<12}{:>6}{:>9.1} ms{:>9.0} %{:>11.1} ms{:>8.2}×{:>10.2} MB{:>9.2} ms{:>9.2} ms",
                format!("{} ranks", row.ranks),
                row.batch,
                row.step_ms,
                100.0 * row.efficiency,
                row.reduced_after_ms,
                row.overlap_gain,
                row.gradients_mb,
                row.all_reduce_ms,
                row.waited_ms
            );
        }
    }
    print_all_reduces(engine)?;
    let Cost { alpha, beta } = engine.cost;
    say!(
        "a message: α = {:.1} µs, β = {:.3} ns/byte ({:.1} GB/s)",
        alpha * 1e6,
        beta * 1e9,
        1e-9 / beta
    );
    Ok(())
}

/// The bandwidth is that of the bytes that a ring sends, 2(p − 1)/p of the data, as nccl-tests count it.
fn print_all_reduces(engine: &Engine) -> Result<()> {
    let library = match engine.name.starts_with("NCCL") {
        true => "NCCL",
        false => " MPI",
    };
    say!(
        "\nall-reduce         bytes      engine          {library} directly   ratio        ring        tree"
    );
    for all in &engine.all_reduces {
        let p = all.ranks as f64;
        let sent = 2.0 * (p - 1.0) / p * all.bytes as f64;
        let direct = all.direct_us.map_or_else(
            || format!("{:>13}{:>8}", "–", "–"),
            |direct| format!("{direct:>10.1} µs{:>8.2}", all.engine_us / direct),
        );
        say!(
            "  {:<12}{:>10}{:>9.1} µs{:>5.2} GB/s{direct}{:>9.1} µs{:>9.1} µs",
            format!("{} ranks", all.ranks),
            all.bytes,
            all.engine_us,
            sent / all.engine_us * 1e-3,
            all.ring_us,
            all.tree_us
        );
    }
    Ok(())
}

/// The numbers of ranks in the table.
const SHOWN: [usize; 4] = [2, 8, 64, 1024];

fn print_predicted(found: &Found, args: &Args) -> Result<()> {
    say!(
        "\nPREDICTED, not measured: weak efficiency of ranks with a step of {:.1} ms and {:.2} MB of gradients, by the faster\n\
         of ring and tree, without overlap and with full overlap. The lower rows assume α = {} µs and the links' peak rates.\n",
        found.engines[0].one_ms,
        found.gradient_bytes as f64 / 1e6,
        args.latency
    );
    let heads = SHOWN
        .map(|ranks| format!("{:>16}", format!("{ranks} ranks")))
        .concat();
    say!("{:<42}{heads}", "link");
    for predicted in &found.predicted {
        let shown = predicted.ranks.iter().filter(|r| SHOWN.contains(&r.ranks));
        let cells = shown.map(|r| {
            let (open, hidden) = (100.0 * r.efficiency, 100.0 * r.efficiency_overlapped);
            format!("{:>16}", format!("{open:.0} % {hidden:>4.0} %"))
        });
        say!("  {:<40}{}", predicted.link, cells.collect::<String>());
    }
    Ok(())
}

/// Weak efficiency: measured with solid lines, predicted with dashed ones.
pub fn plot(found: &Found) -> LinePlot {
    let mut plot = LinePlot::new(
        "Weak scaling: measured (solid), predicted (dashed)",
        "ranks",
        "efficiency",
    );
    for engine in &found.engines {
        let rows = engine.weak.iter().map(|row| (row.ranks as f64, row.efficiency));
        let points = std::iter::once((1.0, 1.0)).chain(rows).collect();
        plot = plot.with(Series::new(format!("{}, measured", engine.name), points));
    }
    let line = |p: &Predicted| {
        let points = p.ranks.iter().map(|r| (r.ranks as f64, r.efficiency));
        Series::new(p.link.clone(), points.collect()).dashed()
    };
    let shown = ["NVLink", "InfiniBand NDR", "Ethernet, 10 Gb/s"];
    let chosen = |p: &&Predicted| shown.iter().any(|name| p.link.starts_with(name));
    for predicted in found
        .predicted
        .iter()
        .take(1)
        .chain(found.predicted.iter().filter(chosen))
    {
        plot = plot.with(line(predicted));
    }
    (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
    plot.size = (640.0, 360.0);
    plot
}
