//! Submissions with hostile files: files that may not be handed in, paths that leave the folder, archive bombs.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use crate::HONEST;

pub const SOURCE: &str = "exercises/lesson01/src/lib.rs";

pub fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn folders(into: &Path, outside: &Path) {
    let evil_config = "[build]\nrustflags = [\"--cfg\", \"evil\"]\nrustc-wrapper = \"/bin/false\"\n";
    let evil = into.join("brings-other-files");
    put(&evil, SOURCE, HONEST);
    for (path, text) in [
        (
            "exercises/lesson01/build.rs",
            "fn main() { std::fs::write(\"built\", \"x\").unwrap(); }",
        ),
        (".cargo/config.toml", evil_config),
        ("exercises/lesson01/.cargo/config.toml", evil_config),
        ("rust-toolchain.toml", "[toolchain]\npath = \"/bin\"\n"),
        (".env", "RUSTFLAGS=--cfg evil\nPATH=/evil\n"),
        (
            "lessons/lesson01/lesson.toml",
            "lesson = \"01\"\ntitle = \"Mine\"\npoints = 1000\n",
        ),
        ("lessons/lesson01/run/src/grade.rs", "fn main() {}\n"),
        ("tests/grader/src/lib.rs", "pub fn judge() {}\n"),
        (
            "exercises/lesson01/Cargo.toml",
            "[dependencies]\nlesson01.path = \"../../lessons/lesson01\"\n",
        ),
        ("exercises/lesson01/src/grade.json", "{}"),
    ] {
        put(&evil, path, text);
    }
    // Sparse: it takes no room on a disk.
    let file = File::create(evil.join("exercises/lesson01/src/large.rs")).unwrap();
    file.set_len(1 << 30).unwrap();
    let linked = into.join("is-a-link-in-a-folder");
    put(&linked, "exercises/lesson01/src/own.rs", "// own\n");
    put(outside, "linked.rs", HONEST);
    symlink(outside.join("linked.rs"), linked.join(SOURCE)).unwrap();
    let odd = into.join("is-not-utf-8");
    put(&odd, SOURCE, [HONEST.as_bytes(), b"// \xff\xfe\n"].concat());
    put(into, "is-no-archive.tar.gz", "this is no archive");
}

pub fn tars(into: &Path, outside: &Path) {
    tar(into, "links-and-climbs.tar.gz", |tar| {
        entry(tar, SOURCE, EntryType::Regular, HONEST.as_bytes(), "");
        let climbed = format!("{}/climbed.rs", outside.display());
        let names = [
            "../../../lessons/lesson01/lesson.toml",
            "exercises/lesson01/src/../../../up.rs",
            "exercises/lesson01/src/..\\evil.rs",
        ];
        for name in names.into_iter().chain([climbed.as_str()]) {
            entry(tar, name, EntryType::Regular, b"evil", "");
        }
        let link = "exercises/lesson01/src/passwd.rs";
        entry(tar, link, EntryType::Symlink, b"", "/etc/passwd");
        let hard = "exercises/lesson01/src/hard.rs";
        entry(tar, hard, EntryType::Link, b"", "/etc/passwd");
        entry(tar, "exercises/lesson01/src/pipe.rs", EntryType::Fifo, b"", "");
        entry(tar, "exercises/lesson01/src/disk.rs", EntryType::Block, b"", "");
        // A link first and a file below it: what is written by name would land behind the link.
        entry(
            tar,
            "exercises/lesson01/src/away",
            EntryType::Symlink,
            b"",
            &outside.display().to_string(),
        );
        entry(
            tar,
            "exercises/lesson01/src/away/behind.rs",
            EntryType::Regular,
            b"// behind\n",
            "",
        );
    });
    tar(into, "is-a-bomb.tar.gz", |tar| {
        entry(tar, SOURCE, EntryType::Regular, HONEST.as_bytes(), "");
        entry(tar, "filler.bin", EntryType::Regular, &vec![0; 300 << 20], "");
    });
    tar(into, "has-many-files.tar.gz", |tar| {
        for i in 0..500 {
            let name = format!("exercises/lesson01/src/m{i}.rs");
            entry(tar, &name, EntryType::Regular, b"// one of many\n", "");
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
fn entry(tar: &mut Builder<GzEncoder<File>>, name: &str, kind: EntryType, data: &[u8], link: &str) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(data.len() as u64);
    let fields = header.as_gnu_mut().unwrap();
    let name = &name.as_bytes()[..name.len().min(100)];
    fields.name[..name.len()].copy_from_slice(name);
    fields.linkname[..link.len().min(100)].copy_from_slice(&link.as_bytes()[..link.len().min(100)]);
    header.set_cksum();
    tar.append(&header, data).unwrap();
}
