//! Properties of a PointNet with any weights: order of points, unusual clouds, refused input.

use crate::tiny_models::{
    KINDS, config, flat, logits, loss_and_gradients, model, pass, points, shaken, tensor,
};
use candle_core::{DType, Device, Tensor};
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy_data::Philox;
use proptest::prelude::*;

use crate::{assert_contains, error};

/// The points at `indices`.
fn pick(coordinates: &[f32], indices: &[usize]) -> Vec<f32> {
    let point = |&i: &usize| coordinates[3 * i..3 * i + 3].to_vec();
    indices.iter().flat_map(point).collect()
}

fn assert_close(a: &[f32], b: &[f32]) {
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-5 * (1.0 + a.abs()), "{a} became {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn logits_do_not_depend_on_the_order_of_points(n in 1usize..60, seed in any::<u64>(), plain: bool) {
        let cloud = points(1, n, seed);
        let mut order: Vec<usize> = (0..n).collect();
        Philox::new(seed, 6).shuffle(&mut order);
        for kind in KINDS {
            let model = shaken(kind, seed);
            let logits = |cloud: &[f32]| logits(&model, &tensor(cloud, 1), &pass(false, plain));
            assert_close(&logits(&cloud), &logits(&pick(&cloud, &order)));
        }
    }
}

#[test]
fn parameter_counts_are_as_published() {
    let count = |kind| {
        let config = PointNetConfig {
            kind,
            classes: 40,
            ..PointNetConfig::default()
        };
        let model = PointNet::new(&config, &Device::Cpu, DType::F32, 0).unwrap();
        let statistics: usize = model.buffers().iter().map(|(_, var)| var.elem_count()).sum();
        // The publication counts a bias before each batch norm.
        model.param_count() + statistics / 2
    };
    assert_eq!((count(Kind::Full) + 500) / 1000, 3480);
    assert_eq!((count(Kind::Vanilla) + 500) / 1000, 820);
}

#[test]
fn initial_values_follow_pytorchs_bounds_and_the_seed() {
    let (a, b, c) = (model(Kind::Full, 1), model(Kind::Full, 1), model(Kind::Full, 2));
    for (((name, a), (_, b)), (_, c)) in a.params().iter().zip(b.params()).zip(c.params()) {
        let values = flat(a);
        assert_eq!(values, flat(&b), "{name}");
        if name.ends_with(".bn.weight") {
            assert!(values.iter().all(|&v| v == 1.0), "{name}");
        } else if name.ends_with(".bn.bias") || name.contains(".out.") {
            assert!(values.iter().all(|&v| v == 0.0), "{name}");
        } else {
            let fan_in = if name == "classifier.bias" {
                16
            } else {
                a.dim(1).unwrap()
            };
            let bound = 1.0 / (fan_in as f32).sqrt();
            let widest = values.iter().fold(0f32, |m, v| m.max(v.abs()));
            assert!(
                widest <= bound && widest > 0.5 * bound,
                "{name}: {widest} of {bound}"
            );
            assert_ne!(values, flat(&c), "{name}");
        }
    }
}

#[test]
fn gradients_are_finite_for_unusual_clouds() {
    let equal = vec![0.5f32; 4 * 30 * 3];
    let zero = vec![0f32; 4 * 30 * 3];
    let one_point = points(4, 1, 2);
    for (name, cloud) in [("equal", equal), ("zero", zero), ("one point", one_point)] {
        for (kind, plain) in KINDS.into_iter().flat_map(|k| [(k, false), (k, true)]) {
            let model = shaken(kind, 9);
            let (loss, grads) = loss_and_gradients(&model, &tensor(&cloud, 4), &pass(true, plain));
            assert!(loss.is_finite(), "{name}, {kind}");
            let names = model.params().into_iter().map(|(name, _)| name);
            let statistics = model.buffers().into_iter().map(|(name, var)| (name, flat(&var)));
            let grads = names.zip(grads.iter().map(flat));
            for (tensor, values) in grads.chain(statistics) {
                let finite = values.iter().all(|v| v.is_finite());
                assert!(finite, "{name}, {kind}, {tensor}, plain {plain}");
            }
        }
    }
}

