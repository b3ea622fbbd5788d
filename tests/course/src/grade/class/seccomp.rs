//! Seccomp filters for bubblewrap: system calls that no answer needs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Sockets, other processes, and rarely used parts of the kernel.
const DENIED: [i64; 25] = [
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

/// Writes the filters to files in `folder`. There are two, because a filter returns one error.
pub fn write_filters(folder: &Path) -> Result<[PathBuf; 2]> {
    let mut rules: Rules = DENIED.iter().map(|&call| (call, vec![])).collect();
    // Threads, but no processes: `clone` only with CLONE_THREAD.
    let flags = libc::CLONE_THREAD as u64;
    let no_thread = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flags), 0);
    let rule = no_thread
        .and_then(|c| SeccompRule::new(vec![c]))
        .map_err(|e| anyhow!("{e}"))?;
    rules.insert(libc::SYS_clone, vec![rule]);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_fork, vec![]), (libc::SYS_vfork, vec![])]);
    // The flags of `clone3` are in memory, which a filter cannot read: without it, the C library calls `clone`.
    let clone3 = Rules::from([(libc::SYS_clone3, vec![])]);
    let write = |name: &str, rules: Rules, error: i32| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, compiled(rules, error)?).with_context(|| path.display().to_string())?;
        Ok(path)
    };
    Ok([
        write("denied.bpf", rules, libc::EPERM)?,
        write("clone3.bpf", clone3, libc::ENOSYS)?,
    ])
}

/// The filter as the kernel reads it: an array of `struct sock_filter`.
fn compiled(rules: Rules, error: i32) -> Result<Vec<u8>> {
    let arch = std::env::consts::ARCH.try_into().map_err(|e| anyhow!("{e:?}"))?;
    let otherwise = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, otherwise, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| anyhow!("{e}"))?;
    let mut bytes = Vec::new();
    for step in program {
        bytes.extend(step.code.to_ne_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
    }
    Ok(bytes)
}
