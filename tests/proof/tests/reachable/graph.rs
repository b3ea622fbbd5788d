//! Which items `main` reaches.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenTree};

use super::source::{Kind, Sources, flat};

/// The items that function `main` of crate `root` reaches.
pub fn reached(sources: &Sources, root: &str) -> HashSet<usize> {
    let mut walk = Walk::new(sources);
    let main = &sources.modules[&vec![root.to_owned()]].items["main"];
    main.iter().for_each(|&id| walk.reach(id));
    loop {
        while let Some(id) = walk.open.pop() {
            walk.mentions_of(id);
        }
        let methods: Vec<usize> = (0..sources.items.len())
            .filter(|id| !walk.reached.contains(id) && walk.calls_method(*id))
            .collect();
        if methods.is_empty() {
            return walk.reached;
        }
        methods.into_iter().for_each(|id| walk.reach(id));
    }
}

/// The items that item `id` mentions itself.
pub fn mentioned(sources: &Sources, id: usize) -> HashSet<usize> {
    let mut walk = Walk::new(sources);
    walk.mentions_of(id);
    walk.reached
}

struct Walk<'a> {
    sources: &'a Sources,
    reached: HashSet<usize>,
    open: Vec<usize>,
    /// Names after a dot that are called.
    called: HashSet<String>,
    /// `Type::name`, the type by its item.
    associated: HashSet<(usize, String)>,
}

impl<'a> Walk<'a> {
    fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            reached: HashSet::new(),
            open: Vec::new(),
            called: HashSet::new(),
            associated: HashSet::new(),
        }
    }

    fn reach(&mut self, id: usize) {
        if self.reached.insert(id) {
            self.open.push(id);
        }
    }

    /// Whether item `id` is a method that reached bodies may call.
    fn calls_method(&self, id: usize) -> bool {
        let item = &self.sources.items[id];
        let Some(owner) = &item.owner else {
            return false;
        };
        let of = |path: &[String]| -> Vec<usize> {
            let targets = self.resolve(&item.module, path, 0);
            targets
                .into_iter()
                .filter_map(|(target, _)| target.item())
                .collect()
        };
        let types = of(&owner.of_type);
        let local = owner.of_trait.as_ref().is_none_or(|path| !of(path).is_empty());
        // A foreign type may be anywhere; a trait's own default methods belong to no type.
        let live = types.is_empty()
            || types
                .iter()
                .any(|id| self.reached.contains(id) || self.sources.items[*id].kind == Kind::Trait);
        let by_type = types
            .iter()
            .any(|&t| self.associated.contains(&(t, item.name.clone())));
        live && (!local || by_type || self.called.contains(&item.name))
    }

    /// Reaches all that the item mentions.
    fn mentions_of(&mut self, id: usize) {
        let item = &self.sources.items[id];
        let mut tokens = Vec::new();
        flat(&item.tokens, &mut tokens);
        let bound = bound(&tokens);
        let mut at = 0;
        while at < tokens.len() {
            let TokenTree::Ident(first) = &tokens[at] else {
                at += 1;
                continue;
            };
            let mut path = vec![first.to_string()];
            let begin = at;
            at += 1;
            while is(&tokens, at, ':') && is(&tokens, at + 1, ':') {
                let Some(TokenTree::Ident(next)) = tokens.get(at + 2) else {
                    break;
                };
                path.push(next.to_string());
                at += 3;
            }
            let call = matches!(tokens.get(at), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
            let turbofish = is(&tokens, at, ':') && is(&tokens, at + 1, ':');
            let after_dot =
                begin > 0 && is(&tokens, begin - 1, '.') && !(begin > 1 && is(&tokens, begin - 2, '.'));
            if after_dot {
                if call || turbofish {
                    self.called.insert(path[0].clone());
                }
                continue;
            }
            let variable = path.len() == 1 && bound.contains(&path[0]) && !call && !turbofish;
            if !variable {
                self.mention(id, path);
            }
        }
    }

    fn mention(&mut self, from: usize, mut path: Vec<String>) {
        let item = &self.sources.items[from];
        if path[0] == "Self"
            && let Some(owner) = &item.owner
        {
            path.splice(..1, owner.of_type.iter().cloned());
        }
        for (target, rest) in self.resolve(&item.module, &path, 0) {
            // In `name::more`, `name` is a module or a type, even if a function has the same name.
            let function = |id: &usize| self.sources.items[*id].kind == Kind::Function;
            if let Some(id) = target.item().filter(|id| rest.is_none() || !function(id)) {
                self.reach(id);
                if let Some(name) = rest {
                    self.associated.insert((id, name));
                }
            }
        }
    }

    /// What a path means in a module; of `Type::name` the type, with the name.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Vec<(Target, Option<String>)> {
        let Some((first, rest)) = path.split_first().filter(|_| depth < 12) else {
            return Vec::new();
        };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(from[..1].to_vec())],
            "self" => vec![Target::Module(from.to_vec())],
            "super" => vec![Target::Module(from[..from.len() - 1].to_vec())],
            name => self.lookup(from, name, depth),
        };
        if targets.is_empty() && self.sources.crates.contains(first) {
            targets.push(Target::Module(vec![first.clone()]));
        }
        let mut found = Vec::new();
        for target in targets {
            match (target, rest) {
                (target, []) => found.push((target, None)),
                (Target::Module(module), rest) => {
                    let path = match rest[0].as_str() {
                        "super" => rest.to_vec(),
                        _ => [&["self".to_owned()], rest].concat(),
                    };
                    match path.as_slice() {
                        [own, name] if own == "self" => {
                            found.extend(
                                self.lookup(&module, name, depth + 1)
                                    .into_iter()
                                    .map(|t| (t, None)),
                            );
                        }
                        [own, name, more @ ..] if own == "self" => {
                            for target in self.lookup(&module, name, depth + 1) {
                                match target {
                                    Target::Module(m) => {
                                        let below = [&["self".to_owned()], more].concat();
                                        found.extend(self.resolve(&m, &below, depth + 1));
                                    }
                                    item => found.push((item, more.first().cloned())),
                                }
                            }
                        }
                        path => found.extend(self.resolve(&module, path, depth + 1)),
                    }
                }
                (item, rest) => found.push((item, rest.first().cloned())),
            }
        }
        found
    }

    /// What a name means in a module: its own items and children, then its imports.
    fn lookup(&self, module: &[String], name: &str, depth: usize) -> Vec<Target> {
        let Some(scope) = self.sources.modules.get(module).filter(|_| depth < 12) else {
            return Vec::new();
        };
        let mut found: Vec<Target> = scope
            .items
            .get(name)
            .into_iter()
            .flatten()
            .map(|&id| Target::Item(id))
            .collect();
        let child = [module, &[name.to_owned()]].concat();
        if self.sources.modules.contains_key(&child) {
            found.push(Target::Module(child));
        }
        let imported = |path: &[String]| {
            // A path that begins with the imported name itself would be looked up here again.
            let targets = match path.first().is_some_and(|first| first == name) && path.len() > 1 {
                true => {
                    let child = [module, &path[..1]].concat();
                    let from = match self.sources.modules.contains_key(&child) {
                        true => child,
                        false => vec![path[0].clone()],
                    };
                    self.resolve(&from, &[&["self".to_owned()], &path[1..]].concat(), depth + 1)
                }
                false => self.resolve(module, path, depth + 1),
            };
            targets
                .into_iter()
                .filter(|(_, rest)| rest.is_none())
                .map(|(target, _)| target)
        };
        let paths = scope.imports.get(name).into_iter().flatten();
        for path in paths.filter(|path| path.len() > 1) {
            found.extend(imported(path));
        }
        if found.is_empty() {
            for glob in &scope.globs {
                found.extend(imported(&[glob.as_slice(), &[name.to_owned()]].concat()));
            }
        }
        found
    }
}

