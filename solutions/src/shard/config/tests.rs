//! Files that are no JSON or no object. `cli/settings.txt` lists what the keys of the others give.

use super::*;

#[test]
fn what_is_not_json_is_named_with_its_line() {
    let deep = "[".repeat(100_000);
    let long = format!(r#"{{"optimizer": {{"type": "{}"}}}}"#, "x".repeat(100_000));
    for (text, parts) in [
        ("", ["not valid JSON", "line 1"]),
        ("{\n\"train_batch_size\": 4", ["EOF", "line 2"]),
        ("{\n\"gradient_clipping\": NaN}", ["expected value", "line 2"]),
        ("{\n\n\"gradient_clipping\": 1e400}", ["out of range", "line 3"]),
        ("{} {}", ["trailing", "line 1"]),
        (
            "{\"fp16\": {\n\"enabled\": true,\n\"enabled\": false}}",
            ["\"enabled\" appears twice", "line 3"],
        ),
        (&deep, ["recursion limit", "line 1"]),
        (&long, ["optimizer.type is \"xxx", "\"Adam\""]),
        ("[]", ["not an object", "train_batch_size"]),
        ("4", ["not an object", "train_batch_size"]),
    ] {
        let said = format!("{:#}", EngineFile::parse(text).expect_err(text));
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(said.len() < 600, "{said}");
    }
    assert_eq!(EngineFile::parse("\u{feff}{}").unwrap(), EngineFile::default());
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("binary.json");
    fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    for path in [dir.path(), &dir.path().join("missing.json"), &binary] {
        let said = format!("{:#}", EngineFile::read(path).unwrap_err());
        let expected = format!("{} cannot be read", path.display());
        assert!(said.starts_with(&expected), "{said}");
    }
}
