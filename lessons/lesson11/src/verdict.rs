//! Launches of the checks: what is compared, and what a kernel did wrong as a finding.

use std::{collections::HashMap, fmt::Display};

use grader::{Case, Finding, Values, Verdict, Wrong, compiling, given, not_run};
use grid::{Access, Error, Fault, Kind, Mode, Place};

use crate::launch::{Launch, Ran, compiled, path, to_do};

/// A launch of a check, with what it accessed and wrote.
pub struct Checked {
    kernel: &'static str,
    input: String,
    case: Case,
    pub ran: Ran,
}

impl Launch<'_> {
    /// Runs the kernel for a check. `scale` is the size of the numbers of which a result is the sum, or 0.
    pub fn check(&self, input: &str, scale: f64) -> Result<Checked, Finding> {
        let ((x, y), (i, j)) = (self.grid, self.block);
        let input = match j {
            1 => format!("{input}, grid {x}, block {i}"),
            _ => format!("{input}, grid ({x}, {y}), block ({i}, {j})"),
        };
        let case = given(&*input).at_scale(scale);
        if let Some(what) = to_do(&self.text) {
            panic!("not yet implemented: {what}");
        }
        let mut checked = Checked {
            kernel: self.kernel,
            input,
            case,
            ran: Ran::default(),
        };
        let module = match compiling(|| compiled(self.kernel, &self.text)) {
            Ok(module) => module,
            Err(Error::Wrong(why)) => return Err(checked.rejected(why)),
            Err(Error::NotRun(why)) => not_run(why),
        };
        match self.run(module) {
            Ok(ran) => Ok(Checked { ran, ..checked }),
            Err(mut fault) => {
                checked.ran.trace = std::mem::take(&mut fault.trace);
                Err(checked.fault(&fault))
            }
        }
    }
}

impl Checked {
    /// Tests the output of floats, or that of ints.
    pub fn close(&self, what: &str, dtype: &'static str, shape: &[usize], expected: Vec<f64>) -> Verdict {
        let got = match dtype {
            "f32" => self.ran.floats.iter().map(|&value| value.into()).collect(),
            _ => self.ran.ints.iter().map(|&value| value.into()).collect(),
        };
        let [got, expected] = [got, expected].map(|numbers| Values::tensor(numbers, shape, dtype));
        self.case.close(what, got, expected)
    }

    /// Tests that the accesses of buffer `index` are coalesced.
    pub fn coalesced(&self, name: &str, index: usize) -> Verdict {
        let traffic = self.ran.trace.traffic(Place::Buffer(index));
        let unit = format!("sectors in {} accesses of a warp", traffic.requests);
        let counts = [traffic.fewest, traffic.sectors];
        self.count(&format!("sectors of `{name}`"), &unit, counts, traffic.worst)
    }

    /// Tests that shared memory is free of bank conflicts.
    pub fn free_of_conflicts(&self) -> Verdict {
        let conflicts = self.ran.trace.conflicts();
        let unit = format!("passes for {} accesses of a warp", conflicts.requests);
        let counts = [conflicts.requests, conflicts.passes];
        self.count("bank conflicts", &unit, counts, conflicts.worst)
    }

    /// Tests that no thread has more than `most` accesses that `counts` selects.
    pub fn by_thread(&self, what: &str, most: u64, mut counts: impl FnMut(&Access) -> bool) -> Verdict {
        let mut of_thread: HashMap<_, (u64, Option<usize>)> = HashMap::new();
        for (at, access) in self.ran.trace.accesses.iter().enumerate() {
            if counts(access) {
                let (count, last) = of_thread.entry((access.block, access.thread)).or_default();
                (*count, *last) = (*count + 1, Some(at));
            }
        }
        let (got, last) = of_thread.into_values().max().unwrap_or_default();
        self.count(what, "by one thread", [most, got], last)
    }

    /// Tests that a count is at most what is allowed. `worst` is an access beyond that.
    pub fn count(&self, what: &str, unit: &str, [most, got]: [u64; 2], worst: Option<usize>) -> Verdict {
        if got <= most {
            return Ok(());
        }
        let lines = [("at most   ", most), ("got       ", got)];
        let lines = lines.map(|(word, count)| format!("{word}{count} {unit}"));
        let mut wrong = self.wrong(what, lines, worst);
        // Per mille of what is allowed: another way to write it may access more often.
        wrong.got = Some((got * 1000 / most.max(1)).into());
        wrong.at = worst.map(|at| self.place(self.ran.trace.accesses[at].line));
        Err(wrong)
    }

