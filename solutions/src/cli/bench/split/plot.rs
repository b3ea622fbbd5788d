//! The timeline of a pipeline, measured and predicted.

use super::found::Pipeline;
use crate::{
    report::svg::{Rect, RectPlot},
    split::{Action, Slot},
};

/// Draws a row for each rank as measured, and below them a row for each rank as predicted.
pub fn timelines(chunks: usize, micro_batches: usize, pipeline: &Pipeline) -> RectPlot {
    let ranks = pipeline.orders.len();
    let mut rects = Vec::new();
    let mut rows = Vec::new();
    for (of, (name, times)) in ["measured", "predicted"]
        .into_iter()
        .zip(&pipeline.times)
        .enumerate()
    {
        for (rank, (order, times)) in pipeline.orders.iter().zip(times).enumerate() {
            rows.push(format!("rank {rank}, {name}"));
            for (slot, time) in order.iter().zip(times) {
                rects.push(rect(slot, *time, of * ranks + rank, slot.chunk * ranks + rank));
            }
        }
    }
    let end = rects.iter().map(|r| r.to).fold(0.0, f64::max);
    let name = |chunk: usize, pass: &str| match chunks {
        1 => pass.to_owned(),
        _ => format!("{pass}, stage {chunk} of the rank"),
    };
    let legend =
        (0..chunks.min(4)).flat_map(|c| [(2 * c, name(c, "forward")), (2 * c + 1, name(c, "backward"))]);
    let describe = format!(
        "Forward and backward passes of {micro_batches} micro-batches on {ranks} ranks; idle for {:.0} % of the computing time as \
         measured, {:.0} % as predicted",
        100.0 * pipeline.measured,
        100.0 * pipeline.simulated
    );
    RectPlot {
        title: "One step of the pipeline; the number is the micro-batch".into(),
        x_label: "ms".into(),
        rows,
        rects,
        legend: legend.collect(),
        x_range: (0.0, end),
        width: 720.0,
        describe,
    }
}

fn rect(slot: &Slot, (start, end): (f64, f64), row: usize, stage: usize) -> Rect {
    let (pass, micro, later) = match slot.action {
        Action::Forward(micro) => ("forward", micro, 0),
        Action::Backward(micro) => ("backward", micro, 1),
    };
    Rect {
        row,
        from: start * 1e3,
        to: end * 1e3,
        colour: 2 * slot.chunk + later,
        // A label of fewer than three letters is left out where there is no room for it.
        label: micro.to_string(),
        hover: format!(
            "{pass} pass of micro-batch {micro} through stage {stage}, {:.2} ms",
            (end - start) * 1e3
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{interleaved_order, simulate};

    #[test]
    fn every_pass_is_drawn_as_measured_and_as_predicted() {
        let orders: Vec<Vec<Slot>> = (0..2).map(|rank| interleaved_order(rank, 2, 2, 4)).collect();
        let times = simulate(&orders, 2, |_, _| 1e-3).unwrap();
        let pipeline = Pipeline {
            theory: 0.125,
            simulated: 0.125,
            measured: 0.125,
            held: vec![5, 3],
            times: [times.clone(), times],
            orders,
        };
        let svg = timelines(2, 4, &pipeline).svg();
        // Two ranks with two stages of four micro-batches, forward and backward.
        assert_eq!(svg.matches("pass of micro-batch").count(), 2 * (2 * 2 * 4 * 2));
        assert!(
            svg.contains("backward pass of micro-batch 3 through stage 2, 1.00 ms"),
            "{svg}"
        );
    }
}
