//! `canopy data fetch`.

use std::{
    io::{IsTerminal, Write, stdin, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use canopy_data::fetch::{self, Entry};
use indicatif::HumanBytes;
use serde_json::json;

use super::{
    progress::{Progress, Unit},
    table::Table,
};

/// Options of `canopy data fetch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a NAME it lists the known data sets. `curl` downloads the files; without it, the command says how to get them. \
The same command resumes an interrupted download.

Examples:
  canopy data fetch
  canopy data fetch idtrees
  canopy data fetch for-species20k --agree --out /big/disk/for-species20k")]
pub struct Args {
    /// The data set
    name: Option<String>,
    /// Folder for its files [default: its name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Agree to the data set's licence without a question
    #[arg(long)]
    agree: bool,
    /// Do not unpack
    #[arg(long)]
    keep_packed: bool,
    /// Print the known data as JSON and fetch nothing
    #[arg(long)]
    json: bool,
}

/// Downloads, verifies and unpacks a data set.
pub fn run(args: &Args) -> Result<()> {
    let Some(name) = &args.name else {
        list(args.json)?;
        return Ok(());
    };
    let entry = fetch::find(name)?;
    if args.json {
        say!("{:#}", json!(entry));
        return Ok(());
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(entry.name));
    show(entry)?;
    if entry.files.iter().all(|f| f.url.is_none()) {
        return by_hand(entry, &out);
    }
    agreed(entry, args.agree)?;
    for file in &entry.files {
        let Some(url) = file.url else { continue };
        let to = out.join(file.name);
        let unpacked = to.with_extension("");
        let packed = to.extension().is_some_and(|e| e == "zip");
        if packed && unpacked.is_dir() && !args.keep_packed {
            say!("{} exists already", unpacked.display());
            continue;
        }
        let mut progress = Progress::new(file.name, Unit::Bytes);
        fetch::download(url, &to, file.expect(), &mut |now, all| progress.at(now, all))?;
        progress.clear();
        say!("{}: fetched; length and MD5 are correct", to.display());
        if packed && !args.keep_packed {
            let mut progress = Progress::new(&format!("unpacking {}", file.name), Unit::Bytes);
            fetch::unpack(&to, &unpacked, &mut |now, all| progress.at(now, Some(all)))?;
            progress.clear();
            say!(
                "{}: unpacked; {} is no longer needed",
                unpacked.display(),
                to.display()
            );
        }
    }
    say!("next: canopy data import {} {}", entry.name, out.display());
    Ok(())
}

fn list(as_json_too: bool) -> Result<()> {
    if as_json_too {
        say!("{:#}", json!(fetch::catalogue()));
        return Ok(());
    }
    let mut table = Table::new(["name", "licence", "size"]);
    for entry in fetch::catalogue() {
        let bytes: u64 = entry.files.iter().filter_map(|f| f.bytes).sum();
        let size = if bytes > 0 {
            HumanBytes(bytes).to_string()
        } else {
            "not published".into()
        };
        let licence = if entry.licence.is_empty() {
            "see its page"
        } else {
            entry.licence
        };
        table.row([entry.name, licence, &size]);
    }
    table.print()?;
    say!("\nfetch one: canopy data fetch NAME");
    Ok(())
}

fn show(entry: &Entry) -> Result<()> {
    say!("{}", entry.title);
    say!("  cite     {}", entry.citation);
    if !entry.page.is_empty() {
        say!("  page     {}", entry.page);
    }
    let licence = if entry.licence.is_empty() {
        "unknown: see the page"
    } else {
        entry.licence
    };
    say!("  licence  {licence}");
    for file in &entry.files {
        say!("  file     {}", file.name);
        say!("    address  {}", file.url.unwrap_or("not known"));
        let size = file.bytes.map_or("not published".into(), |b| {
            format!("{b} bytes ({})", HumanBytes(b))
        });
        say!("    size     {size}");
        say!("    md5      {}", file.md5);
    }
    Ok(())
}

/// Prints what to do by hand, and checks the files that exist.
fn by_hand(entry: &Entry, out: &Path) -> Result<()> {
    say!("\n{}", entry.by_hand);
    let mut missing = Vec::new();
    for file in &entry.files {
        let path = out.join(file.name);
        if !path.exists() {
            missing.push(file.name);
            continue;
        }
        fetch::verify(&path, file.expect())?;
        say!("{}: length and MD5 are correct", path.display());
    }
    ensure!(
        missing.is_empty() && !entry.files.is_empty(),
        "'{}' cannot be fetched by this command: download it by hand, as described above",
        entry.name
    );
    Ok(())
}

fn agreed(entry: &Entry, already: bool) -> Result<()> {
    if already {
        return Ok(());
    }
    if !stdin().is_terminal() {
        bail!(
            "the licence of '{}' ({}) must be agreed to: run this on a terminal, or add --agree",
            entry.name,
            entry.licence
        );
    }
    print!(
        "\nDo you agree to the licence {}, and fetch? [y/N] ",
        entry.licence
    );
    stdout().flush().context("standard output")?;
    let mut answer = String::new();
    stdin().read_line(&mut answer).context("standard input")?;
    ensure!(
        ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()),
        "not agreed: nothing was fetched"
    );
    Ok(())
}
