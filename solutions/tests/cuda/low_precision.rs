//! Whole training steps and evaluations in bf16 and fp16 by the kernels, against the CPU's emulation with the kernels' own
//! rounding.

use std::sync::Arc;

use anyhow::{Result, ensure};
use candle_core::{DType, Device as Cpu, Tensor};
use canopy::kernels::{Lowering, Operator, Pass, each};
use canopy::model::Kind;
use canopy::precision::{Autocast, BF16, FP16, Format, TF32, round_to};

use crate::cases::{Values, flat};
use crate::emulated::EmulatedGrid;
use crate::steps::{Run, evaluate};

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

/// In the emulation, on the CPU.
fn as_kernels(kind: Kind, format: Format, scale: Option<f64>) -> Run {
    let emulated = Autocast::emulated(format);
    Run {
        lowering: Some(Arc::new(AsKernels { format, emulated })),
        scale,
        ..Run::new(kind)
    }
}

/// In `dtype` on `grid`.
fn real(kind: Kind, dtype: DType, grid: &Arc<EmulatedGrid>, scale: Option<f64>) -> Run {
    Run {
        grid: Some(grid.clone()),
        lowering: Some(Arc::new(Autocast::real(dtype))),
        scale,
        ..Run::new(kind)
    }
}

/// Named values that steps leave.
type Outcome = [(String, Vec<f64>)];

/// ‖a − b‖/‖b‖ of each group of tensors: the losses, all gradients of a step, and so on. A group's tensors follow each other.
fn apart(a: &Outcome, b: &Outcome) -> Vec<(String, f64)> {
    let group = |name: &str| name.split(" of ").next().unwrap_or_default().to_owned();
    let joined = |values: &Outcome| values.iter().flat_map(|(_, v)| v.clone()).collect::<Vec<_>>();
    let groups = |values: &'_ Outcome| {
        let groups = values.chunk_by(|(a, _), (b, _)| group(a) == group(b));
        groups.map(|of| (group(&of[0].0), joined(of))).collect::<Vec<_>>()
    };
    let pairs = groups(a).into_iter().zip(groups(b));
    let differences = pairs.map(|((name, a), (_, b))| {
        assert!(a.iter().all(|a| a.is_finite()), "{name}: {a:?}");
        (name, off(&a, &b))
    });
    differences.collect()
}

/// ‖a − b‖/‖b‖.
fn off(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied()).max(1e-15)
}

/// Compares two steps and an evaluation by the kernels in `dtype` with the emulation. Returns the first group that differs by more
/// than a share of what rounding changes.
fn check(
    kind: Kind,
    (dtype, format, scale): (DType, Format, Option<f64>),
    grid: &Arc<EmulatedGrid>,
) -> Result<()> {
    let found = real(kind, dtype, grid, scale).values();
    let expected = as_kernels(kind, format, scale).values();
    let full = Run {
        scale,
        ..Run::new(kind)
    };
    let rounding = apart(&full.values(), &expected);
    for ((name, off), (_, rounding)) in apart(&found, &expected).into_iter().zip(rounding) {
        println!(
            "{kind}, {}: {name}: {off:.1e}, rounding changes {rounding:.1e}",
            format.name
        );
        let most = match name.as_str() {
            // A step that one of them skipped would differ.
            name if name.contains("skipped") || name.contains("scale") => 0.0,
            // The kernels round the product of the last layer, then its sum with the bias.
            "step 0: loss" => format.epsilon() / 8.0,
            "step 0: running statistics" => 0.1 * rounding,
            name if name.starts_with("step 0") => 0.3 * rounding,
            // Then the weights differ a little, and in fp16 many round to other numbers.
            _ => 2.0 * rounding,
        };
        ensure!(
            off <= most + 1e-9,
            "{name} differs by {off:e}, and rounding changes {rounding:e}"
        );
    }
    Ok(())
}

/// Dtypes and formats with their first loss scale: with the last one, gradients overflow.
const SCALES: [(DType, Format, Option<f64>); 4] = [
    (DType::BF16, BF16, None),
    (DType::F16, FP16, None),
    (DType::F16, FP16, Some(1024.0)),
    (DType::F16, FP16, Some(1e12)),
];

