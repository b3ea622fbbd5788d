//! The kernels' CUDA sources, which stand beside their CPU twins, as NVRTC takes them: one text each.

use std::fmt::Write;

/// Name, relative to this folder, and text of each source and header.
macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!($name))),*] };
}

const FILES: &[(&str, &str)] = files![
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

/// A source with its own headers in place, and the options that it asks for in a line `// nvrtc: …`.
#[derive(Debug)]
pub(super) struct Source {
    pub text: String,
    pub options: Vec<String>,
}

/// The source `name`, a path relative to this folder. `#line` directives keep file and line in the compiler's messages.
pub(super) fn source(name: &str) -> Option<Source> {
    let mut new = Source {
        text: String::new(),
        options: Vec::new(),
    };
    new.add(name, &mut Vec::new()).then_some(new)
}

impl Source {
    /// Adds a file, unless it is `included` already. Returns whether there is such a file.
    fn add(&mut self, name: &str, included: &mut Vec<&'static str>) -> bool {
        let Some(&(name, text)) = FILES.iter().find(|file| file.0 == name) else {
            return false;
        };
        if included.contains(&name) {
            return true;
        }
        included.push(name);
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.line(1, name);
        for (i, line) in text.lines().enumerate() {
            let header = line
                .strip_prefix("#include \"")
                .and_then(|rest| rest.split('"').next());
            // A header stands beside the source or at the top.
            let found = header.is_some_and(|header| {
                self.add(&format!("{folder}/{header}"), included) || self.add(header, included)
            });
            if found {
                self.line(i + 2, name);
                continue;
            }
            if let Some(options) = line.strip_prefix("// nvrtc: ") {
                self.options.extend(options.split_whitespace().map(str::to_owned));
            }
            if line != "#pragma once" {
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
        true
    }

    fn line(&mut self, number: usize, name: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "#line {number} \"{name}\"");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The sources and headers below `folder`.
    fn on_disk(folder: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                on_disk(&path, names);
            } else if path.extension().is_some_and(|e| e == "cu" || e == "cuh") {
                names.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_source_is_listed() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels");
        let mut names = Vec::new();
        on_disk(Path::new(here), &mut names);
        names.sort();
        let listed: Vec<String> = FILES
            .iter()
            .map(|(name, _)| format!("{}/{name}", here.replace('\\', "/")))
            .collect();
        assert_eq!(names, listed);
    }

    #[test]
    fn a_source_contains_its_headers_once() {
        for (name, _) in FILES.iter().filter(|(name, _)| name.ends_with(".cu")) {
            let text = source(name).unwrap().text;
            assert!(
                !text.contains("#include \""),
                "{name} keeps an include of its own"
            );
            assert_eq!(text.matches("#define EACH_TYPE").count(), 1, "{name}");
        }
        assert!(source("no such.cu").is_none());
    }

    #[test]
    fn lines_and_options_are_those_of_the_file() {
        let source = source("multi_tensor.cu").unwrap();
        assert_eq!(source.options, ["--fmad=false"]);
        let (mut file, mut number) = ("", 0);
        for line in source.text.lines() {
            if let Some(at) = line.strip_prefix("#line ") {
                let (line, name) = at.split_once(' ').unwrap();
                (file, number) = (name.trim_matches('"'), line.parse().unwrap());
                continue;
            }
            let text = FILES.iter().find(|f| f.0 == file).unwrap().1;
            let written = text.lines().nth(number - 1).unwrap();
            assert!(written == line || written == "#pragma once", "{file}:{number}");
            number += 1;
        }
    }
}
