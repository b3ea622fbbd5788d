//! The kernels' CUDA sources, which are beside their CPU twins.

/// Name, relative to this folder, and text of each source and header.
macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!($name))),*] };
}

pub(super) const FILES: &[(&str, &str)] = files![
    "clouds.cu",
    "dropout.cu",
    "filter/filter.cu",
    "gradients.cu",
    "loss.cu",
    "max_points.cu",
    "multi_tensor.cu",
    "multi_tensor.cuh",
    "operators.cu",
    "philox.cuh",
    "shared_mlp/batch_norm.cu",
    "shared_mlp/covariance.cu",
    "shared_mlp/greatest.cuh",
    "shared_mlp/product.cuh",
    "shared_mlp/widest.cu",
    "shared_mlp/widest_backward.cu",
    "shared_mlp/widest_exact.cu",
    "shared_mlp/widest_output.cu",
    "transform.cu",
    "values.cuh",
];

/// The options that a source asks for in a line `// nvrtc: …`.
pub(super) fn options(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// nvrtc: "));
    lines.flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The sources and headers in `folder` and below.
    fn on_disk(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                names.extend(on_disk(&path));
            } else if path.extension().is_some_and(|e| e == "cu" || e == "cuh") {
                names.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
        names
    }

    #[test]
    fn every_source_is_listed_and_its_options_are_found() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels").replace('\\', "/");
        let mut names = on_disk(Path::new(&here));
        names.sort();
        let listed: Vec<_> = FILES.iter().map(|(name, _)| format!("{here}/{name}")).collect();
        assert_eq!(names, listed);
        let all: Vec<_> = FILES.iter().flat_map(|(_, text)| options(text)).collect();
        assert_eq!(all, ["--fmad=false"], "of multi_tensor.cu");
    }
}
