//! The parts of `canopy bench parallel` that ranks take which are processes: rank 0 measures, and starts for each work the
//! others, which do the same as it does.

use std::{env, path::Path, sync::atomic::AtomicBool};

use anyhow::{Context, Result, bail};
use canopy_data::Dataset;
use serde::{Deserialize, Serialize};

use crate::{
    cli::processes::{Children, Company, end_with_parent},
    parallel::{
        Algorithm, Rank,
        measure::{DEADLINE, all_reduce_among, messages_between},
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

/// The variable that says what a process is started for: an [`Order`] as JSON.
const WORK: &str = "CANOPY_BENCH_WORK";

/// What rank 0 starts the others for.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// A short run.
    Steps { ranks: usize, batch: usize },
    /// Messages between two.
    Messages { sizes: Vec<usize>, repeats: usize },
    /// All-reduces of so many numbers.
    AllReduce {
        ranks: usize,
        numbers: usize,
        algorithm: Algorithm,
        repeats: usize,
    },
}

impl Order {
    fn words(&self) -> Result<String> {
        serde_json::to_string(self).context("an order for the other ranks cannot be written down")
    }
}

/// What a short run is of: settings, data, records.
pub type Short = (Config, Dataset, Vec<usize>);

/// What a process that is not rank 0 was started for.
pub struct Work {
    order: Order,
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
        let order = serde_json::from_str(&words).with_context(|| format!("{WORK} is '{words}'"))?;
        let guest = Company::find(true, None)?.guest();
        let guest = guest.with_context(|| format!("{WORK} is set, and this is no rank of a job"))?;
        Ok(Some(Self { order, guest }))
    }

    /// Does it, to its end; `short` gives a short run of so many ranks and so large a batch.
    ///
    /// # Errors
    /// The ranks' or the trainer's.
    pub fn take_part(&self, short: &dyn Fn(usize, usize) -> Result<Short>) -> Result<()> {
        let Self { order, guest } = self;
        end_with_parent(guest.rank);
        let mesh = |ranks| join(&guest.address, &pass(guest.rank, ranks, &guest.token, order)?);
        match order {
            Order::Steps { ranks, batch } => {
                let (config, data, records) = short(*ranks, *batch)?;
                let trainer = short_trainer(&config, &data, &records, RunFolder::of_another(Path::new("")))?;
                match follow(trainer, guest, &AtomicBool::new(false))? {
                    Followed::Untold(error) => Err(error),
                    Followed::Well(_) => Ok(()),
                    Followed::Told => bail!("the ranks did not come to their end"),
                }
            }
            Order::Messages { sizes, repeats } => with_end(&mut mesh(2)?, Algorithm::Ring, |rank| {
                messages_between(rank, sizes, *repeats).map(drop)
            }),
            Order::AllReduce {
                ranks,
                numbers,
                algorithm,
                repeats,
            } => with_end(&mut mesh(*ranks)?, *algorithm, |rank| {
                all_reduce_among(rank, *numbers, *repeats).map(drop)
            }),
        }
    }
}

/// A short run on `ranks` processes: `run`, on rank 0.
///
/// # Errors
/// The system's, where it gives no process; the run's.
pub fn steps(ranks: usize, batch: usize, run: impl FnOnce(Others) -> Result<ShortRun>) -> Result<ShortRun> {
    let words = Order::Steps { ranks, batch }.words()?;
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
    let order = Order::Messages {
        sizes: sizes.to_vec(),
        repeats,
    };
    on_processes(2, &order, Algorithm::Ring, |rank| {
        messages_between(rank, sizes, repeats)
    })
}

/// As [`crate::parallel::measure::all_reduce_seconds`], of processes and as rank 0 sees it.
///
/// # Errors
/// The system's, where it gives no process; the link's.
pub fn all_reduce_seconds(ranks: usize, numbers: usize, algorithm: Algorithm, repeats: usize) -> Result<f64> {
    let order = Order::AllReduce {
        ranks,
        numbers,
        algorithm,
        repeats,
    };
    on_processes(ranks, &order, algorithm, |rank| {
        all_reduce_among(rank, numbers, repeats)
    })
}

fn on_processes<T>(
    ranks: usize,
    order: &Order,
    algorithm: Algorithm,
    work: impl FnOnce(&Rank) -> Result<T>,
) -> Result<T> {
    let (mut place, children) = Children::start(ranks, &[(WORK, &order.words()?)])?;
    let mut watch = Watch {
        going: &mut place.going,
        turned_away: &mut |who| eprintln!("note: {who}"),
    };
    let mesh = host(&place.listener, &pass(0, ranks, &place.token, order)?, &mut watch);
    let result = mesh.and_then(|mut mesh| with_end(&mut mesh, algorithm, work));
    children.end();
    result
}

fn pass(rank: usize, ranks: usize, token: &str, order: &Order) -> Result<Pass> {
    Ok(Pass {
        rank,
        world_size: ranks,
        token: token.to_owned(),
        groups: 1,
        agreed: vec![("work".into(), order.words()?)],
        patience: 2 * DEADLINE,
    })
}

/// Does `work`, and leaves when all that was sent is on its way: the process may end then.
fn with_end<T>(mesh: &mut Mesh, algorithm: Algorithm, work: impl FnOnce(&Rank) -> Result<T>) -> Result<T> {
    let (rank, farewell) = mesh.rank(0, &algorithm.function(), DEADLINE, None)?;
    let result = work(&rank);
    drop(rank);
    farewell.say("done", DEADLINE);
    result
}
