//! Plots as SVG: what they consist of, and that any values can be drawn.

use canopy::report::svg::{LinePlot, Mark, Rect, RectPlot, Series};

use crate::assert_golden;

fn rect(from: f64, to: f64, colour: usize) -> Rect {
    Rect {
        row: 0,
        from,
        to,
        colour,
        label: "forward <1>".into(),
        hover: "forward".into(),
    }
}

fn timeline(rects: Vec<Rect>) -> RectPlot {
    RectPlot {
        title: "a & b".into(),
        x_label: "ms".into(),
        rows: vec!["main".into()],
        rects,
        legend: vec![(0, "kernel".into())],
        x_range: (0.0, 100.0),
        width: 640.0,
        describe: String::new(),
    }
}

#[test]
fn plots_consist_of_these_elements() {
    let line = |name: &str| Series::new(name, vec![(1.0, 1.0), (4.0, 2.0), (4096.0, 9.0)]);
    let values = [2.0, f64::NAN, 1.0, f64::INFINITY, 0.5, 0.4];
    let odd = (1..).zip(values).map(|(x, y)| (f64::from(x), y)).collect();
    let mut kinds = LinePlot::new("Every <kind>", "a&b", "\"share\"")
        .with(line("a contour takes no colour").contour())
        .with(line("</svg>"))
        .with(line("dashed").dashed())
        .with(line("dots have no line").dots())
        .with(line("beside").labelled());
    kinds.log_x = true;
    let mut interrupted =
        LinePlot::new("Interrupted", "epoch", "accuracy").with(Series::new("training", odd));
    (interrupted.percent, interrupted.whole_x, interrupted.y_range) = (true, true, Some((0.0, 1.0)));
    interrupted.marks.push(Mark {
        at: (5.0, 0.5),
        label: "best".into(),
    });
    let ends = [(0.0, 30.0, 0), (30.0, 60.0, 1), (60.0, 60.5, 0), (60.5, 60.7, 0)];
    let rects = ends.map(|(from, to, colour)| rect(from, to, colour)).to_vec();
    let pictures = [
        kinds.for_the_book().ticks_at([1.0, 64.0, 4096.0]).svg(),
        interrupted.svg(),
        timeline(rects).svg(),
    ];
    let elements = pictures.map(|svg| {
        let (start, rest) = svg.split_once("<style>").unwrap();
        let (_, rest) = rest.split_once("</style>").unwrap();
        format!("{start}{rest}\n").replace("><", ">\n<")
    });
    assert_golden("plots.golden.txt", &elements.concat());
}

#[test]
fn any_values_are_drawn() {
    let shapes: [Vec<(f64, f64)>; 6] = [
        vec![],
        vec![(1.0, 0.5)],
        vec![(1.0, 0.0), (1.0, 0.0)],
        vec![(f64::NAN, f64::NAN)],
        vec![(-1e308, 1e308), (1e308, -1e308)],
        vec![(1.0, 1e308), (2.0, 5e-324)],
    ];
    let mut drawn = vec![timeline(Vec::new()).svg()];
    for points in shapes {
        for log in [false, true] {
            let mut plot = LinePlot::new("t", "x", "y").with(Series::new("s", points.clone()));
            (plot.log_x, plot.log_y) = (log, log);
            drawn.push(plot.svg());
        }
    }
    for (from, to) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308), (5.0, 5.0)] {
        drawn.push(timeline(vec![rect(from, to, 9)]).svg());
    }
    let narrow = RectPlot {
        x_range: (0.0, 0.0),
        ..timeline(Vec::new())
    };
    drawn.push(narrow.svg());
    for svg in drawn {
        let finite = !svg.contains("NaN") && !svg.contains("inf");
        assert!(svg.ends_with("</svg>") && finite, "{svg}");
        assert!(svg.matches("text-anchor").count() < 60, "too many ticks: {svg}");
    }
}

#[test]
fn many_rectangles_are_merged_and_their_widths_kept() {
    let thin = (0..20_000).map(|i| rect(f64::from(i) * 0.005, f64::from(i) * 0.005 + 0.004, 0));
    let svg = timeline(thin.collect()).svg();
    assert!(svg.len() < 40_000, "{}", svg.len());
    // Four fifths of a column of 3 pixels are coloured.
    assert!(svg.contains("h2.4"), "{svg}");
}
