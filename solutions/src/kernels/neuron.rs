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

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    #[test]
    fn a_linear_layer_is_neurons() {
        let (x, w) = ([[0.5f32, -2.0, 3.0]], [[1.0f32, 0.25, -0.5], [-3.0, 2.0, 1.5]]);
        let b = [0.125f32, -1.0];
        let cpu = &Device::Cpu;
        let (rows, weights) = (Tensor::new(&x, cpu).unwrap(), Tensor::new(&w, cpu).unwrap());
        let layer = super::super::linear(&rows, &weights, &Tensor::new(&b, cpu).unwrap()).unwrap();
        let each = [0, 1].map(|i| super::neuron(&x[0], &w[i], b[i], |z| z));
        assert_eq!(layer.to_vec2::<f32>().unwrap(), [each]);
    }
}
