//! Where the ranks of `canopy train` are: threads, processes that it starts, or processes that a launcher has started.

use std::{
    env,
    io::{copy, sink, stdin},
    net::{IpAddr, TcpListener},
    process::{Child, Command, Stdio, exit},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    parallel::{Place, device_for, meeting_place, place_from, threads_for, token},
    train::{
        Trainer,
        ranks::processes::{Guest, Host, Others},
    },
};

/// Set for the processes that this program starts, to the number of the one that did.
const STARTED_BY: &str = "CANOPY_STARTED_BY";

/// Ranks that end as they should need no longer; nor do those whose rank 0 has gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the ranks of this run are.
pub enum Company {
    /// In this process, as threads.
    Threads,
    /// In processes that this one starts.
    Starts,
    /// In processes that a launcher started; this is one of them.
    Joins(Joined),
}

/// One of a launcher's processes.
pub struct Joined {
    place: Place,
    address: String,
    token: String,
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

impl Company {
    /// What the environment says, and `--processes` and `--rendezvous`.
    ///
    /// # Errors
    /// An environment that contradicts itself, or does not tell where the ranks meet.
    pub fn find(processes: bool, rendezvous: Option<&str>) -> Result<Self> {
        let place = place_from(&variable)?;
        // The script of a batch job finds the variables of a task, and is none.
        let script = place.launcher == "Slurm" && variable("SLURM_STEP_ID").is_none();
        if script && place.world_size > 1 {
            let tasks = place.world_size;
            eprintln!(
                "note: this job has {tasks} tasks, and srun did not start this one: it joins no others"
            );
        }
        if script || place.world_size == 1 {
            ensure!(
                rendezvous.is_none(),
                "--rendezvous is where processes meet that srun, mpirun or torchrun started, and this one is alone"
            );
            return Ok(if processes { Self::Starts } else { Self::Threads });
        }
        let address = match rendezvous {
            Some(address) => address.to_owned(),
            None => meeting_place(&place, &variable)?,
        };
        Ok(Self::Joins(Joined {
            place,
            address,
            token: token(&variable),
        }))
    }

    /// The number of ranks of a new run, of which `given` were asked for, and by default there are `ranks`.
    ///
    /// # Errors
    /// Others than the launcher started.
    pub fn ranks(&self, given: Option<usize>, ranks: usize) -> Result<usize> {
        match (self, given) {
            (Self::Joins(joined), None) => Ok(joined.place.world_size),
            (Self::Joins(_), Some(given)) => self.held_to(given, "--ranks is").map(|()| given),
            _ => Ok(ranks),
        }
    }

    /// That a launcher's processes are as many as the `ranks` which `who` says.
    ///
    /// # Errors
    /// They are not.
    pub fn held_to(&self, ranks: usize, who: &str) -> Result<()> {
        if let Self::Joins(Joined { place, .. }) = self {
            let (world, launcher) = (place.world_size, place.launcher);
            ensure!(
                ranks == world,
                "{who} {ranks}, and {launcher} started {world} processes: they are the ranks, so start {ranks}, or leave \
                 --ranks out"
            );
        }
        Ok(())
    }

    /// The device that `asked` means for this rank: of a node with several GPUs, its own.
    ///
    /// # Errors
    /// Those of [`device_for`].
    pub fn device(&self, asked: &str) -> Result<String> {
        match self {
            Self::Joins(joined) if cfg!(feature = "cuda") && ["auto", "cuda"].contains(&asked) => {
                match device_for(&joined.place, gpus())? {
                    name if name == "cpu" => Ok(asked.to_owned()),
                    name => Ok(name),
                }
            }
            _ => Ok(asked.to_owned()),
        }
    }

    /// This process's number and meeting place, if it is not rank 0.
    pub fn guest(&self) -> Option<Guest> {
        match self {
            Self::Joins(Joined {
                place,
                address,
                token,
                ..
            }) if place.rank > 0 => Some(Guest {
                rank: place.rank,
                address: address.clone(),
                token: token.clone(),
            }),
            _ => None,
        }
    }

    /// Threads for the arithmetic of a rank that a launcher started.
    pub fn threads(&self) -> Option<usize> {
        match self {
            Self::Joins(joined) if variable(STARTED_BY).is_none() => {
                let all = rayon::current_num_threads();
                Some(threads_for(&joined.place, all, &variable))
            }
            _ => None,
        }
    }

