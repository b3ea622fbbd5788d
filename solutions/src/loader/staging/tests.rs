//! The order of operations, on a device that reorders and delays what it may.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use canopy_data::{Philox, Purpose};

use super::*;

/// Buffers, values of a batch.
const BUFFERS: usize = 2;
const VALUES: usize = 4;

/// The streams: their numbers.
const COPY: usize = 0;
const COMPUTE: usize = 1;

/// An operation that is queued on a stream. Copies take time: they read one half of their values when they begin, and the
/// other when they end.
enum Operation {
    Copy { buffer: usize, half: usize },
    Take { buffer: usize, half: usize, to: usize },
    Record { event: usize },
    Wait { event: usize, recorded: u64 },
}

/// Two streams, of which a random one advances next.
struct Device {
    random: Philox,
    streams: [VecDeque<Operation>; 2],
    /// How often each event was recorded, queued and done. Event 2·buffer is Copied, the next one Taken.
    queued: [u64; 2 * BUFFERS],
    done: [u64; 2 * BUFFERS],
    pinned: [[u32; VALUES]; BUFFERS],
    memory: [[u32; VALUES]; BUFFERS],
    taken: Vec<[u32; VALUES]>,
}

impl Device {
    fn blocked(&self, operation: &Operation) -> bool {
        matches!(operation, Operation::Wait { event, recorded } if self.done[*event] < *recorded)
    }

    /// Runs the next operation of `stream`. False if there is none, or if it waits.
    fn advance(&mut self, stream: usize) -> bool {
        match self.streams[stream].front() {
            Some(next) if !self.blocked(next) => {}
            _ => return false,
        }
        let part = |half| half * VALUES / 2..(half + 1) * VALUES / 2;
        match self.streams[stream].pop_front() {
            Some(Operation::Copy { buffer, half }) => {
                self.memory[buffer][part(half)].copy_from_slice(&self.pinned[buffer][part(half)]);
            }
            Some(Operation::Take { buffer, half, to }) => {
                self.taken[to][part(half)].copy_from_slice(&self.memory[buffer][part(half)]);
            }
            Some(Operation::Record { event }) => self.done[event] += 1,
            Some(Operation::Wait { .. }) | None => {}
        }
        true
    }

    /// Lets some time pass: sometimes none, sometimes more than one stream needs.
    fn pass_time(&mut self) {
        let favourite = self.random.below(2);
        for _ in 0..self.random.below(12) {
            let stream = match self.random.below(4) {
                0 => 1 - favourite,
                _ => favourite,
            };
            self.advance(stream);
        }
    }

    fn finish(&mut self, until: impl Fn(&Self) -> bool) {
        while !until(self) {
            let first = self.random.below(2);
            assert!(
                self.advance(first) || self.advance(1 - first),
                "both streams wait for ever"
            );
        }
    }
}

/// A call of a [`Buffer`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Fill(u32),
    Copy,
    /// Into the tensors of this number.
    Take(usize),
    Record(Event),
    HostWaits(Event),
    StreamWaits(Event),
}

/// Wrong orders of operations.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// Calls like this one do nothing.
    Omitted(Call),
    /// Calls like this one happen after the call behind them.
    Late(Call),
}

/// A buffer of the fake device, with one wrong order of operations or none.
struct Fake {
    device: Arc<Mutex<Device>>,
    buffer: usize,
    wrong: Option<Wrong>,
    late: Option<Call>,
}

impl Fake {
    fn call(&mut self, call: Call) -> Result<()> {
        let alike = |other: Call| match (other, call) {
            (Call::Fill(_), Call::Fill(_)) | (Call::Take(_), Call::Take(_)) => true,
            (other, call) => other == call,
        };
        match self.wrong {
            Some(Wrong::Omitted(omitted)) if alike(omitted) => {}
            Some(Wrong::Late(late)) if alike(late) => self.late = Some(call),
            _ => {
                self.perform(call);
                if let Some(late) = self.late.take() {
                    self.perform(late);
                }
            }
        }
        Ok(())
    }

    fn perform(&self, call: Call) {
        let (buffer, mut device) = (self.buffer, self.device.lock().unwrap());
        let number = |event| 2 * buffer + usize::from(event == Event::Taken);
        match call {
            Call::Fill(value) => device.pinned[buffer] = [value; VALUES],
            Call::Copy => {
                let halves = [0, 1].map(|half| Operation::Copy { buffer, half });
                device.streams[COPY].extend(halves);
            }
            Call::Take(to) => {
                let halves = [0, 1].map(|half| Operation::Take { buffer, half, to });
                device.streams[COMPUTE].extend(halves);
            }
            Call::Record(event) => {
                let stream = if event == Event::Copied { COPY } else { COMPUTE };
                let event = number(event);
                device.queued[event] += 1;
                device.streams[stream].push_back(Operation::Record { event });
            }
            Call::HostWaits(event) => {
                let event = number(event);
                let recorded = device.queued[event];
                device.finish(|device| device.done[event] >= recorded);
            }
            Call::StreamWaits(event) => {
                let stream = if event == Event::Copied { COMPUTE } else { COPY };
                let event = number(event);
                let recorded = device.queued[event];
                device.streams[stream].push_back(Operation::Wait { event, recorded });
            }
        }
        device.pass_time();
    }
}

