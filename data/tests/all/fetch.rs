//! Downloads from a server on this machine that behaves as badly as servers do.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use canopy_data::fetch::{Expect, Patience, download};
use md5::{Digest, Md5};
use tempfile::TempDir;

use crate::assert_contains;

/// What the server does with one request.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Serves what is asked for, with 206 where a range is.
    Serve,
    /// Ignores the range: everything, with 200.
    Whole,
    /// Announces all, sends so many bytes, and hangs up.
    BreakAfter(usize),
    /// Announces and sends so many bytes fewer than there are.
    Short(usize),
    /// Announces more than there is.
    AnnounceMore(usize),
    /// Sends so many bytes more, without announcing a length.
    Endless(usize),
    /// Serves other bytes of the same length.
    Other,
    /// Answers with a status alone.
    Status(u16),
    /// Answers a range with a wrong `Content-Range`.
    WrongRange,
}

struct Server {
    url: String,
    /// The `Range` of each request.
    ranges: Arc<Mutex<Vec<Option<usize>>>>,
}

fn body() -> Vec<u8> {
    (0..300_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect()
}

fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Serves the acts one after another, the last one for ever.
fn serve(acts: &[Act]) -> Server {
    let acts = acts.to_vec();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file.bin", listener.local_addr().unwrap());
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let seen = ranges.clone();
    thread::spawn(move || {
        for (i, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            let range = request(&stream);
            seen.lock().unwrap().push(range);
            // The client may hang up first; that is its right.
            let _ = answer(stream, acts[i.min(acts.len() - 1)], range);
        }
    });
    Server { url, ranges }
}

fn request(stream: &TcpStream) -> Option<usize> {
    let mut range = None;
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap_or_default().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(from) = line.strip_prefix("range: bytes=") {
            range = from.trim_end_matches('-').parse().ok();
        }
    }
    range
}

fn answer(mut s: TcpStream, act: Act, range: Option<usize>) -> std::io::Result<()> {
    let all = body();
    let total = all.len();
    let from = range.unwrap_or(0).min(total);
    let whole = |length: usize| format!("200 OK\r\nContent-Length: {length}");
    let partial = |from: usize, length: usize| match range {
        Some(_) => format!(
            "206 Partial\r\nContent-Range: bytes {from}-{}/{total}\r\nContent-Length: {length}",
            total - 1
        ),
        None => whole(length),
    };
    let rest = || all[from..].to_vec();
    let (head, body) = match act {
        Act::Serve => (partial(from, total - from), rest()),
        Act::Whole => (whole(total), all),
        Act::BreakAfter(n) => (
            partial(from, total - from),
            all[from..(from + n).min(total)].to_vec(),
        ),
        Act::Short(n) => (partial(from, total - from - n), all[from..total - n].to_vec()),
        Act::AnnounceMore(n) => (partial(from, total - from + n), rest()),
        Act::Endless(n) => ("200 OK".into(), [all, vec![7; n]].concat()),
        Act::Other => (partial(from, total - from), vec![1; total - from]),
        Act::Status(code) => (format!("{code} No\r\nContent-Length: 0"), Vec::new()),
        Act::WrongRange => (partial(5, total - from), rest()),
    };
    write!(s, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n")?;
    s.write_all(&body)
}

struct Trial {
    server: Server,
    dir: TempDir,
    to: PathBuf,
}

fn trial(acts: &[Act]) -> Trial {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("file.bin");
    Trial {
        server: serve(acts),
        dir,
        to,
    }
}

impl Trial {
    fn run_expecting(&self, bytes: Option<usize>, of: &[u8]) -> Result<(), String> {
        let patience = Patience {
            attempts: 3,
            wait: Duration::from_millis(1),
            silence: Duration::from_secs(5),
        };
        let (sum, bytes) = (md5(of), bytes.map(|n| n as u64));
        let expect = Expect { bytes, md5: &sum };
        download(&self.server.url, &self.to, expect, patience, &mut |_, _| Ok(()))
            .map_err(|e| format!("{e:#}"))
    }

    fn run(&self) -> Result<(), String> {
        self.run_expecting(Some(body().len()), &body())
    }

    fn part(&self) -> PathBuf {
        self.dir.path().join("file.bin.part")
    }

    /// Fails with an error that contains `part`, and leaves no file under the name.
    #[track_caller]
    fn fails(&self, part: &str) {
        assert_contains(&self.run().unwrap_err(), &[part]);
        assert!(!self.to.exists());
    }

    /// Succeeds: there is the right file, and no other.
    #[track_caller]
    fn succeeds(&self) {
        self.run().unwrap();
        self.whole();
    }

    #[track_caller]
    fn whole(&self) {
        assert!(fs::read(&self.to).unwrap() == body());
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 1);
    }

    fn ranges(&self) -> Vec<Option<usize>> {
        self.server.ranges.lock().unwrap().clone()
    }
}

