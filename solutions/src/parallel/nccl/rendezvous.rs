//! How the ranks of a job without MPI meet: notes in a folder on the shared file system.
//!
//! Each rank writes a note with a number of its own, drawn at random. When rank 0 has read all of them, it writes a note with
//! NCCL's id that repeats the numbers. A rank accepts it if its own number is in it, and removes its own note. So a note that
//! an earlier start of the job left is never taken for one of this start, whatever the clocks of the nodes say. Every note is
//! written under another name and renamed.

use std::{
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io::ErrorKind,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{cards, library::Id};
use crate::parallel::Place;

/// The pause between two looks at the folder.
const PAUSE: Duration = Duration::from_millis(20);

/// Where and for how long a rank waits for the others.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// A folder that all ranks see.
    pub folder: PathBuf,
    /// The job's name, the same on all ranks and different for each job.
    pub job: String,
    pub rank: usize,
    pub world_size: usize,
    pub deadline: Duration,
}

#[derive(Serialize, Deserialize)]
struct Arrival {
    job: String,
    world_size: usize,
    number: u64,
    card: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    job: String,
    world_size: usize,
    /// Those of the arrivals, in the order of the ranks.
    numbers: Vec<u64>,
    /// None if no rank has a GPU.
    id: Option<Vec<u8>>,
    /// Why the ranks cannot use NCCL.
    refused: Option<String>,
}

