//! The files of crates, and which items of other files each of them uses: by its imports, and by paths with `::` in its code.
//! Text is read, not compiled: comments and modules of tests are left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Names from the crate's root on, the crate's own name first.
type Names = Vec<String>;

/// A module that is a file.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    /// The paths of its code, as they are written there.
    paths: Vec<Names>,
    /// A name that an import brings, and its path; `true` if others may import it from here.
    imports: Vec<(String, Names, bool)>,
}

#[derive(Debug, Default)]
pub struct Sources(BTreeMap<Names, Module>);

/// An item that a file uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub by: PathBuf,
    pub file: PathBuf,
    pub item: String,
}

impl Sources {
    /// Reads all files of the crate `name` in `folder`.
    pub fn read(&mut self, name: &str, folder: &Path) {
        self.folder(vec![name.to_owned()], folder);
    }

    fn folder(&mut self, module: Names, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let child = [&module[..], std::slice::from_ref(&name)].concat();
            if path.is_dir() {
                self.folder(child, &path);
            } else if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests") {
                let is_root = ["mod", "lib", "main"].contains(&&*name);
                let text = fs::read_to_string(&path).unwrap();
                let module = if is_root { module.clone() } else { child };
                self.0.insert(module, Module::parse(path, &text));
            }
        }
    }

    /// All uses of an item by another file than its own.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (name, module) in &self.0 {
            let own = |(_, path, public): &(String, Names, bool)| (!public).then(|| path.clone());
            let paths = module.imports.iter().filter_map(own);
            for path in paths.chain(module.paths.iter().cloned()) {
                let Some((file, item)) = self.item(name, &path, 0) else {
                    continue;
                };
                if file != module.file {
                    let (by, file) = (module.file.clone(), file.to_owned());
                    uses.push(Use { by, file, item });
                }
            }
        }
        uses
    }

    /// The file and the name of the item that `path` means in the module `from`; `None` for a module and for other crates.
    fn item(&self, from: &[String], path: &[String], depth: usize) -> Option<(&Path, String)> {
        let (first, rest) = path.split_first().filter(|_| depth < 12)?;
        let start = match first.as_str() {
            "crate" => from[..1].to_vec(),
            "self" => from.to_vec(),
            "super" => from[..from.len() - 1].to_vec(),
            name => {
                let child = [from, std::slice::from_ref(first)].concat();
                let imported = || self.0.get(from)?.imports.iter().find(|(n, ..)| n == name);
                if self.0.contains_key(&child) {
                    child
                } else if let Some((_, before, _)) = imported().filter(|(_, p, _)| p != path) {
                    return self.item(from, &[before, rest].concat(), depth + 1);
                } else {
                    vec![first.clone()]
                }
            }
        };
        let mut module = start;
        for (i, name) in rest.iter().enumerate() {
            if name == "super" {
                module.pop();
                continue;
            }
            let child = [&module[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&child) {
                module = child;
                continue;
            }
            let found = self.0.get(&module)?;
            // An item of this module, unless the module passes it on.
            let passed = found.imports.iter().find(|(n, ..)| n == name);
            return match passed.filter(|_| module != from) {
                Some((_, path, _)) => self.item(&module, &[path, &rest[i + 1..]].concat(), depth + 1),
                None => Some((found.file.as_path(), name.clone())),
            };
        }
        None
    }
}

impl Module {
    fn parse(file: PathBuf, text: &str) -> Self {
        let code = code(text);
        let mut module = Self {
            file,
            ..Self::default()
        };
        let mut others = String::new();
        let mut rest = code.as_str();
        while let Some(at) = rest.find("use ").filter(|_| !rest.is_empty()) {
            // `use` at the start of a line, after `pub` or `pub(…)`.
            let line = rest[..at].rfind('\n').map_or(0, |i| i + 1);
            let before = rest[line..at].trim();
            let is_import = before.is_empty() || before.starts_with("pub") && !before.contains(' ');
            let end = rest[at..].find(';').map_or(rest.len(), |i| at + i);
            if !is_import {
                others.push_str(&rest[..at + 4]);
                rest = &rest[at + 4..];
                continue;
            }
            others.push_str(&rest[..line]);
            let tree: String = rest[at + 4..end].split_whitespace().collect::<Vec<_>>().join(" ");
            let mut paths = Vec::new();
            expand(&[], &tree, &mut paths);
            let public = !before.is_empty();
            module
                .imports
                .extend(paths.into_iter().map(|(name, path)| (name, path, public)));
            rest = &rest[end..];
        }
        others.push_str(rest);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for word in others.split(|c| !is_word(c)) {
            let names: Names = word.split("::").map(str::to_owned).collect();
            if names.len() > 1 && names.iter().all(|n| !n.is_empty() && !n.contains(':')) {
                module.paths.push(names);
            }
        }
        module
    }
}

/// The text without comments, and without the module of tests at its end.
fn code(text: &str) -> String {
    let is_test = |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let lines: Vec<&str> = text.lines().collect();
    let tests = (0..lines.len()).find(|&i| {
        let next = lines
            .get(i + 1)
            .is_some_and(|l| l.starts_with("mod ") && l.ends_with('{'));
        is_test(lines[i]) && next
    });
    let kept = lines[..tests.unwrap_or(lines.len())].iter();
    let code: Vec<&str> = kept
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    code.join("\n")
}

/// The names that the tree of a `use` brings, with their paths.
fn expand(before: &[String], tree: &str, paths: &mut Vec<(String, Names)>) {
    let tree = tree.trim();
    let (path, inside) = match tree.split_once('{') {
        Some((path, inside)) => (path, Some(inside.trim_end().trim_end_matches('}'))),
        None => (tree, None),
    };
    let (path, alias) = path
        .split_once(" as ")
        .map_or((path, None), |(p, a)| (p, Some(a.trim())));
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    let mut whole: Names = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    if let Some(inside) = inside {
        let (mut depth, mut start) = (0, 0);
        for (i, c) in inside.char_indices().chain([(inside.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&whole, &inside[start..i], paths);
                    start = i + 1;
                }
                _ => {}
            }
        }
        return;
    }
    if whole.len() > 1 && whole.last().is_some_and(|last| last == "self") {
        whole.pop();
    }
    if let Some(last) = whole.last().filter(|_| !tree.is_empty()) {
        paths.push((alias.unwrap_or(last).to_owned(), whole));
    }
}
