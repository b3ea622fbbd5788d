//! The ranks of a run as processes: how rank 0 gathers them, and what each of the others does.

use std::{
    fmt::Write as _,
    net::TcpListener,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};

use super::{
    ending::{GRACE, Reports},
    follow::Follower,
};
use crate::{
    parallel::{
        Algorithm, Rank,
        sockets::{Mesh, Pass, Watch, host, join},
    },
    train::{Outcome, Trainer},
};

/// Called again and again while the others are waited for; an error ends the waiting.
pub type Going = Box<dyn FnMut() -> Result<()> + Send>;

/// Where the ranks of a run are.
#[derive(Default)]
pub enum Others {
    /// In this process, a thread each; they are started when the run is.
    #[default]
    Threads,
    /// In processes of their own, which come to rank 0.
    Processes(Host),
}

/// Where rank 0 waits for the other processes.
pub struct Host {
    /// Where they come to.
    pub listener: TcpListener,
    /// What all ranks of the job know.
    pub token: String,
    /// Whether they may still come.
    pub going: Going,
}

/// A rank that is not rank 0, in a process of its own.
#[derive(Debug)]
pub struct Guest {
    /// Its number.
    pub rank: usize,
    /// Where rank 0 waits.
    pub address: String,
    /// What all ranks of the job know.
    pub token: String,
}

/// How a guest's run came to its end.
#[derive(Debug)]
pub enum Followed {
    /// As all did.
    Well(Outcome),
    /// Not well, and rank 0 tells of it.
    Told,
    /// Not well, and rank 0 tells nothing any more.
    Untold(anyhow::Error),
}

/// Settings in which ranks may differ: they change where and how fast a rank works, not what.
const OWN: [&str; 6] = [
    "data",
    "device",
    "workers",
    "prefetch",
    "checkpoint-seconds",
    "votes",
];

/// Both groups of links of a rank.
pub(super) struct Links {
    pub control: Rank,
    pub gradients: Rank,
    pub reports: Reports,
}

impl Host {
    /// Waits for all others of `trainer`'s run.
    pub(super) fn gather(&mut self, trainer: &Trainer) -> Result<Links> {
        let pass = pass(trainer, 0, &self.token)?;
        let mut watch = Watch {
            going: &mut self.going,
            turned_away: &mut |who| eprintln!("note: {who}"),
        };
        links(host(&self.listener, &pass, &mut watch)?, trainer, 0)
    }
}

/// Follows rank 0 as rank `guest.rank` to the end of `trainer`'s run; `stop` asks all ranks to stop.
///
/// # Errors
/// Rank 0 is not there, or does not take this rank.
pub fn follow(trainer: Trainer, guest: &Guest, stop: &AtomicBool) -> Result<Followed> {
    let rank = guest.rank;
    let pass = pass(&trainer, rank, &guest.token)?;
    let mesh = join(&guest.address, &pass)?;
    let links = links(mesh, &trainer, rank)?;
    let reports = links.reports;
    let follower = Follower::new(&trainer, rank, reports.clone())?;
    drop(trainer);
    let error = match follower.run(links.control, links.gradients, stop) {
        Ok(outcome) => return Ok(Followed::Well(outcome)),
        Err(error) => error,
    };
    // Whoever started the ranks may end them all as soon as one has ended badly: rank 0 is to tell why before.
    reports.wait(GRACE, true);
    if reports.rank_0_has_told() {
        return Ok(Followed::Told);
    }
    Ok(Followed::Untold(reports.fault().unwrap_or(error)))
}

fn links(mut mesh: Mesh, trainer: &Trainer, rank: usize) -> Result<Links> {
    let deadline = Duration::from_secs_f64(trainer.config.rank_deadline);
    let reports = Reports::new(trainer.config.ranks);
    let ring = Algorithm::Ring.function();
    let (control, farewell) = mesh.rank(0, &ring, deadline, Some(Arc::new(reports.of_others(rank))))?;
    reports.say_farewell_by(farewell);
    let (gradients, _) = mesh.rank(1, &trainer.pieces.all_reduce, deadline, None)?;
    Ok(Links {
        control,
        gradients,
        reports,
    })
}

fn pass(trainer: &Trainer, rank: usize, token: &str) -> Result<Pass> {
    Ok(Pass {
        rank,
        world_size: trainer.config.ranks,
        token: token.to_owned(),
        groups: 2,
        agreed: agreed(trainer)?,
        // Data may be read much faster on one node than on another.
        patience: Duration::from_secs_f64((5.0 * trainer.config.rank_deadline).max(60.0)),
    })
}

/// What must be the same on all ranks: the program, the settings, the data, and where the run stands.
fn agreed(trainer: &Trainer) -> Result<Vec<(String, String)>> {
    let settings = toml::Table::try_from(&trainer.config).context("the settings cannot be written down")?;
    let settings = settings
        .into_iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()));
    let mut all = vec![(
        "canopy's version".to_owned(),
        env!("CARGO_PKG_VERSION").to_owned(),
    )];
    all.extend(settings.map(|(name, value)| (name, value.to_string())));
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("the digest of the data", trainer.data.digest.clone());
    let mut records = String::new();
    for record in &trainer.split.train {
        write!(records, "{record} ")?;
    }
    let clouds = trainer.split.train.len();
    add(
        "the list of training clouds",
        format!("{clouds} with digest {:08x}", crc32fast::hash(records.as_bytes())),
    );
    let at = &trainer.progress;
    add(
        "where the run stands",
        format!("epoch {}, batch {}, step {}", at.epoch, at.batch, at.step),
    );
    Ok(all)
}
