//! Known wrong answers to exercise 4.1.

use super::*;

/// A choice of device with something turned.
macro_rules! choice {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.1", $caught_by, $cause, choose_device: |name, open| {
            chosen(name, open, Choice { $($turned)*, ..CHOICE })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    wrong!("4.1", returns_the_cpu_without_opening_a_gpu, "A CUDA device is opened although the CPU is named: that takes time, and memory of the GPU.",
    choose_device: |name, open| {
        let _ = open(0);
        chosen(name, &mut |_| Ok(()), CHOICE)
    }),
    wrong!("4.1", returns_the_cpu_without_opening_a_gpu, "The CPU has a reason; only the fallback of `auto` has one.",
    choose_device: |name, open| match name {
        "cpu" => Ok(Settled { cuda: None, reason: Some("chosen".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(opens_the_named_device, "The number after the colon is ignored.", number: |_| Some(0)),
    wrong!("4.1", opens_the_named_device, "The result has the number N, but another device was opened: call `open(N)`.",
        choose_device: |name, open| chosen(name, &mut |_| open(0), CHOICE)),
    wrong!("4.1", opens_the_named_device, "The named device is not opened: call `open(N)`.", choose_device: |name, open| match name {
        "auto" => chosen(name, open, CHOICE),
        _ => chosen(name, &mut |_| Ok(()), CHOICE),
    }),
    choice!(opens_the_named_device, "The number is refused by its count of digits: leading zeros are allowed, only its value must fit a usize.",
        number: |digits| (CHOICE.number)(digits).filter(|_| digits.len() < 20)),
    wrong!("4.1", opens_the_named_device, "`cuda` alone is an error; it means device 0.", choose_device: |name, open| match name {
        "cuda" => Err((CHOICE.unknown)(name)),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(opens_the_named_device, "Leading zeros are refused: `cuda:007` consists of digits, too.",
        number: |digits| (CHOICE.number)(digits).filter(|_| digits.len() < 2 || !digits.starts_with('0'))),
    choice!(opens_the_named_device, "Only the first digit of the number is used.",
        number: |digits| digits[..1].parse().ok().filter(|_| (CHOICE.number)(digits).is_some())),
    wrong!("4.1", auto_takes_the_first_gpu, "`auto` always returns the CPU, which is only the fallback.",
    choose_device: |name, open| match name {
        "auto" => Ok(Settled { cuda: None, reason: Some("auto".into()) }),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_takes_the_first_gpu, "The device has a reason; only the fallback to the CPU has one.",
    choose_device: |name, open| match name {
        "auto" => chosen(name, open, CHOICE).map(|s| Settled { reason: Some("auto".into()), ..s }),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_takes_the_first_gpu, "`open` is called twice; keep the result of the first call.",
    choose_device: |name, open| match name {
        "auto" if open(0).is_err() => chosen("cpu", open, CHOICE),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", auto_falls_back_with_a_reason, "`open` is called a second time to learn the reason; keep the result of the first call.",
    choose_device: |name, open| {
        let mut last = Ok(());
        let mut asked = |n| { last = open(n); last.clone() };
        let choice = chosen(name, &mut asked, CHOICE);
        if name == "auto" && last.is_err() {
            let _ = open(0);
        }
        choice
    }),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` falls back with a reason of its own; `reason` is the text that `open` returned.",
    choose_device: |name, open| {
        let choice = chosen(name, open, CHOICE)?;
        Ok(Settled { reason: choice.reason.map(|_| "no CUDA device".into()), ..choice })
    }),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` tries further devices; it means device 0 or the CPU.",
    choose_device: |name, open| match name {
        "auto" => match (0..8).find(|&n| open(n).is_ok()) {
            Some(n) => Ok(Settled { cuda: Some(n), reason: None }),
            None => Ok(Settled { cuda: None, reason: Some("no device opens".into()) }),
        },
        _ => chosen(name, open, CHOICE),
    }),
    choice!(auto_falls_back_with_a_reason, "`auto` falls back without a reason: nobody learns why the run is slow.", tells: false),
    wrong!("4.1", auto_falls_back_with_a_reason, "`auto` fails if no CUDA device opens; it should be the CPU.",
        choose_device: |name, open| chosen(if name == "auto" { "cuda" } else { name }, open, CHOICE)),
    choice!(never_falls_back_from_a_named_device, "A named device falls back to the CPU: a user who named a GPU would not notice, and wait.",
        falls: true),
    choice!(never_falls_back_from_a_named_device, "The error does not contain the reason of `open`.", words: |n, _| format!("cuda:{n} does not open")),
    choice!(never_falls_back_from_a_named_device, "The error does not contain `cuda:N`.", words: |_, why| why.to_owned()),
    wrong!("4.1", never_falls_back_from_a_named_device, "The error contains the name as it was given; for `cuda` it must contain `cuda:0`.",
    choose_device: |name, open| match name {
        "cuda" => open(0).map(|()| Settled { cuda: Some(0), reason: None }).map_err(|why| format!("cuda does not open: {why}")),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(never_falls_back_from_a_named_device, "A number above 4294967295 is refused: it fits a usize.",
        number: |digits| (CHOICE.number)(digits).filter(|&n| u32::try_from(n).is_ok())),
    wrong!("4.1", rejects_unknown_names, "`trim_start_matches` also accepts a name without the prefix, or with two: use `strip_prefix`.",
    choose_device: |name, open| match name {
        "cpu" | "cuda" | "auto" => chosen(name, open, CHOICE),
        _ if name.ends_with(':') => chosen(name, open, CHOICE),
        _ => {
            let digits = name.trim_start_matches("cuda:");
            let known = (CHOICE.number)(digits).map(|_| format!("cuda:{digits}"));
            chosen(known.as_deref().unwrap_or(name), open, CHOICE)
        }
    }),
    choice!(rejects_unknown_names, "Spaces around N are trimmed: `cuda: 1` is no valid name.", number: |digits| (CHOICE.number)(digits.trim())),
    choice!(rejects_unknown_names, "A number that does not fit a usize wraps around; it is an unknown name. `parse` fails on it.",
        number: |digits| (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
            .then(|| digits.bytes().fold(0usize, |n, b| n.wrapping_mul(10).wrapping_add(usize::from(b - b'0'))))),
    wrong!("4.1", rejects_unknown_names, "For a number that does not fit a usize, the error is that of `parse`: it is an unknown name like any other.",
    choose_device: |name, open| match name.strip_prefix("cuda:").map(str::parse::<usize>) {
        Some(Err(why)) if name.ends_with(|c: char| c.is_ascii_digit()) && name[5..].bytes().all(|b| b.is_ascii_digit()) => Err(why.to_string()),
        _ => chosen(name, open, CHOICE),
    }),
    choice!(rejects_unknown_names, "`parse` accepts a sign as well: accept only digits.", number: |digits| digits.parse().ok()),
    choice!(rejects_unknown_names, "A text that is no number becomes device 0; it is an unknown name.", number: |digits| digits.parse().ok().or(Some(0))),
    choice!(rejects_unknown_names, "`parse` fails on a text that is no number, and `unwrap` panics: return the error of an unknown name.",
        number: |digits| Some(digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "`cuda:` has no digit, so it is an unknown name; `all` is true for an empty text.",
        number: |digits| if digits.is_empty() { Some(0) } else { (CHOICE.number)(digits) }),
    choice!(rejects_unknown_names, "`cuda:` has no digit: `all` is true for an empty text, and `parse` fails. It is an unknown name.",
        number: |digits| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "`is_numeric` is true for ½ as well, on which `parse` fails: use `is_ascii_digit`.",
        number: |digits| (!digits.is_empty() && digits.chars().all(char::is_numeric))
            .then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    wrong!("4.1", rejects_unknown_names, "A name without its colon, such as `cuda1`, is accepted: N follows `cuda:`.",
    choose_device: |name, open| match name.strip_prefix("cuda").map(|n| n.trim_start_matches(':')) {
        Some(digits) if !digits.is_empty() => chosen(&format!("cuda:{digits}"), open, CHOICE),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", rejects_unknown_names, "Only the text after the last colon is looked at; the name must begin with `cuda:`.",
    choose_device: |name, open| match name.rsplit_once(':') {
        Some((_, digits)) if !digits.is_empty() && (CHOICE.number)(digits).is_some() => chosen(&format!("cuda:{digits}"), open, CHOICE),
        _ => chosen(name, open, CHOICE),
    }),
    wrong!("4.1", rejects_unknown_names, "Names are lower case: `CPU` is no valid name.",
        choose_device: |name, open| chosen(&name.to_lowercase(), open, CHOICE)),
    wrong!("4.1", rejects_unknown_names, "Spaces are trimmed: ` cpu` is no valid name.",
        choose_device: |name, open| chosen(name.trim(), open, CHOICE)),
    choice!(rejects_unknown_names, "The error does not contain the name.", unknown: |_| "not one of auto, cpu, cuda or cuda:N".into()),
    wrong!("4.1", rejects_unknown_names, "An unknown name is treated as `auto`.", choose_device: |name, open| {
        let known = matches!(name, "auto" | "cpu" | "cuda")
            || name.strip_prefix("cuda:").is_some_and(|d| (CHOICE.number)(d).is_some());
        chosen(if known { name } else { "auto" }, open, CHOICE)
    }),
    choice!(rejects_unknown_names, "The number has too many digits: `parse` fails, and `unwrap` panics. Treat it like any other unknown name.",
        number: |digits| (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().expect("called `Result::unwrap()` on an `Err` value"))),
    choice!(rejects_unknown_names, "The error does not list the valid names.", unknown: |name| format!("no device {name}")),
    wrong!("4.1", rejects_unknown_names, "An unknown name is treated as the CPU.", choose_device: |name, open| {
        let known = matches!(name, "auto" | "cpu" | "cuda")
            || name.strip_prefix("cuda:").is_some_and(|d| (CHOICE.number)(d).is_some());
        chosen(if known { name } else { "cpu" }, open, CHOICE)
    }),
];
