//! How the processes of a job find each other: all come to rank 0, which tells each where the others are.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

use super::{
    Mesh, Pass,
    greeting::{self, Answer, Hello, hear, say},
};

/// How often who waits looks up.
const LOOK: Duration = Duration::from_millis(10);

/// What goes on while rank 0 waits for the others.
pub struct Watch<'a> {
    /// Called again and again; an error ends the waiting.
    pub going: &'a mut dyn FnMut() -> Result<()>,
    /// Told of those who were turned away.
    pub turned_away: &'a mut dyn FnMut(&str),
}

/// Rank 0's part: waits at `listener` until all have come, and brings them together.
///
/// # Errors
/// Ranks that do not come within the pass's patience, by number; one that does not agree with rank 0, with what it says
/// otherwise; what [`Watch::going`] says.
pub fn host(listener: &TcpListener, pass: &Pass, watch: &mut Watch) -> Result<Mesh> {
    let end = Instant::now() + pass.patience;
    let mut came: Vec<Option<(Hello, TcpStream)>> = (0..pass.world_size).map(|_| None).collect();
    while let missing @ [_, ..] = &missing(&came)[..] {
        let late = || {
            format!(
                "{} did not come within {:.0} s",
                ranks(missing),
                pass.patience.as_secs_f64()
            )
        };
        let found = next(listener, end, watch.going).and_then(|s| s.with_context(late));
        let (mut stream, address) = match found {
            Ok(found) => found,
            Err(error) => return Err(refuse_all(&mut came, error)),
        };
        match greeted(&mut stream, pass, &came) {
            Ok(hello) => {
                let rank = hello.rank;
                came[rank] = Some((hello, stream));
            }
            Err(why) => {
                let _ = say(&mut stream, &Answer::Err(format!("{why:#}")));
                (watch.turned_away)(&format!("turned away {address}: {why:#}"));
            }
        }
    }
    let differing = came
        .iter()
        .flatten()
        .find_map(|(hello, _)| difference(pass, hello));
    if let Some(difference) = differing {
        return Err(refuse_all(&mut came, anyhow!(difference)));
    }
    let addresses: Answer = Ok(came.iter().flatten().filter_map(|(h, _)| h.listens).collect());
    for (hello, stream) in came.iter_mut().flatten() {
        say(stream, &addresses).with_context(|| format!("rank {} has gone again", hello.rank))?;
    }
    let mut mesh = Mesh::new(pass);
    mesh.accept(listener, pass, watch.going)?;
    Ok(mesh)
}

/// Another rank's part: comes to rank 0 at `address`, and connects with all.
///
/// # Errors
/// Rank 0 is not there within the pass's patience, or does not take this rank, with its reason.
pub fn join(address: &str, pass: &Pass) -> Result<Mesh> {
    let end = Instant::now() + pass.patience;
    let mut meeting = connect(address, end)?;
    let rank_0 = meeting.peer_addr()?;
    let listener = TcpListener::bind((meeting.local_addr()?.ip(), 0))
        .context("no port could be had for the other ranks")?;
    say(&mut meeting, &hello(pass, None, Some(listener.local_addr()?)))?;
    let answer: Answer = hear(&mut meeting, pass.patience + greeting::PATIENCE)
        .with_context(|| format!("rank 0 was looked for at {address}"))?;
    let others = answer.map_err(|why| anyhow!("rank 0 at {address}: {why}"))?;
    let addresses: Vec<SocketAddr> = [rank_0].into_iter().chain(others).collect();
    let mut mesh = Mesh::new(pass);
    for (rank, address) in addresses.iter().enumerate().take(pass.rank) {
        for group in 0..pass.groups {
            let made = TcpStream::connect_timeout(address, greeting::PATIENCE).map_err(anyhow::Error::from);
            let greeted = made.and_then(|mut stream| {
                say(&mut stream, &hello(pass, Some(group), None))?;
                Ok(stream)
            });
            let stream = greeted.with_context(|| format!("rank {rank} at {address} cannot be reached"))?;
            mesh.groups[group][rank] = Some(stream);
        }
    }
    mesh.accept(&listener, pass, &mut || Ok(()))?;
    Ok(mesh)
}

fn hello(pass: &Pass, group: Option<usize>, listens: Option<SocketAddr>) -> Hello {
    Hello {
        token: pass.token.clone(),
        world_size: pass.world_size,
        rank: pass.rank,
        group,
        listens,
        agreed: if group.is_none() {
            pass.agreed.clone()
        } else {
            Vec::new()
        },
    }
}

