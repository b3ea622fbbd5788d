//! Launches on the emulated grid: compiles each text once, and turns what a kernel did wrong into a finding.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use grader::{Case, Finding, Values, Verdict, Wrong, compiling, given, not_run};
use grid::{Access, Arg, Buffer, Element, Error, Fault, Kind, Memory, Mode, Module, Place, Source, Trace};

type Compiled = Arc<OnceLock<Result<Module, Error>>>;

/// Compiles the text of a kernel, if no check has done so before.
pub fn compiled(name: &str, text: String) -> Compiled {
    static MODULES: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let module = modules.entry(text.clone()).or_default().clone();
    drop(modules);
    module.get_or_init(|| Source::text(&path(name), text).compile());
    module
}

/// The file in which a student writes a kernel.
fn path(name: &str) -> String {
    format!("exercises/lesson11/src/{name}.cu")
}

/// What is left to do in a text: `11.1: the index of this thread, …`.
fn to_do(text: &str) -> Option<&str> {
    let mut left = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("// TODO "));
    left.find(|what| what.starts_with("11."))
}

/// Blocks along x and y, threads along x and y, bytes of dynamic shared memory of a block.
pub struct Size(pub [usize; 2], pub [usize; 2], pub usize);

/// A kernel with its input and memory, on which every launch is traced.
pub struct Kernel {
    name: &'static str,
    text: String,
    input: String,
    case: Case,
    pub memory: Memory,
}

impl Kernel {
    /// `scale` is the size of the numbers of which a result is the sum, or 0.
    pub fn new(name: &'static str, text: String, input: String, scale: f64) -> Self {
        let (case, mut memory) = (given(&*input).at_scale(scale), Memory::new());
        memory.trace();
        Self {
            name,
            text,
            input,
            case,
            memory,
        }
    }

    /// A buffer of `len` NaNs: what is not written is seen.
    pub fn output(&mut self, len: usize) -> Buffer<f32> {
        self.memory.upload(&vec![f32::NAN; len])
    }

    /// Runs the kernel once.
    pub fn launch(&mut self, Size(grid, block, shared): Size, arguments: &[Arg]) -> Result<Trace, Finding> {
        if let Some(what) = to_do(&self.text) {
            panic!("not yet implemented: {what}");
        }
        let compiled = compiling(|| compiled(self.name, self.text.clone()));
        let module = match compiled.get() {
            Some(Ok(module)) => module,
            Some(Err(Error::Wrong(why))) => return Err(self.rejected(why)),
            Some(Err(Error::NotRun(why))) => not_run(why),
            None => not_run("the kernel was not compiled"),
        };
        // canopy's own kernels have the dtype in their names.
        let names = [self.name.to_owned(), format!("{}_f32", self.name)];
        let name = module.kernels().find(|name| names.iter().any(|n| n == name));
        let [grid, block] = [grid, block].map(|[x, y]| (x as u32, y as u32));
        let launched = module.launch(
            name.unwrap_or(self.name),
            grid,
            block,
            shared,
            &mut self.memory,
            arguments,
        );
        launched
            .map(|launched| launched.trace)
            .map_err(|fault| self.fault(&fault))
    }

