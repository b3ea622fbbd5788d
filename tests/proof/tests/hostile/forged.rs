//! A submission without a single answer that writes all verdicts itself.

use crate::{grade, is_run, messages};

const STUBS: &str = include_str!("../../../../lessons/lesson01/src/stubs.rs");

/// It replaces two functions of the C library: Rust's runtime calls `poll` before `main`, and `File::open` calls `open64`,
/// which returns the descriptor of the channel. The lint `unsafe_code` does not see the attributes, because they are on
/// methods of a trait.
const FORGERY: &str = r##"
trait Early {
    #[unsafe(export_name = "open64")]
    extern "C" fn opens_the_channel(_: usize, _: i32, _: i32) -> i32 where Self: Sized {
        3
    }
    #[unsafe(export_name = "poll")]
    extern "C" fn runs_before_main(_: usize, _: usize, _: i32) -> i32 where Self: Sized {
        forge();
        0
    }
}
struct Forger;
impl Early for Forger {}
#[used]
static KEPT: (extern "C" fn(usize, i32, i32) -> i32, extern "C" fn(usize, usize, i32) -> i32) =
    (Forger::opens_the_channel, Forger::runs_before_main);

fn forge() {
    use std::io::{BufRead, BufReader, Write};
    let args: Vec<String> = std::env::args().collect();
    if args.len() < 4 || args[1] != "--judge" {
        return;
    }
    let Ok(channel) = std::fs::OpenOptions::new().read(true).open("channel") else { return };
    let mut channel = BufReader::new(channel);
    let mut nonce = String::new();
    let _ = channel.read_line(&mut nonce);
    let nonce = nonce.trim();
    let mut out = format!("{{\"nonce\":\"{nonce}\",\"check\":\"start\",\"end\":null}}\n");
    for check in &args[3..] {
        out += &format!("{{\"nonce\":\"{nonce}\",\"check\":\"{check}\",\"end\":[\"right\",\"\"]}}\n");
    }
    out += &format!("{{\"nonce\":\"{nonce}\",\"check\":\"end\",\"end\":null}}\n");
    let _ = channel.get_mut().write_all(out.as_bytes());
    std::process::exit(0);
}
"##;

pub fn source() -> String {
    [STUBS, FORGERY].concat()
}

#[test]
fn verdicts_cannot_be_forged() {
    if !is_run() {
        return;
    }
    let grade = grade("forges-every-verdict");
    let text = messages(&grade);
    assert!(
        grade.points() == 0 && text.contains("`unsafe` is not allowed in an exercise"),
        "{} points: {text}",
        grade.points()
    );
}
