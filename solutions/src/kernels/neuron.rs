/// One neuron: f(Σ wᵢxᵢ + b). A linear layer is many of them over many rows ([`super::linear`]), and each of its outputs
/// is one of these.
///
/// # Panics
/// Panics if there are not as many weights as inputs.
pub fn neuron(inputs: &[f32], weights: &[f32], bias: f32, activation: fn(f32) -> f32) -> f32 {
    assert_eq!(
        inputs.len(),
        weights.len(),
        "a neuron has one weight for each input"
    );
    let weighted: f32 = inputs.iter().zip(weights).map(|(x, w)| x * w).sum();
    activation(weighted + bias)
}
