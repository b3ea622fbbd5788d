//! Finds calls of canopy's own functions in a student's sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Exercise,
    source::{Token, tokens},
};

/// Names in a path, and renames in a chain. No path or chain that leads into canopy has more, and a hostile source with
/// very many would take for ever.
const LONGEST: usize = 20;

/// What follows the name of a function that is called or used as a value.
const AFTER_VALUE: [&str; 4] = ["(", ";", "]", "as"];

/// A remark if the files `sources` name canopy's own function for `exercise`. A path that a macro puts together from
/// pieces is not found.
pub fn solution_call(sources: &[&str], exercise: &Exercise) -> Option<String> {
    let answer = &exercise.answer;
    // `kernels` of `solutions/src/kernels/neuron.rs`.
    let module = exercise.solution.split('/').nth(2).unwrap_or_default();
    let named = names_function(sources, module.trim_end_matches(".rs"), answer);
    named.then(|| {
        let id = &exercise.id;
        format!("{id} calls the solution, canopy's own `{answer}`; the exercise requires your own code.")
    })
}

/// Whether `sources` name canopy's `function` of `module`: by a path from the crate or from a name that a `use` gives to a
/// part of it, or without a path where `use …::*` imports it and the student's own function does not come first.
fn names_function(sources: &[&str], module: &str, function: &str) -> bool {
    let lexed = sources.iter().filter_map(|source| tokens(source).ok());
    let files: Vec<File> = lexed.map(|tokens| File::read(&tokens)).collect();
    let names = Names::of(&files, module);
    let leads_there = |path: &Path| {
        let canopys = names.canopys(path);
        canopys.is_some_and(|(_, rest)| rest.iter().any(|name| name == function))
    };
    let by_path = |f: &File| {
        f.imports.iter().any(|i| leads_there(&i.path)) || f.paths.iter().any(|(p, _)| leads_there(p))
    };
    if files.iter().any(by_path) {
        return true;
    }
    // For each file, the scopes that have the function by `*`.
    let globs = files.iter().map(|file| {
        let all = file.imports.iter().filter(|i| i.name == "*");
        let of_module = all.filter(|i| names.modules(&i.path).contains(module));
        let not_own = of_module.map(|i| i.scope).filter(|s| !file.defines(*s, function));
        not_own.collect::<BTreeSet<usize>>()
    });
    let globs: Vec<BTreeSet<usize>> = globs.collect();
    // A module of the student's own passes it on, as in `own::neuron`.
    let passed_on = files
        .iter()
        .zip(&globs)
        .any(|(file, globs)| globs.iter().any(|s| file.outer[*s].is_none()));
    files.iter().zip(&globs).any(|(file, globs)| {
        file.paths.iter().any(|(path, scope)| match &path[..] {
            [name] => name == function && file.by_glob(*scope, function, globs),
            [before @ .., name] => passed_on && name == function && names.are_own(before),
            [] => false,
        })
    })
}

/// Names that `::` joins.
type Path = [String];

/// A name that a `use` or an `extern crate` introduces.
struct Import {
    path: Vec<String>,
    /// `*` for all names of a module.
    name: String,
    scope: usize,
}

/// What is named in a file. A scope is a file, or what braces enclose.
#[derive(Default)]
struct File {
    /// For each scope the one around it; none for a file or a module, which do not see the names around them.
    outer: Vec<Option<usize>>,
    imports: Vec<Import>,
    /// The paths that are used, each with its scope.
    paths: Vec<(Vec<String>, usize)>,
    /// The functions that a scope defines, or imports from elsewhere than canopy.
    own: BTreeSet<(usize, String)>,
    modules: BTreeSet<String>,
}

impl File {
    fn read(tokens: &[Token]) -> Self {
        let mut file = Self {
            outer: vec![None],
            ..Self::default()
        };
        let text = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
        let (mut scopes, mut at) = (vec![0], 0);
        while at < tokens.len() {
            let scope = scopes.last().copied().unwrap_or_default();
            let from = at;
            at += 1;
            match (text(from), text(at)) {
                ("{", _) => {
                    let of_module = from > 1 && text(from - 2) == "mod";
                    scopes.push(file.outer.len());
                    file.outer.push((!of_module).then_some(scope));
                }
                ("}", _) => drop(scopes.pop()),
                ("mod", name) => drop(file.modules.insert(name.to_owned())),
                ("fn", name) => {
                    file.own.insert((scope, name.to_owned()));
                    at += 1;
                }
                ("use", _) => at = file.read_imports(tokens, at, scope),
                ("extern", "crate") => at = file.read_imports(tokens, at + 1, scope),
                (first, _) if tokens[from].name => {
                    let mut path = vec![first.to_owned()];
                    while text(at) == ":" && text(at + 1) == ":" && tokens.get(at + 2).is_some_and(|t| t.name)
                    {
                        path.push(text(at + 2).to_owned());
                        at += 3;
                    }
                    let is_method = from > 0 && text(from - 1) == ".";
                    let of_type = from > 2 && text(from - 1) == ":" && text(from - 3) == ">";
                    let is_value = path.len() > 1 || AFTER_VALUE.contains(&text(at));
                    if is_value && !is_method && !of_type && path.len() < LONGEST {
                        file.paths.push((path, scope));
                    }
                }
                _ => {}
            }
        }
        file
    }

