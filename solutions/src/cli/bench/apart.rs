//! The parts of `canopy bench parallel` that ranks take which are processes: rank 0 measures, and starts for each work the
//! others, which do the same as it does.

use std::{env, path::Path, sync::atomic::AtomicBool, time::Duration};

use anyhow::{Context, Result, bail};
use canopy_data::Dataset;

use crate::{
    cli::processes::{Children, Company, end_with_parent},
    parallel::{
        Algorithm, Rank,
        measure::{all_reduce_among, messages_between},
        sockets::{Mesh, Pass, Watch, host, join},
    },
    train::{
        Config, RunFolder,
        ranks::{
            measure::{ShortRun, short_trainer},
            processes::{Followed, Guest, Others, follow},
        },
    },
};

/// The variable that says what a process is started for.
const WORK: &str = "CANOPY_BENCH_WORK";

/// Ranks that do nothing else answer well before this.
const DEADLINE: Duration = Duration::from_secs(30);

const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("ring", Algorithm::Ring),
    ("tree", Algorithm::Tree),
    ("naive", Algorithm::Naive),
];

/// What a short run is of: settings, data, records.
pub type Short = (Config, Dataset, Vec<usize>);

/// What a process that is not rank 0 was started for.
pub struct Work {
    words: String,
    guest: Guest,
}

impl Work {
    /// None in rank 0.
    ///
    /// # Errors
    /// An environment that contradicts itself.
    pub fn of_this_process() -> Result<Option<Self>> {
        let Ok(words) = env::var(WORK) else {
            return Ok(None);
        };
        let guest = Company::find(true, None)?.guest();
        let guest = guest.with_context(|| format!("{WORK} is set, and this is no rank of a job"))?;
        Ok(Some(Self { words, guest }))
    }

    /// Does it, to its end; `short` gives a short run of so many ranks and so large a batch.
    ///
    /// # Errors
    /// The ranks' or the trainer's.
    pub fn take_part(&self, short: &dyn Fn(usize, usize) -> Result<Short>) -> Result<()> {
        let Self { words, guest } = self;
        end_with_parent(guest.rank);
        let parts: Vec<&str> = words.split(' ').collect();
        let number = |i: usize| -> Result<usize> {
            let part = parts.get(i).and_then(|part| part.parse().ok());
            part.with_context(|| format!("{WORK} is '{words}'"))
        };
        if parts[0] == "steps" {
            let (config, data, records) = short(number(1)?, number(2)?)?;
            let trainer = short_trainer(&config, &data, &records, RunFolder::of_another(Path::new("")))?;
            return match follow(trainer, guest, &AtomicBool::new(false))? {
                Followed::Untold(error) => Err(error),
                Followed::Well(_) => Ok(()),
                Followed::Told => bail!("the ranks did not come to their end"),
            };
        }
        let (ranks, repeats) = (number(1)?, number(2)?);
        let mut mesh = join(&guest.address, &pass(guest.rank, ranks, &guest.token, words))?;
        if parts[0] == "messages" {
            let sizes = (3..parts.len()).map(number).collect::<Result<Vec<_>>>()?;
            return with_end(&mut mesh, Algorithm::Ring, |rank| {
                messages_between(rank, &sizes, repeats).map(drop)
            });
        }
        let algorithm = ALGORITHMS.iter().find(|(name, _)| *name == parts[0]);
        let (_, algorithm) = algorithm.with_context(|| format!("{WORK} is '{words}'"))?;
        let numbers = number(3)?;
        with_end(&mut mesh, *algorithm, |rank| {
            all_reduce_among(rank, numbers, repeats).map(drop)
        })
    }
}

/// A short run on `ranks` processes: `run`, on rank 0.
///
/// # Errors
/// The system's, where it gives no process; the run's.
pub fn steps(ranks: usize, batch: usize, run: impl FnOnce(Others) -> Result<ShortRun>) -> Result<ShortRun> {
    let words = format!("steps {ranks} {batch}");
    let (host, children) = Children::start(ranks, &[(WORK, &words)])?;
    let result = run(Others::Processes(host));
    children.end();
    result
}

/// As [`crate::parallel::measure::messages`], between processes.
///
/// # Errors
/// The system's, where it gives no process; the link's.
pub fn messages(sizes: &[usize], repeats: usize) -> Result<Vec<(f64, f64)>> {
    let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let words = format!("messages 2 {repeats} {}", list.join(" "));
    on_processes(2, &words, Algorithm::Ring, |rank| {
        messages_between(rank, sizes, repeats)
    })
}

/// As [`crate::parallel::measure::all_reduce_seconds`], of processes and as rank 0 sees it.
///
/// # Errors
/// The system's, where it gives no process; the link's.
pub fn all_reduce_seconds(ranks: usize, numbers: usize, which: Algorithm, repeats: usize) -> Result<f64> {
    let name = ALGORITHMS.iter().find(|(_, algorithm)| *algorithm == which);
    let name = name.map_or("ring", |(name, _)| *name);
    let words = format!("{name} {ranks} {repeats} {numbers}");
    on_processes(ranks, &words, which, |rank| {
        all_reduce_among(rank, numbers, repeats)
    })
}

fn on_processes<T>(
    ranks: usize,
    words: &str,
    algorithm: Algorithm,
    work: impl FnOnce(&Rank) -> Result<T>,
) -> Result<T> {
    let (mut place, children) = Children::start(ranks, &[(WORK, words)])?;
    let mut watch = Watch {
        going: &mut place.going,
        turned_away: &mut |who| eprintln!("note: {who}"),
    };
    let mesh = host(&place.listener, &pass(0, ranks, &place.token, words), &mut watch);
    let result = mesh.and_then(|mut mesh| with_end(&mut mesh, algorithm, work));
    children.end();
    result
}

fn pass(rank: usize, ranks: usize, token: &str, words: &str) -> Pass {
    Pass {
        rank,
        world_size: ranks,
        token: token.to_owned(),
        groups: 1,
        agreed: vec![("work".into(), words.to_owned())],
        patience: 2 * DEADLINE,
    }
}

/// Does `work`, and leaves when all that was sent is on its way: the process may end then.
fn with_end<T>(mesh: &mut Mesh, algorithm: Algorithm, work: impl FnOnce(&Rank) -> Result<T>) -> Result<T> {
    let (rank, farewell) = mesh.rank(0, &algorithm.function(), DEADLINE, None)?;
    let result = work(&rank);
    drop(rank);
    farewell.say("done", DEADLINE);
    result
}