impl Buffer<usize> for Fake {
    fn fill(&mut self, batch: &Batch) -> Result<()> {
        self.call(Call::Fill(batch.labels[0]))
    }

    fn copy(&mut self) -> Result<()> {
        self.call(Call::Copy)
    }

    fn take(&mut self) -> Result<usize> {
        let mut device = self.device.lock().unwrap();
        let to = device.taken.len();
        device.taken.push([u32::MAX; VALUES]);
        drop(device);
        self.call(Call::Take(to))?;
        Ok(to)
    }

    fn record(&mut self, event: Event) -> Result<()> {
        self.call(Call::Record(event))
    }

    fn host_waits(&mut self, event: Event) -> Result<()> {
        self.call(Call::HostWaits(event))
    }

    fn stream_waits(&mut self, event: Event) -> Result<()> {
        self.call(Call::StreamWaits(event))
    }
}

fn fake(seed: u64, wrong: Option<Wrong>) -> (Staging<usize>, Arc<Mutex<Device>>) {
    let device = Arc::new(Mutex::new(Device {
        random: Purpose::Sample.stream(seed, 0),
        streams: Default::default(),
        queued: Default::default(),
        done: Default::default(),
        pinned: Default::default(),
        memory: Default::default(),
        taken: Vec::new(),
    }));
    let buffer = |buffer| -> Box<dyn Buffer<usize>> {
        Box::new(Fake {
            device: device.clone(),
            buffer,
            wrong,
            late: None,
        })
    };
    (Staging::new([buffer(0), buffer(1)]), device.clone())
}

fn batch(value: u32) -> Batch {
    Batch {
        points: vec![0.0; 3],
        channels: 3,
        labels: vec![value],
        records: vec![0],
        mask: None,
    }
}

/// Whether all batches arrive in the steps that take them. The loader is up to two batches ahead, and now and then the
/// trainer drops one.
fn all_arrive(seed: u64, wrong: Option<Wrong>) -> bool {
    let (staging, device) = fake(seed, wrong);
    let mut random = Purpose::Sample.stream(seed, 1);
    let (mut ahead, mut expected) = (VecDeque::new(), Vec::new());
    for value in 0..30 {
        if ahead.len() == BUFFERS || (!ahead.is_empty() && random.below(2) == 0) {
            let (value, staged): (u32, Staged<usize>) = ahead.pop_front().unwrap();
            if random.below(8) > 0 {
                assert_eq!(staged.take().unwrap(), expected.len());
                expected.push([value; VALUES]);
            }
        }
        let staged = staging.put(&batch(value)).unwrap();
        ahead.push_back((value, staged.expect("one of the buffers is free")));
    }
    let mut device = device.lock().unwrap();
    device.finish(|device| device.streams.iter().all(VecDeque::is_empty));
    device.taken == expected
}

#[test]
fn every_batch_arrives_however_the_device_delays_its_work() {
    for seed in 0..500 {
        assert!(all_arrive(seed, None), "seed {seed}");
    }
}

#[test]
fn wrong_orders_of_operations_are_caught() {
    for wrong in [
        // The pinned memory is filled while it is copied.
        Wrong::Omitted(Call::HostWaits(Event::Copied)),
        // The device memory is overwritten while the step's tensors are copied from it.
        Wrong::Omitted(Call::StreamWaits(Event::Taken)),
        // The step reads before the copy.
        Wrong::Omitted(Call::StreamWaits(Event::Copied)),
        Wrong::Omitted(Call::Record(Event::Copied)),
        Wrong::Omitted(Call::Record(Event::Taken)),
        // Recorded before the copy, or before the batch is taken.
        Wrong::Late(Call::Copy),
        Wrong::Late(Call::Take(0)),
        // The host calls for a copy and fills the memory afterwards.
        Wrong::Late(Call::Fill(0)),
    ] {
        let caught = (0..500).filter(|&seed| !all_arrive(seed, Some(wrong))).count();
        assert!(caught > 0, "{wrong:?}");
    }
}

#[test]
fn a_third_batch_is_not_put_until_the_first_is_taken() {
    let (staging, _) = fake(1, None);
    let first = staging.put(&batch(0)).unwrap().unwrap();
    let _second = staging.put(&batch(1)).unwrap().unwrap();
    assert!(staging.put(&batch(2)).unwrap().is_none());
    first.take().unwrap();
    assert!(staging.put(&batch(2)).unwrap().is_some());
}
