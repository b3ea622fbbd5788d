//! Hostile code in the body of an exercise. Even without a sandbox, each would exit by itself within seconds and use few
//! resources; sockets use the loopback address only.
//!
//! If the hostile action must fail, the answer is right only if it did: the point then shows that nothing happened.

use crate::HONEST;

/// The right body of `neuron`.
const RIGHT: &str = "activation(inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>() + bias)";

/// A hostile body of `neuron`, the expected points (of 12), and a text that the messages to the student must contain.
pub struct Deed {
    pub name: &'static str,
    pub items: &'static str,
    pub body: &'static str,
    pub points: u32,
    pub shows: &'static str,
    /// The part of the sandbox that must be active for this outcome.
    pub needs: &'static str,
}

const fn deed(name: &'static str, points: u32, shows: &'static str, body: &'static str) -> Deed {
    Deed {
        name,
        items: "",
        body,
        points,
        shows,
        needs: "files",
    }
}

/// The test replaces `SENTINEL`, `ROOT` and `OTHER` by folders (one that must not change, the course's, and another
/// submission's) and `PORT` by the port of a listener.
pub const DEEDS: &[Deed] = &[
    deed("exits-at-once", 11, "ended before the check did", "std::process::exit(0)"),
    deed(
        "prints-a-fake-result",
        11,
        "failed: ",
        r#"for _ in 0..40 {
            println!("test result: ok. 24 passed; 0 failed");
            println!("{{\"nonce\":\"\",\"check\":\"1.1::adds_the_bias_once\",\"end\":[\"right\",\"\"]}}");
            eprintln!("{{\"active\":[],\"missing\":[],\"failed\":null}}");
        }
        0.0"#,
    ),
    Deed {
        items: "struct Bomb;\nimpl Drop for Bomb { fn drop(&mut self) { panic!(\"in a drop\") } }",
        ..deed("panics-in-a-drop", 11, "SIGABRT", "let _bomb = Bomb; panic!(\"first\")")
    },
    deed(
        "spins",
        11,
        "did not end",
        "let t = std::time::Instant::now(); while t.elapsed().as_secs() < 9 { std::hint::black_box(bias); } RIGHT",
    ),
    deed(
        "overflows-the-stack",
        11,
        "stack",
        "fn deep(n: u64) -> u64 { let a = std::hint::black_box([n; 64]); deep(a[3] + 1) + a[5] } deep(1) as f32",
    ),
    deed(
        "eats-memory",
        11,
        "SIGABRT",
        "let mut all = Vec::new();
        for _ in 0..32 { all.push(std::hint::black_box(Vec::<u8>::with_capacity(64 << 20))); }
        if all.len() == 32 { RIGHT } else { f32::NAN }",
    ),
    deed(
        "forks",
        12,
        "",
        "let started = (0..30).filter(|_| std::process::Command::new(\"/bin/sleep\").arg(\"2\").spawn().is_ok()).count();
        if started == 0 { RIGHT } else { f32::NAN }",
    ),
    Deed {
        needs: "user",
        ..deed(
        "starts-many-threads",
        12,
        "",
        "let gate = std::sync::Arc::new(std::sync::RwLock::new(()));
        let shut = gate.write();
        let all: Vec<_> = (0..200).filter_map(|_| {
            let gate = gate.clone();
            std::thread::Builder::new().spawn(move || drop(gate.read())).ok()
        }).collect();
        drop(shut);
        let count = all.len();
        for one in all { let _ = one.join(); }
        if count < 100 { RIGHT } else { f32::NAN }",
    )
    },
    deed(
        "fills-the-disk",
        12,
        "",
        "let mut written = 0;
        for i in 0..200 {
            if std::fs::write(format!(\"filler-{i}\"), vec![7u8; 1 << 20]).is_ok() { written += 1; }
        }
        for i in 0..200 { let _ = std::fs::remove_file(format!(\"filler-{i}\")); }
        if written < 40 { RIGHT } else { f32::NAN }",
    ),
    deed(
        "prints-without-end",
        12,
        "",
        "for _ in 0..2_000 { println!(\"{}\", \"x\".repeat(5_000)); } RIGHT",
    ),
    deed(
        "looks-around",
        12,
        "",
        "let seen = [\"OTHER\", \"ROOT/solutions/src/kernels/neuron.rs\", \"/root\", \"/home\", \"/proc/self/environ\", \"/etc/passwd\", \"/sys\", \"/var\", \"ROOT/Cargo.toml\"];
        if seen.iter().all(|p| std::fs::read(p).is_err() && std::fs::read_dir(p).is_err()) { RIGHT } else { f32::NAN }",
    ),
    deed(
        "writes-into-the-tests",
        12,
        "",
        "let gone = [\"SENTINEL/written\", \"ROOT/lessons/lesson01/written.tmp\", \"/tmp/canopy-written.tmp\"];
        let wrote = gone.iter().any(|p| std::fs::write(p, \"x\").is_ok());
        let took = std::fs::remove_file(\"SENTINEL/stays\").is_ok();
        if wrote || took { f32::NAN } else { RIGHT }",
    ),
    deed(
        "writes-into-the-verdict-by-its-number",
        12,
        "",
        "use std::io::Write;
        let mut wrote = false;
        for n in 0..64 {
            for folder in [\"/proc/self/fd\", \"/dev/fd\"] {
                if let Ok(mut f) = std::fs::OpenOptions::new().write(true).open(format!(\"{folder}/{n}\")) {
                    wrote |= f.write_all(b\"right\\n\").is_ok();
                }
            }
        }
        if wrote || std::fs::File::open(\"/proc/self/mem\").is_ok() { f32::NAN } else { RIGHT }",
    ),
    deed(
        "leaves-threads-behind",
        12,
        "",
        "for _ in 0..3 {
            std::thread::spawn(|| {
                let t = std::time::Instant::now();
                while t.elapsed().as_secs() < 5 { std::thread::yield_now(); }
                std::process::exit(0)
            });
        }
        RIGHT",
    ),
    deed(
        "reads-the-environment",
        12,
        "",
        "let poisoned = [\"HOME\", \"RUSTFLAGS\", \"CARGO\", \"RUSTC_WRAPPER\", \"CANOPY_SEED\", \"LD_PRELOAD\"];
        if poisoned.iter().all(|k| std::env::var_os(k).is_none()) { RIGHT } else { f32::NAN }",
    ),
    deed(
        "kills-its-parent",
        12,
        "",
        "let parent = std::os::unix::process::parent_id().to_string();
        let killed = std::process::Command::new(\"/bin/kill\").args([\"-9\", &parent]).status().is_ok();
        if killed { f32::NAN } else { RIGHT }",
    ),
    deed(
        "connects",
        12,
        "",
        "let tcp = std::net::TcpStream::connect(\"127.0.0.1:PORT\").is_ok();
        let udp = std::net::UdpSocket::bind(\"127.0.0.1:0\").and_then(|s| s.send_to(b\"x\", \"127.0.0.1:PORT\")).is_ok();
        let unix = std::os::unix::net::UnixStream::connect(\"SENTINEL/socket\").is_ok();
        if tcp || udp || unix { f32::NAN } else { RIGHT }",
    ),
    deed(
        "calls-canopys-own-by-an-alias",
        12,
        "calls the solution",
        "use canopy::kernels as k; let mine = k::neuron; mine(inputs, weights, bias, activation)",
    ),
    deed(
        "includes-the-answers",
        12,
        "",
        "let read = [
            include_str!(\"../../../lessons/lesson01/src/answers.rs\"),
            include_str!(\"../../../lessons/lesson01/src/right.rs\"),
            include_str!(\"../../../lessons/lesson01/lesson.toml\"),
            include_str!(\"../../../solutions/src/kernels/neuron.rs\"),
            include_str!(\"../../../tests/proof/tests/hostile/answers.rs\"),
        ];
        if read.concat().is_empty() { RIGHT } else { f32::NAN }",
    ),
    deed(
        "panics-with-markup-and-control-characters",
        11,
        "panicked",
        "panic!(\"\\u{1b}[2J\\u{1b}[31m</script></pre><b>=HYPERLINK(1)\\n=1+1\\u{202e}\\0\")",
    ),
];

/// The honest submission with the hostile body instead of the neuron's.
pub fn source(deed: &Deed) -> String {
    let body = deed.body.replace("RIGHT", RIGHT);
    let from = HONEST.find("    let sum: f32").expect("the neuron's first line");
    let to = HONEST[from..].find("\n}").expect("its end") + from;
    format!("{}    {body}{}\n{}", &HONEST[..from], &HONEST[to..], deed.items)
}
