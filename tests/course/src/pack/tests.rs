use std::{collections::BTreeMap, io::Read};

use flate2::read::GzDecoder;
use grader::Manifest;

use super::*;

const LESSON: &str = r#"
lesson = "01"
title = "T"
minutes = 1
chapter = "c.md"
[[exercise]]
id = "1.1"
title = "Double"
points = 2
function = "double"
solution = "s"
answer = "double"
hints = ["a", "b", "c"]
[[exercise]]
id = "1.2"
title = "Halve"
points = 3
function = "halve"
solution = "s"
answer = "halve"
hints = ["a", "b", "c"]
"#;

fn course() -> (tempfile::TempDir, Vec<Lesson>) {
    let dir = tempfile::tempdir().unwrap();
    for folder in [
        "exercises/lesson01/src/more",
        "lessons/lesson01",
        "data/src",
        "solutions/src",
        "tests/course",
        "tests/grader",
        "tests/kit",
    ] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    put(
        &dir,
        "exercises/lesson01/src/lib.rs",
        b"mod more;\npub fn double(x: f32) -> f32 { x + x }\n",
    );
    put(
        &dir,
        "exercises/lesson01/src/more/mod.rs",
        b"pub fn halve<T>(t: T) {}\n",
    );
    for file in [
        "Cargo.toml",
        "Cargo.lock",
        "data/Cargo.toml",
        "solutions/Cargo.toml",
        "exercises/lesson01/Cargo.toml",
    ] {
        put(&dir, file, b"[package]\n");
    }
    let manifest = Manifest::parse(LESSON).unwrap();
    let stubs = String::new();
    (dir, vec![Lesson { manifest, stubs }])
}

fn put(dir: &tempfile::TempDir, path: &str, bytes: &[u8]) {
    fs::write(dir.path().join(path), bytes).unwrap();
}

fn pack(dir: &tempfile::TempDir, lessons: &[Lesson], out: &str) -> Result<PathBuf> {
    let out = dir.path().join(out);
    let lesson = Vec::new();
    run(
        dir.path(),
        lessons,
        &Options {
            out: out.clone(),
            lesson,
        },
    )?;
    Ok(out)
}

fn unpacked(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tar = tar::Archive::new(GzDecoder::new(fs::File::open(archive).unwrap()));
    let entries = tar.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        assert_eq!(
            (entry.header().mtime().unwrap(), entry.header().mode().unwrap()),
            (0, 0o644)
        );
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (path, bytes)
    });
    entries.collect()
}

fn about_of(archive: &Path) -> Submission {
    let text = unpacked(archive)["submission.toml"].clone();
    toml::from_str(std::str::from_utf8(&text).unwrap()).unwrap()
}

#[test]
fn only_exercises_are_packed_with_valid_digests() {
    let (dir, lessons) = course();
    put(&dir, "exercises/lesson01/src/notes.txt", b"mine");
    put(&dir, "exercises/lesson01/build.rs", b"fn main() {}");
    let archive = pack(&dir, &lessons, "a.tar.gz").unwrap();
    let files = unpacked(&archive);
    let names: Vec<&str> = files.keys().map(|n| &**n).collect();
    let lib = "exercises/lesson01/src/lib.rs";
    assert_eq!(
        names,
        [lib, "exercises/lesson01/src/more/mod.rs", "submission.toml"]
    );
    let about = about_of(&archive);
    for file in &about.files {
        assert_eq!(
            (file.bytes, &file.sha256),
            (files[&file.path].len() as u64, &sha256(&files[&file.path]))
        );
    }
    assert_eq!(
        about.digest,
        digest(about.files.iter().map(|f| (&*f.path, &*f.sha256)))
    );
    assert!(late::instant(&about.packed).is_ok(), "{}", about.packed);
    assert!(about.rustc.starts_with("rustc "), "{}", about.rustc);
}

