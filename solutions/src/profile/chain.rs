//! What a chain of element-wise operators moves and costs: as a kernel for each, and fused into one.

use super::roofline::Machine;

// ANCHOR: Counted
/// f32 values in memory that count the reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    values: Vec<f32>,
    reads: usize,
    writes: usize,
}
// ANCHOR_END: Counted

impl Counted {
    /// These values, before the first read and write.
    pub fn new(values: Vec<f32>) -> Self {
        Self {
            values,
            ..Self::default()
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Reads value i.
    pub fn read(&mut self, i: usize) -> f32 {
        self.reads += 1;
        self.values[i]
    }

    /// Writes value i.
    pub fn write(&mut self, i: usize, value: f32) {
        self.writes += 1;
        self.values[i] = value;
    }

    /// The values, and the bytes read and written so far.
    pub fn finish(self) -> (Vec<f32>, [usize; 2]) {
        let bytes = [self.reads, self.writes].map(|count| count * size_of::<f32>());
        (self.values, bytes)
    }
}

/// Applies bias, batch norm and ReLU to x, `[rows, channels]`, in place, in one pass: `max((x + bias)·scale + shift, 0)`.
pub fn bias_norm_relu(x: &mut Counted, bias: &[f32], scale: &[f32], shift: &[f32]) {
    for i in 0..x.len() {
        let c = i % bias.len();
        let v = (x.read(i) + bias[c]) * scale[c] + shift[c];
        x.write(i, v.max(0.0));
    }
}

// ANCHOR: Operator
/// An element-wise operator of a chain: it writes as many values as it reads from the operator before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Floating-point operations for each value.
    pub flops: usize,
    /// Further values that it reads, such as a bias for each channel.
    pub parameters: usize,
}

/// The cost of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// The minimum time under the roofline, seconds.
    pub seconds: f64,
}
// ANCHOR_END: Operator

/// The cost of `chain` over `values` f32 values. Not fused, each operator is a kernel, and the times of the kernels add up.
/// Fused, the chain is one kernel, and its intermediate values stay in registers.
pub fn chain_cost(chain: &[Operator], values: usize, fused: bool, machine: &Machine) -> Cost {
    let mut cost = Cost::default();
    for kernel in chain.chunks(if fused { chain.len().max(1) } else { 1 }) {
        let sum = |count: fn(&Operator) -> usize| kernel.iter().map(count).sum::<usize>() as f64;
        let flops = sum(|operator| operator.flops) * values as f64;
        let bytes = 4.0 * (2.0 * values as f64 + sum(|operator| operator.parameters));
        cost.flops += flops;
        cost.bytes += bytes;
        cost.seconds += (flops / machine.flops).max(bytes / machine.bytes);
    }
    cost
}
