//! A device for those who have none: a thread that takes pieces of work from a queue, in order, while the host goes on.
//!
//! As a graphics card's stream does, it returns from a launch at once, does the work when it comes to it, and tells of
//! errors when somebody waits. What it computes is computed for real, by canopy's operators on the CPU.

use std::{cell::RefCell, sync::mpsc, thread};

use candle_core::{Device, Result};
use canopy::profile::{self, Kind, Stream};

use super::rows::State;

type Work = Box<dyn FnMut(&mut State) -> Result<()> + Send>;

enum Job {
    Work(&'static str, Kind, Work),
    /// Answers when all before it is done, with the first error among them.
    Mark(mpsc::Sender<Result<()>>),
    /// The lane of the recording that has begun.
    Lane,
}

/// The host's end of the queue.
pub struct Queue {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
    answers: RefCell<u64>,
}

impl Queue {
    /// A device whose memory is `state`.
    pub fn new(state: State) -> std::io::Result<Self> {
        let (jobs, todo) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("device".into())
            .spawn(move || run(state, &todo))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            answers: RefCell::new(0),
        })
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Fails only where the thread is gone, which the next wait tells.
            let _ = jobs.send(job);
        }
    }

    /// Gives the device a kernel.
    pub fn launch(&self, name: &'static str, work: impl FnMut(&mut State) -> Result<()> + Send + 'static) {
        self.send(Job::Work(name, Kind::Kernel, Box::new(work)));
    }

    /// Gives the device's copy engine something; in this device, as in a stream, it has its turn.
    pub fn copy(&self, name: &'static str, work: impl FnMut(&mut State) -> Result<()> + Send + 'static) {
        self.send(Job::Work(name, Kind::Copy, Box::new(work)));
    }

    /// Reads a number off the device: gives the reading as work, and waits for it.
    pub fn read(&self, mut value: impl FnMut(&mut State) -> Result<f64> + Send + 'static) -> Result<f64> {
        // One call for the host, as `to_scalar` is one: it asks, and is back when the number is there.
        let _span = profile::span("wait for a number", Kind::Wait);
        let (give, take) = mpsc::channel();
        self.send(Job::Work(
            "read",
            Kind::Kernel,
            Box::new(move |state| {
                let _ = give.send(value(state)?);
                Ok(())
            }),
        ));
        *self.answers.borrow_mut() += 1;
        match take.recv() {
            Ok(value) => Ok(value),
            Err(_) => self.wait().map(|()| f64::NAN),
        }
    }

    /// How often the host has waited for a number.
    pub fn answers(&self) -> u64 {
        *self.answers.borrow()
    }

    /// Tells the device that a recording has begun.
    pub fn record(&self) {
        self.send(Job::Lane);
    }
}

impl Stream for Queue {
    fn now(&self) -> u64 {
        Device::Cpu.now()
    }

    fn wait(&self) -> Result<()> {
        let (give, take) = mpsc::channel();
        self.send(Job::Mark(give));
        let _span = profile::span("wait for the device", Kind::Wait);
        match take.recv() {
            Ok(result) => result,
            Err(_) => candle_core::bail!("the device is gone"),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut state: State, todo: &mpsc::Receiver<Job>) {
    // The device is one core, so that the other is the host's: its kernels take their threads from a pool that holds
    // this thread alone. Where there is no such pool they share all cores, which is slower and no less right.
    let _pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build();
    let mut failed = Ok(());
    for job in todo {
        match job {
            Job::Lane => profile::lane("device", true),
            Job::Mark(answer) => drop(answer.send(std::mem::replace(&mut failed, Ok(())))),
            // After an error nothing more is done until somebody has heard of it.
            Job::Work(_, _, _) if failed.is_err() => {}
            Job::Work(name, kind, mut work) => {
                let span = profile::span(name, kind);
                failed = work(&mut state);
                // What the work held is given back after it: that is no part of the kernel.
                drop(span);
            }
        }
    }
}