    /// The place of a line, as a student looks for it.
    fn place(&self, line: impl Display) -> String {
        format!("{}:{line}", path(self.kernel))
    }

    fn wrong(&self, what: &str, lines: impl IntoIterator<Item = String>, at: Option<usize>) -> Finding {
        let trace = &self.ran.trace;
        let picture = at.map(|at| trace.picture(at)).unwrap_or_default();
        let picture = picture.into_iter().map(|line| format!("          {line}"));
        Box::new(Wrong {
            input: self.input.clone(),
            what: what.into(),
            lines: lines.into_iter().chain(picture).collect(),
            page: at.map(|at| trace.page(&format!("{}.cu: {what}, {}", self.kernel, self.input), at)),
            ..Wrong::default()
        })
    }

    fn fault(&self, fault: &Fault) -> Finding {
        let (trace, at) = (&self.ran.trace, self.ran.trace.faulty);
        let mut lines = fault.message.lines();
        let mut shown = vec![format!("got       {}", lines.next().unwrap_or_default())];
        let mut place = None;
        for line in lines.filter_map(|line| line.strip_prefix("  ")) {
            match (line.strip_prefix("at "), line.strip_prefix("and ")) {
                (Some(at), _) => place = Some(at.to_owned()),
                (_, Some(other)) if place.as_deref() == Some(other) => {}
                (_, Some(other)) => shown.push(format!("and       {other}")),
                _ => shown.push(format!("          {line}")),
            }
        }
        let mut wrong = self.wrong("accesses of the launch", shown, at);
        wrong.at = place.or(fault.lines.first().map(|line| self.place(line)));
        wrong.cause = cause(fault.kind);
        // Names and layouts may differ from those of a known mistake.
        let access = at.map_or(vec![], |at| {
            let access = trace.accesses[at];
            let same = |a: &&Access| {
                (a.block, a.memory, a.offset) == (access.block, access.memory, access.offset)
                    && a.thread != access.thread
            };
            // Without a barrier in a loop, another thread is in a later turn.
            let other = trace.accesses[..at].iter().rfind(same);
            let is_ahead = other.is_some_and(|other| other.turn > access.turn);
            let is_sum = self.kernel == "block_sum" && access.mode == Mode::Read && access.offset == 0;
            let place = match access.memory {
                Place::Buffer(index) => [index as f64, access.offset as f64],
                Place::Shared(_) => [-1.0, is_sum.into()],
            };
            if fault.kind == Kind::Race && place[0] >= 0.0 {
                wrong.cause = Some("Several threads access one element of the result, and one of them writes: only one thread may.");
            } else if fault.kind == Kind::Race && is_sum && is_ahead {
                wrong.cause = Some("Several threads read the sum from shared memory: only thread 0 may, and only it writes the result.");
            }
            let numbers = [access.block, access.thread, is_ahead.into()].map(f64::from);
            [&place[..], &numbers].concat()
        });
        let signature = [vec![f64::from(fault.kind as u32)], access].concat();
        let shape = [signature.len()];
        wrong.got = Some(Values::tensor(signature, &shape, "integer"));
        wrong
    }

    /// What the compiler says: its first error.
    fn rejected(&self, why: &str) -> Finding {
        let error = why.lines().find_map(|line| line.split_once(" error: "));
        let (place, text) = error.unwrap_or(("", why.lines().last().unwrap_or_default()));
        let lines = [format!("got       {text}")];
        let mut wrong = self.wrong("the compiler's verdict", lines, None);
        wrong.at = place.split(':').nth(1).map(|line| self.place(line));
        wrong.cause = Some("The kernel does not compile: the first error is above, with its line.");
        wrong
    }
}

/// What usually is wrong if no known mistake has the same fault.
fn cause(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::OutOfBounds | Kind::Index => {
            "The index is beyond the end: is every access behind a guard, and is the index computed from the right sizes?"
        }
        Kind::ReadOnly => "The kernel writes to an input.",
        Kind::Uninitialised => {
            "Shared memory is read before a value was written there: is a barrier between the two, and does every element get \
             a value where the input ends?"
        }
        Kind::Race => {
            "Two threads access one element, one of them writes, and no barrier is between: is a barrier missing, do two \
             threads write one result, or does one read what the other one changes in the same step?"
        }
        Kind::Deadlock | Kind::DivergentBarrier => {
            "Every thread of a block must reach the same barrier: none may return before it or pass it by in a branch."
        }
        Kind::Endless => "A loop does not end: does its variable change, and is its condition right?",
        _ => return None,
    })
}
