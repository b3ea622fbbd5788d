//! A device for machines without a GPU: a thread that takes work from a queue, in order, while the host goes on.
//!
//! As on a GPU's stream, a launch returns at once and the work is done later. The results are real: canopy computes them
//! on the CPU.

use std::{sync::mpsc, thread};

use anyhow::{Context, Result, anyhow};
use candle_core::{Device, Error, Tensor};
use canopy::{
    loader::Batch,
    profile::{self, Kind, Stream},
    train::short::Learner,
};

/// The content of the device's memory.
pub struct Memory {
    /// The network and its optimizer.
    learner: Learner,
    /// Points and labels of the batch.
    pub input: Option<(Tensor, Tensor)>,
    /// The weights of each neuron; the biases of a layer are one more.
    pub neurons: Vec<Vec<Weight>>,
    /// The norms of the neurons' weights.
    pub norms: Vec<f32>,
}

/// A weight, its exponential moving average, and the result of an operator for the next one.
pub type Weight = [f32; 3];

impl Memory {
    pub fn new(learner: Learner) -> Result<Self> {
        let mut memory = Self {
            learner,
            input: None,
            neurons: Vec::new(),
            norms: Vec::new(),
        };
        for (_, param) in memory.learner.model.params() {
            let row = param.elem_count() / if param.rank() > 1 { param.dim(0)? } else { 1 };
            let neuron = vec![[0.0; 3]; row];
            memory.neurons.extend(vec![neuron; param.elem_count() / row]);
        }
        Ok(memory)
    }

    /// The trainer's step: forward, backward, optimizer.
    pub fn step(&mut self) -> Result<()> {
        profile::lane("device", true);
        let (points, labels) = self.input.as_ref().context("there is no batch on the device")?;
        self.learner.step((points, labels), 1e-3)?;
        Ok(())
    }

    /// Copies the parameters to the neurons.
    pub fn lay_out(&mut self) -> Result<()> {
        let mut weights = self.neurons.iter_mut().flatten();
        for (_, param) in self.learner.model.params() {
            let numbers: Vec<f32> = param.flatten_all()?.to_vec1()?;
            for (w, weight) in numbers.into_iter().zip(&mut weights) {
                weight[0] = w;
            }
        }
        Ok(())
    }

    /// The norm of a neuron's weights.
    pub fn norm(&self, neuron: usize) -> f32 {
        self.neurons[neuron]
            .iter()
            .map(|[w, ..]| w * w)
            .sum::<f32>()
            .sqrt()
    }
}

type Work = Box<dyn FnOnce(&mut Memory) -> Result<()> + Send>;

/// The host's end of the queue.
pub struct Queue(mpsc::Sender<Work>);

/// Runs `host` beside a device.
pub fn beside<T>(memory: Memory, host: impl FnOnce(&Queue) -> Result<T>) -> Result<T> {
    let (queue, todo) = mpsc::channel();
    thread::scope(|scope| {
        let device = scope.spawn(move || run(memory, &todo));
        let result = host(&{ Queue(queue) });
        device.join().map_err(|_| anyhow!("the device has panicked"))??;
        result
    })
}

/// The device, up to the end of the queue or the first error.
fn run(mut memory: Memory, todo: &mpsc::Receiver<Work>) -> Result<()> {
    // The device is one core, so that the other is the host's: its kernels take their threads from a pool that holds
    // this thread alone. If there is no such pool they share all cores, which is slower and as correct.
    let _pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build();
    todo.iter().try_for_each(|work| work(&mut memory))
}

impl Queue {
    fn send(&self, work: impl FnOnce(&mut Memory) -> Result<()> + Send + 'static) {
        // Fails only if the device is gone, which the next wait reports.
        let _ = self.0.send(Box::new(work));
    }

    /// Launches a kernel.
    pub fn launch(&self, name: &'static str, work: impl FnOnce(&mut Memory) -> Result<()> + Send + 'static) {
        self.send(move |memory| profile::timed(name, Kind::Kernel, || work(memory)));
    }

    /// Launches a copy, named as nsys names it. It has its turn in the queue, as on a stream.
    pub fn copy(&self, batch: Batch) {
        self.send(move |memory| {
            let _span = profile::span("[CUDA memcpy Host-to-Device]", Kind::Copy);
            memory.input = Some(batch.to_device(&Device::Cpu)?);
            Ok(())
        });
    }

    /// Reads a number from the device: launches the reading, and waits for it.
    pub fn read(&self, value: impl FnOnce(&mut Memory) -> f32 + Send + 'static) -> Result<f32> {
        // One call for the host, as `to_scalar` is one: it returns when the number has arrived.
        let _span = profile::span("wait for a number", Kind::Wait);
        let (send, receive) = mpsc::channel();
        self.send(move |memory| {
            let value = profile::timed("read", Kind::Kernel, || value(memory));
            Ok(send.send(value)?)
        });
        receive.recv().context("the device has stopped")
    }
}

impl Stream for Queue {
    fn now(&self) -> u64 {
        Device::Cpu.now()
    }

    fn wait(&self) -> candle_core::Result<()> {
        let _span = profile::span("wait for the device", Kind::Wait);
        let (send, receive) = mpsc::channel();
        self.send(move |_| Ok(send.send(())?));
        receive.recv().map_err(Error::wrap)
    }
}
