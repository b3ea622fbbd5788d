//! Global memory: buffers that a kernel reads and writes, as `cudaMalloc` gives them.

use std::{marker::PhantomData, panic::Location};

use bytemuck::{Pod, Zeroable};

/// A value that a kernel knows: a number, or a struct that is laid out as in CUDA C++ (`#[repr(C)]`).
pub trait Element: Pod {
    /// As `Kind` in `include/grid/kernel.h`; 0 for a struct.
    #[doc(hidden)]
    const KIND: u8 = 0;
}

macro_rules! elements {
    ($kind:literal: $($type:ty),*) => { $(impl Element for $type { const KIND: u8 = $kind; })* };
}
elements!(1: f32);
elements!(2: f64);
elements!(3: i8, i16, i32, i64, u8, u16, u32, u64);
elements!(4: half::bf16);
elements!(5: half::f16);

/// A buffer in a [`Memory`].
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) index: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// An address in a [`Memory`], for tables of pointers.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Address(u64);

impl Element for Address {}

/// Where buffers start, as `cudaMalloc`'s do.
const ALIGNMENT: usize = 256;

struct Allocation {
    bytes: Vec<u64>,
    start: usize,
    len: usize,
    element: usize,
    from: &'static Location<'static>,
}

/// The device's global memory.
///
/// Each buffer has unused memory around it, so that an access beyond its end does not reach another.
#[derive(Default)]
pub struct Memory {
    allocations: Vec<Allocation>,
    pub(crate) traced: bool,
}

impl Memory {
    /// No buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new buffer with these values.
    #[track_caller]
    pub fn upload<T: Element>(&mut self, values: &[T]) -> Buffer<T> {
        let buffer = self.zeros(values.len());
        self.bytes_mut(buffer.index)
            .copy_from_slice(bytemuck::cast_slice(values));
        buffer
    }

    /// A new buffer of zeros.
    #[track_caller]
    pub fn zeros<T: Element>(&mut self, len: usize) -> Buffer<T> {
        let bytes = len * size_of::<T>();
        let margin = bytes.clamp(4096, 1 << 24).next_multiple_of(ALIGNMENT);
        let mut memory = vec![0u64; (bytes + 2 * margin + ALIGNMENT) / 8 + 1];
        let start = margin + memory.as_mut_ptr().cast::<u8>().align_offset(ALIGNMENT);
        let from = Location::caller();
        let allocation = Allocation {
            bytes: memory,
            start,
            len: bytes,
            element: size_of::<T>(),
            from,
        };
        self.allocations.push(allocation);
        Buffer {
            index: self.allocations.len() - 1,
            len,
            element: PhantomData,
        }
    }

    /// From now on, launches keep their accesses: [`crate::Launched`] and [`crate::Fault`] have them.
    pub fn trace(&mut self) {
        self.traced = true;
    }

    /// The values of a buffer.
    ///
    /// # Panics
    /// If the buffer belongs to another memory.
    pub fn download<T: Element>(&self, buffer: Buffer<T>) -> Vec<T> {
        let allocation = &self.allocations[buffer.index];
        let all: &[u8] = bytemuck::cast_slice(&allocation.bytes);
        let mut values = vec![T::zeroed(); buffer.len];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(&all[allocation.start..][..allocation.len]);
        values
    }

    /// The address of element `at`.
    ///
    /// # Panics
    /// If the buffer belongs to another memory.
    pub fn address<T: Element>(&mut self, buffer: Buffer<T>, at: usize) -> Address {
        Address(self.start(buffer.index) as u64 + (at * size_of::<T>()) as u64)
    }

    fn bytes_mut(&mut self, index: usize) -> &mut [u8] {
        let Allocation {
            bytes, start, len, ..
        } = &mut self.allocations[index];
        &mut bytemuck::cast_slice_mut(bytes)[*start..][..*len]
    }

    pub(crate) fn start(&mut self, index: usize) -> *mut u8 {
        self.bytes_mut(index).as_mut_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.allocations.len()
    }

    pub(crate) fn size(&self, index: usize) -> usize {
        self.allocations[index].len
    }

    /// Size of an element.
    pub(crate) fn element(&self, index: usize) -> usize {
        self.allocations[index].element
    }

    /// Where the buffer was made.
    pub(crate) fn made_at(&self, index: usize) -> String {
        let from = self.allocations[index].from;
        let file = std::path::Path::new(from.file()).file_name().unwrap_or_default();
        format!("{}:{}", file.to_string_lossy(), from.line())
    }
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Arg {
    #[doc(hidden)]
    Buffer {
        index: usize,
        kind: u8,
        size: usize,
        read_only: bool,
    },
    #[doc(hidden)]
    Value { kind: u8, bytes: Vec<u8> },
    /// A null pointer.
    Null,
}

impl Arg {
    /// A buffer that the kernel only reads: a write is a fault.
    pub fn read<T: Element>(buffer: Buffer<T>) -> Self {
        Arg::Buffer {
            index: buffer.index,
            kind: T::KIND,
            size: size_of::<T>(),
            read_only: true,
        }
    }

    /// A buffer that the kernel may write.
    pub fn write<T: Element>(buffer: Buffer<T>) -> Self {
        Arg::Buffer {
            index: buffer.index,
            kind: T::KIND,
            size: size_of::<T>(),
            read_only: false,
        }
    }

    /// A number or a struct.
    pub fn value<T: Element>(value: T) -> Self {
        Arg::Value {
            kind: T::KIND,
            bytes: bytemuck::bytes_of(&value).to_vec(),
        }
    }
}
