//! The signal handler.

use std::cell::{Cell, UnsafeCell};
use std::sync::Once;

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use super::decode::decode;
use super::tiles::Tiles;

thread_local! {
    // Constant and without a destructor, so that a signal handler may use them.
    static TILES: UnsafeCell<Tiles> = const { UnsafeCell::new(Tiles::NONE) };
    static EXECUTED: Cell<usize> = const { Cell::new(0) };
}

/// Returns how many instructions of this thread were emulated so far.
pub fn executed() -> usize {
    EXECUTED.get()
}

/// Installs the handler in this process, once.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: an action of zeros is valid, and the handler has the signature that SA_SIGINFO asks for. It runs on the stack
        // of the thread that executed the instruction.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_illegal_instruction as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            let status = libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut());
            assert_eq!(status, 0, "sigaction");
        }
    });
}

/// The numbers of registers in an instruction, as indices into the saved ones.
const REGISTERS: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Executes the instruction and goes on behind it. Any other illegal instruction ends the process as if there were no handler;
/// one that a CPU would refuse aborts it with the reason.
extern "C" fn on_illegal_instruction(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the saved registers of the thread. The bytes read are those of the instruction. A signal
    // handler does not interrupt itself, and nothing else uses this thread's tiles.
    unsafe {
        let saved = &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs;
        let code = saved[libc::REG_RIP as usize] as *const u8;
        let decoded = decode(|i| *code.add(i), |r| saved[REGISTERS[r] as usize] as u64);
        let Some((instruction, length)) = decoded else {
            // The instruction runs again after this, and has its default action.
            libc::signal(libc::SIGILL, libc::SIG_DFL);
            return;
        };
        match TILES.with(|tiles| (*tiles.get()).execute(instruction)) {
            Ok(()) => saved[libc::REG_RIP as usize] += length as i64,
            Err(refused) => {
                for text in ["emulated AMX: ", refused, "\n"] {
                    libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
                }
                libc::abort();
            }
        }
        EXECUTED.set(EXECUTED.get() + 1);
    }
}
