//! Modules, items and imports of a crate, read from its sources.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A module's names from the crate's root on, the crate's own name first.
pub type ModulePath = Vec<String>;

/// What an item is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Function,
    Type,
    Trait,
    /// A constant, a static or a macro.
    Other,
}

/// A method's type and, if it implements a trait's method, the trait.
#[derive(Debug)]
pub struct Owner {
    pub of_type: Vec<String>,
    pub of_trait: Option<Vec<String>>,
}

#[derive(Debug)]
pub struct Item {
    pub name: String,
    pub kind: Kind,
    pub module: ModulePath,
    pub file: PathBuf,
    /// The whole item with its attributes.
    pub tokens: Vec<TokenTree>,
    /// `None` for free functions and all that is not a function.
    pub owner: Option<Owner>,
}

#[derive(Debug, Default)]
pub struct Module {
    pub items: HashMap<String, Vec<usize>>,
    /// Name in this module by the path that is imported.
    pub imports: HashMap<String, Vec<Vec<String>>>,
    pub globs: Vec<Vec<String>>,
}

#[derive(Debug, Default)]
pub struct Sources {
    pub crates: HashSet<String>,
    pub modules: HashMap<ModulePath, Module>,
    pub items: Vec<Item>,
}

impl Sources {
    /// Reads the crate called `name` from its root file on.
    pub fn read(&mut self, name: &str, root: &Path) {
        self.crates.insert(name.to_owned());
        self.file(vec![name.to_owned()], root, root.parent().unwrap());
    }

    /// `folder` is where the module's children are.
    fn file(&mut self, module: ModulePath, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap();
        let tokens: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.modules.entry(module.clone()).or_default();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        Reader {
            sources: self,
            module,
            file,
            folder,
        }
        .items(&tokens, None);
    }
}

/// Reads the items of one module.
struct Reader<'a> {
    sources: &'a mut Sources,
    module: ModulePath,
    file: &'a Path,
    folder: &'a Path,
}

impl Reader<'_> {
    /// Reads items, those of an `impl` or a trait if there is an `owner`.
    fn items(&mut self, tokens: &[TokenTree], owner: Option<(&[String], Option<&[String]>)>) {
        let mut at = 0;
        while at < tokens.len() {
            let (length, of_tests) = attributes(&tokens[at..]);
            let head = at + length;
            let end = head + item_length(&tokens[head..]);
            if end == at {
                return;
            }
            if !of_tests {
                self.item(&tokens[at..end], &tokens[head..end], owner);
            }
            at = end;
        }
    }

    /// `whole` begins with the item's attributes, `item` does not.
    fn item(
        &mut self,
        whole: &[TokenTree],
        item: &[TokenTree],
        owner: Option<(&[String], Option<&[String]>)>,
    ) {
        const WORDS: [&str; 11] = [
            "fn", "mod", "use", "struct", "enum", "union", "type", "trait", "const", "static", "impl",
        ];
        let word = |i: usize| item.get(i).map(TokenTree::to_string).unwrap_or_default();
        let is_fn =
            |i: usize| word(i) == "const" && ["fn", "unsafe", "extern", "async"].contains(&&*word(i + 1));
        let Some(key) = (0..item.len()).find(|&i| WORDS.contains(&&*word(i)) && !is_fn(i)) else {
            return self.macro_call(whole, item);
        };
        let name = word(key + 1);
        match &*word(key) {
            // Without a body there is nothing to reach.
            "fn" if matches!(item.last(), Some(TokenTree::Group(_))) => {
                self.add(name, Kind::Function, whole, owner)
            }
            "use" => self.import(&item[key + 1..], &[]),
            "mod" => self.child(&name, item.last()),
            "struct" | "enum" | "union" | "type" if owner.is_none() => {
                self.add(name, Kind::Type, whole, None)
            }
            "const" | "static" => {
                let name = if name == "mut" { word(key + 2) } else { name };
                self.add(name, Kind::Other, whole, None);
            }
            "trait" => {
                self.add(name.clone(), Kind::Trait, whole, None);
                let path = [name];
                self.inside(item, Some((&path, Some(&path))));
            }
            "impl" => {
                let (of_type, of_trait) = implemented(&item[key + 1..item.len() - 1]);
                self.inside(item, Some((&of_type, of_trait.as_deref())));
            }
            _ => {}
        }
    }

    fn inside(&mut self, item: &[TokenTree], owner: Option<(&[String], Option<&[String]>)>) {
        if let Some(TokenTree::Group(body)) = item.last() {
            let body: Vec<TokenTree> = body.stream().into_iter().collect();
            self.items(&body, owner);
        }
    }

    /// `macro_rules! name { … }`, or a macro whose input is items.
    fn macro_call(&mut self, whole: &[TokenTree], item: &[TokenTree]) {
        let [TokenTree::Ident(called), _, rest @ ..] = item else {
            return;
        };
        match (called == "macro_rules", rest) {
            (true, [TokenTree::Ident(name), ..]) => self.add(name.to_string(), Kind::Other, whole, None),
            _ => self.inside(item, None),
        }
    }

    fn add(
        &mut self,
        name: String,
        kind: Kind,
        whole: &[TokenTree],
        owner: Option<(&[String], Option<&[String]>)>,
    ) {
        let id = self.sources.items.len();
        if owner.is_none() {
            let module = self.sources.modules.entry(self.module.clone()).or_default();
            module.items.entry(name.clone()).or_default().push(id);
        }
        self.sources.items.push(Item {
            name,
            kind,
            module: self.module.clone(),
            file: self.file.to_owned(),
            tokens: whole.to_vec(),
            owner: owner.map(|(of_type, of_trait)| Owner {
                of_type: of_type.to_vec(),
                of_trait: of_trait.map(<[String]>::to_vec),
            }),
        });
    }

    fn child(&mut self, name: &str, last: Option<&TokenTree>) {
        let mut module = self.module.clone();
        module.push(name.to_owned());
        let folder = self.folder.join(name);
        if let Some(TokenTree::Group(body)) = last {
            self.sources.modules.entry(module.clone()).or_default();
            let body: Vec<TokenTree> = body.stream().into_iter().collect();
            let (sources, file) = (&mut *self.sources, self.file);
            Reader {
                sources,
                module,
                file,
                folder: &folder,
            }
            .items(&body, None);
            return;
        }
        let files = [self.folder.join(format!("{name}.rs")), folder.join("mod.rs")];
        let file = files.iter().find(|file| file.is_file());
        let file = file.unwrap_or_else(|| panic!("{}: no file of mod {name}", self.file.display()));
        self.sources.file(module, file, &folder);
    }

    /// The imports of a `use` tree below the path `before`.
    fn import(&mut self, tree: &[TokenTree], before: &[String]) {
        let mut path = before.to_vec();
        let mut at = 0;
        while let Some(token) = tree.get(at) {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    let alias = tree.get(at + 1).map(TokenTree::to_string).unwrap_or_default();
                    return self.name(alias, path);
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(p) if p.as_char() == '*' => {
                    let module = self.sources.modules.entry(self.module.clone()).or_default();
                    return module.globs.push(path);
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    let comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
                    return inner.split(comma).for_each(|tree| self.import(tree, &path));
                }
                _ => {}
            }
            at += 1;
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            self.name(last, path);
        }
    }

    fn name(&mut self, name: String, path: Vec<String>) {
        let module = self.sources.modules.entry(self.module.clone()).or_default();
        module.imports.entry(name).or_default().push(path);
    }
}

