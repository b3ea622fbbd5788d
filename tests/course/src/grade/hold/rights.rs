//! What a process gives up before it runs what it cannot trust.

use std::{fs, io, path::Path, path::PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::{Bind, Limits, spaces::SYSTEM};

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// It ends when the one who started it ends.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })
}

/// No program that it starts gets more than it has.
pub fn nothing_new() -> io::Result<()> {
    // SAFETY: takes numbers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// A user that nobody else is, and no capability. Elsewhere than as root there is nothing to give up.
pub fn nobody(id: u32) -> io::Result<()> {
    // SAFETY: takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    for capability in 0..64 {
        // SAFETY: takes numbers; fails for those that the kernel does not know.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    // SAFETY: take numbers or no list.
    unsafe {
        check(libc::setgroups(0, std::ptr::null()))?;
        let of = |id| {
            check(libc::setresgid(id, id, id))?;
            check(libc::setresuid(id, id, id))
        };
        of(id).or_else(|_| of(65_534))
    }
}

/// The limits that the kernel counts a process or a user.
pub fn limits(limits: &Limits, tasks: bool) -> io::Result<()> {
    let mib = |n: u64| n << 20;
    let mut all = vec![
        (libc::RLIMIT_CPU, limits.cpu),
        (libc::RLIMIT_AS, mib(limits.memory)),
        (libc::RLIMIT_FSIZE, mib(limits.disk)),
        (libc::RLIMIT_NOFILE, 256),
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_MEMLOCK, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
    ];
    if tasks {
        all.push((libc::RLIMIT_NPROC, limits.tasks));
    }
    for (which, most) in all {
        let limit = libc::rlimit {
            rlim_cur: most,
            rlim_max: most,
        };
        // SAFETY: `limit` lives here.
        check(unsafe { libc::setrlimit(which, &limit) })?;
    }
    Ok(())
}

/// Reads and runs the system's libraries and what is bound, writes what is bound to be written; nothing else, and no
/// network. A program that `spawns` none may run none but its own. `false` where the kernel knows only a part of it.
pub fn landlock(binds: &[Bind], spawns: bool) -> Result<bool, String> {
    let abi = ABI::V6;
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run: BitFlags<AccessFs> = read | AccessFs::Execute;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|r| r.handle_access(AccessNet::from_all(abi)))
        .and_then(|r| r.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map_err(|e| said(&e))?;
    let mut rule = |path: &Path, access: BitFlags<AccessFs>| -> Result<(), String> {
        let Ok(meta) = fs::metadata(path) else {
            return Ok(());
        };
        let of_file = AccessFs::from_file(abi);
        let access = if meta.is_dir() { access } else { access & of_file };
        let fd = PathFd::new(path).map_err(|e| said(&e))?;
        (&mut rules)
            .add_rule(PathBeneath::new(fd, access))
            .map(|_| ())
            .map_err(|e| said(&e))
    };
    // The loader is a library, and only started by the kernel: a program needs no right to start others.
    let libraries = if spawns { run } else { read };
    for path in SYSTEM {
        rule(Path::new(path), libraries)?;
    }
    if !spawns {
        for path in loaders() {
            rule(&path, run)?;
        }
    }
    rule(Path::new("/dev/null"), read | AccessFs::WriteFile)?;
    for path in ["/dev/zero", "/dev/urandom", "/dev/random"] {
        rule(Path::new(path), read)?;
    }
    for bind in binds {
        let access = match (bind.write, bind.name == "answer" || spawns) {
            (true, _) => AccessFs::from_all(abi) & !BitFlags::from(AccessFs::Execute),
            (false, true) => run,
            (false, false) => read,
        };
        rule(&bind.from, access)?;
    }
    let status = rules.restrict_self().map_err(|e| said(&e))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(true),
        RulesetStatus::PartiallyEnforced => Ok(false),
        RulesetStatus::NotEnforced => Err("the kernel does not have it, or it is turned off".into()),
    }
}

/// The dynamic loaders of the system.
fn loaders() -> Vec<PathBuf> {
    let folders = [
        "/lib64",
        "/lib",
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
    ];
    let entries = folders.iter().filter_map(|f| fs::read_dir(f).ok()).flatten();
    entries
        .filter_map(Result::ok)
        .filter(|e| e.file_name().to_string_lossy().starts_with("ld-"))
        .map(|e| e.path())
        .collect()
}

/// System calls that no answer needs: sockets, other processes, the kernel's rarer doors.
pub fn seccomp(spawns: bool) -> Result<(), String> {
    let arch = std::env::consts::ARCH.try_into().map_err(|e| format!("{e:?}"))?;
    let mut denied = vec![
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_setsid,
        libc::SYS_mknodat,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
    ];
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> = Default::default();
    if spawns {
        // A compiler talks to its own children over pairs of sockets.
        denied.retain(|&call| call != libc::SYS_socketpair);
    } else {
        // Threads, and no processes: `clone` only with CLONE_THREAD.
        let no_thread = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64),
            0,
        );
        let rule = no_thread
            .and_then(|c| SeccompRule::new(vec![c]))
            .map_err(|e| e.to_string())?;
        rules.insert(libc::SYS_clone, vec![rule]);
        #[cfg(target_arch = "x86_64")]
        denied.extend([libc::SYS_fork, libc::SYS_vfork]);
    }
    rules.extend(denied.into_iter().map(|call| (call, vec![])));
    apply(rules, libc::EPERM, arch)?;
    if spawns {
        return Ok(());
    }
    // Its flags lie in memory, where a filter cannot look: the C library asks `clone` when it is not there.
    apply([(libc::SYS_clone3, vec![])].into(), libc::ENOSYS, arch)
}

fn apply(
    rules: std::collections::BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
    arch: seccompiler::TargetArch,
) -> Result<(), String> {
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error as u32),
        arch,
    );
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| e.to_string())?;
    seccompiler::apply_filter(&program).map_err(|e| e.to_string())
}
