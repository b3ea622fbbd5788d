//! A network with the category of each cloud as an input, and one that predicts a number.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use canopy::kernels::Pass;
use canopy::model::{Kind, PointNet, PointNetConfig};
use canopy::target::{Head, HeadKind};

use crate::tiny_models::{config, flat, pass, points, tensor};
use crate::{assert_contains, error, relative, values};

fn network(kind: Kind, outputs: usize) -> PointNet {
    let config = PointNetConfig {
        classes: outputs,
        categories: 4,
        dropout: 0.0,
        ..config(kind)
    };
    PointNet::new(&config, &Device::Cpu, DType::F32, 3).unwrap()
}

const CATEGORIES: [u32; 6] = [2, 0, 2, 3, 0, 2];

fn gradients(model: &PointNet, head: &Head, pass: &Pass) -> Vec<(String, Vec<f64>)> {
    let x = tensor(&points(6, 40, 1), 6);
    let labels: Vec<f32> = [0.5, 1.0, 4.0, 2.0, 3.0, 1.5].map(|y| head.label(y)).to_vec();
    let out = model.forward_with(&x, None, Some(&CATEGORIES), pass).unwrap();
    let loss = head
        .loss(&out.logits, &Tensor::new(labels, &Device::Cpu).unwrap())
        .unwrap();
    let grads = model.gradients(&loss, pass).unwrap();
    let named = model.params().into_iter().zip(grads);
    named.map(|((name, _), g)| (name, values(&g))).collect()
}

#[test]
fn gradients_of_every_head_and_of_the_embedding_match_candles() {
    let list = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0];
    for kind in [HeadKind::Gaussian, HeadKind::Mixture, HeadKind::Bins] {
        let head = Head::fit(kind, 2, 3, &list).unwrap();
        let model = network(Kind::Vanilla, head.outputs());
        let fused = gradients(&model, &head, &pass(true, false));
        let plain = gradients(&model, &head, &pass(true, true));
        // Together: batch norm after the maximum makes single gradients 0 except for rounding.
        let all = |grads: &[(String, Vec<f64>)]| grads.iter().flat_map(|g| g.1.clone()).collect::<Vec<_>>();
        let table = |grads: &[(String, Vec<f64>)]| {
            let named = grads.iter().find(|(name, _)| name == "embedding.weight");
            named.unwrap().1.clone()
        };
        for (part, got, expected) in [
            ("all", all(&fused), all(&plain)),
            ("embedding", table(&fused), table(&plain)),
        ] {
            let error = relative(&got, &expected);
            assert!(error < 1e-4, "{kind:?}, {part}: {error:.1e}");
        }
        let table = table(&fused);
        assert_eq!(table.len(), 4 * 8);
        assert!(table[8..16].iter().all(|&g| g == 0.0), "category 1 has no cloud");
        assert!(table[16..24].iter().any(|&g| g != 0.0));
    }
}

#[test]
fn the_category_changes_the_prediction_and_is_required() {
    let model = network(Kind::Full, 3);
    let x = tensor(&points(2, 30, 2), 2);
    let eval = pass(false, false);
    let of = |ids: &[u32]| flat(&model.forward_with(&x, None, Some(ids), &eval).unwrap().logits);
    let (a, b) = (of(&[0, 0]), of(&[0, 1]));
    assert_eq!(a[..3], b[..3]);
    assert_ne!(a[3..], b[3..]);
    for (ids, parts) in [
        (None, &["2 categories for 2 clouds", "got 0"][..]),
        (Some(&[0][..]), &["2 categories", "got 1"]),
        (Some(&[0, 4]), &["id 4"]),
    ] {
        assert_contains(&error(model.forward_with(&x, None, ids, &eval)), parts);
    }
    let without = PointNet::new(&config(Kind::Full), &Device::Cpu, DType::F32, 3).unwrap();
    let told = without.forward_with(&x, None, Some(&[0, 0]), &eval);
    assert_contains(&error(told), &["0 categories", "got 2"]);
}

#[test]
fn weights_have_the_embedding() {
    let model = network(Kind::Vanilla, 3);
    let map: HashMap<String, Tensor> = model.to_map().unwrap().into_iter().collect();
    network(Kind::Vanilla, 3).from_map(&map, "weights").unwrap();
    let without = PointNetConfig {
        categories: 0,
        ..model.config().clone()
    };
    let without = PointNet::new(&without, &Device::Cpu, DType::F32, 3).unwrap();
    assert_contains(&error(without.from_map(&map, "weights")), &["4 categories"]);
}
