//! Each fused operator at PointNet's shapes, forward and with its backward pass, and beside it what it cannot
//! do without: operations, and bytes that must cross the caches. `cargo bench --profile dev -p canopy`.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Device, Result, Tensor, Var};
use canopy::kernels::multi_tensor::{AdamStep, adam, global_norm};
use canopy::kernels::{self, BatchNorm, MlpLayer, Pass};
use criterion::{Criterion, criterion_group, criterion_main};

const CLOUDS: usize = 32;
const POINTS: usize = 1024;
const ROWS: usize = CLOUDS * POINTS;

struct Layer {
    weight: Var,
    bn: BatchNorm,
}

fn layer(k: usize, n: usize) -> Result<Layer> {
    let (f, d) = (DType::F32, &Device::Cpu);
    Ok(Layer {
        weight: Var::from_tensor(&(Tensor::rand(-1f32, 1f32, (n, k), d)? / (k as f64).sqrt())?)?,
        bn: BatchNorm {
            gamma: Var::ones(n, f, d)?,
            beta: Var::zeros(n, f, d)?,
            mean: Var::zeros(n, f, d)?,
            var: Var::ones(n, f, d)?,
            momentum: 0.1,
            eps: 1e-5,
        },
    })
}

fn stack(widths: &[usize]) -> Result<Vec<Layer>> {
    widths.windows(2).map(|w| layer(w[0], w[1])).collect()
}

fn as_mlp(layers: &[Layer]) -> Vec<MlpLayer<'_>> {
    layers
        .iter()
        .map(|l| MlpLayer {
            weight: l.weight.as_tensor(),
            bn: &l.bn,
            relu: true,
        })
        .collect()
}

fn rows(rows: usize, channels: usize) -> Result<Var> {
    Var::from_tensor(&Tensor::rand(-1f32, 1f32, (rows, channels), &Device::Cpu)?)
}

/// A scalar with a gradient everywhere: what it costs is not the operator's, and small.
fn scalar(y: &Tensor) -> Result<Tensor> {
    let (rows, channels) = y.dims2()?;
    let labels = Tensor::zeros(rows, DType::U32, &Device::Cpu)?;
    let w = Tensor::ones((2, channels), DType::F32, &Device::Cpu)?;
    let b = Tensor::zeros(2, DType::F32, &Device::Cpu)?;
    kernels::cross_entropy(&kernels::linear(y, &w, &b)?, &labels, 0.0, None)
}

/// Times `f`, and says what it cannot do without: million operations, and megabytes.
fn bench(c: &mut Criterion, name: &str, mflop: f64, mb: f64, mut f: impl FnMut() -> Result<Tensor>) {
    println!("{name}: bound {mflop:.1} MFLOP, {mb:.1} MB");
    if let Err(e) = f() {
        println!("{name}: {e}");
        return;
    }
    c.bench_function(name, |b| b.iter(|| black_box(f()).is_ok()));
}

