//! NCCL with one rank, where there is a GPU: two ranks need two.

use std::panic::catch_unwind;

use candle_core::{DType, Tensor};
use canopy::{
    device,
    parallel::{Place, connect, nccl},
};

/// One test, because a process starts MPI once.
#[test]
fn one_rank_on_a_gpu_sums_tensors_there() {
    // A driver that is not installed panics.
    let Ok(Ok(device)) = catch_unwind(|| device::open(0)) else {
        return println!("not run, because there is no CUDA device");
    };
    if let Err(why) = nccl::Library::open() {
        return println!("not run, because {why:#}");
    }
    let place = Place {
        rank: 0,
        world_size: 1,
        local_rank: 0,
        launcher: "alone",
    };
    let mut processes = connect(&place).unwrap();
    assert!(processes.use_nccl(&device).unwrap());
    let links = processes.links().unwrap();
    for dtype in [DType::F32, DType::F64] {
        for factor in 1..20 {
            let values = Tensor::arange(0f32, 1000.0, &device).unwrap().to_dtype(dtype);
            // The input is freed while its sum may be in flight.
            let values = (values.unwrap() * f64::from(factor)).unwrap();
            let sum = links.on_tensors().unwrap().start_sum(&values).unwrap();
            drop(values);
            let sum = sum.finish().unwrap().to_dtype(DType::F64).unwrap();
            let expected = (0..1000).map(|i| f64::from(i * factor)).collect::<Vec<_>>();
            assert_eq!(sum.to_vec1::<f64>().unwrap(), expected, "{dtype:?}");
        }
    }
    drop(links);
    processes.finish(None);
}
