//! The sandbox of untrusted programs: bubblewrap isolates them, `prlimit` bounds what they use.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use anyhow::{Context, Result, anyhow, bail};
use grader::{grades, judge::Line};

use super::{
    run::{self, Ended},
    seccomp::write_filters,
};
use crate::version::hex;

/// Parts of the system that programs need: libraries, the linker, the table of the dynamic loader.
const SYSTEM: &str = "/usr /lib /lib64 /lib32 /bin /sbin /etc/ld.so.cache /etc/alternatives";
const DEVICES: &str = "/dev/null /dev/zero /dev/full /dev/urandom /dev/random";

/// A script for `sh`: mounts the scratch folder, because bubblewrap cannot limit its inodes, and opens the descriptors
/// 3 (the channel, which arrives as standard input), 4 and 5 (the filters).
const ENTER: &str =
    r#"mount -t tmpfs -o "$1" tmpfs "$2" && a=$3 b=$4 && shift 4 && exec "$@" 3<&0 </dev/null 4<"$a" 5<"$b""#;
const ENTER_CONTAINER: &str = r#"exec "$@" 3<&0 </dev/null"#;

/// How untrusted programs are run.
pub struct Sandbox {
    /// False inside a container that isolates already.
    bubblewrap: bool,
    /// Whether answers run as a user of their own, because the grader is root.
    own_user: bool,
    filters: [PathBuf; 2],
    pub report: grades::Sandbox,
}

/// How much of the machine a program may use.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Wall-clock time in seconds.
    pub wall: u64,
    /// CPU time of each process in seconds.
    pub cpu: u64,
    /// Address space of each process in MiB.
    pub memory: u64,
    /// Size of each file, and of the scratch folder, in MiB.
    pub disk: u64,
    /// Processes and threads.
    pub tasks: u64,
}

/// A program to run.
pub struct Program<'a> {
    pub command: Vec<String>,
    /// Variables of its environment, `NAME=VALUE`.
    pub variables: Vec<String>,
    /// Files and folders that it may read, and that it may write, under the same names as outside.
    pub read: Vec<&'a Path>,
    pub write: Vec<&'a Path>,
    /// The folder in which it starts.
    pub folder: &'a Path,
    /// An empty folder outside, a bounded file system inside.
    pub scratch: &'a Path,
    pub limits: Limits,
    /// Whether it contains the student's code; else it is the compiler.
    pub answer: bool,
}

