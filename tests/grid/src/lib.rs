//! An emulated CUDA grid: compiles `.cu` sources with the system's C++ compiler and runs their kernels on the CPU, with
//! every access checked for bounds and data races. `README.md` lists what it sees and what it does not.
//!
//! ```
//! use grid::{Arg, Error, Memory, Source};
//!
//! let text = r#"
//! extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
//!     int i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) y[i] = a * x[i];
//! }"#;
//! let module = match Source::text("scale.cu", text).compile() {
//!     Ok(module) => module,
//!     Err(Error::NotRun(why)) => return println!("not run, because {why}"),
//!     Err(error) => panic!("{error}"),
//! };
//! let mut memory = Memory::new();
//! let x = memory.upload(&[1f32, 2.0, 3.0]);
//! let y = memory.zeros::<f32>(3);
//! let arguments = [Arg::read(x), Arg::write(y), Arg::value(2f32), Arg::value(3i32)];
//! module.launch("scale", 1, 32, 0, &mut memory, &arguments).unwrap();
//! assert_eq!(memory.download(y), [2.0, 4.0, 6.0]);
//! ```

mod abi;
mod compile;
mod fault;
mod lines;
mod memory;
mod message;
mod module;
mod page;
mod picture;
mod source;
mod trace;

pub use compile::{Error, Source};
pub use fault::{Fault, Kind};
pub use memory::{Address, Arg, Buffer, Element, Memory};
pub use module::{Dim, Launched, Module};
pub use trace::{Access, Conflicts, Mode, Place, Trace, Traffic};