#[test]
fn the_same_files_give_the_same_digest_and_other_files_another() {
    let (dir, lessons) = course();
    let first = about_of(&pack(&dir, &lessons, "a.tar.gz").unwrap());
    let again = about_of(&pack(&dir, &lessons, "a.tar.gz").unwrap());
    assert_eq!(
        (&first.digest, &first.files, &first.course),
        (&again.digest, &again.files, &again.course)
    );
    let (_, files) = (0, [("exercises/lesson01/src/lib.rs".to_owned(), b"x".to_vec())]);
    assert_eq!(archive(&files, "t").unwrap(), archive(&files, "t").unwrap());
    put(&dir, "exercises/lesson01/src/lib.rs", b"fn double() {}");
    assert_ne!(
        about_of(&pack(&dir, &lessons, "a.tar.gz").unwrap()).digest,
        first.digest
    );
}

#[test]
#[cfg(unix)]
fn links_are_never_followed() {
    let (dir, lessons) = course();
    let src = dir.path().join("exercises/lesson01/src");
    put(&dir, "secret.rs", b"// secret");
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    put(&dir, "elsewhere/other.rs", b"// secret");
    std::os::unix::fs::symlink(dir.path().join("secret.rs"), src.join("linked.rs")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), src.join("folder")).unwrap();
    let archive = pack(&dir, &lessons, "a.tar.gz").unwrap();
    assert_eq!(unpacked(&archive).len(), 3);
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    collect(dir.path(), &src, &mut files, &mut warnings).unwrap();
    warnings.sort();
    assert!(
        warnings.len() == 2 && warnings[0].contains("folder is a link"),
        "{warnings:?}"
    );
}

#[test]
fn what_is_unsafe_is_not_packed() {
    let (dir, lessons) = course();
    let method = b"trait T {\n    #[unsafe(no_mangle)]\n    fn halve() {}\n}\n";
    put(&dir, "exercises/lesson01/src/more/mod.rs", method);
    let error = format!("{:#}", pack(&dir, &lessons, "a.tar.gz").unwrap_err());
    let place = "exercises/lesson01/src/more/mod.rs, line 2: `unsafe` is not allowed";
    assert!(error.contains(place), "{error}");
    assert!(!dir.path().join("a.tar.gz").exists());
    // The compiler says what is wrong here.
    put(&dir, "exercises/lesson01/src/more/mod.rs", b"pub fn halve( {");
    assert!(pack(&dir, &lessons, "a.tar.gz").is_ok());
}

#[test]
fn other_files_are_reported_and_large_ones_refused() {
    let (dir, lessons) = course();
    put(&dir, "exercises/lesson01/src/lib.rs", b"pub fn double() { \xff }");
    put(&dir, "exercises/lesson01/src/more/mod.rs", b"");
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    let src = "exercises/lesson01/src";
    collect(dir.path(), &dir.path().join(src), &mut files, &mut warnings).unwrap();
    missing(&lessons[0], src, &files, &mut warnings);
    assert!(warnings[0].contains("lib.rs is not UTF-8"), "{warnings:?}");
    assert!(
        warnings[1].contains("1.2 Halve: there is no function `halve`"),
        "{warnings:?}"
    );
    assert_eq!(warnings.len(), 2);
    put(
        &dir,
        "exercises/lesson01/src/lib.rs",
        &vec![b' '; FILE_BYTES as usize + 1],
    );
    let error = format!("{:#}", pack(&dir, &lessons, "b.tar.gz").unwrap_err());
    assert!(error.contains("lib.rs has 1048577 bytes"), "{error}");
    assert!(!dir.path().join("b.tar.gz").exists());
    let error = pack(&dir, &lessons, "exercises/lesson01/src/lib.rs")
        .unwrap_err()
        .to_string();
    assert!(error.contains(".tar.gz"), "{error}");
    assert!(chosen(&lessons, &["1".into()]).is_ok() && chosen(&lessons, &["9".into()]).is_err());
}