impl Sandbox {
    /// Tests what this machine supports. `work` is an empty folder.
    ///
    /// # Errors
    /// Returns an error if nothing would isolate untrusted programs, and `inside_container` does not say that this is
    /// done already.
    pub fn new(work: &Path, inside_container: bool) -> Result<Self> {
        // The programs that this one starts inherit none of the descriptors that it was started with.
        // SAFETY: the arguments are integers, and nothing is closed in this process.
        unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            )
        };
        // SAFETY: has no arguments and cannot fail.
        let own_user = unsafe { libc::geteuid() } == 0;
        let mut sandbox = Self {
            bubblewrap: !inside_container,
            own_user,
            filters: write_filters(work)?,
            report: grades::Sandbox::default(),
        };
        if let Err(why) = sandbox.probe(work)? {
            let advice = "install bubblewrap (`apt-get install bubblewrap`) and allow user namespaces; if this is a \
                container or a machine that isolates submissions already, use --inside-container: it needs other users \
                than root";
            bail!("no untrusted program can be run here: {why}\n{advice}");
        }
        let left = "left to the container, by --inside-container";
        let isolated =
            ["files", "network", "processes", "seccomp"].map(|name| (name, inside_container, left));
        let is_shared = inside_container && !own_user;
        let user = ("user", is_shared, "answers run as the user who grades");
        for (name, missing, why) in isolated.into_iter().chain([("limits", false, ""), user]) {
            match missing {
                false => sandbox.report.active.push(name.into()),
                true => sandbox.report.missing.push(format!("{name}: {why}")),
            }
        }
        Ok(sandbox)
    }

    /// Runs `true` in the sandbox; returns why that fails.
    fn probe(&self, work: &Path) -> Result<Result<(), String>> {
        let scratch = work.join("probe");
        let ended = self.run(
            &Program {
                command: vec!["true".into()],
                variables: vec![],
                read: vec![],
                write: vec![],
                folder: &scratch,
                scratch: &scratch,
                limits: Limits {
                    wall: 10,
                    cpu: 10,
                    memory: 512,
                    disk: 1,
                    tasks: 64,
                },
                answer: true,
            },
            "",
            |_| {},
        )?;
        Ok(match ended.code {
            Some(0) => Ok(()),
            _ => Err(format!("{}: {}", ended.how(10), ended.errors.trim())),
        })
    }

    /// Runs `program`. Sends it a secret word, which nobody can guess, and `args`. Calls `heard` with each of its lines that
    /// has this word.
    pub fn run(&self, program: &Program, args: &str, mut heard: impl FnMut(Line)) -> Result<Ended> {
        // In a container, what an answer left running may still write to it, so that it cannot be removed.
        let _ = empty_folder(program.scratch);
        fs::set_permissions(program.scratch, fs::Permissions::from_mode(0o1777))
            .with_context(|| program.scratch.display().to_string())?;
        let mut command;
        if self.bubblewrap {
            command = Command::new("unshare");
            if !self.own_user {
                command.args(["--user", "--map-root-user"]);
            }
            let size = format!("size={}m,nr_inodes=4096,mode=1777", program.limits.disk);
            command.args(["--mount", "sh", "-c", ENTER, "sh", &size]);
            command.arg(program.scratch).args(&self.filters);
            command.arg("bwrap").args(self.isolated(program)).arg("--");
        } else {
            command = Command::new("sh");
            command.args(["-c", ENTER_CONTAINER, "sh"]);
        }
        command.args(self.limited(program)).args(&program.command);
        command.current_dir(program.folder).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let nonce = hex(&random()?);
        run::run(command, program.limits.wall, &format!("{nonce} {args}"), |text| {
            if let Ok(line) = serde_json::from_str::<Line>(text)
                && line.nonce == nonce
            {
                heard(line);
            }
        })
    }

    /// The arguments of bubblewrap.
    fn isolated(&self, program: &Program) -> Vec<String> {
        let mut args = words(
            "--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --die-with-parent \
             --new-session --cap-drop ALL",
        );
        let mut bind = |how: &str, path: &Path| {
            let above: Vec<&Path> = path
                .ancestors()
                .skip(1)
                .filter(|p| p.parent().is_some())
                .collect();
            for folder in above.iter().rev() {
                // Bubblewrap would create it for its own user only.
                args.extend(words("--perms 0755 --dir"));
                args.push(folder.display().to_string());
            }
            let path = path.display().to_string();
            args.extend([how.to_owned(), path.clone(), path]);
        };
        SYSTEM
            .split(' ')
            .for_each(|path| bind("--ro-bind-try", Path::new(path)));
        DEVICES
            .split(' ')
            .for_each(|path| bind("--dev-bind", Path::new(path)));
        program.read.iter().for_each(|path| bind("--ro-bind", path));
        program.write.iter().for_each(|path| bind("--bind", path));
        bind("--bind", program.scratch);
        if program.answer {
            // A check that does not end reports the line: the lines are in the program, which is found by this path.
            args.extend(words("--dir /proc --dir /proc/self --symlink"));
            args.extend([program.command[0].clone(), "/proc/self/exe".into()]);
        }
        args.extend(words(match (program.answer, self.own_user) {
            (false, _) => "--proc /proc",
            // No more of `/proc`: through it, safe code could write to the memory and to the descriptors of its process.
            (true, false) => "--remount-ro / --add-seccomp-fd 4 --add-seccomp-fd 5",
            (true, true) => "--remount-ro / --add-seccomp-fd 4 --add-seccomp-fd 5 --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP",
        }));
        args
    }

    /// The commands that set the user, the limits and the environment inside.
    fn limited(&self, program: &Program) -> Vec<String> {
        let mut args = Vec::new();
        let own_user = program.answer && self.own_user;
        if own_user {
            let user = unused_user();
            args.extend(words(&format!(
                "setpriv --reuid={user} --regid={user} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs"
            )));
        }
        let Limits {
            cpu,
            memory,
            disk,
            tasks,
            ..
        } = program.limits;
        let (memory, disk) = (memory << 20, disk << 20);
        args.extend(words(&format!(
            "prlimit --cpu={cpu} --as={memory} --fsize={disk} --nofile=256 --core=0 --memlock=0 --msgqueue=0"
        )));
        // The limit counts all processes of a user, so it requires a user without other processes.
        if self.bubblewrap || own_user {
            args.push(format!("--nproc={tasks}"));
        }
        args.extend(words(
            "env -i PATH=/usr/bin:/bin LANG=C.UTF-8 RAYON_NUM_THREADS=2 MALLOC_ARENA_MAX=2",
        ));
        args.push(format!("TMPDIR={}", program.scratch.display()));
        args.extend_from_slice(&program.variables);
        args
    }
}

/// The arguments in a text without paths that could contain spaces.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The ID of a user that no machine has: another each time, because limits count by user.
fn unused_user() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    0x7000_0000 + ((std::process::id() & 0xffff) << 12) + (NEXT.fetch_add(1, SeqCst) & 0xfff)
}

/// Random bytes that nobody can guess.
pub fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| anyhow!("the operating system provides no random numbers: {e}"))?;
    Ok(bytes)
}

/// A folder without the files of an earlier use.
pub fn empty_folder(path: &Path) -> Result<PathBuf> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(path),
    }
    .with_context(|| format!("{} cannot be emptied", path.display()))?;
    Ok(path.to_owned())
}
