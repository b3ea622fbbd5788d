//! Layers of linear+BN+ReLU whose statistics are synchronised over ranks.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use candle_core::{DType, Device as Cpu, Error, Result};
use canopy::kernels::{Pass, Share, SumOverRanks};

use crate::cases::{LENGTHS, WIDTHS, layers};
use crate::common::*;
use crate::emulated::{EmulatedGrid, device};

/// Sums of two ranks that are threads. If one panics, the other gets an error.
#[derive(Debug)]
struct Sums(Mutex<Ends>);

/// To the other rank, and from it.
type Ends = (Sender<Vec<f64>>, Receiver<Vec<f64>>);

impl Sums {
    fn both() -> [Arc<Self>; 2] {
        let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
        [(to_second, from_second), (to_first, from_first)].map(|ends| Arc::new(Self(Mutex::new(ends))))
    }
}

impl SumOverRanks for Sums {
    fn sum(&self, values: &mut [f64]) -> Result<()> {
        let (to, from) = &*self.0.lock().unwrap();
        to.send(values.to_vec()).map_err(Error::wrap)?;
        let others = from.recv_timeout(Duration::from_secs(60)).map_err(Error::wrap)?;
        values.iter_mut().zip(others).for_each(|(v, other)| *v += other);
        Ok(())
    }
}

/// Two ranks with different numbers of clouds, against one with all of them.
#[test]
fn synchronised_batch_norm_is_that_of_the_whole_batch() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for (widths, max) in WIDTHS {
        let whole = layers(widths, max, &LENGTHS);
        let plain = Pass::train(1, 0).plain(true);
        let expected = whole.outcome(DType::F32, DType::F64, &Cpu::Cpu, &plain).unwrap();
        // The first rank has two clouds.
        let split = LENGTHS[0] + LENGTHS[1];
        let of_rank = |rank: usize, sums: Arc<Sums>| {
            let clouds = [&LENGTHS[..2], &LENGTHS[2..]][rank];
            let mut own = layers(widths, max, clouds);
            own.inputs[1..].clone_from_slice(&whole.inputs[1..]);
            let part = |values: &[f32], at: usize| match rank {
                0 => values[..at].to_vec(),
                _ => values[at..].to_vec(),
            };
            own.inputs[0].0 = part(&whole.inputs[0].0, split * widths[0]);
            own.g = part(&whole.g, if max { 2 } else { split } * widths[2]);
            let pass = Pass::train(1, 0).with_launcher(grid.clone()).shared(Share {
                rank,
                world_size: 2,
                sums: Some(sums),
            });
            own.outcome(DType::F32, DType::F32, device(), &pass).unwrap()
        };
        let (of_rank, [first, second]) = (&of_rank, Sums::both());
        let [first, second] = thread::scope(|scope| {
            let ranks = [(0, first), (1, second)];
            let ranks = ranks.map(|(rank, sums)| scope.spawn(move || of_rank(rank, sums)));
            ranks.map(|rank| rank.join().unwrap())
        });
        for (i, expected) in expected.iter().enumerate() {
            let what = format!("{widths:?}, maximum {max}: tensor {i}");
            let parameters = 2..=whole.inputs.len();
            if i < 2 {
                close(&what, &[&first[i][..], &second[i]].concat(), expected, 1e-4);
            } else if parameters.contains(&i) {
                let sums = first[i].iter().zip(&second[i]).map(|(a, b)| a + b);
                close(&what, &sums.collect::<Vec<_>>(), expected, 1e-4);
            } else {
                close(&what, &first[i], expected, 1e-5);
                assert_eq!(first[i], second[i], "{what}");
            }
        }
    }
    let launched = grid.launched.lock().unwrap();
    assert!(launched.contains("fold_statistics") && launched.contains("backward_f32"));
}