    /// Tells `trainer`, rank 0's, where the others are; starts them if that is to be done here.
    ///
    /// # Errors
    /// The system's, where it gives no port or no process.
    pub fn gather(&self, trainer: &mut Trainer) -> Result<Children> {
        let ranks = trainer.config.ranks;
        match self {
            Self::Starts if ranks > 1 => {
                let (host, children) = Children::start(ranks, &[])?;
                trainer.others = Others::Processes(host);
                return Ok(children);
            }
            Self::Joins(joined) => {
                trainer.others = Others::Processes(Host {
                    listener: listen(&joined.address)?,
                    token: joined.token.clone(),
                    going: Box::new(|| Ok(())),
                });
            }
            _ => {}
        }
        Ok(Children::default())
    }
}

/// Within this machine only that is listened to; else whoever comes.
fn listen(address: &str) -> Result<TcpListener> {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let host = host.trim_matches(['[', ']']);
    let inner = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let port: u16 = port
        .parse()
        .with_context(|| format!("'{address}' is no ADDRESS:PORT"))?;
    let bound = match inner {
        true => TcpListener::bind((host, port)),
        false => TcpListener::bind(("0.0.0.0", port)),
    };
    bound.with_context(|| {
        format!(
            "rank 0 cannot wait for the others at {address}; --rendezvous ADDRESS:PORT names another place"
        )
    })
}

/// GPUs that this process sees.
fn gpus() -> usize {
    let there = nvml_wrapper::Nvml::init().and_then(|nvml| nvml.device_count());
    let there = there.map_or(0, |n| n as usize);
    match variable("CUDA_VISIBLE_DEVICES") {
        Some(list) => there.min(list.split(',').filter(|d| !d.trim().is_empty()).count()),
        None => there,
    }
}

/// The processes that rank 0 started: none outlives it.
#[derive(Clone, Default)]
pub struct Children(Arc<Mutex<Vec<(usize, Child)>>>);

impl Children {
    /// Starts this program `ranks` − 1 times more with its own arguments, and `more` in the environment; and where this one,
    /// rank 0, is to wait for them.
    ///
    /// # Errors
    /// The system's, where it gives no port or no process.
    pub fn start(ranks: usize, more: &[(&str, &str)]) -> Result<(Host, Self)> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port could be had for the ranks")?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).context("the system gives no random numbers")?;
        let token = format!("{:032x}", u128::from_le_bytes(bytes));
        let port = listener.local_addr()?.port();
        let children = Self::default();
        for rank in 1..ranks {
            children.start_one((rank, ranks), port, &token, more)?;
        }
        let watched = children.clone();
        let host = Host {
            listener,
            token,
            going: Box::new(move || watched.all_run()),
        };
        Ok((host, children))
    }

    fn start_one(
        &self,
        (rank, world): (usize, usize),
        port: u16,
        token: &str,
        more: &[(&str, &str)],
    ) -> Result<()> {
        let program = env::current_exe().context("this program cannot find itself")?;
        let number = rank.to_string();
        let world = world.to_string();
        let child = Command::new(program)
            .args(env::args_os().skip(1))
            .envs([("RANK", &number), ("LOCAL_RANK", &number)])
            .envs([("WORLD_SIZE", &world), ("LOCAL_WORLD_SIZE", &world)])
            .envs([("MASTER_ADDR", "127.0.0.1"), ("CANOPY_TOKEN", token)])
            .env("MASTER_PORT", port.to_string())
            .env(STARTED_BY, std::process::id().to_string())
            .envs(more.iter().copied())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE")
            // Never written to: it ends when this process does, however that ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("rank {rank} could not be started"))?;
        self.lock().push((rank, child));
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Child)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_run(&self) -> Result<()> {
        for (rank, child) in self.lock().iter_mut() {
            if let Some(status) = child.try_wait()? {
                bail!("rank {rank} ended before the run began: {status}");
            }
        }
        Ok(())
    }

    /// Waits for all to end, and ends those that do not; tells of those that a signal ended.
    pub fn end(&self) {
        let end = Instant::now() + PATIENCE;
        for (rank, mut child) in self.lock().drain(..) {
            let mut status = child.try_wait();
            while matches!(status, Ok(None)) && Instant::now() < end {
                thread::sleep(Duration::from_millis(10));
                status = child.try_wait();
            }
            match status {
                Ok(Some(status)) if status.code().is_none() => {
                    eprintln!("note: rank {rank} ended by {status}")
                }
                Ok(Some(_)) => {}
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    eprintln!("note: rank {rank} did not end, and was killed");
                }
            }
        }
    }
}

/// A rank that this program started ends with its rank 0, whatever it is doing.
pub fn end_with_parent(rank: usize) {
    if variable(STARTED_BY).is_none() {
        return;
    }
    thread::spawn(move || {
        // Nobody writes: this returns when the other end is closed.
        let _ = copy(&mut stdin().lock(), &mut sink());
        // The ordinary way out is better, and takes no longer.
        thread::sleep(PATIENCE / 2);
        eprintln!("rank {rank}: error: rank 0's process has ended");
        exit(1);
    });
}
