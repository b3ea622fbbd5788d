//! The backward pass of the fused operators.
//!
//! candle does not expose its graph, starts every gradient from zeros and adds on one thread. A training
//! pass therefore has a tape of its own: each fused operator appends a node (its inputs, and a closure that
//! turns the gradient of its output into those of its inputs), and [`backward`] visits the nodes from the last
//! to the first. The first gradient of a tensor is moved in, later ones are added in place, and the tensors that a
//! node saved are freed as soon as they have been used. Gradients of the CPU's operators are vectors; those of the CUDA kernels'
//! operators and of compositions of candle's are tensors, which stay on their device.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use candle_core::{Device, Error, Tensor, TensorId};

use rayon::prelude::*;

use super::Pass;
use super::device::Launcher;
use super::{pool, values::read, vector};

/// Turns the gradient of an output into the gradients of the inputs that require one.
pub(super) type Backward =
    Box<dyn Fn(Vec<f32>, &[bool]) -> Result<Vec<Option<Vec<f32>>>, Error> + Send + Sync>;

/// As [`Backward`], of an operator whose tensors stay on their device.
type TensorBackward = Box<dyn Fn(&Tensor, &[bool]) -> Result<Vec<Option<Tensor>>, Error> + Send + Sync>;

enum Rule {
    Values(Backward),
    Tensors(TensorBackward),
}

struct Node {
    output: Tensor,
    inputs: Vec<Tensor>,
    wanted: Vec<bool>,
    rule: Rule,
}

/// The nodes of one training pass's operators, in the order in which the operators ran.
#[derive(Clone, Default)]
pub(super) struct Tape(Arc<Nodes>);

#[derive(Default)]
struct Nodes {
    list: Mutex<Vec<Node>>,
    launcher: Option<Arc<dyn Launcher>>,
}

type Owners = HashMap<TensorId, Weak<Nodes>>;

/// The tape that an operator's output is on. An operator finds the tape by its inputs, as candle finds its graph.
static OWNERS: LazyLock<Mutex<Owners>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape({} nodes)", lock(&self.0.list).len())
    }
}

impl Tape {
    /// A tape of operators that `launcher` runs.
    pub fn on(launcher: Arc<dyn Launcher>) -> Self {
        Self(Arc::new(Nodes {
            launcher: Some(launcher),
            ..Nodes::default()
        }))
    }

    /// The launcher that the pass was given.
    pub fn launcher(&self) -> Option<&Arc<dyn Launcher>> {
        self.0.launcher.as_ref()
    }

    /// The tape that one of `inputs` is on.
    pub fn of(inputs: &[&Tensor]) -> Option<Self> {
        let owners = lock(&OWNERS);
        inputs
            .iter()
            .find_map(|t| owners.get(&t.id())?.upgrade())
            .map(Self)
    }

    /// Appends an operator whose tensors stay on their device, if any input requires a gradient.
    pub fn record(
        &self,
        inputs: &[&Tensor],
        output: &Tensor,
        backward: impl Fn(&Tensor, &[bool]) -> Result<Vec<Option<Tensor>>, Error> + Send + Sync + 'static,
    ) {
        self.append(inputs, output, || Rule::Tensors(Box::new(backward)));
    }

    fn append(&self, inputs: &[&Tensor], output: &Tensor, rule: impl FnOnce() -> Rule) {
        let mut owners = lock(&OWNERS);
        let wanted: Vec<bool> = inputs
            .iter()
            .map(|t| t.is_variable() || owners.contains_key(&t.id()))
            .collect();
        if wanted.contains(&true) {
            owners.insert(output.id(), Arc::downgrade(&self.0));
            lock(&self.0.list).push(Node {
                output: output.clone(),
                inputs: inputs.iter().map(|&t| t.clone()).collect(),
                wanted,
                rule: rule(),
            });
        }
    }

    fn take(&self) -> Vec<Node> {
        let nodes = std::mem::take(&mut *lock(&self.0.list));
        let mut owners = lock(&OWNERS);
        for node in &nodes {
            owners.remove(&node.output.id());
        }
        nodes
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1 {
            self.take();
        }
    }
}

/// Returns the output of an operator as a tensor, and appends it to `tape` if any input requires a gradient.
pub(super) fn record(
    tape: Option<&Tape>,
    inputs: &[&Tensor],
    output: Vec<f32>,
    shape: &[usize],
    backward: impl FnOnce() -> Backward,
) -> Result<Tensor, Error> {
    let output = Tensor::from_vec(output, shape, &Device::Cpu)?;
    if let Some(tape) = tape {
        tape.append(inputs, &output, || Rule::Values(backward()));
    }
    Ok(output)
}

