//! What a recording becomes: totals, shares, a summary, a trace. Lesson 05 checks [`totals()`] and [`name_pattern`].

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn span(name: &'static str, kind: Kind, lane: usize, start: u64, end: u64) -> Span {
    Span::new(name, kind, lane, start, end)
}

/// A run of which the host waits for a batch for 60 % of the time.
fn timeline() -> Timeline {
    let lanes = [("main", false), ("device", true), ("loader-0", false)];
    Timeline {
        lanes: lanes.map(|(name, device)| Lane::new(name, device)).into(),
        // In the order in which guards end them: the innermost first.
        spans: vec![
            span("next batch", Kind::Load, 0, 0, 600),
            span("to device", Kind::Copy, 0, 600, 650),
            span("forward", Kind::Launch, 0, 700, 750),
            span("step", Kind::Other, 0, 0, 1000),
            span("gemm", Kind::Kernel, 1, 710, 910),
            // A loader's thread is not what the run waits for.
            span("read", Kind::Load, 2, 0, 1000),
        ],
        wall: 1000,
        dropped: 3,
    }
}

const SUMMARY: &str = "\
profile of 1.00 µs: input bound
  kernels                   20.0 %
  launching                  5.0 %
  waiting for the device     0.0 %
  waiting for data          60.0 %
  copying                    5.0 %
  other                     30.0 %
  compute bound means 80 % kernels or more; if only kernels took time: 5.00 × as fast; copies: 20.0 % of the device's time
  Prepare batches ahead: more workers (--workers), more prefetch, shards instead of text (canopy data import), expensive work done once before training.
  3 later spans were over the limit and not recorded

span          calls      total       self  self %
next batch        1     600 ns     600 ns    60.0
step              1    1.00 µs     300 ns    30.0
gemm              1     200 ns     200 ns    20.0
";

#[test]
fn a_summary_contains_the_pattern_its_evidence_and_advice() {
    let summary = Summary::of(&timeline());
    assert_eq!(summary.text(3), SUMMARY);
    assert_eq!(json!(summary)["spans"][0]["self"], 600);
}

#[test]
fn every_span_of_a_trace_is_a_complete_event_of_its_lane() {
    let trace = chrome(&timeline());
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |e: &serde_json::Value| e["pid"] == 1 && e["tid"].is_u64() && e["name"].is_string();
    assert!(events.iter().all(named));
    assert_eq!((events.len(), &events[3]["args"]["name"]), (13, &json!("device")));
    let gemm =
        json!({"ph": "X", "name": "gemm", "cat": "kernel", "pid": 1, "tid": 1, "ts": 0.71, "dur": 0.2});
    assert_eq!(events[11], gemm, "microseconds");
}

#[test]
fn a_window_within_a_span_keeps_the_nesting() {
    // Within the window, both have the same start and end.
    let part = timeline().window(40, 60);
    assert_eq!(part.wall, 20);
    let rows: Vec<_> = totals(&part.of(0), &parents(&part.of(0)))
        .into_iter()
        .map(|t| (t.name, t.total, t.own))
        .collect();
    assert_eq!(rows, [("next batch".into(), 20, 20), ("step".into(), 20, 0)]);
    assert_eq!(pieces(&part.of(0)), [span("next batch", Kind::Load, 0, 0, 20)]);
}

#[test]
fn a_parent_is_the_innermost_span_around() {
    let parents = |all: &[(usize, u64, u64)]| {
        let one = |&(lane, start, end)| span("any", Kind::Other, lane, start, end);
        parents(&all.iter().map(one).collect::<Vec<_>>())
    };
    // Spans that touch are side by side, except for empty ones.
    let touching = parents(&[(0, 3, 4), (0, 0, 2), (0, 2, 5), (0, 0, 5), (0, 5, 7), (0, 7, 7)]);
    assert_eq!(touching, [Some(2), Some(3), Some(3), None, None, Some(4)]);
    let lanes = parents(&[(1, 2, 3), (0, 0, 9), (1, 1, 4), (0, 5, 8)]);
    assert_eq!(lanes, [Some(2), None, None, Some(1)]);
    assert_eq!(parents(&[(0, 1, 2); 3]), [None, Some(0), Some(1)]);
    let deep: Vec<_> = (0..300_000).rev().map(|i| (0, i, 600_000 - i)).collect();
    let expected = (1..300_000).map(Some).chain([None]);
    assert!(parents(&deep).into_iter().eq(expected));
}

/// Spans that nest, from a list of openings and closings, in the order of their starts, and their parents.
fn nested(moves: &[(bool, u64)]) -> (Vec<Span>, Vec<Option<usize>>) {
    let (mut at, mut open, mut spans, mut parents) = (0, Vec::new(), Vec::new(), Vec::new());
    let all = moves
        .iter()
        .copied()
        .chain(std::iter::repeat_n((false, 1), moves.len()));
    for (opens, step) in all {
        at += step;
        if opens {
            parents.push(open.last().copied());
            spans.push(span(["a", "b", "c"][open.len() % 3], Kind::Other, 0, at, at));
            open.push(spans.len() - 1);
        } else if let Some(i) = open.pop() {
            spans[i].end = at;
        }
    }
    (spans, parents)
}

fn do_not_overlap(pieces: &[Span]) -> bool {
    let in_turn = |pair: &[Span]| pair[0].lane != pair[1].lane || pair[0].end <= pair[1].start;
    pieces.windows(2).all(in_turn)
}

proptest! {
    #[test]
    fn parents_are_those_of_the_recording(moves in prop::collection::vec((any::<bool>(), 1u64..5), 0..60)) {
        let (spans, expected) = nested(&moves);
        prop_assert_eq!(parents(&spans), expected);
    }

    #[test]
    fn pieces_do_not_overlap_and_keep_every_self_time(moves in prop::collection::vec((any::<bool>(), 0u64..5), 0..60)) {
        let (spans, _) = nested(&moves);
        let pieces = pieces(&spans);
        prop_assert!(do_not_overlap(&pieces));
        for of in totals(&spans, &parents(&spans)) {
            let own: u64 = pieces.iter().filter(|p| p.name == of.name).map(Span::duration).sum();
            prop_assert_eq!(own, of.own, "{}", of.name);
        }
    }
}
