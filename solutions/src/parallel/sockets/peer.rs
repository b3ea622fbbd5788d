//! One connection: the thread that writes to it, and the one that reads from it.

use std::{
    io::{Result, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::{
    Board, Witness,
    frame::{Frame, put, read},
};

/// What a rank does is told so often where nothing else is sent. Far shorter than any deadline.
const BEAT: Duration = Duration::from_millis(50);

/// What a writer is given.
#[derive(Debug)]
pub enum Out {
    Data(Vec<f32>),
    /// Look at the board.
    Sign,
    Farewell(String),
}

/// Whose connection it is, and where what the other says is written down.
pub struct Pair {
    pub own: usize,
    pub other: usize,
    pub board: Board,
}

/// Starts both threads. The writer holds on to `whole.0` until all is written; `whole.1` is told what comes.
pub fn start(
    pair: Pair,
    stream: TcpStream,
    deadline: Duration,
    whole: (Sender<()>, Option<Arc<dyn Witness>>),
) -> anyhow::Result<(Sender<Out>, Receiver<Vec<f32>>)> {
    let (writing, witness) = whole;
    let Pair { own, other, board } = pair;
    let prepared = || -> Result<TcpStream> {
        // A message is to go at once, however short.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        // One who reads nothing for so long has stopped: its threads read whatever the rank itself does.
        stream.set_write_timeout(Some(deadline.max(BEAT)))?;
        stream.try_clone()
    };
    let reads = prepared().with_context(|| format!("the connection of rank {own} to rank {other}"))?;
    let (sender, outgoing) = unbounded();
    let (incoming, receiver) = unbounded();
    let thread = |what: &str| thread::Builder::new().name(format!("rank-{own}-{what}-{other}"));
    let own_board = board.clone();
    thread("to").spawn(move || {
        let _writing = writing;
        let mut stream = stream;
        // Where the other has gone the channel closes, and whoever sends is told.
        let _ = write_all(&mut stream, &outgoing, &own_board, own);
        let _ = stream.shutdown(Shutdown::Write);
    })?;
    thread("from").spawn(move || read_all(reads, &incoming, &board, other, witness.as_deref()))?;
    Ok((sender, receiver))
}

fn write_all(stream: &mut TcpStream, outgoing: &Receiver<Out>, board: &Board, own: usize) -> Result<()> {
    let mut buffer = Vec::new();
    let mut told: Option<Instant> = None;
    loop {
        let next = outgoing.recv_timeout(BEAT);
        let (what, at) = board.said(own);
        if told != Some(at) {
            told = Some(at);
            put(Frame::Sign(what), &mut buffer, stream)?;
        }
        let last = match next {
            Ok(Out::Data(data)) => {
                put(Frame::Data(data), &mut buffer, stream)?;
                false
            }
            Ok(Out::Farewell(words)) => {
                put(Frame::Farewell(words), &mut buffer, stream)?;
                true
            }
            Ok(Out::Sign) | Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if last {
            put(Frame::Bye, &mut buffer, stream)?;
        }
        stream.write_all(&buffer)?;
        buffer.clear();
        if last {
            return Ok(());
        }
    }
}

fn read_all(
    stream: TcpStream,
    incoming: &Sender<Vec<f32>>,
    board: &Board,
    other: usize,
    witness: Option<&dyn Witness>,
) {
    let mut stream = std::io::BufReader::new(stream);
    let (mut words, mut bye) = (None, false);
    while !bye {
        match read(&mut stream) {
            // Where nobody receives any more, what comes is taken nevertheless: the other is not to be held up.
            Ok(Frame::Data(data)) => drop(incoming.send(data)),
            Ok(Frame::Sign(what)) => {
                board.say(other, &what);
                if let Some(witness) = witness {
                    witness.says(other, &what);
                }
            }
            Ok(Frame::Farewell(text)) => words = Some(text),
            Ok(Frame::Bye) => bye = true,
            Err(_) => break,
        }
    }
    if !bye {
        let before = board.said(other).0;
        board.say(other, &format!("died without a word, after: {before}"));
    }
    if let Some(witness) = witness {
        witness.ended(other, words.as_deref());
    }
}
