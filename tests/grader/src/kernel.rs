//! Reads a student's CUDA source as tokens. A kernel runs in the process of its checks: what a kernel does not need, and what
//! could leave the emulated grid (a call of the C library, code that the grid does not check), is refused.

/// Directives of the preprocessor that a kernel may have, apart from `#pragma unroll`.
const DIRECTIVES: &str = "define undef if ifdef ifndef else elif endif";

/// Words and characters that are refused. Strings are among them: their contents could look like a comment.
const REFUSED: &str = "asm goto extern gnu clang grid _Pragma # \" ' \\";

/// How further refused words begin: the compiler's own, and those of the emulated grid.
const BEGINS: &str = "__asm __attribute __builtin __sync_ __atomic __gnu grid_ GRID Grid";

/// The first thing in a source that a kernel may not have, and its line.
pub(crate) fn refused(source: &str) -> Option<(usize, String)> {
    // Where a line is continued, or ends otherwise, a compiler sees other comments than `tokens`.
    let is_odd =
        |line: &str| line.trim_end().ends_with('\\') || line.contains(|c: char| c.is_control() && c != '\t');
    if let Some(index) = source.lines().position(is_odd) {
        return Some((index + 1, "\\ at the end, or a control character".into()));
    }
    let tokens = tokens(source);
    let mut rest = &tokens[..];
    while let [(token, line), after @ ..] = rest {
        let has = |list: &str, word: &str| list.split(' ').any(|of| of == word);
        rest = match (*token, after) {
            ("extern", [("\"", _), ("C", _), ("\"", _), ("__global__", _), head @ ..]) if has_body(head) => {
                head
            }
            ("extern", [("__shared__", _), ..]) => after,
            ("#", [("pragma", _), ("unroll", _), after @ ..]) => after,
            ("#", [(word, _), after @ ..]) if has(DIRECTIVES, word) => after,
            // `%:` is another spelling of `#`.
            ("#", [(next, _), ..]) | ("%", [(next @ ":", _), ..]) => {
                return Some((*line, format!("{token}{next}")));
            }
            _ if has(REFUSED, token) || BEGINS.split(' ').any(|begin| token.starts_with(begin)) => {
                return Some((*line, (*token).to_owned()));
            }
            _ => after,
        };
    }
    None
}

/// Whether a kernel's head has a body. Without one, it would declare any function of the C library.
fn has_body(head: &[(&str, usize)]) -> bool {
    // A default argument or the length of an array may have braces as well.
    let is_end = |token: &str| ["{", ";", "\"", "=", "["].contains(&token);
    let end = head.array_windows().find(|[_, (token, _)]| is_end(token));
    end.is_some_and(|[(before, _), (token, _)]| *before == ")" && *token == "{")
}

/// The words, and the other characters one by one, with their lines, without comments.
fn tokens(source: &str) -> Vec<(&str, usize)> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        let end = match is_comment {
            true if rest.starts_with("//") => rest.find('\n'),
            true => rest[2..].find("*/").map(|end| end + 4),
            false => rest.find(|c: char| !c.is_alphanumeric() && c != '_'),
        };
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()).max(first.len_utf8()));
        if !is_comment && !first.is_whitespace() {
            tokens.push((token, line));
        }
        line += token.matches('\n').count();
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_needs_is_allowed() {
        let kernel = "/* \"asm\", 'x' */ #define T 16 // goto \\ here\n#pragma unroll\n#if T > 8\n#endif\nextern \"C\" __global__ \
                      void\nf(float* y, int n) {\n    extern __shared__ float s[]; // it's\n    __syncthreads();\n    \
                      if (n % 2 == 0 ? true : false) y[a[threadIdx.x]] = gridDim.x / 2;\n}\n";
        assert_eq!(refused(kernel), None);
        assert_eq!(refused(&kernel.replace('\n', "\r\n")), None);
    }

    #[test]
    fn what_leaves_the_grid_is_refused_with_its_line() {
        let odd = "\\ at the end, or a control character";
        for (line, what, code) in [
            (1, "#include", "# include <cstdio>"),
            (2, "#include", "/* a\n */ #include \"x\""),
            (1, "%:", "%: include <cstdio>"),
            (1, "#pragma", "#pragma weak f"),
            (1, "##", "#define P(a, b) a##b"),
            (1, "__asm__", "__asm__(\"\");"),
            (1, "asm", "a /*//*/ asm"),
            (2, "gnu", "[\n[gnu::constructor]] void f();"),
            (1, "extern", "extern \"C\" int system(const char*);"),
            (1, "extern", "extern \"C\" __global__ void exit(int);"),
            (1, "extern", "extern \"C\" __global__ void f(int a=[]{}()),e();"),
            (1, "\"", "void f(const char* s = \"/*\"); goto out; // */"),
            (1, "'", "int a = '//'; goto out;"),
            (1, odd, "// \\\n/*\ngoto out;\n// */"),
            (1, odd, "// \rgoto out;"),
            (1, "\\", "a\\u0073m"),
            (1, "grid_trap", "grid_trap();"),
        ] {
            assert_eq!(refused(code), Some((line, what.to_owned())), "{code}");
        }
    }
}