#[test]
fn a_download_continues_where_the_server_stopped_or_starts_again() {
    let cases: [(&[Act], &[Option<usize>]); 5] = [
        (
            &[Act::BreakAfter(100_000), Act::BreakAfter(50_000), Act::Serve],
            &[None, Some(100_000), Some(150_000)],
        ),
        // A server without ranges.
        (&[Act::BreakAfter(100_000), Act::Whole], &[None, Some(100_000)]),
        // A range that was not asked for.
        (
            &[Act::BreakAfter(100_000), Act::WrongRange, Act::Serve],
            &[None, Some(100_000), None],
        ),
        (&[Act::Short(1_000), Act::Serve], &[None, Some(299_000)]),
        (&[Act::Status(503), Act::Status(429), Act::Serve], &[None; 3]),
    ];
    for (acts, ranges) in cases {
        let t = trial(acts);
        t.succeeds();
        assert_eq!(t.ranges(), ranges, "{acts:?}");
        // A second run requests nothing.
        t.succeeds();
        assert_eq!(t.ranges(), ranges, "{acts:?}");
    }
}

#[test]
fn a_break_without_an_end_keeps_the_part_and_the_next_run_continues() {
    let stop = Act::BreakAfter(0);
    let t = trial(&[Act::BreakAfter(70_000), stop, stop, Act::Serve]);
    t.fails("gave up after 3 attempts; 70000 bytes are kept");
    assert_eq!(fs::metadata(t.part()).unwrap().len(), 70_000);
    t.succeeds();
    assert_eq!(t.ranges().last(), Some(&Some(70_000)));
}

#[test]
fn a_server_without_the_published_file_is_refused() {
    for (acts, part) in [
        (
            &[Act::Short(1_000), Act::Status(503)][..],
            "the server answers 503",
        ),
        (&[Act::Status(404)], "answers 404"),
        (
            &[Act::AnnounceMore(10)],
            "announces 300010 bytes, but the file has 300000",
        ),
        (
            &[Act::Endless(500_000)],
            "sends more than the file's 300000 bytes",
        ),
        (&[Act::Other], "MD5 is"),
        (&[Act::Other], &md5(&body())),
    ] {
        let t = trial(acts);
        t.fails(part);
        if matches!(acts, [Act::Status(404)]) {
            assert_eq!(t.ranges().len(), 1, "a missing file is final");
        }
        if matches!(acts, [Act::Other]) {
            assert_eq!(fs::read_dir(t.dir.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn without_a_published_length_the_checksum_decides() {
    let t = trial(&[Act::Endless(0)]);
    t.run_expecting(None, &body()).unwrap();
    t.whole();
    let t = trial(&[Act::Short(10)]);
    assert_contains(&t.run_expecting(None, &body()).unwrap_err(), &["MD5"]);
    assert!(!t.to.exists() && !t.part().exists());
    let t = trial(&[Act::AnnounceMore(10)]);
    assert!(t.run_expecting(None, &body()).is_err());
    assert!(!t.to.exists());
}

#[test]
fn a_part_of_another_file_is_replaced() {
    // One that is too long is not even resumed.
    for (length, ranges) in [(1_000, &[Some(1_000), None][..]), (400_000, &[None])] {
        let t = trial(&[Act::Serve]);
        fs::write(t.part(), vec![9; length]).unwrap();
        t.succeeds();
        assert_eq!(t.ranges(), ranges);
    }
}

#[test]
fn another_file_of_that_name_is_not_changed() {
    let t = trial(&[Act::Serve]);
    fs::write(&t.to, "mine").unwrap();
    assert_contains(&t.run().unwrap_err(), &["exists already"]);
    assert_eq!(fs::read(&t.to).unwrap(), b"mine");
    assert!(t.ranges().is_empty());
}

#[test]
fn a_stop_keeps_the_part_and_nothing_under_the_name() {
    let t = trial(&[Act::Serve]);
    let sum = md5(&body());
    let expect = Expect {
        bytes: None,
        md5: &sum,
    };
    let stop = &mut |now, _| {
        anyhow::ensure!(now < 100_000, "stopped");
        Ok(())
    };
    assert!(download(&t.server.url, &t.to, expect, Patience::default(), stop).is_err());
    assert!(!t.to.exists());
    assert!(fs::metadata(t.part()).unwrap().len() >= 100_000);
    t.succeeds();
}

#[test]
fn a_server_that_does_not_listen_is_an_error() {
    let mut t = trial(&[Act::Serve]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    t.server.url = format!("http://{free}/x");
    t.fails("gave up after 3 attempts");
}
