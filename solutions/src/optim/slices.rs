//! Norms of whole parameters for optimizers that have only slices of them.

use std::sync::Arc;

use crate::kernels::SumOverRanks;

/// What an optimizer of slices must know of the whole parameters, whose other slices are on other ranks.
#[derive(Clone, Debug)]
pub struct Slices {
    /// For each slice, in the order of the optimizer's parameters, the parameter that it is a part of.
    pub of: Vec<Whole>,
    /// Number of whole parameters.
    pub count: usize,
    /// Sums over the ranks. Every rank steps at the same time, also one without slices.
    pub ranks: Arc<dyn SumOverRanks>,
}

/// The parameter that a slice is a part of.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// Which of the whole parameters.
    pub index: usize,
    /// Whether it has more than one axis.
    pub is_matrix: bool,
}

impl Slices {
    /// Returns two norms of the whole parameter of each slice. `squares` has the two sums of squares of each slice.
    ///
    /// # Errors
    /// Those of [`SumOverRanks::sum`].
    pub fn norms(&self, squares: &[[f64; 2]]) -> candle_core::Result<Vec<[f64; 2]>> {
        let mut sums = vec![0.0; 2 * self.count];
        for (whole, squares) in self.of.iter().zip(squares) {
            sums[2 * whole.index] += squares[0];
            sums[2 * whole.index + 1] += squares[1];
        }
        self.ranks.sum(&mut sums)?;
        let norms = |whole: &Whole| [0, 1].map(|which| sums[2 * whole.index + which].sqrt());
        Ok(self.of.iter().map(norms).collect())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor, Var};

    use super::*;
    use crate::optim::{LambConfig, LarsConfig, OptimConfig};

    /// Adds the sums of the other ranks, four of them or none.
    #[derive(Debug)]
    struct Others(&'static [f64]);

    impl SumOverRanks for Others {
        fn sum(&self, values: &mut [f64]) -> candle_core::Result<()> {
            values.iter_mut().zip(self.0).for_each(|(v, other)| *v += other);
            Ok(())
        }
    }

    #[test]
    fn norms_are_those_of_whole_parameters() {
        let (index, is_matrix) = (1, true);
        let slices = Slices {
            of: vec![Whole { index, is_matrix }],
            count: 2,
            ranks: Arc::new(Others(&[4.0, 4.0, 7.0, 9.0])),
        };
        assert_eq!(slices.norms(&[[9.0, 16.0]]).unwrap(), [[4.0, 5.0]]);
    }

    /// Numbers that differ much in size, so that the norm of a slice is far from that of the whole.
    fn numbers(seed: usize, count: usize) -> Vec<f32> {
        let number = |i: usize| ((seed + 7 * i) as f32).sin() * 10_f32.powi(-(i as i32 % 4));
        (0..count).map(number).collect()
    }

    /// A matrix of 12 numbers and a vector of 5 after two steps. `cuts` are the ranges of all slices in the 17 numbers, and
    /// their shapes.
    fn stepped(config: &OptimConfig, cuts: &[(usize, &[usize])], slices: Option<Slices>) -> Vec<f32> {
        let cut = |seed: usize| {
            let all = [numbers(seed, 12), numbers(seed + 1, 5)].concat();
            let of = |&(start, shape): &(usize, &[usize])| {
                let end = start + shape.iter().product::<usize>();
                Tensor::from_slice(&all[start..end], shape, &Device::Cpu).unwrap()
            };
            cuts.iter().map(of).collect::<Vec<Tensor>>()
        };
        let vars: Vec<Var> = cut(1).iter().map(|t| Var::from_tensor(t).unwrap()).collect();
        let named = vars.iter().map(|var| (String::new(), var.clone()));
        let mut optimizer = config.build_for(named.collect(), slices).unwrap();
        for step in 0..2 {
            optimizer.step(&cut(3 + step), 0.1).unwrap();
        }
        let flat = |var: &Var| var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        vars.iter().flat_map(flat).collect()
    }

    #[test]
    fn steps_of_slices_are_those_of_whole_parameters() {
        let lars = |vectors| {
            OptimConfig::Lars(LarsConfig {
                vectors,
                trust: 0.5,
                ..LarsConfig::default()
            })
        };
        for config in [lars(false), lars(true), OptimConfig::Lamb(LambConfig::default())] {
            let of = [(0, true), (0, true), (1, false)];
            let slices = Slices {
                of: of.map(|(index, is_matrix)| Whole { index, is_matrix }).into(),
                count: 2,
                ranks: Arc::new(Others(&[])),
            };
            let expected = stepped(&config, &[(0, &[3, 4]), (12, &[5])], None);
            let found = stepped(&config, &[(0, &[7]), (7, &[5]), (12, &[5])], Some(slices));
            for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
                assert!(
                    (e - f).abs() < 1e-6,
                    "{config:?}: number {i} is {f}, expected {e}"
                );
            }
        }
    }
}
