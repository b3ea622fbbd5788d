//! Weights in files: bit-identical after a round trip, PyTorch's forms accepted, everything else refused with its name.

use std::collections::HashMap;

use crate::tiny_models::{KINDS, config, flat, model, pass, points, shaken, tensor};
use candle_core::{DType, Device, Tensor};
use canopy::model::{Kind, PointNet, PointNetConfig};

use crate::{assert_contains, error};

fn map_of(model: &PointNet) -> HashMap<String, Tensor> {
    model.to_map().unwrap().into_iter().collect()
}

fn assert_same(a: &PointNet, b: &PointNet) {
    let theirs = map_of(b);
    for (name, tensor) in map_of(a) {
        assert_eq!(flat(&tensor), flat(&theirs[&name]), "{name}");
    }
}

#[test]
fn weights_round_trip_bit_identically() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    for kind in KINDS {
        let written = shaken(kind, 8);
        let x = tensor(&points(3, 10, 1), 3);
        written.forward(&x, &pass(true, true)).unwrap();
        written.save(&path).unwrap();
        let opened = PointNet::open(&path, &Device::Cpu).unwrap();
        assert_eq!(opened.config(), written.config());
        assert_same(&written, &opened);
        let loaded = model(kind, 1);
        loaded.load(&path).unwrap();
        assert_same(&written, &loaded);
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(
        left.len(),
        1,
        "a write must leave nothing beside its file: {left:?}"
    );
}

#[test]
fn settings_are_read_from_the_header_and_channels_from_the_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    let unusual = PointNetConfig {
        inputs: 6,
        dropout: 0.125,
        bn_momentum: 0.5,
        bn_eps: 1e-3,
        ..config(Kind::Vanilla)
    };
    let written = PointNet::new(&unusual, &Device::Cpu, DType::F64, 0).unwrap();
    written.save(&path).unwrap();
    let opened = PointNet::open(&path, &Device::Cpu).unwrap();
    assert_eq!((opened.config(), opened.dtype()), (&unusual, DType::F64));
    let said = error(shaken(Kind::Vanilla, 1).load(&path));
    assert_contains(&said, &["6 channels a point"]);
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

#[test]
fn broken_files_of_weights_are_errors_that_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let model = shaken(Kind::Vanilla, 1);
    model.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for keep in [0, 5, 8, 100, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        for said in [
            error(model.load(&path)),
            error(PointNet::open(&path, &Device::Cpu)),
        ] {
            assert_contains(&said, &["w.safetensors"]);
        }
    }
    let said = error(model.load(&folder.path().join("none.safetensors")));
    assert_contains(&said, &["none.safetensors"]);
    let said = error(model.save(&folder.path().join("no/such/folder.safetensors")));
    assert_contains(&said, &["folder.safetensors"]);
}
