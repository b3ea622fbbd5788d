//! A compiled source: checks a launch against the kernel's parameters, runs it, and reads what the runtime found.

use std::{ffi::c_void, fs, mem, path::Path, ptr};

use libloading::Library;

use crate::{
    abi,
    compile::Source,
    fault::{Fault, Kind},
    lines::Image,
    memory::{Arg, Memory},
    message::{Launching, describe, note},
    source::Declared,
    trace::{Access, MOST, Trace},
};

/// The size of a grid or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Dim([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Dim([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dim([x, y, z])
    }
}

impl Dim {
    fn product(self) -> u64 {
        self.0.iter().map(|&n| u64::from(n)).product()
    }
}

/// What a launch without a fault reports.
#[derive(Clone, Debug)]
pub struct Launched {
    /// A lane that read, by a shuffle, from a lane that took no part: its value is undefined, which is no fault if nobody uses it.
    pub note: Option<String>,
    /// The accesses, if [`Memory::trace`] was called.
    pub trace: Trace,
}

/// A compiled source.
pub struct Module {
    library: Library,
    source: Source,
    kernels: Vec<Declared>,
    /// The compiled file.
    bytes: Vec<u8>,
}

impl Module {
    pub(crate) fn load(module: &Path, source: &Source, kernels: Vec<Declared>) -> Result<Self, String> {
        let name = source.path.display();
        // SAFETY: the runtime's and the kernels' initialisers only set variables of their own.
        let library = unsafe { Library::new(module) };
        let library = library.map_err(|e| format!("{name} does not link: {e}"))?;
        Ok(Self {
            source: source.clone(),
            kernels,
            bytes: fs::read(module).map_err(|e| format!("{}: {e}", module.display()))?,
            library,
        })
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|k| &*k.name)
    }

    /// Whether parameter `index` of `kernel` is a pointer to constants, as `const float*` is.
    pub fn reads_only(&self, kernel: &str, index: usize) -> bool {
        let parameters = |entry: abi::Kernel| entry.parameters[..entry.count as usize].get(index).copied();
        let parameter = self.entry(kernel).ok().and_then(parameters);
        parameter.is_some_and(|parameter| parameter.constant == 1)
    }

    fn entry(&self, kernel: &str) -> Result<abi::Kernel, String> {
        // SAFETY: the symbol is of this type: `source.rs` writes it.
        let found = unsafe {
            self.library
                .get::<*const abi::Kernel>(format!("grid_kernel_{kernel}\0").as_bytes())
        };
        // SAFETY: it points to a constant of the module.
        found
            .map(|entry| unsafe { **entry })
            .map_err(|error| error.to_string())
    }

    /// Runs `kernel` over a grid of blocks, each with `shared_bytes` of dynamic shared memory.
    pub fn launch(
        &self,
        kernel: &str,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
        shared_bytes: usize,
        memory: &mut Memory,
        arguments: &[Arg],
    ) -> Result<Launched, Fault> {
        let (grid, block) = (grid.into(), block.into());
        let wrong = |message: String| Fault {
            kind: Kind::Launch,
            kernel: kernel.into(),
            message,
            lines: Vec::new(),
            trace: Box::default(),
        };
        let declared = self.kernels.iter().find(|k| k.name == kernel).ok_or_else(|| {
            let known: Vec<&str> = self.kernels().collect();
            let file = self.source.path.file_name().unwrap_or_default().to_string_lossy();
            wrong(format!("{file} has no such kernel; it has {}", known.join(", ")))
        })?;
        let entry = self.entry(kernel).map_err(wrong)?;
        check_size(&entry, grid, block).map_err(wrong)?;
        let mut values = values(&entry, declared, memory, arguments).map_err(wrong)?;
        let launching = Launching {
            kernel,
            declared,
            arguments,
            grid: grid.0,
            block: block.0,
        };
        self.run(&entry, &mut values, shared_bytes, memory, &launching)
    }

    fn run(
        &self,
        entry: &abi::Kernel,
        values: &mut [Vec<u64>],
        shared_bytes: usize,
        memory: &mut Memory,
        launching: &Launching,
    ) -> Result<Launched, Fault> {
        let wrong = |message: &str| Fault {
            kind: Kind::Launch,
            kernel: launching.kernel.into(),
            message: message.into(),
            lines: Vec::new(),
            trace: Box::default(),
        };
        if shared_bytes > 227 << 10 {
            return Err(wrong(&format!(
                "{shared_bytes} bytes of shared memory; a block has at most 232448 (227 KiB)"
            )));
        }
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
        let buffers: Vec<abi::Buffer> = (0..memory.len())
            .map(|index| abi::Buffer {
                start: memory.start(index),
                bytes: memory.size(index) as u64,
                granule: if memory.element(index).is_power_of_two() {
                    memory.element(index) as u32
                } else {
                    1
                },
                read_only: launching.read_only(index).into(),
            })
            .collect();
        let threads = Dim(launching.block).product() as usize;
        let nothing = abi::Waiting {
            state: 0,
            operation: 0,
            mask: 0,
            line: 0,
            file: ptr::null(),
        };
        let mut waiting = vec![nothing; threads];
        let mut kept: Vec<Access> = Vec::with_capacity(if memory.traced { MOST } else { 0 });
        let mut trace = abi::Trace {
            accesses: kept.as_mut_ptr(),
            capacity: MOST as u64,
            count: 0,
            truncated: 0,
        };
        let launch = abi::Launch {
            call: entry.call,
            arguments: pointers.as_mut_ptr(),
            grid: launching.grid,
            block: launching.block,
            dynamic_bytes: shared_bytes as u32,
            buffers: buffers.len() as u32,
            buffer: buffers.as_ptr(),
            waiting: waiting.as_mut_ptr(),
            trace: if memory.traced {
                &raw mut trace
            } else {
                ptr::null_mut()
            },
        };
        // SAFETY: all zeros is a valid value of this type: null pointers and numbers.
        let mut fault: abi::Fault = unsafe { mem::zeroed() };
        // SAFETY: the runtime has this function; everything in `launch` outlives the call.
        let result = unsafe {
            match self.library.get::<abi::Run>(b"grid_launch\0") {
                Ok(run) => run(&launch, &mut fault),
                Err(error) => return Err(wrong(&error.to_string())),
            }
        };
        // SAFETY: the runtime wrote so many, at most the capacity.
        unsafe { kept.set_len(trace.count as usize) };
        if result == 0 && !memory.traced && fault.note.line == 0 {
            return Ok(Launched {
                note: None,
                trace: Trace::default(),
            });
        }
        let image = Image::new(&self.bytes, fault.image, &self.source);
        let trace = Trace::new(kept, trace.truncated != 0, &fault, launching, &image);
        match result {
            0 => Ok(Launched {
                note: note(&fault, launching, &image),
                trace,
            }),
            1 => Err(Fault {
                trace: Box::new(trace),
                ..describe(&fault, &waiting, memory, launching, &image)
            }),
            _ => Err(wrong(
                "there is not enough memory to emulate it: take a smaller grid, block or buffer",
            )),
        }
    }
}

