//! Whole training steps and evaluations in bf16 and fp16 by the kernels, against the CPU's emulation with the kernels' own
//! rounding.

use std::sync::Arc;

use candle_core::{DType, Device as Cpu, Tensor};
use canopy::kernels::{Lowering, Operator, Pass, each};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::optim::OptimConfig;
use canopy::precision::{Autocast, BF16, FP16, Format, TF32, round_to};
use canopy::train::{Loss, short::Learner};

use crate::common::{flat, random};
use crate::emulated::EmulatedGrid;
use crate::known_bad::changed;
use crate::step::{Outcome, Run, on_grid, steps};

/// Outputs of the widest layers, those before a maximum, of the small models.
const WIDEST: usize = 64;

/// The emulation of autocast, rounded where the kernels round: the product before a maximum is not stored, so neither it nor
/// its weight's gradient is rounded, and neither are gradients of biases; layers, maxima and dropout leave rounded values.
#[derive(Debug)]
struct AsKernels {
    format: Format,
    emulated: Autocast,
}

impl AsKernels {
    /// Rounds `x`, and its gradient if `gradient`.
    fn rounded(&self, pass: &Pass, x: &Tensor, gradient: bool) -> candle_core::Result<Tensor> {
        let format = self.format;
        let round = move |values: &mut [f32]| values.iter_mut().for_each(|v| *v = round_to(*v, format));
        each(x, pass, round, move |g| {
            if gradient {
                round(g);
            }
        })
    }
}

impl Lowering for AsKernels {
    fn input(&self, pass: &Pass, operator: Operator, x: &Tensor) -> candle_core::Result<Tensor> {
        let widest = x.is_variable() && x.dims()[0] == WIDEST;
        match operator {
            Operator::Linear if widest || x.rank() == 1 => self.rounded(pass, x, false),
            _ => self.emulated.input(pass, operator, x),
        }
    }

    fn output(&self, pass: &Pass, operator: Operator, y: Tensor) -> candle_core::Result<Tensor> {
        let widest = y.dims().last() == Some(&WIDEST);
        match operator {
            Operator::Linear | Operator::Relu if widest => Ok(y),
            Operator::Relu | Operator::Max | Operator::Dropout => self.rounded(pass, &y, true),
            _ => self.emulated.output(pass, operator, y),
        }
    }
}

fn as_kernels(format: Format) -> Option<Arc<dyn Lowering>> {
    Some(Arc::new(AsKernels {
        format,
        emulated: Autocast::emulated(format),
    }))
}

/// The run on the grid.
fn real(dtype: DType) -> Option<Run> {
    on_grid(Some(Arc::new(Autocast::real(dtype))))
}

/// ‖a − b‖/‖b‖ of each group of tensors: the losses, all gradients of a step, and so on.
fn apart(a: &Outcome, b: &Outcome) -> Vec<(String, f64)> {
    let mut groups: Vec<(String, [f64; 2])> = Vec::new();
    for ((name, a), (_, b)) in a.values.iter().zip(&b.values) {
        let name = name.split(" of ").next().unwrap();
        if !groups.iter().any(|group| group.0 == name) {
            groups.push((name.to_owned(), [0.0; 2]));
        }
        let (_, sums) = groups.iter_mut().find(|group| group.0 == name).unwrap();
        for (a, b) in a.iter().zip(b) {
            assert!(a.is_finite(), "{name}: {a}");
            sums[0] += (a - b).powi(2);
            sums[1] += b * b;
        }
    }
    let ratio = |[off, size]: [f64; 2]| (off / size.max(1e-30)).sqrt();
    groups
        .into_iter()
        .map(|(name, sums)| (name, ratio(sums)))
        .collect()
}

