//! `canopy data fetch`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use canopy_data::fetch::{self, Entry};
use indicatif::HumanBytes;
use serde_json::json;

use crate::cli::table::show;

/// Options of `canopy data fetch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a NAME it lists the known data sets. Of one it prints licence and citation, and the commands that download its \
files (and resume an interrupted download). Run it again then: it checks length and MD5, and says how to unpack and import.

Examples:
  canopy data fetch
  canopy data fetch idtrees
  canopy data fetch for-species20k --out /big/disk/for-species20k")]
pub struct Args {
    /// The data set
    name: Option<String>,
    /// Folder for its files [default: its name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the known data as JSON
    #[arg(long)]
    json: bool,
}

/// Describes a data set, prints the commands that download it, and checks the files that are there.
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
    let mut commands = Vec::new();
    let mut missing = entry.files.is_empty();
    for file in &entry.files {
        let path = out.join(file.name);
        let to = path.display();
        if path.exists() {
            fetch::verify(&path, file).context("resume its download, or remove the file")?;
            say!("{to}: length and MD5 are correct");
            if path.extension().is_some_and(|e| e == "zip") {
                let folder = path.with_extension("");
                say!("unpack it, such as by: unzip '{to}' -d '{}'", folder.display());
            }
            continue;
        }
        missing = true;
        let command = |url| {
            format!("curl --fail --location --continue-at - --retry 5 --create-dirs --output '{to}' '{url}'")
        };
        commands.extend(file.url.map(command));
    }
    if !missing {
        say!("next: canopy data import {} {}", entry.name, out.display());
        return Ok(());
    }
    ensure!(
        !commands.is_empty(),
        "there is no direct address: download '{}' by hand, as described above, into the folder {}",
        entry.name,
        out.display()
    );
    say!(
        "\nIf you agree to the licence, download the files by\n{}\nand run this command again, which then checks them.",
        commands.join("\n")
    );
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
    say!("\nhow to get one: canopy data fetch NAME");
    Ok(())
}
