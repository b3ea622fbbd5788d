use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::*;

const SOURCE: &str = "exercises/lesson01/src/lib.rs";
const TOML: &str = "schema = 1\npacked = \"2026-11-20T22:00:00Z\"\nrustc = \"\"\ndigest = \"\"\n[course]\nversion = \"\"\ndigest = \"\"\n";

fn tarred(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut head = tar::Header::new_ustar();
        head.set_size(text.len() as u64);
        tar.append_data(&mut head, path, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// What is taken of a folder with these files.
fn of_folder(files: &[(&str, &[u8])]) -> Result<Taken, Rejected> {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    take(&[dir.path().to_owned()])
}

fn lessons(taken: &Taken) -> Vec<String> {
    let files = taken.lessons.iter().map(|(l, f)| {
        let paths: Vec<&str> = f.keys().map(String::as_str).collect();
        format!("{l} {}", paths.join(" "))
    });
    files.collect()
}

#[test]
fn archives_and_folders_are_read() {
    let tar = tarred(&[
        (PAPER, TOML),
        (SOURCE, "// one"),
        ("./exercises/lesson02/src/a/b.rs", ""),
    ]);
    let tar_gz = gzipped(&tar);
    let unpacked: [(&str, &[u8]); 3] = [
        (PAPER, TOML.as_bytes()),
        (SOURCE, b"// one"),
        ("exercises/lesson02/src/a/b.rs", b""),
    ];
    let within = unpacked.map(|(path, text)| (format!("a/{path}"), text));
    let within = [0, 1, 2].map(|i| (&*within[i].0, within[i].1));
    for files in [
        &unpacked[..],
        &within,
        &[("submission (1).tar.gz", &tar_gz)],
        &[("x/y/submission.tar.gz", &tar_gz), (".DS_Store", b"")],
        &[("submission.tar", &tar)],
    ] {
        let taken = of_folder(files).unwrap();
        assert_eq!(lessons(&taken), ["01 lib.rs", "02 a/b.rs"]);
        assert_eq!(taken.left_out, [] as [&str; 0]);
        let (time, _) = taken.dated(Clock::Packed).unwrap();
        assert_eq!(Some(time), instant("2026-11-20T22:00:00Z").ok());
        assert!(taken.dated(Clock::File).is_some() && taken.dated(Clock::Roster).is_none());
        assert_eq!(taken.digest(), of_folder(&unpacked).unwrap().digest());
    }
}

#[test]
fn nothing_but_sources_is_taken() {
    for path in [
        "lessons/lesson01/src/lib.rs",
        "ada/exercises/lesson01/src/lib.rs",
        "exercises/lesson01/src/../x.rs",
        "/exercises/lesson01/src/lib.rs",
        "exercises//lesson01/src/lib.rs",
        "exercises/lesson01/src//x.rs",
        "exercises/lesson01/src/bin/x.rs",
        "exercises/lesson01/src/main.rs",
        "exercises/lesson01/src/x.txt",
        "exercises/lesson01/build.rs",
        "exercises/lesson1/src/x.rs",
        "exercises/lesson01/src/li\u{0}b.rs",
        "",
    ] {
        assert!(placed(path).is_err(), "{path:?}");
    }
    let taken = of_folder(&[
        (SOURCE, b""),
        ("exercises/lesson01/Cargo.toml", b""),
        ("exercises/lesson01/.cargo/config.toml", b""),
        ("exercises/lesson01/target/x.rs", b""),
        ("exercises/lesson01/src/odd.rs", b"\xff"),
        ("lessons/x", b""),
    ]);
    let left_out = taken.unwrap().left_out;
    let names: Vec<&str> = left_out.iter().map(|l| l.rsplit('/').next().unwrap()).collect();
    let taken = "only exercises/lessonNN/src/**.rs is taken"
        .rsplit('/')
        .next()
        .unwrap();
    assert_eq!(
        names,
        [
            ".cargo: not read",
            taken,
            "odd.rs: it is not UTF-8 text",
            "target: not read"
        ]
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let whole = gzipped(&tarred(&[(SOURCE, &"// a line\n".repeat(1000))]));
    let cut = &whole[..whole.len() / 2];
    let many: Vec<(String, &[u8])> = (0..65)
        .map(|i| (format!("exercises/lesson01/src/m{i}.rs"), &b""[..]))
        .collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(path, text)| (&**path, *text)).collect();
    for (files, why) in [
        (&[("x.tar.gz", cut)][..], "the archive is damaged"),
        (&[("x.zip", b"PK\x03\x04")], "cargo course pack"),
        (
            &[("notes.txt", b""), ("more.txt", b"")],
            "it has 2 files and folders (more.txt, notes.txt",
        ),
        (
            &[("a.tgz", b""), ("b.tgz", b"")],
            "it has 2 files and folders (a.tgz, b.tgz",
        ),
        (
            &[("exercises/lesson01/lib.rs", b"")],
            "exercises/lesson01/lib.rs: only",
        ),
        (&many, "more than 64 Rust files"),
    ] {
        let (Rejected::Unreadable(text) | Rejected::Refused(text)) = of_folder(files).unwrap_err();
        assert!(text.contains(why), "{text}");
    }
}