/// Rank 0 may not be there yet.
fn connect(address: &str, end: Instant) -> Result<TcpStream> {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return Ok(stream),
            Err(_) if Instant::now() < end => thread::sleep(5 * LOOK),
            Err(error) => {
                return Err(error).with_context(|| format!("rank 0 is not at {address}"));
            }
        }
    }
}

/// Who comes next; none until `end`.
fn next(
    listener: &TcpListener,
    end: Instant,
    going: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<(TcpStream, SocketAddr)>> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, address)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some((stream, address)));
            }
            // Some systems tell here of a connection that ended before it was taken.
            Err(e) if e.kind() == ErrorKind::ConnectionAborted || e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                going()?;
                if Instant::now() >= end {
                    return Ok(None);
                }
                thread::sleep(LOOK);
            }
            Err(e) => return Err(e).context("ranks cannot be waited for"),
        }
    }
}

/// The hello of a rank that belongs here.
fn greeted(stream: &mut TcpStream, pass: &Pass, came: &[Option<(Hello, TcpStream)>]) -> Result<Hello> {
    let hello: Hello = hear(stream, greeting::PATIENCE)?;
    let Hello { rank, world_size, .. } = hello;
    if hello.token != pass.token {
        bail!("rank {rank} is of another job: its token is not the one of this");
    }
    if world_size != pass.world_size {
        bail!(
            "rank {rank} was told of {world_size} ranks, rank 0 of {}",
            pass.world_size
        );
    }
    if rank == 0 || rank >= world_size || hello.listens.is_none() {
        bail!("a rank {rank} is not expected");
    }
    if came[rank].is_some() {
        bail!("rank {rank} is here already: was it started twice?");
    }
    Ok(hello)
}

/// What a rank says otherwise than rank 0.
fn difference(pass: &Pass, hello: &Hello) -> Option<String> {
    let of = |rank: usize, value: Option<&String>| match value {
        Some(value) => format!("{value} on rank {rank}"),
        None => format!("nothing on rank {rank}"),
    };
    let find =
        |all: &[(String, String)], name: &str| all.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    let names = pass.agreed.iter().chain(&hello.agreed).map(|(name, _)| name);
    names.into_iter().find_map(|name| {
        let (own, theirs) = (find(&pass.agreed, name), find(&hello.agreed, name));
        (own != theirs).then(|| {
            let rank = hello.rank;
            format!(
                "rank {rank} does not do what rank 0 does: {name} is {}, {}",
                of(0, own.as_ref()),
                of(rank, theirs.as_ref())
            )
        })
    })
}

/// Numbers of ranks other than 0 that have not come.
fn missing(came: &[Option<(Hello, TcpStream)>]) -> Vec<usize> {
    (1..came.len()).filter(|&rank| came[rank].is_none()).collect()
}

fn ranks(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().take(5).map(usize::to_string).collect();
    let more = if numbers.len() > 5 { ", …" } else { "" };
    match numbers {
        [one] => format!("rank {one}"),
        _ => format!("ranks {}{more}", list.join(", ")),
    }
}

/// Tells those who came, so that they do not wait in vain.
fn refuse_all(came: &mut [Option<(Hello, TcpStream)>], error: anyhow::Error) -> anyhow::Error {
    for (_, stream) in came.iter_mut().flatten() {
        let _ = say(stream, &Answer::Err(format!("{error:#}")));
    }
    error
}

impl Mesh {
    fn new(pass: &Pass) -> Self {
        let one = || (0..pass.world_size).map(|_| None).collect();
        Self {
            rank: pass.rank,
            groups: (0..pass.groups).map(|_| one()).collect(),
        }
    }

    /// Waits for the connections of all ranks of higher numbers.
    fn accept(
        &mut self,
        listener: &TcpListener,
        pass: &Pass,
        going: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let end = Instant::now() + pass.patience;
        while let Some(missing) = self.missing() {
            let (mut stream, _) = next(listener, end, going)?
                .with_context(|| format!("rank {missing} did not connect with rank {}", self.rank))?;
            let Ok(hello) = hear::<Hello>(&mut stream, greeting::PATIENCE) else {
                continue;
            };
            let expected = hello.token == pass.token && hello.rank > self.rank;
            let place = hello.group.and_then(|group| self.groups.get_mut(group));
            match place.and_then(|ranks| ranks.get_mut(hello.rank)) {
                Some(place) if expected => *place = Some(stream),
                _ => drop(say(
                    &mut stream,
                    &Answer::Err("all ranks are here already".into()),
                )),
            }
        }
        Ok(())
    }

    fn missing(&self) -> Option<usize> {
        let of =
            |ranks: &Vec<Option<TcpStream>>| (self.rank + 1..ranks.len()).find(|&rank| ranks[rank].is_none());
        self.groups.iter().find_map(of)
    }
}
