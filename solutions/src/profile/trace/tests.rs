use super::*;

fn made() -> Timeline {
    let lane = |name: &str, device| Lane {
        name: name.into(),
        device,
    };
    Timeline {
        lanes: vec![lane("main", false), lane("device", true)],
        spans: vec![
            Span::new("forward \"1\"", Kind::Launch, 0, 100, 400),
            Span::new("step", Kind::Other, 0, 0, 1000),
            Span::new("read", Kind::Wait, 0, 400, 1000),
            Span::new("gemm", Kind::Kernel, 1, 150, 600),
            Span::new("gemm", Kind::Kernel, 1, 500, 901),
        ],
        wall: 1234,
        dropped: 0,
    }
}

#[test]
fn a_trace_round_trips() {
    let text = chrome(&made()).to_string();
    assert_eq!(from_chrome(&text).unwrap(), made());
}

#[test]
fn every_event_has_the_fields_of_chromes_format() {
    let trace = chrome(&made());
    for event in trace["traceEvents"].as_array().unwrap() {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string());
        match event["ph"].as_str().unwrap() {
            "X" => assert!(event["ts"].is_number() && event["dur"].is_number() && event["cat"].is_string()),
            "M" => assert!(event["args"].is_object()),
            other => panic!("an event of kind {other}"),
        }
    }
    assert_eq!(trace["traceEvents"][5]["ts"], 0.1, "microseconds: {trace}");
}

#[test]
fn traces_of_other_programs_are_read() {
    let text = r#"[
        {"ph":"B","name":"a","cat":"cpu_op","pid":7,"tid":"t","ts":1000000.5},
        {"ph":"X","name":"cudaStreamSynchronize","cat":"cuda_runtime","pid":7,"tid":"t","ts":1000001,"dur":2},
        {"ph":"E","pid":7,"tid":"t","ts":1000010.5},
        {"ph":"i","name":"a mark","pid":7,"tid":"t","ts":0},
        {"ph":"X","name":"Memcpy HtoD","cat":"gpu_memcpy","pid":0,"tid":3,"ts":1000002,"dur":4}]"#;
    let timeline = from_chrome(text).unwrap();
    let all: Vec<(&str, Kind, usize, u64, u64)> = timeline
        .spans
        .iter()
        .map(|s| (&*s.name, s.kind, s.lane, s.start, s.end))
        .collect();
    assert_eq!(
        all,
        [
            ("cudaStreamSynchronize", Kind::Wait, 0, 500, 2500),
            ("a", Kind::Launch, 0, 0, 10_000),
            ("Memcpy HtoD", Kind::Copy, 1, 1500, 5500)
        ]
    );
    assert_eq!((timeline.wall, timeline.lanes[1].device), (10_000, true));
}

#[test]
fn errors_name_the_event_and_the_field() {
    let said = |text: &str| format!("{:#}", from_chrome(text).unwrap_err());
    assert!(said("{").contains("not JSON"));
    assert!(said("3").contains("Chrome's format"));
    assert!(said("{}").contains("traceEvents"));
    assert!(said("[]").contains("no span"));
    let e = said(r#"[{"ph":"X","name":"a","ts":1,"dur":-1}]"#);
    assert!(
        e.contains("event 1") && e.contains("'dur'") && e.contains("-1"),
        "{e}"
    );
    let e = said(r#"[{"ph":"X","name":"a","ts":1e300,"dur":1}]"#);
    assert!(e.contains("'ts'"), "{e}");
    let e = said(r#"[{"ph":"E","name":"a","ts":1}]"#);
    assert!(e.contains("without its beginning"), "{e}");
}
