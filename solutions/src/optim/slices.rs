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
    use std::{
        sync::{Barrier, Mutex},
        thread,
    };

    use candle_core::{DType, Device, Tensor, Var};

    use super::*;
    use crate::optim::{
        layerwise::{Lamb, LambConfig, Lars, LarsConfig},
        state::Rule,
    };

    #[derive(Debug)]
    struct Fixed([f64; 4]);

    impl SumOverRanks for Fixed {
        fn sum(&self, values: &mut [f64]) -> candle_core::Result<()> {
            values.iter_mut().zip(self.0).for_each(|(v, other)| *v += other);
            Ok(())
        }
    }

    #[test]
    fn norms_are_those_of_whole_parameters() {
        let slices = Slices {
            of: vec![Whole {
                index: 1,
                is_matrix: true,
            }],
            count: 2,
            ranks: Arc::new(Fixed([4.0, 4.0, 7.0, 9.0])),
        };
        assert_eq!(slices.norms(&[[9.0, 16.0]]).unwrap(), [[4.0, 5.0]]);
    }

    /// Ranks that are threads: their sum so far, and a barrier for all of them.
    #[derive(Debug)]
    struct Threads(Mutex<Vec<f64>>, Barrier);

    impl SumOverRanks for Threads {
        fn sum(&self, values: &mut [f64]) -> candle_core::Result<()> {
            let add = |sums: &mut Vec<f64>| {
                sums.resize(values.len(), 0.0);
                sums.iter_mut().zip(&*values).for_each(|(s, v)| *s += v);
            };
            add(&mut self.0.lock().unwrap());
            self.1.wait();
            values.copy_from_slice(&self.0.lock().unwrap());
            if self.1.wait().is_leader() {
                self.0.lock().unwrap().clear();
            }
            self.1.wait();
            Ok(())
        }
    }

    /// Numbers that differ much in size, so that the norm of a slice is far from that of the whole.
    fn numbers(seed: usize, count: usize) -> Vec<f32> {
        let number = |i: usize| ((seed + 7 * i) as f32).sin() * 10_f32.powi(-(i as i32 % 4));
        (0..count).map(number).collect()
    }

    fn var(values: &[f32], shape: &[usize]) -> Var {
        Var::from_tensor(&Tensor::from_slice(values, shape, &Device::Cpu).unwrap()).unwrap()
    }

    type Build = dyn Fn(&[Var], Option<Slices>) -> Box<dyn Rule> + Sync;

    /// Two steps of whole parameters: a matrix of 12 numbers and a vector of 5.
    fn whole(build: &Build) -> Vec<f32> {
        let params = [var(&numbers(1, 12), &[3, 4]), var(&numbers(2, 5), &[5])];
        let mut rule = build(&params, None);
        for step in 0..2 {
            let grads = [
                var(&numbers(3 + step, 12), &[3, 4]),
                var(&numbers(9 + step, 5), &[5]),
            ];
            rule.apply(&params, &grads.map(|g| g.as_detached_tensor()), 0.1)
                .unwrap();
        }
        let all = params
            .iter()
            .flat_map(|p| p.flatten_all().unwrap().to_vec1().unwrap());
        all.collect()
    }

    /// The same by three ranks: the first has 7 numbers of the matrix, the second none, the third the rest and the vector.
    fn by_ranks(build: &Build) -> Vec<f32> {
        let threads = Arc::new(Threads(Mutex::default(), Barrier::new(3)));
        let of_rank = |rank: usize| {
            let slices: &[(usize, std::ops::Range<usize>)] = match rank {
                0 => &[(0, 0..7)],
                1 => &[],
                _ => &[(0, 7..12), (1, 0..5)],
            };
            let of = |of: &(usize, _)| Whole {
                index: of.0,
                is_matrix: of.0 == 0,
            };
            let of = Slices {
                of: slices.iter().map(of).collect(),
                count: 2,
                ranks: threads.clone(),
            };
            let cut = |seeds: [usize; 2]| -> Vec<Var> {
                let slice = |(index, range): &(usize, std::ops::Range<usize>)| {
                    let values = &numbers(seeds[*index], [12, 5][*index])[range.clone()];
                    var(values, &[values.len()])
                };
                slices.iter().map(slice).collect()
            };
            let params = cut([1, 2]);
            let mut rule = build(&params, Some(of));
            for step in 0..2 {
                let grads: Vec<Tensor> = cut([3 + step, 9 + step])
                    .iter()
                    .map(Var::as_detached_tensor)
                    .collect();
                rule.apply(&params, &grads, 0.1).unwrap();
            }
            let all = params
                .iter()
                .flat_map(|p| p.to_dtype(DType::F32).unwrap().to_vec1().unwrap());
            all.collect::<Vec<f32>>()
        };
        thread::scope(|scope| {
            let ranks = [0, 1, 2].map(|rank| scope.spawn(move || of_rank(rank)));
            ranks.into_iter().flat_map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn steps_of_slices_are_those_of_whole_parameters() {
        let lars = |vectors| {
            move |params: &[Var], slices| -> Box<dyn Rule> {
                let config = LarsConfig {
                    vectors,
                    trust: 0.5,
                    ..LarsConfig::default()
                };
                Box::new(Lars::new(params, config, slices).unwrap())
            }
        };
        let lamb = |params: &[Var], slices| -> Box<dyn Rule> {
            Box::new(Lamb::new(params, LambConfig::default(), slices).unwrap())
        };
        for (what, build) in [
            ("lars", &lars(false) as &Build),
            ("lars, vectors", &lars(true)),
            ("lamb", &lamb),
        ] {
            let (expected, found) = (whole(build), by_ranks(build));
            assert_eq!(expected.len(), found.len());
            for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
                assert!((e - f).abs() < 1e-6, "{what}: number {i} is {f}, expected {e}");
            }
        }
    }
}
