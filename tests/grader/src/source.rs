//! Reads a student's source as Rust's tokens: a word in a comment or a string does not count, and what a macro is given
//! does. For kernels, see `kernel`.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use proc_macro2::{TokenStream, TokenTree};
use walkdir::WalkDir;

use crate::{kernel, paths};

/// The files of the student's exercise in the course `root`; and the kernels in it that are refused, by the file's name, with the
/// message for the student.
///
/// # Errors
/// Returns an error if a file cannot be read, or a Rust file may not be in an exercise.
pub(crate) fn student_sources(root: &Path, lesson: &str) -> Result<(Vec<String>, HashMap<String, String>)> {
    let (mut texts, mut refused) = (Vec::new(), HashMap::new());
    for entry in WalkDir::new(root.join(paths::exercises(lesson, ""))).sort_by_file_name() {
        let entry = entry?;
        let path = entry.path();
        let ending = path.extension().unwrap_or_default();
        if ending != "rs" && ending != "cu" {
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let bytes = fs::read(path).with_context(|| name.clone())?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Err(why) = refuse_unsafe(&name, &text) {
            ensure!(name.ends_with(".cu"), "{}", why.why);
            let file = entry.file_name().to_string_lossy().into_owned();
            refused.insert(file, why.why);
        }
        texts.push(text);
    }
    Ok((texts, refused))
}

/// Why a file of an exercise is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The message for the student.
    pub why: String,
    /// Whether it has what is not allowed. Else it cannot be searched: if it does not compile, the compiler's message says more.
    pub is_certain: bool,
}

/// Whether an exercise may contain this source: not if it has the token `unsafe`. The lint `unsafe_code` is not enough:
/// it does not see `#[unsafe(export_name = "…")]` on a method of a trait, which replaces a function of the C library.
///
/// # Errors
/// Returns why the file is refused.
pub fn refuse_unsafe(name: &str, source: &str) -> Result<(), Refused> {
    let not_allowed = |why| {
        let is_certain = true;
        Err(Refused { why, is_certain })
    };
    if name.ends_with(".cu") {
        return kernel::refused(source).map_or(Ok(()), |(line, what)| {
            not_allowed(format!(
                "{name}, line {line}: `{what}` is not allowed in a kernel, because it could leave the emulated grid. \
                 Remove it. Allowed are comments, #define, #if and #pragma unroll, and of `extern` only \
                 `extern \"C\" __global__` before a kernel with its body, and `extern __shared__`."
            ))
        });
    }
    let unreadable = |why: String| Refused {
        why: format!("{name} cannot be searched for `unsafe`: {why}"),
        is_certain: false,
    };
    // The compiler skips such a first line, which here could begin a string and so hide the rest.
    let text = source.trim_start_matches('\u{feff}');
    if text.starts_with("#!") && !text.starts_with("#![") {
        return Err(unreadable("remove the first line, which begins with `#!`".into()));
    }
    let tokens = tokens(source).map_err(|e| unreadable(format!("line {}: {e}", e.span().start().line)))?;
    match tokens.iter().find(|(token, _)| token == "unsafe") {
        None => Ok(()),
        Some((_, line)) => not_allowed(format!(
            "{name}, line {line}: `unsafe` is not allowed in an exercise, in an attribute neither, because such code could \
             change its own verdicts. Remove it."
        )),
    }
}

/// All tokens in the order of the text, with their lines, without brackets; names without `r#`. It does not recurse, because a
/// hostile source may nest groups without end.
pub(crate) fn tokens(source: &str) -> Result<Vec<(String, usize)>, proc_macro2::LexError> {
    let mut tokens = Vec::new();
    let mut open = vec![source.parse::<TokenStream>()?.into_iter()];
    while let Some(trees) = open.last_mut() {
        match trees.next() {
            None => drop(open.pop()),
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(tree) => {
                let text = tree.to_string().trim_start_matches("r#").to_owned();
                tokens.push((text, tree.span().start().line));
            }
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_student_learns_of_it_before_the_checks_run() {
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("exercises/lesson01/src");
        fs::create_dir_all(source.join("more")).unwrap();
        fs::write(source.join("lib.rs"), "mod more;").unwrap();
        let second = source.join("more/mod.rs");
        fs::write(&second, "// unsafe").unwrap();
        fs::write(source.join("map.cu"), "asm").unwrap();
        let (texts, refused) = student_sources(root.path(), "01").unwrap();
        assert_eq!(texts, ["mod more;", "asm", "// unsafe"]);
        assert!(refused["map.cu"].contains("src/map.cu, line 1: `asm` is not allowed"));
        fs::write(&second, "\ntrait T { #[unsafe(no_mangle)] fn f() {} }").unwrap();
        let error = student_sources(root.path(), "01").unwrap_err().to_string();
        let place = "exercises/lesson01/src/more/mod.rs, line 2: `unsafe` is not allowed";
        assert!(error.contains(place), "{error}");
    }

    #[test]
    fn unsafe_is_refused_wherever_it_is_code_or_could_be_hidden() {
        let refused = [
            "fn f() { unsafe { g() } }",
            "trait T { #[unsafe(export_name = \"poll\")] fn f() {} }",
            "#[cfg_attr(all(), unsafe(link_section = \".init_array\"))] static A: u8 = 0;",
            "macro_rules! m { () => { unsafe {} } }",
            "const A: char = '\"'; unsafe impl Send for A {} // \"",
            "/* /* */ \" */ unsafe fn f() {} // \"",
            "fn f<'a>() { r\"\\\"; unsafe {} } //\"",
        ];
        for source in refused {
            let why = refuse_unsafe("src/lib.rs", &format!("\n{source}")).unwrap_err();
            assert!(why.is_certain, "{source}: {why:?}");
            assert!(why.why.starts_with("src/lib.rs, line 2: `unsafe` is not"));
        }
        let begin = "\u{feff}#! \"\nunsafe fn f() {} // \"";
        for source in [begin, &begin[3..], "#!/**/[allow(unused)]", "fn f( {", "\""] {
            let why = refuse_unsafe("src/lib.rs", source).unwrap_err();
            assert!(!why.is_certain, "{source}: {why:?}");
        }
        // The word in comments, strings and names.
        let allowed = "//! unsafe\nfn f() { /* unsafe */ g(\"unsafe\", r#\"\"unsafe\"#) } // unsafe";
        for source in [allowed, "#![allow(unsafe_code)]", "\u{feff}#![allow(a)]"] {
            assert_eq!(refuse_unsafe("src/lib.rs", source), Ok(()), "{source}");
        }
    }

    #[test]
    fn groups_may_be_nested_without_end() {
        let deep = 200_000;
        let source = format!("{}unsafe{}", "(".repeat(deep), ")".repeat(deep));
        assert!(refuse_unsafe("src/lib.rs", &source).is_err());
    }
}
