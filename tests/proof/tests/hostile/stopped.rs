//! Submissions whose compilation must stop with an error or at a limit, so that none of their code runs.

use crate::{HONEST, grade, is_run};

/// Whole files that stop the grading of a lesson: name, reported reason, and the text that precedes the honest answers.
pub const STOPPED: &[(&str, &str, &str)] = &[
    (
        "includes-the-solution",
        "does not compile",
        "pub const STOLEN: &str = include_str!(\"ROOT/solutions/src/kernels/neuron.rs\");",
    ),
    (
        "takes-the-lesson-as-a-dependency",
        "does not compile",
        "extern crate lesson01;\npub fn stolen() -> f32 { (lesson01::REFERENCE.neuron)(&[], &[], 0.0, |x| x) }",
    ),
    (
        "initialises-before-main",
        "`unsafe` is not allowed",
        "extern \"C\" fn early() { println!(\"early\"); }\n\
         #[unsafe(link_section = \".init_array\")]\n#[used]\nstatic EARLY: extern \"C\" fn() = early;",
    ),
    (
        "allows-itself-unsafe-code",
        "`unsafe` is not allowed",
        "#![allow(unsafe_code)]\npub fn overwrite() { unsafe { *(0x1000 as *mut u8) = 1 } }",
    ),
    (
        "replaces-a-function-of-c",
        "`unsafe` is not allowed",
        "#[unsafe(no_mangle)]\npub extern \"C\" fn memcmp() -> i32 { 0 }",
    ),
    (
        "computes-for-ever-though-warned",
        "does not compile",
        "#![allow(long_running_const_eval)]\npub const LONG: u64 = { let mut i = 0u64; while i < 1 << 50 { i += 1; } i };",
    ),
    (
        "is-a-type-without-end",
        "does not compile",
        "pub fn deep<T: Copy>(t: T, n: u64) -> u64 { if n == 0 { 0 } else { deep((t, t), n - 1) } }\n\
         pub fn start() -> u64 { deep(1u8, 9) }",
    ),
];

/// The honest submission with something before it.
pub fn after(head: &str) -> String {
    let code = HONEST.split_once("\n\n").expect("a line of its own").1;
    format!("{head}\n{code}")
}

/// A constant in so many parentheses that a recursive parser runs out of stack.
pub fn nested() -> String {
    let deep = 50_000;
    format!("pub const DEEP: u64 = {}1{};", "(".repeat(deep), ")".repeat(deep))
}

#[test]
fn what_must_not_be_compiled_is_not_run() {
    if !is_run() {
        return;
    }
    let mut odd = Vec::new();
    let nested = ("nests-parentheses", "does not compile", "");
    for (name, why, _) in STOPPED.iter().chain([&nested]) {
        let grade = grade(name);
        let stopped = grade
            .lessons
            .iter()
            .find_map(|l| l.stopped.clone())
            .unwrap_or_default();
        if grade.points() != 0 || !stopped.contains(why) {
            odd.push(format!("{name}: {} points, {stopped}", grade.points()));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}