    /// Tests the content of a buffer.
    pub fn close<T: Element + Into<f64>>(
        &self,
        what: &str,
        got: Buffer<T>,
        (shape, dtype): (&[usize], &'static str),
        expected: Vec<f64>,
    ) -> Verdict {
        let got = self.memory.download(got).into_iter().map(Into::into).collect();
        let [got, expected] = [got, expected].map(|numbers| Values::tensor(numbers, shape, dtype));
        self.case.close(what, got, expected)
    }

    /// Tests that the accesses of `buffer` are coalesced.
    pub fn coalesced(&self, name: &str, trace: &Trace, buffer: Buffer<f32>) -> Verdict {
        let traffic = trace.traffic(buffer);
        let unit = format!("sectors in {} accesses of a warp", traffic.requests);
        let counts = [traffic.fewest, traffic.sectors];
        self.count(
            &format!("sectors of `{name}`"),
            &unit,
            counts,
            trace,
            traffic.worst,
        )
    }

    /// Tests that shared memory is free of bank conflicts.
    pub fn free_of_conflicts(&self, trace: &Trace) -> Verdict {
        let conflicts = trace.conflicts();
        let unit = format!("passes for {} accesses of a warp", conflicts.requests);
        let counts = [conflicts.requests, conflicts.passes];
        self.count("bank conflicts", &unit, counts, trace, conflicts.worst)
    }

    /// Tests that a count is at most what is allowed. `worst` is an access of `trace` beyond that.
    pub fn count(
        &self,
        what: &str,
        unit: &str,
        [most, got]: [u64; 2],
        trace: &Trace,
        worst: Option<usize>,
    ) -> Verdict {
        if got <= most {
            return Ok(());
        }
        let lines = [
            format!("at most   {most} {unit}"),
            format!("got       {got} {unit}"),
        ];
        let mut wrong = self.wrong(what, lines, trace, worst);
        // Per mille of what is allowed: another way to write it may access more often.
        wrong.got = Some((got * 1000 / most.max(1)).into());
        let line = worst.map(|at| trace.accesses[at].line);
        wrong.at = line.map(|line| format!("{}:{line}", path(self.name)));
        Err(wrong)
    }

    fn wrong(
        &self,
        what: &str,
        lines: impl IntoIterator<Item = String>,
        trace: &Trace,
        at: Option<usize>,
    ) -> Finding {
        let picture = at.map(|at| trace.picture(at)).unwrap_or_default();
        let picture = picture.into_iter().map(|line| format!("          {line}"));
        Box::new(Wrong {
            input: self.input.clone(),
            what: what.into(),
            lines: lines.into_iter().chain(picture).collect(),
            page: at.map(|at| trace.page(&format!("{}.cu: {what}, {}", self.name, self.input), at)),
            ..Wrong::default()
        })
    }

    fn fault(&self, fault: &Fault) -> Finding {
        let (trace, at) = (&fault.trace, fault.trace.faulty);
        let mut lines = fault.message.lines();
        let mut shown = vec![format!("got       {}", lines.next().unwrap_or_default())];
        let number = fault
            .lines
            .first()
            .map(|line| format!("{}:{line}", path(self.name)));
        let mut place = None;
        for line in lines.filter_map(|line| line.strip_prefix("  ")) {
            match (line.strip_prefix("at "), line.strip_prefix("and ")) {
                (Some(at), _) => place = Some(at.to_owned()),
                (_, Some(other)) if place.as_deref() == Some(other) => {}
                (_, Some(other)) => shown.push(format!("and       {other}")),
                _ => shown.push(format!("          {line}")),
            }
        }
        let mut wrong = self.wrong("accesses of the launch", shown, trace, at);
        wrong.at = place.or(number);
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
            let is_sum = self.name == "block_sum" && access.mode == Mode::Read && access.offset == 0;
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
        let mut wrong = self.wrong(
            "the compiler's verdict",
            [format!("got       {text}")],
            &Trace::default(),
            None,
        );
        let line = place.split(':').nth(1);
        wrong.at = line.map(|line| format!("{}:{line}", path(self.name)));
        wrong.cause = Some("The kernel does not compile: the first error is above, with its line.");
        wrong
    }
}

/// The most accesses of one thread that `counts` selects, and the last of them.
pub fn most_of_a_thread(trace: &Trace, mut counts: impl FnMut(&Access) -> bool) -> (u64, Option<usize>) {
    let mut of_thread: HashMap<_, (u64, Option<usize>)> = HashMap::new();
    for (at, access) in trace
        .accesses
        .iter()
        .enumerate()
        .filter(|(_, access)| counts(access))
    {
        let (count, last) = of_thread.entry((access.block, access.thread)).or_default();
        (*count, *last) = (*count + 1, Some(at));
    }
    of_thread.into_values().max().unwrap_or_default()
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