    /// Reads the imports from `at` to the next `;`, after which it returns the position.
    fn read_imports(&mut self, tokens: &[Token], mut at: usize, scope: usize) -> usize {
        // The path so far, and for each open brace the part of the path before it.
        let (mut path, mut before) = (Vec::<String>::new(), vec![0]);
        let (mut name, mut renamed) = (None, false);
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.text.as_str() {
                "{" => before.push(path.len()),
                end @ ("," | "}" | ";") => {
                    let start = before.last().copied().unwrap_or_default();
                    let name = name.take();
                    if path.len() > start && path.len() < LONGEST {
                        let mut path = path.clone();
                        // Not the whole path of `extern crate self as me`.
                        let many = path.len() > 1;
                        let last = path.pop_if(|last| many && (last == "*" || last == "self"));
                        let last = last.filter(|l| l == "*").or_else(|| path.last().cloned());
                        let name = name.or(last).unwrap_or_default();
                        self.own.insert((scope, name.clone()));
                        self.imports.push(Import { path, name, scope });
                    }
                    if end == "}" {
                        before.pop();
                    }
                    path.truncate(before.last().copied().unwrap_or_default());
                    if end == ";" {
                        break;
                    }
                }
                "as" => renamed = true,
                text if renamed => (name, renamed) = (Some(text.to_owned()), false),
                text if token.name || text == "*" => path.push(text.to_owned()),
                _ => {}
            }
        }
        at
    }

    fn defines(&self, scope: usize, function: &str) -> bool {
        self.own.contains(&(scope, function.to_owned()))
    }

    /// Whether `function`, without a path in `scope`, is what one of `globs` imports.
    fn by_glob(&self, scope: usize, function: &str, globs: &BTreeSet<usize>) -> bool {
        let mut scopes = std::iter::successors(Some(scope), |s| self.outer[*s]);
        let first = scopes.find(|s| globs.contains(s) || self.defines(*s, function));
        first.is_some_and(|s| globs.contains(&s))
    }
}

/// What the first name of a path stands for, in any file.
struct Names {
    /// Names of canopy's crates, of modules of theirs and of items there, each with the module (`""` for a crate).
    canopys: BTreeMap<String, BTreeSet<String>>,
    /// Names of the student's modules.
    own: BTreeSet<String>,
}

impl Names {
    fn of(files: &[File], module: &str) -> Self {
        let crates = ["canopy", "canopy_data"].map(|name| (name.to_owned(), BTreeSet::from([String::new()])));
        let keywords = ["crate", "self", "super"].map(str::to_owned);
        let mut names = Self {
            canopys: BTreeMap::from(crates),
            own: files
                .iter()
                .flat_map(|f| f.modules.clone())
                .chain(keywords)
                .collect(),
        };
        // A `use` may come before the one on which it depends.
        for _ in 0..LONGEST {
            let mut changed = false;
            for import in files.iter().flat_map(|f| &f.imports) {
                let modules = names.modules(&import.path);
                if import.name == "*" && modules.contains("") {
                    let known = names.canopys.entry(module.to_owned()).or_default();
                    changed |= known.insert(module.to_owned());
                } else if import.name != "*" && !modules.is_empty() {
                    let known = names.canopys.entry(import.name.clone()).or_default();
                    let before = known.len();
                    known.extend(modules);
                    changed |= known.len() > before;
                } else if import.name != "*" && names.are_own(&import.path) {
                    changed |= names.own.insert(import.name.clone());
                }
            }
            if !changed {
                break;
            }
        }
        names
    }

    /// If `path` leads into canopy: the modules for which its first name stands, and the names after that.
    fn canopys<'a>(&self, path: &'a Path) -> Option<(&BTreeSet<String>, &'a Path)> {
        let at = path.iter().position(|name| !self.is_own(name))?;
        Some((self.canopys.get(&path[at])?, &path[at + 1..]))
    }

    /// The modules of canopy to which `path` leads.
    fn modules(&self, path: &Path) -> BTreeSet<String> {
        let Some((modules, rest)) = self.canopys(path) else {
            return BTreeSet::new();
        };
        let of_crate = rest.first().cloned().unwrap_or_default();
        let through = |m: &String| if m.is_empty() { of_crate.clone() } else { m.clone() };
        modules.iter().map(through).collect()
    }

    fn is_own(&self, name: &str) -> bool {
        self.own.contains(name) && !self.canopys.contains_key(name)
    }

    fn are_own(&self, path: &Path) -> bool {
        !path.is_empty() && path.iter().all(|name| self.is_own(name))
    }
}

