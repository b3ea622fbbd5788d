//! Downloads from a server on this machine that behaves as badly as servers do.

#![allow(clippy::unwrap_used)] // in a test it is the assertion

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
fn serve(acts: &'static [Act]) -> Server {
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
    let partial = |s: &mut TcpStream, from: usize, length: usize| match range {
        Some(_) => write!(
            s,
            "HTTP/1.1 206 Partial\r\nContent-Range: bytes {from}-{}/{total}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n",
            total - 1
        ),
        None => write!(
            s,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        ),
    };
    match act {
        Act::Serve => {
            partial(&mut s, from, total - from)?;
            s.write_all(&all[from..])
        }
        Act::Whole => {
            write!(
                s,
                "HTTP/1.1 200 OK\r\nContent-Length: {total}\r\nConnection: close\r\n\r\n"
            )?;
            s.write_all(&all)
        }
        Act::BreakAfter(n) => {
            partial(&mut s, from, total - from)?;
            s.write_all(&all[from..(from + n).min(total)])
        }
        Act::Short(n) => {
            partial(&mut s, from, total - from - n)?;
            s.write_all(&all[from..total - n])
        }
        Act::AnnounceMore(n) => {
            partial(&mut s, from, total - from + n)?;
            s.write_all(&all[from..])
        }
        Act::Endless(n) => {
            write!(s, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            s.write_all(&all)?;
            s.write_all(&vec![7; n])
        }
        Act::Other => {
            partial(&mut s, from, total - from)?;
            s.write_all(&vec![1; total - from])
        }
        Act::Status(code) => write!(
            s,
            "HTTP/1.1 {code} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        Act::WrongRange => {
            partial(&mut s, 5, total - from)?;
            s.write_all(&all[from..])
        }
    }
}

struct Trial {
    server: Server,
    dir: TempDir,
    to: PathBuf,
}

fn trial(acts: &'static [Act]) -> Trial {
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

    /// The file is here, right, and nothing else is.
    fn whole(&self) {
        assert!(fs::read(&self.to).unwrap() == body());
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 1);
    }

    fn ranges(&self) -> Vec<Option<usize>> {
        self.server.ranges.lock().unwrap().clone()
    }
}

#[test]
fn a_good_server_gives_the_file_and_a_second_run_asks_for_nothing() {
    let t = trial(&[Act::Serve]);
    t.run().unwrap();
    t.whole();
    t.run().unwrap();
    assert_eq!(t.ranges(), [None]);
}

#[test]
fn after_a_break_the_rest_is_asked_for() {
    let t = trial(&[Act::BreakAfter(100_000), Act::BreakAfter(50_000), Act::Serve]);
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges(), [None, Some(100_000), Some(150_000)]);
}

#[test]
fn a_break_without_an_end_keeps_what_came_and_the_next_run_goes_on() {
    let t = trial(&[
        Act::BreakAfter(70_000),
        Act::BreakAfter(0),
        Act::BreakAfter(0),
        Act::Serve,
    ]);
    let error = t.run().unwrap_err();
    assert!(
        error.contains("gave up after 3 attempts; 70000 bytes are kept"),
        "{error}"
    );
    assert!(!t.to.exists());
    assert_eq!(fs::metadata(t.part()).unwrap().len(), 70_000);
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges().last(), Some(&Some(70_000)));
}

#[test]
fn a_server_without_ranges_is_read_from_the_start() {
    let t = trial(&[Act::BreakAfter(100_000), Act::Whole]);
    t.run().unwrap();
    t.whole();
}

#[test]
fn a_range_from_elsewhere_is_not_believed() {
    let t = trial(&[Act::BreakAfter(100_000), Act::WrongRange, Act::Serve]);
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges(), [None, Some(100_000), None]);
}

#[test]
fn a_server_that_ends_early_is_asked_again_and_at_last_given_up() {
    let t = trial(&[Act::Short(1_000), Act::Serve]);
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges(), [None, Some(299_000)]);
    let t = trial(&[Act::Short(1_000), Act::Status(503)]);
    assert!(t.run().unwrap_err().contains("the server answers 503"));
    assert!(!t.to.exists());
}

#[test]
fn a_server_that_announces_or_sends_too_much_is_refused() {
    let t = trial(&[Act::AnnounceMore(10)]);
    let error = t.run().unwrap_err();
    assert!(
        error.contains("announces 300010 bytes, but the file has 300000"),
        "{error}"
    );
    let t = trial(&[Act::Endless(500_000)]);
    let error = t.run().unwrap_err();
    assert!(
        error.contains("sends more than the file's 300000 bytes"),
        "{error}"
    );
    assert!(!t.to.exists());
}

#[test]
fn where_no_length_is_published_the_sum_decides() {
    let t = trial(&[Act::Endless(0)]);
    t.run_expecting(None, &body()).unwrap();
    t.whole();
    let t = trial(&[Act::Short(10)]);
    assert!(t.run_expecting(None, &body()).unwrap_err().contains("MD5"));
    assert!(!t.to.exists() && !t.part().exists());
    let t = trial(&[Act::AnnounceMore(10)]);
    assert!(t.run_expecting(None, &body()).is_err());
    assert!(!t.to.exists());
}

#[test]
fn a_wrong_sum_names_both_and_leaves_nothing() {
    let t = trial(&[Act::Other]);
    let error = t.run().unwrap_err();
    assert!(
        error.contains(&md5(&body())) && error.contains("MD5 is"),
        "{error}"
    );
    assert_eq!(fs::read_dir(t.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_part_of_another_file_is_replaced_by_one_fresh_attempt() {
    let t = trial(&[Act::Serve]);
    fs::write(t.part(), vec![9; 1_000]).unwrap();
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges(), [Some(1_000), None]);
}

#[test]
fn a_part_that_is_too_long_is_begun_anew() {
    let t = trial(&[Act::Serve]);
    fs::write(t.part(), vec![9; 400_000]).unwrap();
    t.run().unwrap();
    t.whole();
    assert_eq!(t.ranges(), [None]);
}

#[test]
fn a_missing_file_is_final_and_a_busy_server_is_asked_again() {
    let t = trial(&[Act::Status(404)]);
    let error = t.run().unwrap_err();
    assert!(error.contains("answers 404"), "{error}");
    assert_eq!(t.ranges().len(), 1);
    let t = trial(&[Act::Status(503), Act::Status(429), Act::Serve]);
    t.run().unwrap();
    t.whole();
}

#[test]
fn another_file_of_that_name_is_not_touched() {
    let t = trial(&[Act::Serve]);
    fs::write(&t.to, "mine").unwrap();
    let error = t.run().unwrap_err();
    assert!(error.contains("exists already"), "{error}");
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
    t.run().unwrap();
    t.whole();
}

#[test]
fn nobody_listening_is_told() {
    let t = trial(&[Act::Serve]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server {
        url: format!("http://{free}/x"),
        ranges: Arc::default(),
    };
    let error = Trial { server, ..t }.run().unwrap_err();
    assert!(error.contains("gave up after 3 attempts"), "{error}");
}
