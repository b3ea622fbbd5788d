//! Weights by name: bit-identical after a round trip; those of another model are refused by name. `goldens.rs` reads PyTorch's.

use std::collections::HashMap;

use crate::tiny_models::{KINDS, config, flat, model, pass, points, shaken, tensor};
use candle_core::{DType, Device, Tensor};
use canopy::model::{Kind, PointNet, PointNetConfig};

use crate::{assert_contains, error};

fn map_of(model: &PointNet) -> HashMap<String, Tensor> {
    model.to_map().unwrap().into_iter().collect()
}

#[test]
fn weights_round_trip_bit_identically() {
    for kind in KINDS {
        let written = shaken(kind, 8);
        let x = tensor(&points(3, 10, 1), 3);
        written.forward(&x, &pass(true, true)).unwrap();
        let (map, read) = (map_of(&written), model(kind, 1));
        read.from_map(&map, "w.safetensors").unwrap();
        for (name, tensor) in map_of(&read) {
            assert_eq!(flat(&tensor), flat(&map[&name]), "{name}");
        }
    }
}

#[test]
fn a_map_of_weights_does_not_change_while_the_model_trains() {
    let model = shaken(Kind::Vanilla, 8);
    let map = map_of(&model);
    let before = flat(&map["mlp.0.bn.running_mean"]);
    let x = tensor(&points(3, 10, 1), 3);
    model.forward(&x, &pass(true, true)).unwrap();
    assert_eq!(before, flat(&map["mlp.0.bn.running_mean"]));
    let (_, live) = model.buffers().swap_remove(0);
    assert_ne!(before, flat(&live));
}

#[test]
fn weights_of_another_model_are_refused_and_change_nothing() {
    let full = shaken(Kind::Full, 1);
    let before = map_of(&full);
    let refuse = |map: HashMap<String, Tensor>, words: &[&str]| {
        let said = error(full.from_map(&map, "w.safetensors"));
        assert_contains(&said, &[words, &["w.safetensors"]].concat());
        for (name, tensor) in map_of(&full) {
            assert_eq!(flat(&tensor), flat(&before[&name]), "{name} changed");
        }
    };
    let of = |config: PointNetConfig| map_of(&PointNet::new(&config, &Device::Cpu, DType::F32, 0).unwrap());
    let own = || of(config(Kind::Full));

    let vanilla = of(config(Kind::Vanilla));
    refuse(
        vanilla,
        &["vanilla PointNet of 5 classes", "full PointNet of 5 classes"],
    );
    let (mut seven, mut wide) = (config(Kind::Full), config(Kind::Full));
    seven.classes = 7;
    refuse(of(seven), &["of 7 classes", "of 5 classes"]);
    wide.width = 8;
    refuse(of(wide), &["divided by 8", "divided by 16"]);
    let channels = PointNetConfig {
        inputs: 6,
        ..config(Kind::Vanilla)
    };
    refuse(of(channels), &["6 channels a point"]);

    let mut missing = own();
    missing.remove("head.1.bn.running_var");
    refuse(missing, &["head.1.bn.running_var", "missing", "[16]"]);
    let mut unknown = own();
    unknown.insert("head.7.weight".into(), Tensor::new(1f32, &Device::Cpu).unwrap());
    refuse(unknown, &["head.7.weight"]);
    let mut shape = own();
    let wrong = Tensor::zeros((3, 2), DType::F32, &Device::Cpu).unwrap();
    shape.insert("feature_transform.fc.0.weight".into(), wrong);
    refuse(shape, &["feature_transform.fc.0.weight", "[32, 64]", "[3, 2]"]);
    refuse(HashMap::new(), &["not the weights of a PointNet"]);
}
