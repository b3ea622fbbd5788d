//! Which items of other files each file of our crates uses, by its imports and by the paths in its code. Tests and the arguments of
//! macros are left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, ItemMod, ItemUse, UseTree, Visibility,
    visit::{Visit, visit_item_mod, visit_path},
};

use crate::files;

/// Names from the crate's root on, the crate's own name first.
type Names = Vec<String>;

/// A module that is a file.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// The paths of its code, as they are written there.
    paths: Vec<Names>,
    /// A name that an import brings, and its path; `true` if others may import it from here.
    imports: Vec<(String, Names, bool)>,
}

/// The modules of crates.
#[derive(Default)]
pub struct Sources(BTreeMap<Names, Module>);

/// An item that the file `by` uses.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub by: PathBuf,
    pub file: PathBuf,
    pub item: String,
}

impl Sources {
    /// Reads all files of the crate `name` in `folder`.
    pub fn read(&mut self, name: &str, folder: &Path) {
        for file in files(folder, ".rs") {
            let inside = file.strip_prefix(folder).unwrap().with_extension("");
            let inside = inside.components().map(|part| part.as_os_str().to_str().unwrap());
            let mut module: Names = [name].into_iter().chain(inside).map(str::to_owned).collect();
            let last = module.last().unwrap();
            if last.ends_with("tests") {
                continue;
            }
            if ["mod", "lib", "main"].contains(&&**last) {
                module.pop();
            }
            let code = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
            let mut found = Module {
                file,
                ..Module::default()
            };
            found.visit_file(&code);
            self.0.insert(module, found);
        }
    }

    /// All uses of an item by another file than its own.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (name, module) in &self.0 {
            let own = module.imports.iter().filter(|(.., public)| !public);
            for path in own.map(|(_, path, _)| path).chain(&module.paths) {
                if let Some((file, item)) = self.item(name, path, 0).filter(|(file, _)| *file != module.file)
                {
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
        let mut module = match first.as_str() {
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
        for (i, name) in rest.iter().enumerate() {
            let child = [&module[..], std::slice::from_ref(name)].concat();
            if name == "super" {
                module.pop();
            } else if self.0.contains_key(&child) {
                module = child;
            } else {
                let found = self.0.get(&module)?;
                // An item of this module, unless the module passes it on.
                let passed = found.imports.iter().find(|(n, ..)| n == name);
                return match passed.filter(|_| module != from) {
                    Some((_, path, _)) => self.item(&module, &[path, &rest[i + 1..]].concat(), depth + 1),
                    None => Some((&found.file, name.clone())),
                };
            }
        }
        None
    }
}

impl Module {
    /// Adds the names that the tree of a `use` brings.
    fn import(&mut self, before: &[String], tree: &UseTree, public: bool) {
        let below = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&below(&path.ident), &path.tree, public),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(before, tree, public)),
            UseTree::Name(name) if name.ident == "self" => {
                self.imports
                    .push((before.last().unwrap().clone(), before.to_vec(), public));
            }
            UseTree::Name(name) => self
                .imports
                .push((name.ident.to_string(), below(&name.ident), public)),
            UseTree::Rename(name) => self
                .imports
                .push((name.rename.to_string(), below(&name.ident), public)),
            UseTree::Glob(_) => {}
        }
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    list.is_ok_and(|list| list.path.is_ident("cfg") && list.tokens.to_string().contains("test"))
}

impl<'a> Visit<'a> for Module {
    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.import(&[], &item.tree, !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.segments.len() > 1 {
            self.paths
                .push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit_path(self, path);
    }
}
