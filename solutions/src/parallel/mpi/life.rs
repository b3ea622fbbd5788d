//! Signs of life between processes, and which rank is missing.

use std::{
    mem::ManuallyDrop,
    time::{Duration, Instant},
};

use ferrompi::{Communicator, Request, Result};

/// The length of a message in bytes; MPI sends such short ones without waiting for the receiver.
const LENGTH: usize = 192;
const TAG: i32 = 1;
/// The first byte of a message.
const WORKS: u8 = 0;
const WAITS: u8 = 1;
const ENDS: u8 = 2;

/// The longest time that counts between two looks. If this process itself is suspended (by Ctrl-Z or a scheduler), the
/// other ranks are not taken for silent.
const SLICE: Duration = Duration::from_millis(100);

/// The time in which a rank that was asked to stop gives a sign of life. Open MPI's mpirun kills the ranks after a second.
const ANSWER: Duration = Duration::from_millis(300);

/// Messages that have not left yet. One of a job that failed may never leave, and dropping its request would wait for it.
pub struct Outbox<T>(ManuallyDrop<Vec<(Request, T)>>);

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self(ManuallyDrop::new(Vec::new()))
    }
}

impl<T> Outbox<T> {
    /// Keeps `data` until its message has left. A request that fails counts as sent: the receiver notices that the message is missing.
    pub fn keep(&mut self, request: Request, data: T) {
        self.0.retain_mut(|(request, _)| !request.test().unwrap_or(true));
        self.0.push((request, data));
    }
}

/// What is known of another rank.
#[derive(Default)]
struct Sign {
    doing: String,
    /// The first byte of its last message.
    state: u8,
    /// Whether it has given a sign of life since this rank was asked to stop.
    answered: bool,
    /// For how long it has been silent while this rank looked.
    silent: Duration,
    received: u64,
}

/// The signs of life that this process sends and has received.
pub struct Life {
    comm: Communicator,
    signs: Vec<Sign>,
    /// Messages that this process has sent to each other rank.
    pub sent: u64,
    on_the_way: Outbox<Box<[u8; LENGTH]>>,
    pub activity: String,
    last_look: Instant,
    last_sent: Option<Instant>,
    /// When this rank noticed that it was asked to stop.
    stopping: Option<Instant>,
    /// Whether [`Life::unanswered`] has returned its note.
    noted: bool,
    pub deadline: Duration,
    pub ended: bool,
}

impl Life {
    pub fn new(comm: Communicator) -> Self {
        let sign = |_| Sign {
            doing: "starting".into(),
            ..Sign::default()
        };
        Self {
            signs: (0..comm.size()).map(sign).collect(),
            comm,
            sent: 0,
            on_the_way: Outbox::default(),
            activity: "starting".into(),
            last_look: Instant::now(),
            last_sent: None,
            stopping: None,
            noted: false,
            deadline: Duration::from_secs(60),
            ended: false,
        }
    }

    fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    fn others(&self) -> impl Iterator<Item = (usize, &Sign)> {
        let own = self.rank();
        self.signs
            .iter()
            .enumerate()
            .filter(move |(rank, _)| *rank != own)
    }

    /// Records what this rank is doing, and sends it to the others, but not more often than every eighth of the deadline.
    pub fn works(&mut self, activity: &str) -> Result<()> {
        activity.clone_into(&mut self.activity);
        self.send_now_and_then(WORKS, activity.to_owned())
    }

    /// Sends a sign of life of a rank that waits in `operation`.
    pub fn waits(&mut self, operation: &str) -> Result<()> {
        self.send_now_and_then(WAITS, format!("{operation}, after: {}", self.activity))
    }

    /// Records that this rank was asked to stop: its next sign of life is sent at once, because the launcher may end the ranks
    /// soon.
    pub fn stops(&mut self) {
        if self.stopping.is_none() {
            self.stopping = Some(Instant::now());
            self.last_sent = None;
            self.signs.iter_mut().for_each(|sign| sign.answered = false);
        }
    }