/// Returns a name for the job that started this process: the same on all its ranks, and another one for each job.
///
/// # Errors
/// Returns an error if the launcher sets no variable that names the job.
pub fn job_name(place: &Place, variable: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    if place.world_size == 1 {
        return Ok("alone".into());
    }
    // The first one must be set.
    let names: &[&str] = match place.launcher {
        "Slurm" => &["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"],
        "torchrun" => &["MASTER_PORT", "MASTER_ADDR", "TORCHELASTIC_RUN_ID"],
        _ => &["PMIX_NAMESPACE"],
    };
    let own = variable("CANOPY_JOB").map(|name| vec![name]);
    let named = || variable(names[0]).map(|_| names.iter().filter_map(|name| variable(name)).collect());
    let Some(words): Option<Vec<String>> = own.or_else(named) else {
        bail!(
            "{} does not set {}, which would name this job: set CANOPY_JOB to the same text on all ranks, and another one for \
             each job",
            place.launcher,
            names[0]
        );
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    Ok(words.join("-").chars().map(plain).take(100).collect())
}

impl Rendezvous {
    /// Meets the other ranks. `card` is this rank's GPU; rank 0 calls `create` if every rank has one. Returns None if no rank
    /// has one.
    ///
    /// # Errors
    /// Returns an error if a rank does not come within the deadline, if the ranks cannot use NCCL, or if the folder cannot be
    /// used.
    pub fn meet(&self, card: Option<&str>, create: impl FnOnce() -> Result<Id>) -> Result<Option<Id>> {
        let number = RandomState::new().build_hasher().finish();
        let arrival = Arrival {
            job: self.job.clone(),
            world_size: self.world_size,
            number,
            card: card.map(str::to_owned),
        };
        let began = Instant::now();
        // Rank 0 creates the folder of the run.
        while !self.folder.is_dir() {
            if began.elapsed() >= self.deadline {
                bail!(
                    "rank {}: there is no folder {} after {:.1} s: rank 0 creates it, and all ranks must see it",
                    self.rank,
                    self.folder.display(),
                    self.deadline.as_secs_f64()
                );
            }
            thread::sleep(PAUSE);
        }
        write(&self.arrival(self.rank), &arrival)?;
        let met = if self.rank == 0 {
            self.lead(began, create)
        } else {
            self.follow(began, number)
        };
        let _ = fs::remove_file(self.arrival(self.rank));
        met
    }

    fn arrival(&self, rank: usize) -> PathBuf {
        self.folder.join(format!(".nccl-{}-rank-{rank}", self.job))
    }

    fn answer(&self) -> PathBuf {
        self.folder.join(format!(".nccl-{}-id", self.job))
    }

    /// Rank 0: answers, and waits until all ranks have accepted the answer.
    fn lead(&self, began: Instant, create: impl FnOnce() -> Result<Id>) -> Result<Option<Id>> {
        let mut create = Some(create);
        let mut answer: Option<Answer> = None;
        loop {
            let read = |rank| self.read::<Arrival>(&self.arrival(rank), |a| (&a.job, a.world_size));
            let notes: Vec<_> = (0..self.world_size).map(read).collect();
            if let Some(answer) = &mut answer {
                // A rank that comes only now had a note of an earlier start in its place.
                let mut changed = false;
                for (number, arrival) in answer.numbers.iter_mut().zip(&notes) {
                    if let Ok(arrival) = arrival {
                        changed |= *number != arrival.number;
                        *number = arrival.number;
                    }
                }
                if changed {
                    write(&self.answer(), answer)?;
                }
                if notes.iter().skip(1).all(|note| matches!(note, Err(None))) {
                    let _ = fs::remove_file(self.answer());
                    return result(answer);
                }
            } else if let Some(arrivals) = notes
                .iter()
                .map(|note| note.as_ref().ok())
                .collect::<Option<Vec<_>>>()
                && let Some(create) = create.take()
            {
                let first = self.first_answer(&arrivals, create);
                write(&self.answer(), &first)?;
                answer = Some(first);
            }
            if began.elapsed() >= self.deadline {
                let _ = fs::remove_file(self.answer());
                return Err(self.too_late(missing(&notes, answer.is_some())));
            }
            thread::sleep(PAUSE);
        }
    }

    /// What rank 0 answers when all have come.
    fn first_answer(&self, arrivals: &[&Arrival], create: impl FnOnce() -> Result<Id>) -> Answer {
        let cards: Vec<_> = arrivals.iter().map(|a| a.card.clone()).collect();
        let (id, refused) = match cards::agree(&cards) {
            Ok(true) => match create() {
                Ok(id) => (Some(id), None),
                Err(error) => (None, Some(format!("rank 0: {error:#}"))),
            },
            Ok(false) => (None, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        Answer {
            job: self.job.clone(),
            world_size: self.world_size,
            numbers: arrivals.iter().map(|a| a.number).collect(),
            id: id.map(|id| id.0.to_vec()),
            refused,
        }
    }

    /// Other ranks: wait for an answer to this rank's number.
    fn follow(&self, began: Instant, number: u64) -> Result<Option<Id>> {
        loop {
            let problem = match self.read::<Answer>(&self.answer(), |a| (&a.job, a.world_size)) {
                Ok(answer) if answer.numbers.get(self.rank) == Some(&number) => return result(&answer),
                Ok(_) => format!("{} is of an earlier start of the job", self.answer().display()),
                Err(None) => "rank 0 has not answered".into(),
                Err(Some(why)) => why,
            };
            if began.elapsed() >= self.deadline {
                return Err(self.too_late(problem));
            }
            thread::sleep(PAUSE);
        }
    }

    fn too_late(&self, problem: String) -> anyhow::Error {
        anyhow::anyhow!(
            "rank {} of {} has waited {:.1} s for the other ranks of job {} in {}: {problem}. All ranks must see this folder, on \
             a file system that they share",
            self.rank,
            self.world_size,
            self.deadline.as_secs_f64(),
            self.job,
            self.folder.display()
        )
    }

    /// Reads a note of this job; `Err(None)` if there is none.
    fn read<N: DeserializeOwned>(
        &self,
        path: &Path,
        of: impl Fn(&N) -> (&String, usize),
    ) -> Result<N, Option<String>> {
        let name = path.display();
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(None),
            Err(error) => return Err(Some(format!("{name} cannot be read: {error}"))),
        };
        let note: N = serde_json::from_slice(&bytes)
            .map_err(|error| Some(format!("{name} is truncated or no note of a rank: {error}")))?;
        let (job, world_size) = of(&note);
        if (job, world_size) != (&self.job, self.world_size) {
            return Err(Some(format!(
                "{name} is of job {job} with {world_size} ranks, expected job {} with {}",
                self.job, self.world_size
            )));
        }
        Ok(note)
    }
}

/// The first rank that rank 0 waits for, before or after its answer.
fn missing(notes: &[Result<Arrival, Option<String>>], answered: bool) -> String {
    let others = notes.iter().enumerate().skip(1);
    let mut missing = others.filter_map(|(rank, note)| match note {
        Ok(_) => answered.then(|| format!("rank {rank} has not accepted the id")),
        Err(None) => (!answered).then(|| format!("rank {rank} has not come")),
        Err(Some(why)) => Some(format!("rank {rank}: {why}")),
    });
    missing.next().unwrap_or_default()
}

/// What an answer says.
fn result(answer: &Answer) -> Result<Option<Id>> {
    if let Some(refused) = &answer.refused {
        bail!("{refused}");
    }
    let Some(id) = &answer.id else {
        return Ok(None);
    };
    let id = <[u8; 128]>::try_from(&id[..]).ok();
    Ok(Some(Id(id.context(
        "NCCL's id in the note of rank 0 has another length than 128 bytes",
    )?)))
}

/// Writes a note under another name and renames it, so that nobody reads a part of it.
fn write(path: &Path, note: &impl Serialize) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let written = fs::write(&part, serde_json::to_vec(note)?).and_then(|()| fs::rename(&part, path));
    written.with_context(|| {
        format!(
            "the ranks meet in the folder of the run, but {} cannot be written: choose another folder with --out",
            path.display()
        )
    })
}

#[cfg(test)]
#[path = "rendezvous_tests.rs"]
mod tests;
