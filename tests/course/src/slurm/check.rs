//! Checks job scripts without running them.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::templates::Scripts;

/// A program that checks a script, and what to install if it is missing.
const CHECKS: [(&[&str], &str); 3] = [
    (&["bash", "-n"], "bash"),
    (&["shellcheck", "--shell=bash"], "apt-get install shellcheck"),
    (&["sbatch", "--test-only"], "apt-get install slurm-client"),
];

/// Checks each script with each program, and prints the results. Returns whether none failed.
///
/// # Errors
/// Returns an error if a script cannot be written to a temporary file, or a program cannot be started.
pub fn check(scripts: &Scripts) -> Result<bool> {
    let folder = std::env::temp_dir().join(format!("course-slurm-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let (mut fine, mut missing) = (true, Vec::new());
    let slurm = controller_answers();
    if !slurm {
        missing.push(
            "sbatch: not run, because no Slurm answers here (it does on the login node of a cluster)"
                .to_owned(),
        );
    }
    for (name, script) in scripts {
        let script = match script {
            Ok(script) => script,
            Err(why) => {
                println!("{name:<14} not rendered, because {why}");
                continue;
            }
        };
        let path = folder.join(format!("{name}.sbatch"));
        fs::write(&path, script).with_context(|| path.display().to_string())?;
        let mut line = format!("{name:<14}");
        for (words, install) in CHECKS {
            if words[0] == "sbatch" && !slurm {
                continue;
            }
            let output = Command::new(words[0])
                .args(&words[1..])
                .arg(&path)
                .stdin(Stdio::null())
                .output();
            match output {
                Ok(output) if output.status.success() => line.push_str(&format!(" {} ok ", words[0])),
                Ok(output) => {
                    fine = false;
                    let said = [output.stdout, output.stderr].concat();
                    let said = String::from_utf8_lossy(&said).replace(&*folder.to_string_lossy(), "");
                    line.push_str(&format!(" {} failed:\n{}\n", words[0], said.trim_end()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let reason = format!("{}: not run, because it is not installed ({install})", words[0]);
                    if !missing.contains(&reason) {
                        missing.push(reason);
                    }
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("{} could not be started", words[0]));
                }
            }
        }
        println!("{}", line.trim_end());
    }
    let _ = fs::remove_dir_all(&folder);
    for reason in missing {
        println!("{reason}");
    }
    Ok(fine)
}

/// Whether this machine can submit jobs. Without a controller, `sbatch` would wait for it.
fn controller_answers() -> bool {
    let ping = Command::new("scontrol").arg("ping").stdin(Stdio::null()).output();
    ping.is_ok_and(|ping| ping.status.success())
}