fn over_points(c: &mut Criterion) -> Result<()> {
    let mega = |n: usize| n as f64 / 1e6;
    for (k, n) in [(3, 64), (64, 64), (64, 128)] {
        let (x, l) = (rows(ROWS, k)?, stack(&[k, n])?);
        let (macs, floats) = (ROWS * k * n, ROWS * (k + n));
        let run = |pass: &Pass| kernels::shared_mlp(&x, &as_mlp(&l), pass);
        bench(
            c,
            &format!("linear_bn {k}-{n} infer"),
            mega(2 * macs),
            mega(4 * floats),
            || run(&Pass::eval()),
        );
        bench(
            c,
            &format!("linear_bn {k}-{n} train forward"),
            mega(2 * macs),
            mega(4 * (floats + ROWS * n)),
            || run(&Pass::train(1, 1)),
        );
        bench(
            c,
            &format!("linear_bn {k}-{n} train step"),
            mega(6 * macs),
            mega(4 * (3 * floats + ROWS * n)),
            || {
                let pass = Pass::train(1, 1);
                let loss = scalar(&run(&pass)?)?;
                kernels::backward(&loss, &pass)?;
                Ok(loss)
            },
        );
    }
    for widths in [&[128, 1024][..], &[64, 64, 128, 1024]] {
        let (x, l) = (rows(ROWS, widths[0])?, stack(widths)?);
        let stored: usize = widths[..widths.len() - 1].windows(2).map(|w| w[0] * w[1]).sum();
        let floats: usize = widths[..widths.len() - 1].iter().sum::<usize>() * ROWS;
        let name = format!("shared_mlp_max {widths:?}");
        let run = |pass: &Pass| kernels::shared_mlp_max(&x, &as_mlp(&l), CLOUDS, pass);
        let (once, train) = (stored + 128 * 1024, 3 * stored + 128 * 1024 + 2 * 128 * 128);
        bench(
            c,
            &format!("{name} infer"),
            mega(2 * ROWS * once),
            mega(4 * ROWS * widths[0]),
            || run(&Pass::eval()),
        );
        bench(
            c,
            &format!("{name} train step"),
            mega(2 * ROWS * train),
            mega(4 * 4 * floats),
            || {
                let pass = Pass::train(1, 1);
                let loss = scalar(&run(&pass)?)?;
                kernels::backward(&loss, &pass)?;
                Ok(loss)
            },
        );
    }
    Ok(())
}

fn over_clouds(c: &mut Criterion) -> Result<()> {
    let mega = |n: usize| n as f64 / 1e6;
    let (x, l) = (rows(CLOUDS, 1024)?, layer(1024, 512)?);
    bench(
        c,
        "linear_bn head 1024-512 step",
        mega(6 * CLOUDS * 1024 * 512),
        mega(3 * 4 * 1024 * 512),
        || {
            let pass = Pass::train(1, 1);
            let y = kernels::linear_bn(&x, &l.weight, &l.bn, true, &pass)?;
            let loss = scalar(&kernels::dropout(&y, 0.3, 0, &pass)?)?;
            kernels::backward(&loss, &pass)?;
            Ok(loss)
        },
    );
    // On the tape only after an operator that has a pass: the cost of `plus` is in both lines.
    let (points, flat) = (rows(ROWS, 64)?, rows(CLOUDS, 64 * 64)?);
    bench(
        c,
        "transform 64 and its penalty, step",
        mega(6 * ROWS * 64 * 64),
        mega(4 * 5 * ROWS * 64),
        || {
            let pass = Pass::train(1, 1);
            let t = kernels::add_identity(&kernels::dropout(&flat, 0.01, 0, &pass)?, 64)?;
            let loss = scalar(&kernels::transform(&points, &t, CLOUDS)?)?;
            let loss = kernels::weighted_sum(&[(&loss, 1.0), (&kernels::orthogonality(&t)?, 0.001)])?;
            kernels::backward(&loss, &pass)?;
            Ok(loss)
        },
    );
    Ok(())
}

fn optimizer(c: &mut Criterion) -> Result<()> {
    // As many parameters as the full PointNet's.
    let tensor = || Tensor::ones(3_480_000, DType::F32, &Device::Cpu);
    let (w, g, m, v) = (tensor()?, tensor()?, tensor()?, tensor()?);
    let step = AdamStep {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.01,
        decoupled: true,
        step: 1,
        gradient_factor: 1.0,
    };
    bench(c, "adamw of 3.48 M parameters", 3.48 * 14.0, 3.48 * 28.0, || {
        adam(&[&w], &[&g], &[&m], &[&v], &step)?;
        Ok(w.clone())
    });
    bench(
        c,
        "global norm of 3.48 M gradients",
        3.48 * 2.0,
        3.48 * 4.0,
        || Tensor::new(global_norm(&[&g])?, &Device::Cpu),
    );
    Ok(())
}

fn all(c: &mut Criterion) {
    for part in [over_points, over_clouds, optimizer] {
        if let Err(e) = part(c) {
            println!("not run, because {e}");
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = all
}
criterion_main!(benches);