#[cfg(test)]
mod tests {
    use super::names_function;

    fn names_it(files: &[&str]) -> bool {
        names_function(files, "optim", "sgd_step")
    }

    #[test]
    fn finds_each_spelling() {
        for source in [
            "fn f() { canopy::optim::sgd_step(a) }",
            "fn f() { ::canopy::optim::sgd_step(a) }",
            "fn f() { canopy :: optim\n::sgd_step (a) }",
            "fn f() { canopy /* here */ :: optim :: // there\n sgd_step(a) }",
            "fn f() { canopy::optim::r#sgd_step(a) }",
            "fn f() { r#canopy::r#optim::sgd_step::<f32>(a) }",
            "fn f() { (canopy::optim::sgd_step as fn(f32))(a) }",
            "use canopy::optim::{AdamState, sgd_step as mine};",
            "use canopy::optim::r#sgd_step as mine;",
            "use canopy::{\n    optim::{self,\n    sgd_step},\n};",
            "use {::canopy::{{optim::{sgd_step as _}}}};",
            "use canopy::optim as o;\nfn f() { o::sgd_step(a) }",
            "use canopy::{optim};\nfn f() { let mine = optim::sgd_step; }",
            "use canopy::optim::{self as o};\nfn f() { o::sgd_step(a) }",
            "extern crate canopy as c;\nfn f() { c::optim::sgd_step(a) }",
            "use c::optim as o;\nuse b as c;\nuse a as b;\nuse canopy as a;\nfn f() { o::sgd_step(a) }",
            "use canopy as c;\nmod own { fn f() { super::c::optim::sgd_step(a) } }",
            "mod own { pub use canopy::optim as o; }\nuse own as p;\nfn f() { p::o::sgd_step(a) }",
            "extern crate self as me;\nuse canopy::optim;\nfn f() { me::optim::sgd_step(a) }",
            "fn sgd_step() { use canopy::optim::*; sgd_step(a) }",
            "fn sgd_step() { use canopy::*; optim::sgd_step(a) }",
            "fn sgd_step() { use canopy::{optim as o}; use o::*; let mine = sgd_step; }",
            "fn sgd_step() { own::f() }\nmod own { use canopy::optim::*; pub fn f() { sgd_step(a) } }",
            "fn sgd_step() { own::sgd_step(a) }\nmod own { pub use canopy::optim::*; }",
            "macro_rules! m { () => { canopy::optim::sgd_step } }",
            "m!(let f = [canopy :: optim :: sgd_step];);",
        ] {
            assert!(names_it(&[source]), "{source}");
        }
        assert!(names_it(&[
            "mod own; fn f() { own::o::sgd_step(a) }",
            "pub use canopy::optim as o;"
        ]));
        assert!(names_it(&[
            "mod own; fn sgd_step() { own::sgd_step(a) }",
            "pub use canopy::optim::*;"
        ]));
    }

    #[test]
    fn ignores_own_functions_and_comments() {
        for source in [
            "use canopy::optim::AdamState;\npub fn sgd_step() {}",
            "// canopy::optim::sgd_step\n/* canopy::optim::sgd_step */ fn f() { \"canopy::optim::sgd_step\"; }",
            "/// See canopy::optim::sgd_step.\nfn f() {}",
            "fn f(s: &mut canopy::optim::AdamState) { sgd_step(s) }",
            "use my_canopy::sgd_step;",
            "use canopy::optim;\nmod own;\nfn f() { own::sgd_step() }",
            "use canopy::optim::*;\npub fn sgd_step() {}\nfn f() { sgd_step(); crate::sgd_step() }",
            "use canopy::*;\npub fn sgd_step() {}\nfn f() { sgd_step(); self::sgd_step() }",
            "pub fn sgd_step() {}\nfn f() { use canopy::loader::*; sgd_step() }",
            "pub fn sgd_step() {}\nmod own { use canopy::optim::*; use super::sgd_step; fn f() { sgd_step() } }",
            "pub fn sgd_step() {}\nmod tests { use super::*; fn f() { sgd_step(); super::sgd_step() } }",
            "use canopy::optim::*;\nfn f(x: X) { x.sgd_step(); X::<f32>::sgd_step(); X { sgd_step: 1 } }",
            "fn f( {",
        ] {
            assert!(!names_it(&[source]), "{source}");
        }
    }

    #[test]
    fn a_hostile_source_does_not_take_for_ever() {
        let deep = 100_000;
        names_it(&[&format!("use {}canopy{};", "a::{".repeat(deep), "}".repeat(deep))]);
        names_it(&[&format!("use canopy{};", "::a".repeat(deep))]);
        let chain: String = (0..20_000)
            .rev()
            .map(|i| format!("use a{i} as a{};", i + 1))
            .collect();
        names_it(&[&format!("{chain} use canopy as a0;")]);
    }
}
