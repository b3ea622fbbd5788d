//! `canopy data fetch`.

use std::{
    io::{IsTerminal, stdin},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::fetch::{self, Entry};
use indicatif::HumanBytes;
use serde_json::json;

use crate::cli::table::show;

/// Options of `canopy data fetch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a NAME it lists the known data sets. `curl` downloads the files; without it, the command says how to get them. \
The same command resumes an interrupted download. Zips are not unpacked: it prints the command for that.

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
    /// Print the known data as JSON and fetch nothing
    #[arg(long)]
    json: bool,
}

/// Downloads and verifies a data set.
pub fn run(args: &Args) -> Result<()> {
    let Some(name) = &args.name else {
        return list(args.json);
    };
    let entry = fetch::find(name)?;
    show(entry, args.json)?;
    if args.json {
        return Ok(());
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(entry.name));
    if entry.files.iter().all(|f| f.url.is_none()) {
        return by_hand(entry, &out);
    }
    agreed(entry, args.agree)?;
    for file in &entry.files {
        let Some(url) = file.url else { continue };
        let to = out.join(file.name);
        fetch::download(url, &to, file)?;
        say!("{}: fetched; length and MD5 are correct", to.display());
        if to.extension().is_some_and(|e| e == "zip") {
            let (to, folder) = (to.display(), to.with_extension(""));
            say!("unpack it, such as by: unzip '{to}' -d '{}'", folder.display());
        }
    }
    say!("next: canopy data import {} {}", entry.name, out.display());
    Ok(())
}

fn list(json: bool) -> Result<()> {
    if json {
        say!("{:#}", json!(fetch::catalogue()));
        return Ok(());
    }
    let row = |entry: &Entry| {
        let bytes: u64 = entry.files.iter().filter_map(|f| f.bytes).sum();
        let size = match bytes {
            0 => "not published".into(),
            bytes => HumanBytes(bytes).to_string(),
        };
        let licence = match entry.licence {
            "" => "unknown: see its page",
            licence => licence,
        };
        json!({"name": entry.name, "licence": licence, "size": size})
    };
    let rows: Vec<_> = fetch::catalogue().iter().map(row).collect();
    show(&json!({ "data_sets": rows }), false)?;
    say!("\nfetch one: canopy data fetch NAME");
    Ok(())
}

/// Prints what to do by hand, and checks the files that exist.
fn by_hand(entry: &Entry, out: &Path) -> Result<()> {
    let mut missing = entry.files.is_empty();
    for file in &entry.files {
        let path = out.join(file.name);
        if !path.exists() {
            missing = true;
            continue;
        }
        fetch::verify(&path, file)?;
        say!("{}: length and MD5 are correct", path.display());
    }
    ensure!(
        !missing,
        "'{}' cannot be fetched by this command: download it by hand, as described above",
        entry.name
    );
    Ok(())
}

fn agreed(entry: &Entry, already: bool) -> Result<()> {
    if already {
        return Ok(());
    }
    ensure!(
        stdin().is_terminal(),
        "the licence of '{}' ({}) must be agreed to: run this on a terminal, or add --agree",
        entry.name,
        entry.licence
    );
    eprint!(
        "\nDo you agree to the licence {}, and fetch? [y/N] ",
        entry.licence
    );
    let mut answer = String::new();
    stdin().read_line(&mut answer).context("standard input")?;
    let answer = answer.trim().to_lowercase();
    ensure!(
        answer == "y" || answer == "yes",
        "not agreed: nothing was fetched"
    );
    Ok(())
}
