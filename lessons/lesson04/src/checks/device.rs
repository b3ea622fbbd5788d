use canopy::device::Settled;
use grader::{Case, Verdict, draw, given};

use crate::Lesson04;

/// The result of a student's choice, and the devices that it opened.
struct Chosen {
    case: Case,
    asked: Vec<usize>,
    result: Result<Settled, String>,
}

/// On a machine on which CUDA devices below `devices` open, and others fail with `words`.
fn choose(answer: &Lesson04, name: &str, devices: usize, words: &str) -> Chosen {
    let case = given(format!(
        "'{name}', where {devices} CUDA devices open and others say \"{words}\""
    ));
    let mut asked = Vec::new();
    let result = (answer.choose_device)(name, &mut |n| {
        asked.push(n);
        if n < devices {
            Ok(())
        } else {
            Err(words.to_owned())
        }
    });
    Chosen { case, asked, result }
}

impl Chosen {
    /// The chosen device, without a reason.
    fn is(&self, device: Option<usize>, asked: &[usize]) -> Verdict {
        let expected = Ok(Settled {
            cuda: device,
            reason: None,
        });
        self.case
            .require("result", self.result == expected, format!("{:?}", self.result))?;
        self.case.close("devices opened", &self.asked, &asked.to_vec())
    }

    fn fails(&self, words: &[&str]) -> Verdict {
        let holds = |e: &String| words.iter().all(|w| e.contains(w));
        let right = self.result.as_ref().is_err_and(holds);
        self.case.require(
            &format!("error with {}", words.join(" and ")),
            right,
            format!("{:?}", self.result),
        )
    }
}

pub fn returns_the_cpu_without_opening_a_gpu(answer: &Lesson04) -> Verdict {
    choose(answer, "cpu", 2, "busy").is(None, &[])
}

pub fn opens_the_named_device(answer: &Lesson04) -> Verdict {
    let n = draw().whole(10, 15);
    for (name, n) in [
        ("cuda".to_owned(), 0),
        (format!("cuda:{n}"), n),
        ("cuda:3".into(), 3),
    ] {
        choose(answer, &name, 16, "no such device").is(Some(n), &[n])?;
    }
    Ok(())
}

pub fn auto_takes_the_first_gpu(answer: &Lesson04) -> Verdict {
    choose(answer, "auto", 4, "no such device").is(Some(0), &[0])
}

pub fn auto_falls_back_with_a_reason(answer: &Lesson04) -> Verdict {
    let words = format!("driver {} is too old", draw().whole(400, 500));
    let chosen = choose(answer, "auto", 0, &words);
    let fits = |s: &Settled| s.cuda.is_none() && s.reason.as_ref().is_some_and(|r| r.contains(&words));
    chosen.case.require(
        "the CPU, with the reason",
        chosen.result.as_ref().is_ok_and(fits),
        format!("{:?}", chosen.result),
    )?;
    chosen.case.close("devices opened", &chosen.asked, &vec![0usize])
}

pub fn never_falls_back_from_a_named_device(answer: &Lesson04) -> Verdict {
    let words = format!("only {} MiB free", draw().whole(10, 99));
    choose(answer, "cuda:2", 2, &words).fails(&["cuda:2", &words])?;
    choose(answer, "cuda", 0, &words).fails(&["cuda:0", &words])
}

pub fn rejects_unknown_names(answer: &Lesson04) -> Verdict {
    for name in [
        "gpu",
        "",
        "CPU",
        "cuda:",
        "cuda:x",
        "cuda:-1",
        "cuda:+1",
        "cuda: 1",
        "cuda1",
        // More digits than a usize can have.
        "cuda:99999999999999999999",
    ] {
        let chosen = choose(answer, name, 4, "no such device");
        chosen.fails(&[&format!("'{name}'")[1..=name.len()], "auto", "cpu", "cuda:N"])?;
        chosen
            .case
            .close("devices opened", &chosen.asked, &Vec::<usize>::new())?;
    }
    Ok(())
}