#[test]
fn two_steps_and_an_evaluation_round_as_autocast() {
    for scale in SCALES {
        for kind in [Kind::Full, Kind::Vanilla] {
            let Some(grid) = EmulatedGrid::new() else { return };
            check(kind, scale, &grid).unwrap_or_else(|e| panic!("{kind}, {scale:?}: {e}"));
            for kernel in [
                "widest",
                "widest_dx",
                "normalise",
                "backward",
                "dropout",
                "add_bias",
            ] {
                grid.assert_launched(&[&format!("{kernel}_{}", scale.0.as_str())]);
            }
            grid.assert_launched(&["cross_entropy_f32"]);
        }
    }
}

/// 1 if steps in bf16 round as autocast, otherwise 0.
pub fn step_as_autocast(grid: &Arc<EmulatedGrid>) -> Values {
    let rounded = check(Kind::Vanilla, SCALES[0], grid);
    Ok(vec![vec![f64::from(u8::from(rounded.is_ok()))]])
}

/// The logits of an evaluation in bf16.
pub fn evaluation(grid: &Arc<EmulatedGrid>) -> Values {
    Ok(evaluated(&real(Kind::Vanilla, DType::BF16, grid, None)))
}

/// Logits of evaluations by a network that was trained on the CPU in f32, batch by batch: of clouds of one length, and of different
/// lengths. Its linear layers have biases of 0, because the kernels round a product and then its sum with the bias, the emulation the sum
/// alone.
fn evaluated(run: &Run) -> Vec<Vec<f64>> {
    let on_cpu = Run {
        steps: 5,
        ..Run::new(run.kind)
    };
    let mut learner = on_cpu.trained(|_, _, _| ());
    for (name, bias) in learner.model.params() {
        if name.ends_with(".out.bias") || name == "classifier.bias" {
            bias.set(&bias.zeros_like().unwrap()).unwrap();
        }
    }
    learner.lowering = run.lowering.clone();
    learner.launcher = run.launcher();
    let [clouds, points] = run.sizes.map(|size| size as u32);
    let real = (0..clouds * points).map(|i| f32::from(u8::from(i % points < 9 + i / points)));
    let mask = Tensor::from_iter(real, &Cpu::Cpu).unwrap();
    let mask = mask.reshape(run.sizes.to_vec()).unwrap();
    let of_batch = |seed| {
        let logits = [None, Some(&mask)].map(|mask| evaluate(&learner, &run.batch(seed), mask));
        logits.iter().flat_map(flat).collect()
    };
    (9..14).map(of_batch).collect()
}

#[test]
fn evaluations_round_as_autocast() {
    let Some(grid) = EmulatedGrid::new() else { return };
    for kind in [Kind::Full, Kind::Vanilla] {
        let full = evaluated(&Run::new(kind));
        for (dtype, format, _) in &SCALES[..2] {
            let (suffix, grid) = (dtype.as_str(), grid.in_tf32(false));
            let found = evaluated(&real(kind, *dtype, &grid, None));
            let expected = evaluated(&as_kernels(kind, *format, None));
            // The CPU and the kernels add in another order, so a sum between two numbers of the format may be rounded up by one
            // and down by the other. That is rare: most batches have no such sum, on any CPU.
            let batches = found.iter().zip(&full).zip(&expected);
            let mut shares: Vec<f64> = batches
                .map(|((found, full), expected)| off(found, expected) / off(full, expected))
                .collect();
            println!("{kind}, {suffix}: {shares:.3?} of what rounding changes");
            shares.sort_by(f64::total_cmp);
            let (most, all) = (shares[shares.len() / 2], shares[shares.len() - 1]);
            assert!(most <= 0.1 && all < 1.0, "{kind}, {suffix}: {shares:?}");
            for kernel in ["widest", "normalise"] {
                grid.assert_launched(&[&format!("{kernel}_{suffix}")]);
            }
            // Points have no low precision yet.
            grid.assert_launched(&["gather_rows_f32", "running_factors"]);
            if kind == Kind::Full {
                grid.assert_launched(&[&format!("transform_{suffix}")]);
            }
        }
        // There candle's own products stay in f32: only the search before a maximum is in tf32.
        let in_tf32 = Run {
            grid: Some(grid.in_tf32(true)),
            ..Run::new(kind)
        };
        let changes = off(&evaluated(&in_tf32).concat(), &full.concat());
        println!("{kind}, tf32 in the search: {changes:.1e}");
        assert!(
            changes > 0.0 && changes < 4.0 * TF32.epsilon(),
            "{kind}: {changes:e}"
        );
    }
}