#[test]
fn one_cloud_is_enough_to_evaluate_and_too_few_to_train() {
    for kind in KINDS {
        let model = shaken(kind, 1);
        let statistics = || model.buffers().iter().map(|(_, v)| flat(v)).collect::<Vec<_>>();
        let before = statistics();
        let x = tensor(&points(1, 40, 3), 1);
        for plain in [false, true] {
            let logits = logits(&model, &x, &pass(false, plain));
            assert!(logits.iter().all(|v| v.is_finite()));
        }
        // The fused form has gradients in training only.
        let (loss, grads) = loss_and_gradients(&model, &x, &pass(false, true));
        assert!(loss.is_finite() && grads.iter().all(|g| flat(g).iter().all(|v| v.is_finite())));
        let said = error(model.forward(&x, &pass(true, false)));
        assert_contains(&said, &["at least 2 clouds", "larger batch"]);
        assert_eq!(
            before,
            statistics(),
            "a refused batch must leave the running statistics alone"
        );
    }
}

#[test]
fn points_of_another_shape_are_an_error_that_names_it() {
    let model = model(Kind::Vanilla, 1);
    for shape in [vec![4usize, 3], vec![2, 5, 4], vec![2, 0, 3], vec![0, 5, 3]] {
        let x = Tensor::zeros(shape.as_slice(), DType::F32, &Device::Cpu).unwrap();
        let said = error(model.forward(&x, &pass(false, true)));
        let names_both = said.contains("[clouds, points, 3]") && said.contains(&format!("{shape:?}"));
        assert!(names_both, "{said}");
    }
}

#[test]
fn settings_out_of_range_are_an_error_that_names_them() {
    type Spoil = fn(&mut PointNetConfig);
    let bad: [(&str, Spoil); 5] = [
        ("classes", |c| c.classes = 0),
        ("width", |c| c.width = 3),
        ("width", |c| c.width = 0),
        ("dropout", |c| c.dropout = 1.0),
        ("dropout", |c| c.dropout = f32::NAN),
    ];
    for (word, spoil) in bad {
        let mut config = config(Kind::Full);
        spoil(&mut config);
        let said = error(PointNet::new(&config, &Device::Cpu, DType::F32, 0));
        assert_contains(&said, &[word]);
    }
}

#[test]
fn a_fourth_channel_changes_the_result_and_fused_matches_plain() {
    let config = |kind| PointNetConfig {
        inputs: 4,
        ..config(kind)
    };
    let model = PointNet::new(&config(Kind::Vanilla), &Device::Cpu, DType::F32, 3).unwrap();
    assert_eq!(model.params()[0].1.dims(), [4, 4]);
    let x = Tensor::from_vec(points(4, 20, 2), (3, 20, 4), &Device::Cpu).unwrap();
    let (plain, expected) = loss_and_gradients(&model, &x, &pass(true, true));
    let (fused, got) = loss_and_gradients(&model, &x, &pass(true, false));
    assert!((plain - fused).abs() < 1e-5, "{plain} became {fused}");
    for ((name, _), (a, b)) in model.params().iter().zip(expected.iter().zip(&got)) {
        let (a, b) = (flat(a), flat(b));
        let greatest = a.iter().fold(0f32, |m, v| m.max(v.abs()));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= 1e-4 * (1.0 + greatest), "{name}: {a} became {b}");
        }
    }
    let of_intensity = expected[0].narrow(1, 3, 1).unwrap();
    assert!(flat(&of_intensity).iter().any(|&g| g != 0.0));
    let said = error(model.forward(&tensor(&points(3, 20, 1), 3), &pass(false, true)));
    assert_contains(&said, &["[clouds, points, 4]"]);
    let said = error(PointNet::new(&config(Kind::Full), &Device::Cpu, DType::F32, 0));
    assert_contains(&said, &["4 channels", "--model vanilla"]);
}

#[test]
fn a_plain_evaluation_keeps_no_graph_of_its_layers() {
    for kind in KINDS {
        let model = shaken(kind, 4);
        let cloud = tensor(&points(3, 20, 4), 3);
        let logits = |train: bool| model.forward(&cloud, &pass(train, true)).unwrap().logits;
        // The last linear layer's weight and bias alone; in training every layer is on the graph.
        let (kept, trained) = (
            logits(false).sorted_nodes().len(),
            logits(true).sorted_nodes().len(),
        );
        assert!(kept <= 8, "{kind}: {kept} nodes");
        assert!(trained > 50, "{kind}: {trained} nodes");
    }
}