/// Compares two steps and an evaluation by `run` with the emulation. Returns the first group that differs by more than a share of
/// what rounding changes.
fn check(kind: Kind, format: Format, run: &Run) -> Result<(), String> {
    let on_cpu = |lowering: Option<Arc<dyn Lowering>>| {
        let run = Run {
            grid: None,
            lowering,
            scale: run.scale,
        };
        steps(kind, 2, CLOUDS, &run)
    };
    let (found, expected) = (steps(kind, 2, CLOUDS, run), on_cpu(as_kernels(format)));
    let rounding = apart(&on_cpu(None), &expected);
    for ((name, off), (_, rounding)) in apart(&found, &expected).into_iter().zip(rounding) {
        println!(
            "{kind}, {}: {name}: {off:.1e}, rounding changes {rounding:.1e}",
            format.name
        );
        let most = match name.as_str() {
            name if name.contains("taken") => continue,
            // The kernels round the product of the last layer, then its sum with the bias.
            "step 0: loss" => format.epsilon() / 8.0,
            "step 0: running statistics" => 0.1 * rounding,
            name if name.starts_with("step 0") => 0.3 * rounding,
            // Then the weights differ a little, and in fp16 many round to other numbers.
            _ => 2.0 * rounding,
        };
        if off > most + 1e-9 {
            return Err(format!(
                "{name} differs by {off:e}, and rounding changes {rounding:e}"
            ));
        }
    }
    // A step that one of them skipped would differ.
    let taken = |of: &Outcome| {
        let values = of.values.iter().filter(|(name, _)| name.contains("taken"));
        values.map(|(_, v)| v.clone()).collect::<Vec<_>>()
    };
    match taken(&found) == taken(&expected) {
        true => Ok(()),
        false => Err(format!("{:?}, expected {:?}", taken(&found), taken(&expected))),
    }
}

const CLOUDS: usize = 6;

/// The first loss scales: with the last one, gradients overflow.
const SCALES: [(DType, Format, Option<f64>); 4] = [
    (DType::BF16, BF16, None),
    (DType::F16, FP16, None),
    (DType::F16, FP16, Some(1024.0)),
    (DType::F16, FP16, Some(1e12)),
];

#[test]
fn two_steps_and_an_evaluation_round_as_autocast() {
    for (dtype, format, scale) in SCALES {
        for kind in [Kind::Full, Kind::Vanilla] {
            let Some(mut run) = real(dtype) else { return };
            run.scale = scale;
            check(kind, format, &run).unwrap_or_else(|e| panic!("{kind}, {dtype:?}, scale {scale:?}: {e}"));
            let grid = run.grid.unwrap();
            let launched = grid.launched.lock().unwrap();
            for kernel in [
                "widest",
                "widest_dx",
                "normalise",
                "backward",
                "dropout",
                "add_bias",
            ] {
                let kernel = format!("{kernel}_{}", if dtype == DType::F16 { "f16" } else { "bf16" });
                assert!(launched.contains(&kernel), "{kernel} was not launched");
            }
            assert!(launched.contains("cross_entropy_f32"));
        }
    }
}

#[test]
fn mistakes_in_low_precision_are_seen() {
    let right = "float mean = factors[t.channel], scale";
    for (what, from, to) in [
        (
            "the mean of a batch in bf16",
            right,
            "float mean = as_float(Rounded<T>::of(factors[t.channel])), scale",
        ),
        (
            "a gradient that keeps its part along the normalised value",
            "masked - beta - channel.normal(value) * gamma",
            "masked - beta",
        ),
    ] {
        let (Some(run), Some(grid)) = (real(DType::BF16), changed("shared_mlp/batch_norm.cu", from, to))
        else {
            return;
        };
        let run = Run {
            grid: Some(Arc::new(grid)),
            ..run
        };
        let seen = check(Kind::Vanilla, BF16, &run).expect_err(what);
        println!("{what}: {seen}");
    }
}

/// On the grid, candle's own products stay in f32: only the search before a maximum is in tf32.
#[test]
fn tf32_changes_a_step_by_its_rounding() {
    let Some(mut run) = on_grid(None) else { return };
    let grid = Arc::new(EmulatedGrid {
        tf32: true,
        ..EmulatedGrid::default()
    });
    run.grid = Some(grid.clone());
    let [found, full] = [run, Run::default()].map(|run| steps(Kind::Vanilla, 1, CLOUDS, &run));
    for (name, off) in apart(&found, &full) {
        println!("tf32: {name}: {off:.1e}");
        if name.contains("loss") {
            assert!(off > 0.0 && off < TF32.epsilon(), "{off:e}");
        }
    }
    assert!(grid.launched.lock().unwrap().contains("widest_tf32"));
}

