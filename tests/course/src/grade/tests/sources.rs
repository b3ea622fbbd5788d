use std::{
    fs,
    io::{Cursor, Write},
};

use flate2::{Compression, write::GzEncoder};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::late::instant;

const STUB: &str = "//! Lesson 01: gradient descent by hand.\npub fn neuron() {}\n";
const SOURCE: &str = "exercises/lesson01/src/lib.rs";

type File<'a> = (&'a str, &'a [u8]);

fn zipped(files: &[File]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A `.tar.gz` as `cargo course pack` writes it, or without `packed` one with dates of its own.
fn tarred(text: &str, packed: Option<&str>) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let paper = packed.map(|packed| {
        format!("schema = 1\npacked = \"{packed}\"\nrustc = \"\"\ndigest = \"\"\n[course]\nversion = \"\"\ndigest = \"\"\n")
    });
    let files = paper
        .iter()
        .map(|p| ("submission.toml", &**p))
        .chain([(SOURCE, text)]);
    for (path, text) in files {
        let mut head = tar::Header::new_ustar();
        head.set_size(text.len() as u64);
        head.set_mtime(if packed.is_some() { 0 } else { 1_795_000_000 });
        tar.append_data(&mut head, path, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// What is taken of these files, which are in one folder, or are one file.
fn take(files: &[File], lesson: Option<&str>) -> Result<Taken, String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join("one").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let folder = dir.path().join("one");
    let path = match files {
        [(name, _)] if !name.contains('/') && !name.contains('\\') => folder.join(name),
        _ => folder,
    };
    let one = Submission {
        paths: vec![path],
        ..Submission::default()
    };
    one.take(lesson).map_err(|why| match why {
        Rejected::Unreadable(why) => why,
        Rejected::Refused(why) => format!("refused: {why}"),
    })
}

fn lessons(taken: &Taken) -> Vec<(&str, Vec<&str>)> {
    taken
        .lessons
        .iter()
        .map(|(l, f)| (&**l, f.keys().map(String::as_str).collect()))
        .collect()
}

#[test]
fn the_exercises_are_found_in_whatever_is_handed_in() {
    let (text, packed) = (STUB.as_bytes(), tarred(STUB, Some("2026-11-20T22:00:00Z")));
    let plain = zipped(&[(SOURCE, text)]);
    let forms: [(&str, Vec<File>); 14] = [
        ("an archive of the course", vec![("a.tar.gz", &packed)]),
        ("capitals", vec![("A.ZIP", &plain)]),
        ("a tar whose name says zip", vec![("a.zip", &packed)]),
        (
            "Moodle's folder with the archive",
            vec![("submission.tar.gz", &packed), ("notes.pdf", b"x")],
        ),
        ("an archive in an archive", vec![("a.zip", &plain)]),
        (
            "folders around it",
            vec![("work/week 1/canopy-main/exercises/lesson01/src/lib.rs", text)],
        ),
        (
            "backslashes, unpacked",
            vec![("exercises\\lesson01\\src\\lib.rs", text)],
        ),
        ("a bare file", vec![("lib.rs", text)]),
        (
            "a bare file under a name of the platform",
            vec![("exampleanna_31_77_lib-1.rs", text)],
        ),
        ("a bare src", vec![("src/lib.rs", text), ("Cargo.toml", b"")]),
        (
            "what macOS adds",
            vec![
                (SOURCE, text),
                ("__MACOSX/exercises/lesson01/src/._lib.rs", b"\0"),
                (".DS_Store", b"\0"),
            ],
        ),
        ("no src", vec![("lesson01/lib.rs", text), ("x", b"")]),
        (
            "a clone",
            vec![
                (SOURCE, text),
                (".git/config", b""),
                ("lessons/lesson01/src/lib.rs", b""),
            ],
        ),
        (
            "other Rust files",
            vec![(SOURCE, text), ("build.rs", b"fn main() {}"), ("lib.rs", b"")],
        ),
    ];
    for (form, files) in forms {
        let taken = take(&files, None).unwrap_or_else(|why| panic!("{form}: {why}"));
        assert_eq!(lessons(&taken), [("01", vec!["lib.rs"])], "{form}");
        assert_eq!(taken.lessons["01"]["lib.rs"], STUB, "{form}");
    }
    let slashes = zipped(&[
        ("exercises\\lesson01\\src\\lib.rs", text),
        ("__MACOSX/._x", b"\0"),
    ]);
    let outer = zipped(&[
        ("hand-in/submission.tar.gz", &packed),
        ("hand-in/slides.pdf", b"x"),
    ]);
    for bytes in [&slashes, &outer] {
        assert_eq!(
            lessons(&take(&[("a.zip", bytes)], None).unwrap()),
            [("01", vec!["lib.rs"])]
        );
    }
}

#[test]
fn a_bare_file_needs_a_lesson() {
    let text: &[u8] = b"pub fn neuron() {}\n";
    let why = take(&[("lib.rs", text)], None).unwrap_err();
    assert!(why.contains("--lesson"), "{why}");
    assert_eq!(
        lessons(&take(&[("lib.rs", text)], Some("02")).unwrap())[0].0,
        "02"
    );
    // The lesson that the file names takes precedence.
    assert_eq!(
        lessons(&take(&[("lib.rs", STUB.as_bytes())], Some("02")).unwrap())[0].0,
        "01"
    );
}

#[test]
fn build_folders_are_not_read() {
    let names: Vec<String> = (0..12_000)
        .map(|i| format!("canopy/target/debug/{i}.o"))
        .collect();
    let mut files: Vec<File> = names.iter().map(|n| (&**n, &b""[..])).collect();
    files.push(("canopy/exercises/lesson01/src/lib.rs", STUB.as_bytes()));
    files.push(("canopy/.git/objects/00/11", b""));
    for taken in [take(&files, None), take(&[("a.zip", &zipped(&files))], None)] {
        let taken = taken.unwrap();
        assert_eq!(lessons(&taken).len(), 1);
        let mut left_out = taken.left_out.clone();
        left_out.sort();
        assert_eq!(left_out, ["canopy/.git: not read", "canopy/target: not read"]);
    }
}

#[test]
fn errors_say_why_a_submission_cannot_be_read() {
    let cut = &tarred(STUB, None)[..100];
    for (files, expected) in [
        (
            vec![("a.zip", &b"PK\x03\x04 no archive"[..])],
            "could not be read, because ",
        ),
        (vec![("a.tar.gz", cut)], "could not be read, because "),
        (
            vec![("submission.tar.gz", cut), ("notes.txt", b"x")],
            "submission.tar.gz is damaged",
        ),
        (
            vec![("notes.txt", b"x"), ("b.txt", b"")],
            "no exercises/lessonNN/src/lib.rs",
        ),
        (
            vec![("work.rar", b"x"), ("b.txt", b"")],
            "work.rar: only .zip, .tar",
        ),
        (vec![("notes.pdf", b"x")], "notes.pdf: not a folder"),
        (vec![(SOURCE, b"\xff"), ("b", b"")], "it is not UTF-8"),
        (vec![("a\u{202e}.txt", b"x"), ("b", b"")], "a\\u{202e}.txt"),
    ] {
        let why = take(&files, Some("01")).unwrap_err();
        assert!(
            why.contains(expected) && why.starts_with("could not be read, because "),
            "{why}"
        );
    }
    // A damaged archive beside a good one is reported.
    let good = tarred(STUB, None);
    let taken = take(&[("a.tar.gz", cut), ("b.tar.gz", &good)], None).unwrap();
    assert!(
        taken.left_out[0].contains("a.tar.gz is damaged"),
        "{:?}",
        taken.left_out
    );
}

#[test]
fn the_last_packed_of_two_versions_counts() {
    let (old, new) = (
        tarred("// old", Some("2026-11-19T00:00:00Z")),
        tarred("// new", Some("2026-11-20T00:00:00Z")),
    );
    let taken = take(&[("z.tar.gz", &old), ("a.tar.gz", &new)], None).unwrap();
    assert_eq!(taken.lessons["01"]["lib.rs"], "// new");
    assert!(taken.left_out[0].contains("z.tar.gz/"), "{:?}", taken.left_out);
    assert_eq!(
        taken.dated(Clock::Packed).map(|(time, _)| time),
        instant("2026-11-20T00:00:00Z").ok()
    );
    let why = take(
        &[
            ("a.tar.gz", &tarred("// a", None)),
            ("b.tar.gz", &tarred("// b", None)),
        ],
        None,
    )
    .unwrap_err();
    assert!(
        why.contains("different versions") && why.contains("a.tar.gz/") && why.contains("b.tar.gz/"),
        "{why}"
    );
    let same = tarred("// a", None);
    assert!(take(&[("a.tar.gz", &same), ("b.tar.gz", &same)], None).is_ok());
}

#[test]
fn the_time_is_that_of_the_platform_or_the_archive_and_never_of_unpacking() {
    let dated = |files: &[File], clock| take(files, None).unwrap().dated(clock);
    let packed = tarred(STUB, Some("2026-11-20T22:00:00Z"));
    let at = instant("2026-11-20T22:00:00Z").unwrap();
    assert_eq!(dated(&[("a.tar.gz", &packed)], Clock::Packed).unwrap().0, at);
    assert_eq!(dated(&[("a.tar.gz", &packed)], Clock::Platform), None);
    let (time, whose) = dated(&[("a.tar.gz", &tarred(STUB, None))], Clock::Packed).unwrap();
    assert_eq!((time, whose), (1_795_000_000, "the newest file in the archive"));
    // Unpacked just now, and a zip with the local time of MS-DOS.
    assert_eq!(
        dated(&[(SOURCE, STUB.as_bytes()), ("x", b"")], Clock::Packed),
        None
    );
    assert_eq!(
        dated(&[("a.zip", &zipped(&[(SOURCE, STUB.as_bytes())]))], Clock::Packed),
        None
    );
    assert!(dated(&[("a.zip", &zipped(&[(SOURCE, STUB.as_bytes())]))], Clock::File).is_some());
    let mut taken = take(&[("a.tar.gz", &packed)], None).unwrap();
    taken.times[0] = Some(7);
    for clock in [Clock::Packed, Clock::Platform] {
        assert_eq!(taken.dated(clock), Some((7, "the platform")));
    }
}