fn check_size(entry: &abi::Kernel, grid: Dim, block: Dim) -> Result<(), String> {
    let threads = block.product();
    if threads == 0 || grid.product() == 0 {
        return Err(format!(
            "a grid of {:?} blocks of {:?} threads has nothing to run",
            grid.0, block.0
        ));
    }
    if threads > 1024 || block.0[2] > 64 {
        return Err(format!(
            "a block of {:?} threads; a GPU takes at most 1024 in all, and 64 along z",
            block.0
        ));
    }
    if grid.0[1] > 65535 || grid.0[2] > 65535 || grid.product() >= 1 << 31 {
        return Err(format!(
            "a grid of {:?} blocks; a GPU takes at most 65535 along y and z",
            grid.0
        ));
    }
    let bound = u64::from(entry.max_threads);
    if bound != 0 && threads > bound {
        return Err(format!(
            "a block of {threads} threads; its __launch_bounds__ promises at most {bound}"
        ));
    }
    Ok(())
}

/// The arguments' bytes, after a check of their types.
fn values(
    entry: &abi::Kernel,
    declared: &Declared,
    memory: &mut Memory,
    arguments: &[Arg],
) -> Result<Vec<Vec<u64>>, String> {
    let parameters = &entry.parameters[..entry.count as usize];
    if parameters.len() != arguments.len() {
        let (want, have) = (parameters.len(), arguments.len());
        return Err(format!(
            "it has {want} parameters, and the launch passes {have} arguments"
        ));
    }
    let mut values = Vec::new();
    for (i, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
        if !fits(parameter, argument) {
            let name = declared.parameters.get(i).map_or("", |n| n);
            let (want, have) = (parameter_text(parameter), argument_text(argument));
            return Err(format!(
                "parameter {} `{name}` is {want}, and the launch passes {have}",
                i + 1
            ));
        }
        values.push(match argument {
            Arg::Null => vec![0],
            Arg::Buffer { index, .. } if *index < memory.len() => vec![memory.start(*index) as u64],
            Arg::Buffer { .. } => return Err(format!("argument {} is a buffer of another memory", i + 1)),
            Arg::Value { bytes, .. } => {
                let mut words = vec![0u64; bytes.len().div_ceil(8).max(1)];
                bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
                words
            }
        });
    }
    Ok(values)
}

