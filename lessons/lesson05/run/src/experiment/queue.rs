//! A device for machines without a GPU: a thread that takes work from a queue, in order, while the host goes on.
//!
//! As on a GPU's stream, a launch returns at once, the work is done later, and errors are reported by the next wait. The
//! results are real: canopy's operators compute them on the CPU.

use std::{cell::RefCell, sync::mpsc, thread};

use candle_core::{Device, Result};
use canopy::profile::{self, Kind, Stream};

use super::rows::State;

type Work = Box<dyn FnMut(&mut State) -> Result<()> + Send>;

enum Job {
    Work(&'static str, Kind, Work),
    /// Replies when all work before it is done, with its first error.
    Mark(mpsc::Sender<Result<()>>),
    /// The lane of the recording that has begun.
    Lane,
}

/// The host's end of the queue.
pub struct Queue {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
    waits: RefCell<u64>,
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
            waits: RefCell::new(0),
        })
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Fails only if the thread is gone, which the next wait reports.
            let _ = jobs.send(job);
        }
    }

    /// Launches a kernel.
    pub fn launch(&self, name: &'static str, work: impl FnMut(&mut State) -> Result<()> + Send + 'static) {
        self.send(Job::Work(name, Kind::Kernel, Box::new(work)));
    }

    /// Launches a copy. It has its turn in the queue, as on a stream.
    pub fn copy(&self, name: &'static str, work: impl FnMut(&mut State) -> Result<()> + Send + 'static) {
        self.send(Job::Work(name, Kind::Copy, Box::new(work)));
    }

    /// Reads a number from the device: launches the reading, and waits for it.
    pub fn read(&self, mut value: impl FnMut(&mut State) -> Result<f64> + Send + 'static) -> Result<f64> {
        // One call for the host, as `to_scalar` is one: it returns when the number has arrived.
        let _span = profile::span("wait for a number", Kind::Wait);
        let (send, receive) = mpsc::channel();
        self.send(Job::Work(
            "read",
            Kind::Kernel,
            Box::new(move |state| {
                let _ = send.send(value(state)?);
                Ok(())
            }),
        ));
        *self.waits.borrow_mut() += 1;
        match receive.recv() {
            Ok(value) => Ok(value),
            Err(_) => self.wait().map(|()| f64::NAN),
        }
    }

    /// How often the host has waited for a number.
    pub fn waits(&self) -> u64 {
        *self.waits.borrow()
    }

    /// Gives the device its lane in a recording that has begun.
    pub fn record(&self) {
        self.send(Job::Lane);
    }
}

impl Stream for Queue {
    fn now(&self) -> u64 {
        Device::Cpu.now()
    }

    fn wait(&self) -> Result<()> {
        let (send, receive) = mpsc::channel();
        self.send(Job::Mark(send));
        let _span = profile::span("wait for the device", Kind::Wait);
        match receive.recv() {
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
    // this thread alone. If there is no such pool they share all cores, which is slower and as correct.
    let _pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build();
    let mut failed = Ok(());
    for job in todo {
        match job {
            Job::Lane => profile::lane("device", true),
            Job::Mark(answer) => drop(answer.send(std::mem::replace(&mut failed, Ok(())))),
            // After an error no work is done until a wait has reported it.
            Job::Work(_, _, _) if failed.is_err() => {}
            Job::Work(name, kind, mut work) => {
                let span = profile::span(name, kind);
                failed = work(&mut state);
                // The memory of the work is released after the span: it is no part of the kernel.
                drop(span);
            }
        }
    }
}
