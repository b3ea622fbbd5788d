//! Namespaces: a file system, processes and a network of its own.

use std::{
    ffi::CString,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    ptr,
};

use super::{Bind, Spec};

/// What every program needs of the system: libraries, the linker, the dynamic loader's table.
pub const SYSTEM: [&str; 7] = [
    "/usr",
    "/lib",
    "/lib64",
    "/lib32",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/alternatives",
];
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"];

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Leaves for a user namespace of its own where it is not root: there it may ask for the others.
pub fn user() -> io::Result<()> {
    // SAFETY: these take nothing and cannot fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    if uid == 0 {
        return Ok(());
    }
    // SAFETY: takes a number.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// Leaves for a namespace of that kind (`CLONE_NEW…`).
pub fn leave(kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes a number.
    check(unsafe { libc::unshare(kind) })
}

fn mount(from: &Path, to: &Path, kind: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (from, to, kind, data) = (text(from)?, text(to)?, CString::new(kind)?, CString::new(data)?);
    // SAFETY: four texts that end with 0 and live until it returns.
    check(unsafe {
        libc::mount(
            from.as_ptr(),
            to.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    })
}

fn bind(from: &Path, to: &Path, write: bool) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
    } else {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::File::create(to)?;
    }
    mount(from, to, "", libc::MS_BIND | libc::MS_REC, "")?;
    if write {
        return Ok(());
    }
    let again = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY | libc::MS_NOSUID;
    // A mount that came locked from outside may refuse a change of its flags; it keeps those that it has.
    mount(from, to, "", again, "").or_else(|_| mount(from, to, "", again | libc::MS_NODEV, ""))
}

/// A root of its own, in which nothing else is: the system's libraries, `/course/NAME` for each bind, `/course/scratch`.
/// Gives the same binds as they are inside.
pub fn root(spec: &Spec) -> io::Result<Vec<Bind>> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mount(Path::new("none"), Path::new("/"), "", private, "")?;
    let root = &spec.root;
    let size = format!("size={}m,mode=755", spec.limits.disk);
    mount(
        Path::new("scratch"),
        root,
        "tmpfs",
        libc::MS_NOSUID | libc::MS_NODEV,
        &size,
    )?;
    for path in SYSTEM.map(Path::new) {
        let within = inside(root, path);
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_symlink() => symlink(fs::read_link(path)?, within)?,
            Ok(_) => bind(path, &within, false)?,
            Err(_) => {}
        }
    }
    for path in DEVICES.map(Path::new) {
        bind(path, &inside(root, path), true)?;
    }
    let mut binds = Vec::new();
    for b in &spec.binds {
        let path = PathBuf::from("/course").join(&b.name);
        bind(&b.from, &inside(root, &path), b.write)?;
        binds.push(Bind {
            from: path,
            ..b.clone()
        });
    }
    let scratch = Path::new("/course/scratch");
    fs::create_dir_all(inside(root, scratch))?;
    open_to_all(&inside(root, scratch))?;
    binds.push(Bind::write("scratch", scratch));
    enter(root)?;
    Ok(binds)
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes `root` the root, and lets go of the old one.
fn enter(root: &Path) -> io::Result<()> {
    std::env::set_current_dir(root)?;
    let here = c".";
    // SAFETY: two texts that end with 0. The old root comes to lie over the new one, and is let go there.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, here.as_ptr(), here.as_ptr()) } as libc::c_int)?;
    // SAFETY: as above.
    check(unsafe { libc::umount2(here.as_ptr(), libc::MNT_DETACH) })?;
    std::env::set_current_dir("/")
}

/// Anybody may write there: whoever the program will be.
pub fn open_to_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777))
}

/// A new process, which runs `then` and ends with the code that it gives; waits for it, and gives how it ended: its
/// code, or 128 and the signal.
pub fn apart(then: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    check(child)?;
    if child == 0 {
        let code = then();
        // SAFETY: ends the process at once; nothing of the parent's is flushed twice.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    loop {
        // SAFETY: `status` lives here.
        let ended = unsafe { libc::waitpid(child, ptr::from_mut(&mut status), 0) };
        if ended == child {
            break;
        }
        if ended < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        128 + libc::WTERMSIG(status)
    })
}