/// Kinds as in `include/grid/kernel.h`.
const STRUCT: u8 = 0;
const INTEGER: u8 = 3;
const BOOL: u8 = 6;
const ANY: u8 = 7;

fn fits(parameter: &abi::Parameter, argument: &Arg) -> bool {
    let same = |kind: u8, size: usize| {
        let kinds = parameter.kind == kind || (parameter.kind == BOOL && kind == INTEGER);
        kinds && parameter.size as usize == size
    };
    match argument {
        Arg::Null => parameter.pointer == 1,
        Arg::Buffer { kind, size, .. } => {
            // Half precision may be passed as its bits, a struct as its numbers, and bytes as anything.
            let bits = *kind == INTEGER && *size == 2 && parameter.size == 2;
            let numbers = parameter.kind == STRUCT
                && *kind != STRUCT
                && (parameter.size as usize).is_multiple_of(*size);
            let bytes = parameter.kind == INTEGER && parameter.size == 1;
            parameter.pointer == 1
                && (parameter.kind == ANY || bits || numbers || bytes || same(*kind, *size))
        }
        Arg::Value { kind, bytes } => {
            let address = parameter.pointer == 1 && *kind == 0 && bytes.len() == 8;
            address || (parameter.pointer == 0 && same(*kind, bytes.len()))
        }
    }
}

fn type_text(kind: u8, size: usize) -> String {
    match kind {
        0 => format!("a struct of {size} bytes"),
        1 => "float".into(),
        2 => "double".into(),
        3 => format!("a {}-bit integer", 8 * size),
        4 => "bfloat16".into(),
        5 => "half".into(),
        6 => "bool".into(),
        _ => "bytes".into(),
    }
}

fn parameter_text(p: &abi::Parameter) -> String {
    let text = type_text(p.kind, p.size as usize);
    if p.pointer == 1 {
        format!("a pointer to {text}")
    } else {
        text
    }
}

fn argument_text(argument: &Arg) -> String {
    match argument {
        Arg::Null => "a null pointer".into(),
        Arg::Buffer { kind, size, .. } => format!("a buffer of {}", type_text(*kind, *size)),
        Arg::Value { kind, bytes } => type_text(*kind, bytes.len()),
    }
}
