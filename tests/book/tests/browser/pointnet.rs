//! The trained PointNet in the page of chapter 02.

use std::path::Path;

use crate::{address, chromium::Chromium};

/// Only changes that the network sees move its probabilities.
pub fn check(chromium: &mut Chromium, book: &Path) {
    chromium.load(&address(&book.join("02-pointnet.html")));
    let said = chromium.evaluate(include_str!("pointnet.js"));
    let said: Vec<Vec<String>> = serde_json::from_value(said).unwrap();
    let [first, shuffled, critical, all, noise, tilted] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(first.len(), 8, "a text and seven probabilities: {first:?}");
    for same in [shuffled, critical, all] {
        assert!(same[0].contains("bit-identical"), "{same:?}");
        assert_eq!(same[1..], first[1..]);
    }
    let moved = |a: &[String], b: &[String]| a[1..] != b[1..];
    assert!(
        noise[0].contains("Noise of 1.00 m") && moved(noise, first),
        "{noise:?}"
    );
    assert!(
        tilted[0].contains("Tilted by 5°") && moved(tilted, noise),
        "{tilted:?}"
    );
}