/// What a name stands for.
enum Target {
    Module(Vec<String>),
    Item(usize),
}

impl Target {
    fn item(&self) -> Option<usize> {
        match self {
            Self::Item(id) => Some(*id),
            Self::Module(_) => None,
        }
    }
}

fn is(tokens: &[TokenTree], at: usize, c: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == c)
}

/// Names that a body binds: after `let`, `mut`, `ref` or `|`, or before a single `:`.
fn bound(tokens: &[TokenTree]) -> HashSet<String> {
    let mut names = HashSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(name) = token else {
            continue;
        };
        let before = at
            .checked_sub(1)
            .map(|i| tokens[i].to_string())
            .unwrap_or_default();
        let typed = is(tokens, at + 1, ':') && !is(tokens, at + 2, ':');
        let listed = before == "," && names_a_binding(tokens, at);
        if typed || listed || ["let", "mut", "ref", "|", "for"].contains(&&*before) {
            names.insert(name.to_string());
        }
        // `let (a, b)`, `|(a, b)|`, `Some(a)`: the first of a pattern in brackets.
        if let Some(TokenTree::Group(_)) = tokens.get(at.wrapping_sub(1))
            && names_a_binding(tokens, at)
        {
            names.insert(name.to_string());
        }
    }
    names
}

/// Whether a pattern that `let` or `|` begins is still open at the token `at`.
fn names_a_binding(tokens: &[TokenTree], at: usize) -> bool {
    let from = at.saturating_sub(12);
    let head = &tokens[from..at];
    let begin = head
        .iter()
        .rposition(|t| ["let", "|", "for"].contains(&&*t.to_string()));
    begin.is_some_and(|begin| {
        head[begin + 1..].iter().all(|t| match t {
            TokenTree::Ident(_) | TokenTree::Group(_) => true,
            TokenTree::Punct(p) => p.as_char() == ',' || p.as_char() == '&',
            TokenTree::Literal(_) => false,
        })
    })
}
