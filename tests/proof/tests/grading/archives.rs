//! Submissions with hostile files: files that may not be handed in, paths that leave the folder, archive bombs.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use crate::{deeds::with_neuron, lessons::honest};

pub const SOURCE: &str = "exercises/lesson01/src/lib.rs";

pub fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Files that may not be handed in, with their text.
const OTHERS: &str = r#"exercises/lesson01/build.rs | fn main() { std::fs::write("built", "x").unwrap(); }
.cargo/config.toml | build = { rustflags = ["--cfg", "evil"], rustc-wrapper = "/bin/false" }
exercises/lesson01/.cargo/config.toml | build = { rustflags = ["--cfg", "evil"], rustc-wrapper = "/bin/false" }
rust-toolchain.toml | toolchain.path = "/bin"
.env | RUSTFLAGS=--cfg=evil
lessons/lesson01/lesson.toml | lesson = "01"
lessons/lesson01/run/src/grade.rs | fn main() {}
tests/grader/src/lib.rs | pub fn judge() {}
exercises/lesson01/Cargo.toml | dependencies.lesson01.path = "../../lessons/lesson01"
exercises/lesson01/src/grade.json | {}"#;

pub fn folders(into: &Path, outside: &Path) {
    let (evil, honest) = (into.join("brings-other-files"), honest());
    put(&evil, SOURCE, &honest);
    for (path, text) in OTHERS.lines().filter_map(|line| line.split_once(" | ")) {
        put(&evil, path, text);
    }
    // Sparse: it takes no room on a disk.
    let file = File::create(evil.join("exercises/lesson01/src/large.rs")).unwrap();
    file.set_len(1 << 30).unwrap();
    let linked = into.join("is-a-link-in-a-folder");
    put(&linked, "exercises/lesson01/src/own.rs", "// own\n");
    put(outside, "linked.rs", &honest);
    symlink(outside.join("linked.rs"), linked.join(SOURCE)).unwrap();
    let odd = [honest.as_bytes(), b"// \xff\xfe\n"].concat();
    put(&into.join("is-not-utf-8"), SOURCE, odd);
    put(into, "is-no-archive.tar.gz", "this is no archive");
    // The grader's own files, in and around answers.
    for (path, text) in [(SOURCE, &*honest), (".seed", "1"), ("exercises/grade.json", "{}")] {
        put(&into.join("mimics-grades"), path, text);
    }
    put(&into.join(".is-hidden"), SOURCE, &honest);
    // So many parentheses that a recursive parser runs out of stack.
    let (open, close) = ("(".repeat(50_000), ")".repeat(50_000));
    let nested = format!("pub const DEEP: u64 = {open}1{close};\n{honest}");
    put(&into.join("nests-parentheses"), SOURCE, nested);
    // Needs more memory than the limit before any of its code runs. The compiler would refuse it as one piece.
    let large = "std::sync::Mutex<std::mem::MaybeUninit<[u8; 200 << 20]>>";
    let part =
        |i: u32| format!("static PART{i}: {large} = <{large}>::new(std::mem::MaybeUninit::uninit());\n");
    let used = "let _ = std::hint::black_box([&PART0, &PART1, &PART2, &PART3, &PART4, &PART5]);\n    RIGHT";
    let large = with_neuron(used) + &(0..6).map(part).collect::<String>();
    put(&into.join("does-not-start"), SOURCE, large);
}

pub fn tars(into: &Path, outside: &Path) {
    use EntryType::{Block, Fifo, Link, Regular, Symlink};
    let outside = outside.display().to_string();
    tar(into, "links-and-climbs.tar.gz", |tar| {
        entry(tar, SOURCE, Regular, &honest(), "");
        let climbed = format!("{outside}/climbed.rs");
        for name in [
            "../../../lessons/lesson01/lesson.toml",
            "exercises/lesson01/src/../../../up.rs",
            "exercises/lesson01/src/..\\evil.rs",
            &climbed,
        ] {
            entry(tar, name, Regular, "evil", "");
        }
        for (name, kind, to) in [
            ("passwd.rs", Symlink, "/etc/passwd"),
            ("hard.rs", Link, "/etc/passwd"),
            ("pipe.rs", Fifo, ""),
            ("disk.rs", Block, ""),
            // A link first and a file below it: what is written by name would land behind the link.
            ("away", Symlink, outside.as_str()),
        ] {
            entry(tar, &format!("exercises/lesson01/src/{name}"), kind, "", to);
        }
        let behind = "exercises/lesson01/src/away/behind.rs";
        entry(tar, behind, Regular, "// behind\n", "");
    });
    tar(into, "is-a-bomb.tar.gz", |tar| {
        entry(tar, SOURCE, Regular, &honest(), "");
        entry(tar, "filler.bin", Regular, &"\0".repeat(300 << 20), "");
    });
    tar(into, "has-many-files.tar.gz", |tar| {
        for i in 0..500 {
            let name = format!("exercises/lesson01/src/m{i}.rs");
            entry(tar, &name, Regular, "// one of many\n", "");
        }
    });
    // Cut in the middle of the compressed stream.
    let whole = fs::read(into.join("links-and-climbs.tar.gz")).unwrap();
    fs::write(into.join("is-cut-short.tar.gz"), &whole[..whole.len() / 2]).unwrap();
}

fn tar(into: &Path, name: &str, fill: impl FnOnce(&mut Builder<GzEncoder<File>>)) {
    let file = File::create(into.join(name)).unwrap();
    let mut tar = Builder::new(GzEncoder::new(file, Compression::fast()));
    fill(&mut tar);
    tar.into_inner().unwrap().finish().unwrap();
}

/// An entry under any name, also those that `tar` refuses to write.
fn entry(tar: &mut Builder<GzEncoder<File>>, name: &str, kind: EntryType, data: &str, link: &str) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(data.len() as u64);
    let fields = header.as_gnu_mut().unwrap();
    let cut = |text: &str| text.as_bytes()[..text.len().min(100)].to_vec();
    fields.name[..cut(name).len()].copy_from_slice(&cut(name));
    fields.linkname[..cut(link).len()].copy_from_slice(&cut(link));
    header.set_cksum();
    tar.append(&header, data.as_bytes()).unwrap();
}
