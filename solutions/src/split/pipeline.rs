//! The engine of a pipeline: runs a schedule, and sends activations and gradients from stage to stage.

use std::{
    collections::{HashMap, VecDeque},
    time::Instant,
};

use anyhow::{Context, Result};

use super::{Action, Slot};
use crate::parallel::Collective;

/// The stages of one rank, as the engine sees them.
pub trait Stages {
    /// Computes the forward pass of a micro-batch through stage `chunk` of this rank. `input` is the output of the stage
    /// before; `None` for the first stage. The last stage returns nothing.
    ///
    /// # Errors
    /// Returns an error if it cannot be computed.
    fn forward(&mut self, chunk: usize, micro: usize, input: Option<Vec<f32>>) -> Result<Option<Vec<f32>>>;

    /// Computes the backward pass. `gradient` is that of the stage's output; `None` for the last stage. The first stage
    /// returns nothing.
    ///
    /// # Errors
    /// Returns an error if it cannot be computed.
    fn backward(
        &mut self,
        chunk: usize,
        micro: usize,
        gradient: Option<Vec<f32>>,
    ) -> Result<Option<Vec<f32>>>;

    /// How many numbers stage `stage`, numbered over all ranks, sends to the next one for a micro-batch.
    fn numbers_after(&self, stage: usize) -> usize;
}

/// When a slot of the schedule ran, in seconds since the start of the step. Waiting for its input is not part of it.
pub type Timed = (f64, f64);

/// A message: the pass that it is the input of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Message {
    stage: usize,
    is_forward: bool,
    micro: usize,
}

/// Runs one step of a pipeline over `ranks`, each rank by its own of `orders`. Returns when each slot ran.
///
/// Messages carry no tag. Every rank knows all orders, and so in which order each other rank sends; what comes before it is
/// needed is put aside.
///
/// # Errors
/// Returns an error if a pass fails, or if another rank ends.
pub fn run_pipeline(
    ranks: &dyn Collective,
    orders: &[Vec<Slot>],
    chunks: usize,
    stages: &mut dyn Stages,
) -> Result<Vec<Timed>> {
    let (me, world) = (ranks.rank(), ranks.world_size());
    let mut inbox = Inbox::new(ranks, orders, chunks);
    let began = Instant::now();
    let mut timed = Vec::with_capacity(orders[me].len());
    for slot in &orders[me] {
        let stage = slot.chunk * world + me;
        let input = match input_of(stage, slot.action, world * chunks) {
            Some((from, message)) => {
                // A message into a stage is as long as the output of the stage before, and so is the gradient on the way back.
                let numbers = |m: Message| stages.numbers_after(m.stage - usize::from(m.is_forward));
                let input = inbox.take(from % world, message, &numbers);
                Some(input.with_context(|| format!("rank {me} waits for the input of stage {stage}"))?)
            }
            None => None,
        };
        let start = began.elapsed().as_secs_f64();
        let output = match slot.action {
            Action::Forward(micro) => stages.forward(slot.chunk, micro, input)?,
            Action::Backward(micro) => stages.backward(slot.chunk, micro, input)?,
        };
        timed.push((start, began.elapsed().as_secs_f64()));
        if let (Some((to, message)), Some(output)) = (output_of(stage, slot.action, world * chunks), output) {
            inbox.send(to % world, message, output)?;
        }
    }
    Ok(timed)
}

/// The stage that an action's input comes from, and the message.
fn input_of(stage: usize, action: Action, stages: usize) -> Option<(usize, Message)> {
    match action {
        Action::Forward(micro) => {
            let message = Message {
                stage,
                is_forward: true,
                micro,
            };
            (stage > 0).then(|| (stage - 1, message))
        }
        Action::Backward(micro) => {
            let message = Message {
                stage,
                is_forward: false,
                micro,
            };
            (stage + 1 < stages).then_some((stage + 1, message))
        }
    }
}

/// The stage that needs an action's output, and the message.
fn output_of(stage: usize, action: Action, stages: usize) -> Option<(usize, Message)> {
    let to = match action {
        Action::Forward(_) => Some(stage + 1).filter(|to| *to < stages),
        Action::Backward(_) => stage.checked_sub(1),
    }?;
    input_of(to, action, stages).map(|(_, message)| (to, message))
}

/// The messages to one rank.
struct Inbox<'a> {
    ranks: &'a dyn Collective,
    /// What each rank will still send, in order.
    expected: Vec<VecDeque<Message>>,
    /// What has arrived before it was needed.
    aside: HashMap<Message, Vec<f32>>,
}

impl<'a> Inbox<'a> {
    fn new(ranks: &'a dyn Collective, orders: &[Vec<Slot>], chunks: usize) -> Self {
        let (me, world) = (ranks.rank(), ranks.world_size());
        let sent_to_me = |(rank, order): (usize, &Vec<Slot>)| {
            let message = |slot: &Slot| {
                let (to, message) = output_of(slot.chunk * world + rank, slot.action, world * chunks)?;
                (to % world == me).then_some(message)
            };
            order.iter().filter_map(message).collect()
        };
        Self {
            ranks,
            expected: orders.iter().enumerate().map(sent_to_me).collect(),
            aside: HashMap::new(),
        }
    }

    fn send(&mut self, to: usize, message: Message, numbers: Vec<f32>) -> Result<()> {
        if to == self.ranks.rank() {
            self.aside.insert(message, numbers);
            return Ok(());
        }
        self.ranks.send(to, &numbers)
    }

    fn take(&mut self, from: usize, wanted: Message, numbers: &dyn Fn(Message) -> usize) -> Result<Vec<f32>> {
        loop {
            if let Some(found) = self.aside.remove(&wanted) {
                return Ok(found);
            }
            let next = self.expected[from].pop_front();
            let next = next.filter(|_| from != self.ranks.rank());
            let next =
                next.with_context(|| format!("rank {from} never sends it: the orders do not fit together"))?;
            let mut data = vec![0.0; numbers(next)];
            self.ranks.receive(from, &mut data)?;
            self.aside.insert(next, data);
        }
    }
}
