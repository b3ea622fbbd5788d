use std::ops::Range;

use canopy::device::Settled;
use grader::{Verdict, draw, given};

use super::refuse;
use crate::Lesson04;

/// The result of a student's choice, and the devices that it opened.
struct Chosen {
    input: String,
    asked: Vec<usize>,
    result: Result<Settled, String>,
}

/// On a machine on which the CUDA devices of `working` open, and others fail with `words`.
fn choose(answer: &Lesson04, name: &str, working: Range<usize>, words: &str) -> Chosen {
    let input = format!(
        "'{name}', where CUDA devices {} to {} open and others say \"{words}\"",
        working.start,
        working.end - 1
    );
    given(&input);
    let mut asked = Vec::new();
    let result = (answer.choose_device)(name, &mut |n| {
        asked.push(n);
        if working.contains(&n) {
            Ok(())
        } else {
            Err(words.to_owned())
        }
    });
    Chosen { input, asked, result }
}

impl Chosen {
    /// The chosen device, and whether the reason contains `reason`; None for no reason.
    fn is(&self, cuda: Option<usize>, reason: Option<&str>, asked: &[usize]) -> Verdict {
        let told = |own: &Option<String>| match (own, reason) {
            (Some(own), Some(reason)) => own.contains(reason),
            (own, reason) => own.is_none() && reason.is_none(),
        };
        let fits = |s: &Settled| s.cuda == cuda && told(&s.reason);
        let expected = format!("cuda {cuda:?}, reason {reason:?}");
        self.check(self.result.as_ref().is_ok_and(fits), 0, &expected, asked)
    }

    /// An error with the first of `words` and with all others.
    fn fails(&self, words: &[&str], asked: &[usize]) -> Verdict {
        let has = |word: &&str| self.result.as_ref().is_err_and(|e| e.contains(*word));
        let flaw = if words.first().is_some_and(has) { 2 } else { 1 };
        let expected = format!("an error with '{}'", words.join("' and '"));
        self.check(words.iter().all(has), flaw, &expected, asked)
    }

    /// `flaw` says what an error lacks: known mistakes are recognised by it, whatever their words are.
    fn check(&self, fits: bool, flaw: u8, expected: &str, asked: &[usize]) -> Verdict {
        if fits && self.asked == asked {
            return Ok(());
        }
        let (mut code, got) = match &self.result {
            Ok(Settled { cuda, reason }) => (
                vec![
                    cuda.map_or(-1.0, |n| n as f64),
                    f64::from(u8::from(reason.is_some())),
                ],
                format!("cuda {cuda:?}, reason {reason:?}"),
            ),
            Err(error) => (
                vec![f64::from(if fits { 0 } else { flaw })],
                format!("Err: {error}"),
            ),
        };
        code.extend(self.asked.iter().map(|&n| n as f64));
        let opened = |list: &[usize]| format!("; open called for {list:?}");
        let expected = expected.to_owned() + &opened(asked);
        refuse(
            &self.input,
            "result",
            code,
            &expected,
            &(got + &opened(&self.asked)),
        )
    }
}

pub fn returns_the_cpu_without_opening_a_gpu(answer: &Lesson04) -> Verdict {
    choose(answer, "cpu", 0..2, "busy").is(None, None, &[])
}

pub fn opens_the_named_device(answer: &Lesson04) -> Verdict {
    let n = draw().whole(10, 15);
    for (name, n) in [
        ("cuda:3", 3),
        ("cuda", 0),
        (&*format!("cuda:{n}"), n),
        ("cuda:007", 7),
        // As many digits as the greatest usize.
        ("cuda:00000000000000000001", 1),
    ] {
        choose(answer, name, 0..16, "no such device").is(Some(n), None, &[n])?;
    }
    Ok(())
}

pub fn auto_takes_the_first_gpu(answer: &Lesson04) -> Verdict {
    choose(answer, "auto", 0..4, "no such device").is(Some(0), None, &[0])
}

pub fn auto_falls_back_with_a_reason(answer: &Lesson04) -> Verdict {
    let words = format!("driver {} is too old", draw().whole(400, 500));
    // Device 1 would open, but `auto` means device 0.
    choose(answer, "auto", 1..4, &words).is(None, Some(&words), &[0])
}

pub fn never_falls_back_from_a_named_device(answer: &Lesson04) -> Verdict {
    let words = format!("only {} MiB free", draw().whole(10, 99));
    choose(answer, "cuda:2", 0..2, &words).fails(&["cuda:2", &words], &[2])?;
    choose(answer, "cuda", 1..3, &words).fails(&["cuda:0", &words], &[0])?;
    // More than a u32 can hold.
    let n = 4_294_967_297;
    choose(answer, &format!("cuda:{n}"), 0..2, &words).fails(&[&format!("cuda:{n}"), &words], &[n])
}

pub fn rejects_unknown_names(answer: &Lesson04) -> Verdict {
    for name in [
        "gpu",
        "cuda:x",
        "cuda:+1",
        "cuda:",
        "cuda:½",
        // More than a usize can hold.
        "cuda:99999999999999999999",
        "gpu:1",
        "cuda:0:1",
        "cuda:cuda:1",
        "1",
        "CPU",
        "CUDA:1",
        "cuda:-1",
        " cpu",
        "cuda: 1",
        "cuda:1 ",
        "cuda:٣",
        "cuda:1_0",
        "cuda:1.0",
        "cuda1",
        "cuda 1",
        "cpu:0",
        "auto:0",
        "",
    ] {
        let chosen = choose(answer, name, 0..4, "no such device");
        chosen.fails(&[name, "auto", "cpu", "cuda:N"], &[])?;
    }
    Ok(())
}
