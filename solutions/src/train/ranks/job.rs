//! The ranks of a run: how rank 0 starts the others, or meets them if they are processes, and how a rank ends.

use std::{
    fmt::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};

use super::{Links, Member, ending::Reports};
use crate::{
    parallel::{Collective, Processes, gather_json, panic_message, ring_all_reduce, threads::group},
    precision::GradScaler,
    train::{Outcome, RunFolder, Trainer, trainer::to_device},
};

/// Starts a thread for each rank of `trainer`'s run except rank 0, whose links it returns. The threads are not joined: a rank that
/// stalls must not stall the job.
pub(in crate::train) fn start_followers(trainer: &Trainer) -> Result<Links> {
    let (world, deadline) = (trainer.config.ranks, trainer.rank_deadline());
    let threads = (rayon::current_num_threads() / world).max(1);
    let reports = Reports::new(world, world);
    let all_reduce = trainer.functions.all_reduce.clone();
    let gradients = group(world, move |link, data| all_reduce(link, data), deadline);
    let mut links = group(world, ring_all_reduce, deadline)
        .into_iter()
        .zip(gradients)
        .map(|(control, gradients)| Links {
            control: Box::new(control),
            gradients: Box::new(gradients),
            reports: reports.clone(),
            threads: Some(threads),
        });
    let own = links.next().context("the group has no ranks")?;
    for links in links {
        let (rank, reports) = (links.control.rank(), links.reports.clone());
        let mut follower = trainer.follower()?;
        let body = move || {
            // Its end is in the reports. Only rank 0 requests to stop.
            let _ = follower.run_as(links, &AtomicBool::new(false));
            if reports.rank_0_has_stalled(rank, deadline)
                && let Some(fault) = reports.fault()
            {
                (follower.functions.rank_0_has_stalled)(&format!("{fault:#}"));
            }
        };
        let thread = thread::Builder::new().name(format!("rank-{rank}")).spawn(body);
        thread.with_context(|| format!("cannot start rank {rank}"))?;
    }
    Ok(own)
}

impl Trainer {
    /// Makes this process one rank of the run, in place of all of them: [`Trainer::run`] then trains as this rank. All ranks
    /// must have the same configuration, data and checkpoint.
    pub fn join(&mut self, processes: &dyn Processes) -> Result<()> {
        processes.begin(self.rank_deadline());
        let (control, gradients) = (processes.links()?, processes.links()?);
        self.links = Some(Links {
            reports: Reports::new(control.world_size(), 1),
            control,
            gradients,
            threads: None,
        });
        Ok(())
    }

    /// Trains as the rank of `links`, and reports to the other ranks how it ended. If another rank that is a thread failed,
    /// returns its error on rank 0.
    pub(in crate::train) fn run_as(&mut self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        if links.threads.is_none() {
            compare_starts(self, &*links.control)?;
        }
        let (rank, reports) = (links.control.rank(), links.reports.clone());
        let train = AssertUnwindSafe(|| self.train_as(links, stop));
        let result = match rank {
            0 => train(),
            _ => catch_unwind(train)
                .unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", panic_message(&*panic)))),
        };
        // Its links are closed, so ranks that wait for it notice.
        reports.leave(rank, &result);
        if rank == 0 {
            reports.wait(self.rank_deadline() + Duration::from_secs(1), result.is_err());
        }
        match reports.fault() {
            Some(fault) => Err(fault),
            None => result,
        }
    }

    fn train_as(&mut self, links: Links, stop: &AtomicBool) -> Result<Outcome> {
        let mut member = Member::new(links, &self.config, &self.functions, &self.model)?;
        member.broadcast(&self.model)?;
        let state = || Ok(self.optimizer.state()?.into_iter().collect());
        if let Some(own) = member.own_optimizer(state)? {
            self.optimizer = own;
        }
        let outcome = self.epochs(stop, Some(&mut member))?;
        self.rank_stats = member.stats(&*self.optimizer)?;
        Ok(outcome)
    }

    /// Another rank of this run, with a model and an optimizer of its own. It gets its weights from rank 0.
    fn follower(&self) -> Result<Self> {
        let folder = RunFolder::of_another(self.folder.path());
        let (data, split) = (self.data.clone(), self.split.clone());
        let mut this = Self::new(self.config.clone(), data, split, self.device.clone(), folder)?;
        let state = self.optimizer.state()?.into_iter().collect();
        this.optimizer
            .load_state(&to_device(state, &self.device.device)?)?;
        this.scaler = self.scaler.as_ref().map(|s| GradScaler::new(s.rule().clone()));
        this.progress = self.progress.clone();
        this.until = self.until;
        this.functions = self.functions.clone();
        Ok(this)
    }

    fn rank_deadline(&self) -> Duration {
        Duration::from_secs_f64(self.config.rank_deadline)
    }
}

/// Settings in which ranks may differ: where the data is on their node, and their device.
const OWN: [&str; 2] = ["data", "device"];

/// Compares this rank's start with that of rank 0. Every rank calls it.
///
/// # Errors
/// Returns an error on the ranks that differ, which names the rank and the first difference. The other ranks wait; the
/// program of a rank that fails ends the job.
fn compare_starts(trainer: &Trainer, link: &dyn Collective) -> Result<()> {
    link.doing("starting, at the comparison of data and settings");
    let mine = text(trainer)?;
    let all = gather_json(link, &mine)?;
    for (own, other) in mine.lines().zip(all[0].lines()) {
        if own != other {
            bail!(
                "rank {} was started differently from rank 0: it has {own}, and rank 0 has {other}. Start all ranks with the \
                 same program, data and options",
                link.rank()
            );
        }
    }
    link.barrier()
}

/// What must be equal on all ranks, a line each.
fn text(trainer: &Trainer) -> Result<String> {
    let progress = &trainer.progress;
    let mut text = format!(
        "version {}\ndata with digest {}\n{} clouds\n",
        env!("CARGO_PKG_VERSION"),
        trainer.data.digest,
        trainer.data.len()
    );
    writeln!(
        text,
        "a start after {} epochs, {} batches and {} steps",
        progress.epoch, progress.batch, progress.step
    )?;
    for (key, value) in toml::Table::try_from(&trainer.config)? {
        if !OWN.contains(&&*key) {
            // A value is one line: line breaks are escaped.
            writeln!(text, "{key} = {value}")?;
        }
    }
    Ok(text)
}
