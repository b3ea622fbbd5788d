//! Known wrong answers to exercise 4.6.

use super::*;

/// A wrong count of bytes.
macro_rules! bytes {
    ($caught_by:ident, $cause:literal, $($turned:tt)*) => {
        wrong!("4.6", $caught_by, $cause, largest_batch: |s, b| filled(s, b, Bytes { $($turned)*, ..BYTES }))
    };
}

pub const MISTAKES: &[Mistake<Lesson04>] = &[
    bytes!(counts_the_bytes_of_parameters, "The gradients are missing.", gradient: |_| 0),
    bytes!(counts_the_bytes_of_parameters, "The optimizer state is missing.", optimizer: |_| 0),
    bytes!(counts_the_bytes_of_parameters, "The master copies of mixed precision are missing.", weight: |weight, _| weight),
    wrong!("4.6", counts_the_bytes_of_parameters, "The master copies are counted with the optimizer; they belong to `parameters`.", largest_batch: |s, b| {
        let mut s = s.clone();
        s.each.optimizer += s.each.master;
        s.each.master = 0;
        filled(&s, b, BYTES)
    }),
    bytes!(counts_the_bytes_of_parameters, "Of weight and master copy only the larger is counted; a step has both.", weight: |weight, master| weight.max(master)),
    bytes!(counts_the_bytes_of_parameters, "The optimizer takes 8 bytes per parameter only with Adam in fp32; use `step.each.optimizer`.", optimizer: |_| 8),
    bytes!(counts_the_bytes_of_parameters, "Weights are taken to have 4 bytes; use `step.each`.", weight: |_, master| 4 + master, gradient: |_| 4),
    bytes!(counts_the_bytes_of_parameters, "Weights are taken to have 4 bytes; use `step.each`.", weight: |_, _| 4, gradient: |_| 4),
    bytes!(counts_the_bytes_of_parameters, "Gradients are taken to be as wide as the weights, or 4 bytes; use `step.each.gradient`.", gradient: |_| 4),
    bytes!(counts_the_activations_of_all_layers, "The bytes are those of one cloud; they should be those of the batch.", reported: |_| 1),
    bytes!(counts_the_activations_of_all_layers, "The bytes of a row are not multiplied by the number of rows.", kept: |layers| layers.iter().map(|l| l.kept).sum()),
    bytes!(counts_the_activations_of_all_layers, "Only the layer that keeps most is counted; all layers keep their activations at the same time.",
        kept: |layers| layers.iter().map(|l| l.rows * l.kept).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is summed over the layers; the backward pass is in one layer at a time.",
        passing: |layers| layers.iter().map(|l| l.rows * l.passing).sum()),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The widest row is not in the layer that needs most: multiply by the number of rows first.",
        passing: |layers| layers.iter().map(|l| l.passing).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The memory of the backward pass is missing.", passing: |_| 0),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the last layer; take the layer with the greatest rows × passing.",
        passing: |layers| layers.last().map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the first layer, or of the one that has most rows or keeps most; take the greatest rows × passing.",
        passing: |layers| layers.first().map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the first layer, or of the one that has most rows or keeps most; take the greatest rows × passing.",
        passing: |layers| layers.iter().max_by_key(|l| l.rows).map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of the layer with the widest row; take the greatest rows × passing.",
        passing: |layers| layers.iter().max_by_key(|l| l.passing).map_or(0, |l| l.rows * l.passing)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The backward memory is not counted when the batch is chosen: the step exceeds the budget.",
        chosen: |_| 0),
    wrong!("4.6", counts_backward_memory_of_the_widest_layer_once, "The backward memory is that of one cloud; it grows with the batch.", largest_batch: |s, b| {
        let passing = (BYTES.passing)(&s.layers);
        let room = b.checked_sub(filled(s, u64::MAX / 4, BYTES)?.1.parameters)?;
        let fixed = |bytes: u64| s.parameters * bytes;
        let each = s.each;
        let room = room.checked_sub(fixed(u64::from(each.gradient)) + fixed(u64::from(each.optimizer)) + passing)?;
        let batch = room / (BYTES.kept)(&s.layers);
        let (_, bytes) = filled(s, u64::MAX / 4, Bytes { reported: |_| 1, ..BYTES })?;
        (batch >= 2).then_some((batch, StepBytes { activations: batch * bytes.activations, passing, ..bytes }))
    }),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "A layer that keeps nothing is left out; it may be the one that needs most in passing.",
        passing: |layers| layers.iter().filter(|l| l.kept > 0).map(|l| l.rows * l.passing).max().unwrap_or(0)),
    bytes!(counts_backward_memory_of_the_widest_layer_once, "The most rows are multiplied by the most bytes, which may be those of another layer: take the greatest product.",
    passing: |layers| {
        let most = |of: fn(&LayerSize) -> u64| layers.iter().map(of).max().unwrap_or(0);
        most(|l| l.rows) * most(|l| l.passing)
    }),
    bytes!(fills_the_budget, "A step that needs exactly `budget` bytes is refused; it fits.", fill: |room, each| room.saturating_sub(1) / each),
    bytes!(counts_bytes_exactly, "The batch is computed in floating point, which is not exact for large numbers: use integers.",
        fill: |room, each| (room as f64 / each as f64) as u64),
    wrong!("4.6", counts_bytes_exactly, "The bytes of the parameters are counted in 32 bits, which overflow: use u64.", largest_batch: |s, b| {
        let narrow = |bytes: u32| u64::from((s.parameters as u32).wrapping_mul(bytes));
        let (parameters, gradients, optimizer) =
            (narrow(s.each.weight + s.each.master), narrow(s.each.gradient), narrow(s.each.optimizer));
        let none = StepSize { parameters: 0, ..s.clone() };
        let room = b.checked_sub(parameters + gradients + optimizer)?;
        filled(&none, room, BYTES).map(|(n, bytes)| (n, StepBytes { parameters, gradients, optimizer, ..bytes }))
    }),
    wrong!("4.6", counts_bytes_exactly, "The bytes of a batch that is far too large overflow u64: divide the free bytes by those of a cloud, or use `checked_mul`.",
    largest_batch: |s, b| {
        let each = (BYTES.kept)(&s.layers) + (BYTES.passing)(&s.layers);
        assert!((b / 2).checked_mul(each).is_some(), "attempt to multiply with overflow");
        filled(s, b, BYTES)
    }),
    bytes!(fills_the_budget, "The number of clouds is rounded up: the last one does not fit.", fill: |room, each| room.div_ceil(each)),
    bytes!(fills_the_budget, "The batch is rounded down to an even number; any number of clouds is allowed.", fill: |room, each| room / each / 2 * 2),
    bytes!(fills_the_budget, "The batch is rounded down to a power of two; any number of clouds is allowed.",
        fill: |room, each| match room / each { 0 => 0, n => 1 << n.ilog2() }),
    bytes!(is_none_if_two_clouds_do_not_fit, "A batch of exactly 2 is refused; 2 clouds are enough.", least: 3),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "A batch of 2 is returned although 2 clouds do not fit; the result is None.",
        largest_batch: |s, b| filled(s, b, BYTES).or_else(|| Some((2, filled(s, u64::MAX / 4, Bytes { reported: |_| 2, ..BYTES })?.1)))),
    wrong!("4.6", fills_the_budget, "Only the parameters are subtracted from the budget; gradients and optimizer take memory, too.",
    largest_batch: |s, b| {
        let more = s.parameters * u64::from(s.each.gradient + s.each.optimizer);
        filled(s, b.saturating_add(more), BYTES)
    }),
    bytes!(is_none_if_two_clouds_do_not_fit, "A batch of 1 is returned: batch norm cannot learn from one cloud.", least: 1),
    bytes!(is_none_if_two_clouds_do_not_fit, "If nothing fits, the result is a batch of 0; it should be None.", least: 0),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and the subtraction underflows: check it first.",
    largest_batch: |s, b| {
        let (_, bytes) = filled(s, u64::MAX / 4, BYTES)?;
        let fixed = bytes.parameters + bytes.gradients + bytes.optimizer;
        assert!(b >= fixed, "attempt to subtract with overflow");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in floating point, which is not exact for large numbers: use integers.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f32 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and the subtraction wraps to a huge number: check it first.",
    largest_batch: |s, b| {
        let (_, none) = filled(s, u64::MAX / 4, Bytes { reported: |_| 0, ..BYTES })?;
        if b >= none.total() {
            return filled(s, b, BYTES);
        }
        let (kept, passing) = ((BYTES.kept)(&s.layers), (BYTES.passing)(&s.layers));
        let batch = b.wrapping_sub(none.total()) / (kept + passing);
        Some((batch, StepBytes { activations: batch * kept, passing: batch * passing, ..none }))
    }),
    wrong!("4.6", is_none_if_two_clouds_do_not_fit, "The budget is smaller than the parameters, and `unwrap` panics: return None.",
    largest_batch: |s, b| {
        let (_, none) = filled(s, u64::MAX / 4, Bytes { reported: |_| 0, ..BYTES })?;
        assert!(b >= none.total(), "called `Option::unwrap()` on a `None` value");
        filled(s, b, BYTES)
    }),
    wrong!("4.6", counts_bytes_exactly, "Bytes were counted in floating point, which is not exact for large numbers: use integers.", largest_batch: |s, b| {
        let rounded = |n: u64| n as f64 as u64;
        filled(s, b, BYTES).map(|(n, bytes)| (n, StepBytes {
            parameters: rounded(bytes.parameters),
            optimizer: rounded(bytes.optimizer),
            gradients: rounded(bytes.gradients),
            ..bytes
        }))
    }),
];
