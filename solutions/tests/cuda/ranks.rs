//! Layers of linear+BN+ReLU whose statistics are synchronised over ranks.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use candle_core::{DType, Device as Cpu, Error, Result};
use canopy::kernels::{Pass, Share, SumOverRanks};

use crate::cases::{LENGTHS, WIDTHS, close, layers, random};
use crate::emulated::{EmulatedGrid, device};

/// The ways to the other rank, and from it.
type Ways = (Sender<Vec<f64>>, Receiver<Vec<f64>>);

/// Sums of two ranks that are threads. If one panics, the other gets an error.
#[derive(Debug)]
struct Sums(Mutex<Ways>);

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
        let outputs = if max { LENGTHS.len() } else { LENGTHS.iter().sum() };
        let mut whole = layers((widths, max), &LENGTHS);
        whole.g = Some(random(100, outputs * widths[2]));
        let plain = Pass::train(1, 0).plain(true);
        let expected = whole.outcome(DType::F32, DType::F64, &Cpu::Cpu, &plain).unwrap();
        // The first rank has two clouds.
        let split = LENGTHS[0] + LENGTHS[1];
        let of_rank = |rank: usize, sums: Sums| {
            let mut own = layers((widths, max), [&LENGTHS[..2], &LENGTHS[2..]][rank]);
            own.inputs[1..].clone_from_slice(&whole.inputs[1..]);
            let part = |values: &[f32], at: usize| {
                let (first, second) = values.split_at(at);
                [first, second][rank].to_vec()
            };
            own.inputs[0].0 = part(&whole.inputs[0].0, split * widths[0]);
            let of_first = if max { 2 } else { split };
            own.g = whole.g.as_ref().map(|g| part(g, of_first * widths[2]));
            let pass = Pass::train(1, 0).with_launcher(grid.clone()).shared(Share {
                rank,
                world_size: 2,
                sums: Some(Arc::new(sums)),
            });
            own.outcome(DType::F32, DType::F32, device(), &pass).unwrap()
        };
        let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
        let ranks = [(0, (to_second, from_second)), (1, (to_first, from_first))];
        let [first, second] = thread::scope(|scope| {
            let of_rank = &of_rank;
            let ranks = ranks.map(|(rank, ends)| scope.spawn(move || of_rank(rank, Sums(Mutex::new(ends)))));
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
    grid.assert_launched(&["fold_statistics", "backward_f32"]);
}