    /// Returns once, on the lowest rank that lives, which rank has given no sign of life since this one was asked to stop: it
    /// may have been killed, and without it no checkpoint is saved.
    pub fn unanswered(&mut self) -> Option<String> {
        let waited = self.stopping?.elapsed();
        if self.noted || waited < ANSWER {
            return None;
        }
        self.noted = true;
        let own = self.rank();
        let lowest = (0..own).all(|rank| !self.signs[rank].answered);
        let mut others = self.others().filter(|_| lowest);
        let (rank, sign) = others.find(|(_, sign)| !sign.answered && sign.state != ENDS)?;
        Some(format!(
            "rank {rank} has given no sign of life since, for {:.1} s; its last activity: {}. If it was killed, nothing is \
             saved now, and the last checkpoint remains",
            waited.as_secs_f64(),
            sign.doing
        ))
    }

    /// Tells the others that this rank ends the job and reports the cause.
    pub fn ends(&mut self) -> Result<()> {
        self.send(ENDS, "")
    }

    /// Whether another rank ends the job.
    pub fn has_ended(&self) -> bool {
        self.signs.iter().any(|sign| sign.state == ENDS)
    }

    fn send_now_and_then(&mut self, state: u8, text: String) -> Result<()> {
        let every = (self.deadline / 8).min(Duration::from_secs(1));
        if self.ended || self.last_sent.is_some_and(|sent| sent.elapsed() < every) {
            return Ok(());
        }
        self.last_sent = Some(Instant::now());
        self.send(state, &text)
    }

    fn send(&mut self, state: u8, text: &str) -> Result<()> {
        let mut message = [0; LENGTH];
        message[0] = state;
        let bytes = text.as_bytes();
        let length = bytes.len().min(LENGTH - 1);
        message[1..=length].copy_from_slice(&bytes[..length]);
        for to in (0..self.comm.size()).filter(|&to| to != self.comm.rank()) {
            let own = Box::new(message);
            let request = self.comm.isend(&own[..], to, TAG)?;
            self.on_the_way.keep(request, own);
        }
        self.sent += 1;
        Ok(())
    }

    /// Receives the signs of life that have arrived.
    pub fn receive(&mut self) -> Result<()> {
        let since = self.last_look.elapsed().min(SLICE);
        self.last_look = Instant::now();
        self.signs.iter_mut().for_each(|sign| sign.silent += since);
        while let Some(status) = self.comm.iprobe::<u8>(-1, TAG)? {
            let mut message = [0; LENGTH];
            self.comm.recv(&mut message, status.source, TAG)?;
            let text = message[1..].split(|&byte| byte == 0).next().unwrap_or_default();
            let sign = &mut self.signs[status.source as usize];
            sign.doing = String::from_utf8_lossy(text).into_owned();
            sign.state = message[0];
            sign.answered = true;
            sign.silent = Duration::ZERO;
            sign.received += 1;
        }
        Ok(())
    }

    /// Whether rank `rank` has sent `sent` signs of life and all have arrived.
    pub fn has_all(&self, sent: &[u64]) -> bool {
        self.others().all(|(rank, sign)| sign.received >= sent[rank])
    }

    /// The cause if this rank has waited in vain for `waited`: a rank that is silent, or ranks that wait for each other.
    pub fn cause(&self, waited: Duration, operation: &str) -> Option<String> {
        let (rank, sign) = self.others().max_by_key(|(_, sign)| sign.silent)?;
        if waited >= self.deadline && sign.silent >= self.deadline {
            return Some(format!(
                "rank {rank} gave no sign of life for {:.1} s; its last activity: {}",
                sign.silent.as_secs_f64(),
                sign.doing
            ));
        }
        if waited < 2 * self.deadline || !self.others().all(|(_, sign)| sign.state == WAITS) {
            return None;
        }
        let lines = self.others().take(8);
        let lines = lines.map(|(rank, sign)| format!("rank {rank}: {}", sign.doing));
        Some(format!(
            "the ranks have waited for each other for {:.1} s, because they make different calls or one has stalled. rank \
             {}: {operation}, after: {}; {}",
            waited.as_secs_f64(),
            self.rank(),
            self.activity,
            lines.collect::<Vec<_>>().join("; ")
        ))
    }
}
