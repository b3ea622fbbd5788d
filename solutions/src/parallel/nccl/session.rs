//! NCCL in one process of a job: with MPI, which carries everything except gradients, or alone.

use std::{path::Path, sync::Arc, thread, time::Duration};

use anyhow::{Context, Result, anyhow};
use candle_core::Device;

use super::{
    cards,
    cuda::{Cuda, card, create_id},
    endpoint::Endpoint,
    library::{Id, Library},
    rendezvous::{Rendezvous, job_name},
    watch::{Common, Life, Watch},
};
use crate::parallel::{
    AllReduce, Collective, Place, Processes,
    exit::{exit_now, exit_soon},
    measure::Seconds,
};

/// For how long the ranks wait for each other at the start: one may read its data for much longer than another.
const START: Duration = Duration::from_secs(600);

/// The communicators of one process.
pub struct Nccl {
    place: (usize, usize),
    common: Arc<Common>,
    communicators: Vec<Arc<Watch<Cuda>>>,
}

impl Nccl {
    /// Connects this process to the others with `N` communicators, if each has a GPU; None if none has. `meet` is
    /// [`Rendezvous::meet`] or [`cards::meet_over`] with its first arguments.
    ///
    /// # Errors
    /// Returns an error if the ranks do not meet, if two share a GPU, or if NCCL does not load or fails.
    fn connect(
        place: (usize, usize),
        device: &Device,
        life: Option<Box<dyn Life>>,
        communicators: usize,
        meet: impl FnOnce(Option<&str>, &dyn Fn() -> Result<Id>) -> Result<Option<Id>>,
    ) -> Result<Option<Self>> {
        let card = card(device)?;
        let library = match card {
            Some(_) => Some(Arc::new(
                Library::open().map_err(|why| anyhow!("rank {}: {why}", place.0))?,
            )),
            None => None,
        };
        let create = || create_id(library.as_deref().context("rank 0 has no GPU")?);
        let Some(mut id) = meet(card.as_deref(), &create)? else {
            return Ok(None);
        };
        let library = library.clone().context("a rank without a GPU got an id")?;
        let common = Common::new(place.0, START, life);
        let mut this = Self {
            place,
            common,
            communicators: Vec::new(),
        };
        loop {
            let cuda = Cuda::connect(library.clone(), device, id, place, this.common.clone())?;
            this.communicators.push(Watch::start(cuda, this.common.clone())?);
            if this.communicators.len() == communicators {
                return Ok(Some(this));
            }
            id = cards::share(&this.links(), create)?;
        }
    }

    /// As [`Self::connect`], over links that the ranks have already.
    pub fn over(links: &dyn Collective, device: &Device, life: Box<dyn Life>) -> Result<Option<Self>> {
        let place = (links.rank(), links.world_size());
        Self::connect(place, device, Some(life), 2, |card, create| {
            cards::meet_over(links, card, create)
        })
    }

    /// Links over the first communicator, for everything except gradients.
    pub fn links(&self) -> Endpoint<Cuda> {
        Endpoint::new(self.place, self.communicators[0].clone())
    }

    /// Links over the last communicator, so that nothing waits for a bucket of gradients.
    pub fn gradient_links(&self) -> Endpoint<Cuda> {
        let last = self.communicators.len() - 1;
        Endpoint::new(self.place, self.communicators[last].clone())
    }

    /// Sets how long an operation may wait for another rank.
    pub fn begin(&self, deadline: Duration) {
        self.common.set_deadline(deadline);
    }

    /// As [`Processes::all_reduce_seconds`].
    pub fn all_reduce_seconds(&self, ring: &AllReduce, numbers: usize, repeats: usize) -> Result<Seconds> {
        self.gradient_links().all_reduce_seconds(ring, numbers, repeats)
    }
}

/// A process that a launcher started, without MPI.
pub struct Launched {
    place: Place,
    nccl: Option<Nccl>,
}

impl Launched {
    /// The process at `place`, which is not connected yet.
    pub fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            nccl: None,
        }
    }

    fn nccl(&self) -> Result<&Nccl> {
        let Place { rank, launcher, .. } = &self.place;
        self.nccl.as_ref().with_context(|| {
            format!(
                "{launcher} started several processes, and rank {rank} is on the CPU, but this program was built without \
                 `--features mpi`, so only NCCL on GPUs can connect them: use --device cuda, or build with the feature"
            )
        })
    }
}

impl Processes for Launched {
    fn links(&self) -> Result<Box<dyn Collective>> {
        Ok(Box::new(self.nccl()?.links()))
    }

    fn use_nccl(&mut self, device: &Device, folder: &Path) -> Result<bool> {
        let Place { rank, world_size, .. } = self.place;
        let rendezvous = Rendezvous {
            folder: folder.to_owned(),
            job: job_name(&self.place, &|name| std::env::var(name).ok())?,
            rank,
            world_size,
            deadline: START,
        };
        self.nccl = Nccl::connect((rank, world_size), device, None, 2, |card, create| {
            rendezvous.meet(card, create)
        })?;
        Ok(self.nccl.is_some())
    }

    fn gradient_links(&self) -> Result<Box<dyn Collective>> {
        Ok(Box::new(self.nccl()?.gradient_links()))
    }

    fn begin(&self, deadline: Duration) {
        if let Some(nccl) = &self.nccl {
            nccl.begin(deadline);
        }
    }

    fn all_reduce_seconds(
        &self,
        _: &dyn Collective,
        ring: &AllReduce,
        numbers: usize,
        repeats: usize,
    ) -> Result<Seconds> {
        self.nccl()?.all_reduce_seconds(ring, numbers, repeats)
    }

    fn finish(self: Box<Self>, exit_code: Option<u8>) {
        exit_soon(exit_code);
        // No rank aborts its communicators while another still uses them. An error means that they have ended.
        if let Some(nccl) = &self.nccl {
            let _ = nccl.links().barrier();
        }
    }

    fn abort(&self, cause: &str) -> ! {
        // The lowest rank that has a cause prints it first. The launcher ends the others then.
        thread::sleep(Duration::from_millis(100) * self.place.rank.min(20) as u32);
        eprintln!("error: {cause}");
        exit_now(1)
    }
}
