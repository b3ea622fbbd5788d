//! NCCL with one rank, where there is a GPU: two ranks need two.

use std::panic::catch_unwind;

use candle_core::{DType, Tensor};
use canopy::{
    device,
    parallel::{Bucket, Place, Reducer, connect, nccl},
};

/// One test, because a process starts MPI once.
#[test]
fn one_rank_on_a_gpu_sums_tensors_and_averages_gradients_there() {
    // A driver that is not installed panics.
    let Ok(Ok(device)) = catch_unwind(|| device::open(0)) else {
        return println!("not run, because there is no CUDA device");
    };
    if let Err(why) = nccl::Library::open() {
        return println!("not run, because {why}");
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
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
        let values = Tensor::arange(0f32, 1000.0, &device).unwrap();
        let values = values.to_dtype(dtype).unwrap();
        let started = links.on_tensors().unwrap().start_sum(&values).unwrap();
        let sum = started.finish().unwrap();
        assert_eq!(sum.dtype(), dtype);
        let [expected, sum] =
            [&values, &sum].map(|t| t.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap());
        assert_eq!(sum, expected, "{dtype:?}");
    }
    let params = [3, 1000].map(|length| Tensor::ones((2, length), DType::F32, &device).unwrap());
    let buckets = [1, 0].map(|p| Bucket {
        params: vec![p],
        bytes: 0,
        kind: "f32",
    });
    let gradients = processes.gradient_links().unwrap();
    let mut reducer = Reducer::on_device(gradients, params.to_vec(), (buckets.into(), true)).unwrap();
    for step in 1..20 {
        for p in [1, 0] {
            // The input is freed while its sum may be in flight.
            let gradient = (&params[p] * f64::from(step)).unwrap();
            reducer.ready(p, &gradient).unwrap();
        }
        let (means, _) = reducer.finish().unwrap();
        for (mean, param) in means.iter().zip(&params) {
            assert_eq!(mean.dims(), param.dims());
            let values = mean.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert!(values.iter().all(|&v| v == step as f32), "{values:?}");
        }
    }
    drop((reducer, links));
    processes.finish(None);
}