/// Logits of evaluations by a network that was trained on the CPU in f32: of clouds of one length, and of different lengths. Its
/// linear layers have biases of 0, because the kernels round a product and then its sum with the bias, the emulation the sum
/// alone.
fn evaluated(kind: Kind, run: &Run) -> Vec<f64> {
    let config = PointNetConfig {
        kind,
        width: 16,
        classes: 3,
        ..PointNetConfig::default()
    };
    let model = PointNet::new(&config, &Cpu::Cpu, DType::F32, 1).unwrap();
    let optimizer = OptimConfig::adamw().build(model.params()).unwrap();
    let batch = |seed| Tensor::from_vec(random(seed, CLOUDS * 20 * 3), (CLOUDS, 20, 3), &Cpu::Cpu).unwrap();
    let labels = Tensor::from_iter((0..CLOUDS as u32).map(|i| i % 3), &Cpu::Cpu).unwrap();
    let mut learner = Learner::new(model, optimizer, Loss::CROSS_ENTROPY);
    for seed in 0..5 {
        learner.step((&batch(seed), &labels), 1e-2).unwrap();
    }
    for (name, bias) in learner.model.params() {
        if name.ends_with(".out.bias") || name == "classifier.bias" {
            bias.set(&bias.zeros_like().unwrap()).unwrap();
        }
    }
    let real = (0..CLOUDS as u32 * 20).map(|i| f32::from(u8::from(i % 20 < 9 + i / 20)));
    let mask = Tensor::from_iter(real, &Cpu::Cpu)
        .unwrap()
        .reshape((CLOUDS, 20))
        .unwrap();
    let pass = run.pass(Pass::eval());
    let equal = learner.model.forward(&batch(9), &pass).unwrap();
    let different = learner.model.forward_masked(&batch(9), &mask, &pass).unwrap();
    [flat(&equal.logits), flat(&different.logits)].concat()
}

/// ‖a − b‖/‖b‖.
fn off(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}

#[test]
fn evaluations_round_as_autocast() {
    for kind in [Kind::Full, Kind::Vanilla] {
        let full = evaluated(kind, &Run::default());
        for (dtype, format, suffix) in [(DType::BF16, BF16, "bf16"), (DType::F16, FP16, "f16")] {
            let Some(run) = real(dtype) else { return };
            let found = evaluated(kind, &run);
            let expected = evaluated(
                kind,
                &Run {
                    lowering: as_kernels(format),
                    ..Run::default()
                },
            );
            let (own, rounding) = (off(&found, &expected), off(&full, &expected));
            println!("{kind}, {suffix}: {own:.1e}, rounding changes {rounding:.1e}");
            assert!(
                own <= 0.1 * rounding,
                "{kind}, {suffix}: {own:e} and {rounding:e}"
            );
            let grid = run.grid.unwrap();
            let launched = grid.launched.lock().unwrap();
            for kernel in [
                format!("widest_{suffix}"),
                format!("normalise_{suffix}"),
                // Points have no low precision yet.
                "gather_rows_f32".to_owned(),
                "running_factors".to_owned(),
            ] {
                assert!(launched.contains(&kernel), "{kernel} was not launched");
            }
            assert!(kind == Kind::Vanilla || launched.contains(&format!("transform_{suffix}")));
        }
        // On the grid, candle's own products stay in f32: only the search before a maximum is in tf32.
        let run = Run {
            grid: Some(Arc::new(EmulatedGrid {
                tf32: true,
                ..EmulatedGrid::default()
            })),
            ..Run::default()
        };
        let changes = off(&evaluated(kind, &run), &full);
        println!("{kind}, tf32 in the search: {changes:.1e}");
        assert!(
            changes > 0.0 && changes < 4.0 * TF32.epsilon(),
            "{kind}: {changes:e}"
        );
    }
}

#[test]
fn mistakes_in_an_evaluation_are_seen() {
    let right = "mean[c], var[c], gamma[c], beta[c], eps);\n}\n\n// out";
    let Some(run) = real(DType::BF16) else { return };
    let expected = evaluated(Kind::Vanilla, &run);
    for (what, wrong) in [
        (
            "mean and variance swapped",
            "var[c], mean[c], gamma[c], beta[c], eps);\n}\n\n// out",
        ),
        (
            "another channel's factor",
            "mean[c], var[c], gamma[n - 1 - c], beta[c], eps);\n}\n\n// out",
        ),
        ("no shift", "mean[c], var[c], gamma[c], 0.0f, eps);\n}\n\n// out"),
    ] {
        let Some(grid) = changed("shared_mlp/batch_norm.cu", right, wrong) else {
            return;
        };
        let run = Run {
            grid: Some(Arc::new(grid)),
            ..run.clone()
        };
        let differs = off(&evaluated(Kind::Vanilla, &run), &expected);
        println!("{what}: logits differ by {differs:.1e}");
        assert!(
            differs > BF16.epsilon() || differs.is_nan(),
            "{what} is not seen: {differs:e}"
        );
    }
}
