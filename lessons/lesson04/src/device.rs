//! 4.1: a device from a name.

use std::ops::Range;

use canopy::device::Settled;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson04, REFERENCE, answers};

/// A name, and the CUDA devices that open.
type Input = (&'static str, Range<usize>);

/// What the others say.
const WHY: &str = "only 17 MiB free";

fn chosen(answer: &Lesson04, (name, working): Input) -> Verdict {
    let case = given(format!(
        "'{name}', where CUDA devices {working:?} open and others say \"{WHY}\""
    ));
    let choose = |answer: &Lesson04| {
        let mut opened = Vec::new();
        let result = (answer.choose_device)(name, &mut |n| {
            opened.push(n);
            working.contains(&n).then_some(()).ok_or(WHY.into())
        });
        (result, opened)
    };
    let (expected, to_open) = choose(&REFERENCE);
    let words = match to_open[..] {
        [n] => vec![format!("cuda:{n}"), WHY.into()],
        _ => [name, "auto", "cpu", "cuda:N"].map(String::from).to_vec(),
    };
    let must_fail = expected.is_err();
    let seen = |result: Result<Settled, String>, opened: Vec<usize>| {
        let text = match result {
            Ok(settled) => format!("{settled:?}"),
            Err(error) => match words.iter().find(|word| !error.contains(*word)) {
                Some(word) if must_fail => format!("an error without '{word}'"),
                _ => format!("an error with '{}'", words.join("' and '")),
            },
        };
        Facts::default()
            .text("result", text)
            .items("devices opened", opened)
            .asked("at most once")
    };
    let (result, opened) = choose(answer);
    case.same(seen(result, opened), seen(expected, to_open))
}

pub const CHECKS: &[Check<Lesson04>] = rows! { "4.1";
    by chosen {
        returns_the_cpu_without_opening_a_gpu: "never for `cpu`",
            "For `cpu`, return None and no reason, and do not call `open`." => |_| vec![("cpu", 0..4)];
        opens_the_named_device: "`cuda` is `cuda:0`",
            "Call `open` once with the number after `cuda:`, all its digits (0 for `cuda`), and return it without a reason." =>
            // The last two are as long as the greatest usize, and greater than a u32.
            |_| ["cuda:3", "cuda", "cuda:12", "cuda:007", "cuda:00000000000000000001", "cuda:4294967297"]
                .map(|name| (name, 0..5_000_000_000)).to_vec();
        auto_takes_the_first_gpu: "device 0 if it opens",
            "For `auto`, call `open(0)` once; if it succeeds, return device 0, no reason." => |_| vec![("auto", 0..4)];
        auto_falls_back_with_a_reason: "otherwise the CPU with the reason",
            "If `open(0)` fails, return the CPU and the text of `open`: call it once, with no other number." =>
            // Device 1 would open.
            |_| vec![("auto", 1..4)];
        never_falls_back_from_a_named_device: "A named device that does not open is an error",
            "If it does not open, return an error with `cuda:N` (`cuda:0` for `cuda`) and the text of `open`." =>
            |_| vec![("cuda:2", 0..2), ("cuda", 1..3)];
        rejects_unknown_names: "any other name",
            "Match names exactly; N has digits only and fits a usize. The error has the name and all valid ones." => |_| [
                "gpu", "gpu:1", "1", "CPU", "CUDA:1", " cpu", "cuda1", "cuda 1", "cpu:0", "auto:0", "", "cuda:x", "cuda:+1",
                "cuda:-1", "cuda:", "cuda: 1", "cuda:1 ", "cuda:1_0", "cuda:1.0", "cuda:½", "cuda:٣", "cuda:0:1",
                "cuda:cuda:1", "cuda:99999999999999999999",
            ].map(|name| (name, 0..4)).to_vec();
    }
};

pub const MISTAKES: &[Mistake<Lesson04>] = mistakes! { "4.1" choose_device;
    1 "`parse` accepts a sign as well: accept digits only.";
    2 "A named device falls back to the CPU: a user who named a GPU would not notice, and wait.";
    3 "`auto` falls back without a reason: nobody learns why the run is slow.";
};
