//! How a connection begins: who is there, and whether it belongs here.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first bytes of each connection, before a length as u32 and JSON.
const MAGIC: &[u8; 16] = b"canopy ranks v1\n";

/// More than anybody has to say here.
const MOST_BYTES: u32 = 1 << 20;

/// Who does not speak for so long has nothing to say.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What a rank says first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub token: String,
    pub world_size: usize,
    pub rank: usize,
    /// The group of links that the connection is for; none: it is to meet the others.
    pub group: Option<usize>,
    /// Where those of higher numbers find it.
    pub listens: Option<SocketAddr>,
    /// What must be the same on all ranks.
    pub agreed: Vec<(String, String)>,
}

/// Rank 0's answer: where the ranks are, its own left out, or why they do not come together.
pub type Answer = std::result::Result<Vec<SocketAddr>, String>;

/// Writes `what`.
pub fn say(stream: &mut TcpStream, what: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(what)?;
    let length = u32::try_from(text.len()).context("too much to say")?;
    let whole = [&MAGIC[..], &length.to_le_bytes(), &text].concat();
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream.write_all(&whole)?)
}

/// Reads what the other says, who may take `patience` to begin.
pub fn hear<T: DeserializeOwned>(stream: &mut TcpStream, patience: Duration) -> Result<T> {
    stream.set_read_timeout(Some(patience))?;
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic).context("it did not speak")?;
    if magic != *MAGIC {
        match magic.starts_with(b"canopy ranks ") {
            true => bail!("it speaks another version of this"),
            false => bail!("it is no rank of canopy"),
        }
    }
    let mut length = [0; 4];
    stream.read_exact(&mut length).context("it broke off")?;
    let length = u32::from_le_bytes(length);
    ensure!(length <= MOST_BYTES, "it is no rank of canopy");
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text).context("it broke off")?;
    serde_json::from_slice(&text).context("it speaks another version of this")
}