/// The number of tokens of the leading attributes, and whether one of them marks a test.
fn attributes(tokens: &[TokenTree]) -> (usize, bool) {
    let (mut at, mut of_tests) = (0, false);
    while let Some(TokenTree::Punct(p)) = tokens.get(at)
        && p.as_char() == '#'
    {
        at += 1;
        if matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == '!') {
            at += 1;
        }
        if let Some(TokenTree::Group(group)) = tokens.get(at) {
            let text = group.stream().to_string().replace(' ', "");
            of_tests |= text == "test" || text.starts_with("cfg(test") || text.starts_with("cfg(all(test");
        }
        at += 1;
    }
    (at, of_tests)
}

/// The number of tokens of the item that these begin with: up to a `;`, or to a body in braces.
fn item_length(tokens: &[TokenTree]) -> usize {
    // A `;` ends these even after braces: `use a::{b};`, `const A: B = B {};`.
    let semicolon = tokens
        .iter()
        .take(4)
        .any(|t| matches!(t, TokenTree::Ident(word) if ["use", "static", "type"].iter().any(|w| word == w)));
    let constant = tokens.iter().take(4).enumerate().any(|(i, t)| {
        let next = tokens.get(i + 1).map(TokenTree::to_string).unwrap_or_default();
        t.to_string() == "const" && !["fn", "unsafe", "extern", "async"].contains(&&*next)
    });
    let to_semicolon = semicolon || constant;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(p) if p.as_char() == ';' => return i + 1,
            TokenTree::Group(g) if g.delimiter() == Delimiter::Brace && !to_semicolon => {
                return i + 1;
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The paths of the type and the trait in `impl … Trait for Type …`.
fn implemented(head: &[TokenTree]) -> (Vec<String>, Option<Vec<String>>) {
    let mut depth = 0;
    let (mut paths, mut last_dash, mut last_quote) = (vec![Vec::new()], false, false);
    for token in head {
        match token {
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' && !last_dash => depth -= 1,
            TokenTree::Ident(word) if depth == 0 && word == "for" => paths.push(Vec::new()),
            TokenTree::Ident(word) if depth == 0 && word == "where" => break,
            TokenTree::Ident(word) if depth == 0 && word != "dyn" && !last_quote => {
                paths.last_mut().unwrap().push(word.to_string());
            }
            _ => {}
        }
        last_dash = matches!(token, TokenTree::Punct(p) if p.as_char() == '-');
        last_quote = matches!(token, TokenTree::Punct(p) if p.as_char() == '\'');
    }
    let of_type = paths.pop().unwrap();
    (of_type, paths.pop())
}

/// All tokens of a tree, groups opened.
pub fn flat(tokens: &[TokenTree], out: &mut Vec<TokenTree>) {
    for token in tokens {
        if let TokenTree::Group(group) = token {
            // An empty group marks where one begins, so that a call can be told from a name.
            out.push(TokenTree::Group(Group::new(
                group.delimiter(),
                TokenStream::new(),
            )));
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            flat(&inner, out);
        } else {
            out.push(token.clone());
        }
    }
}