/// The backward pass from `loss`, a scalar, which uses up the pass's tape. Calls `ready(variable, gradient)` as soon as a
/// variable's gradient is complete: from the last layer to the first, in the same order in every process. Data parallelism
/// starts its all-reduce here.
///
/// # Errors
/// Returns an error if `loss` is not a scalar, or if it is neither on the pass's tape nor on candle's graph; and returns the
/// errors of `ready`, unchanged.
pub fn backward<E: From<Error>>(
    loss: &Tensor,
    pass: &Pass,
    ready: &mut dyn FnMut(&Tensor, Tensor) -> Result<(), E>,
) -> Result<(), E> {
    if loss.elem_count() != 1 {
        let shape = loss.shape();
        return Err(Error::msg(format!(
            "backward starts from a scalar loss; this one has shape {shape:?}"
        ))
        .into());
    }
    let nodes = pass.tape.as_ref().map(Tape::take).unwrap_or_default();
    match nodes.iter().any(|n| n.output.id() == loss.id()) {
        true => over_tape(loss, nodes, ready),
        false => by_candle(loss, ready),
    }
}

/// The backward pass over the nodes of a tape.
fn over_tape<E: From<Error>>(
    loss: &Tensor,
    mut nodes: Vec<Node>,
    ready: &mut dyn FnMut(&Tensor, Tensor) -> Result<(), E>,
) -> Result<(), E> {
    // How many nodes will still add to a variable's gradient.
    let mut uses = HashMap::new();
    for input in nodes.iter().flat_map(|n| &n.inputs).filter(|t| t.is_variable()) {
        *uses.entry(input.id()).or_insert(0) += 1;
    }
    // Gradients still being summed.
    let one = Gradient::Tensor(loss.detach().ones_like()?);
    let mut partial = HashMap::from([(loss.id(), one)]);
    while let Some(node) = nodes.pop() {
        let Node {
            output,
            inputs,
            wanted,
            rule,
        } = node;
        let Some(gradient) = partial.remove(&output.id()) else {
            let shape = output.shape();
            return Err(Error::msg(format!(
                "a fused operator's output of shape {shape:?} received no gradient: it was not used, or one of candle's \
                 operators changed it, which the tape does not record (use `kernels::with_backward`)"
            ))
            .into());
        };
        // Frees what the operator saved before the next one allocates.
        let grads = rule.gradients(gradient, &output, &wanted)?;
        for (input, gradient) in inputs.iter().zip(grads) {
            if let Some(gradient) = gradient {
                let sum = match partial.remove(&input.id()) {
                    None => gradient,
                    Some(sum) => sum.plus(gradient, input)?,
                };
                partial.insert(input.id(), sum);
            }
            if let Some(left) = uses.get_mut(&input.id()) {
                *left -= 1;
                if let (0, Some(sum)) = (*left, partial.remove(&input.id())) {
                    let sum = sum.into_tensor(input)?;
                    ready(input, sum)?;
                }
            }
        }
    }
    Ok(())
}

/// candle's backward pass: the plain operators are on candle's graph.
fn by_candle<E: From<Error>>(
    loss: &Tensor,
    ready: &mut dyn FnMut(&Tensor, Tensor) -> Result<(), E>,
) -> Result<(), E> {
    if !loss.track_op() {
        let e = "the loss depends on no variable of this pass: was it computed in another pass, or is its tape used up?";
        return Err(Error::msg(e).into());
    }
    let mut store = loss.backward()?;
    for node in loss.sorted_nodes().into_iter().filter(|node| node.is_variable()) {
        if let Some(gradient) = store.remove(node) {
            ready(node, gradient)?;
        }
    }
    Ok(())
}

/// Values that one task adds.
const PIECE: usize = 1 << 15;

/// The gradient of one tensor during a backward pass.
enum Gradient {
    Values(Vec<f32>),
    Tensor(Tensor),
}

impl Gradient {
    fn into_values(self) -> Result<Vec<f32>, Error> {
        match self {
            Self::Values(values) => Ok(values),
            Self::Tensor(tensor) => read(&tensor),
        }
    }

    fn into_tensor(self, like: &Tensor) -> Result<Tensor, Error> {
        match self {
            Self::Values(values) => Tensor::from_vec(values, like.shape(), like.device()),
            Self::Tensor(tensor) => tensor.reshape(like.shape())?.contiguous(),
        }
    }

    fn plus(self, other: Self, like: &Tensor) -> Result<Self, Error> {
        Ok(match (self, other) {
            (Self::Values(mut sum), Self::Values(other)) => {
                let pieces = sum.par_chunks_mut(PIECE).zip(other.par_chunks(PIECE));
                pieces.for_each(|(sum, other)| vector::add(sum, other));
                pool::give(other);
                Self::Values(sum)
            }
            (a, b) => Self::Tensor((a.into_tensor(like)? + b.into_tensor(like)?)?),
        })
    }
}

impl Rule {
    /// The gradients of the inputs, from that of `output`.
    fn gradients(
        self,
        gradient: Gradient,
        output: &Tensor,
        wanted: &[bool],
    ) -> Result<Vec<Option<Gradient>>, Error> {
        Ok(match self {
            Self::Values(backward) => {
                let gradients = backward(gradient.into_values()?, wanted)?.into_iter();
                gradients.map(|g| g.map(Gradient::Values)).collect()
            }
            Self::Tensors(backward) => {
                let gradients = backward(&gradient.into_tensor(output)?, wanted)?.into_iter();
                gradients.map(|g| g.map(Gradient::Tensor)).collect()
            }
        })
    }
}
