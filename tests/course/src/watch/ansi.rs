//! Converts text with the colour codes of a terminal to lines, and wraps lines.

use ratatui::{
    style::{Color, Modifier, Style},
    text::{Line, Span},
};

/// Parses `text` with colours (SGR codes) as styles. Other codes are removed, and tabs become four spaces.
pub fn lines(text: &str) -> Vec<Line<'static>> {
    let mut style = Style::new();
    text.lines().map(|line| one(line, &mut style)).collect()
}

fn one(line: &str, style: &mut Style) -> Line<'static> {
    let (mut spans, mut run) = (Vec::new(), String::new());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => {
                let Some((codes, end)) = code(&mut rest) else {
                    continue;
                };
                if !run.is_empty() {
                    spans.push(Span::styled(std::mem::take(&mut run), *style));
                }
                if end == 'm' {
                    *style = paint(*style, &codes);
                }
            }
            '\t' => run.push_str("    "),
            c if c.is_control() => {}
            c => run.push(c),
        }
    }
    if !run.is_empty() {
        spans.push(Span::styled(run, *style));
    }
    Line::from(spans)
}

/// Parses the numbers and the final letter of a code such as `[1;31m`.
fn code(rest: &mut std::str::Chars) -> Option<(Vec<u8>, char)> {
    let mut ahead = rest.clone();
    if ahead.next() != Some('[') {
        return None;
    }
    let mut numbers = String::new();
    for c in ahead.by_ref() {
        if c.is_ascii_alphabetic() {
            *rest = ahead;
            let codes = numbers.split(';').map(|n| n.parse().unwrap_or(0));
            return Some((codes.collect(), c));
        }
        numbers.push(c);
    }
    None
}

fn paint(style: Style, codes: &[u8]) -> Style {
    match codes {
        [38, 5, n, rest @ ..] => paint(style.fg(colour(*n)), rest),
        [48, 5, n, rest @ ..] => paint(style.bg(colour(*n)), rest),
        [0, rest @ ..] => paint(Style::new(), rest),
        [1, rest @ ..] => paint(style.add_modifier(Modifier::BOLD), rest),
        [2, rest @ ..] => paint(style.add_modifier(Modifier::DIM), rest),
        [4, rest @ ..] => paint(style.add_modifier(Modifier::UNDERLINED), rest),
        [n @ 30..=37, rest @ ..] => paint(style.fg(colour(n - 30)), rest),
        [n @ 90..=97, rest @ ..] => paint(style.fg(colour(n - 82)), rest),
        [_, rest @ ..] => paint(style, rest),
        [] => style,
    }
}

/// The sixteen colours of the terminal's palette by name, the others by number.
fn colour(n: u8) -> Color {
    use Color::*;
    let named = [
        Black,
        Red,
        Green,
        Yellow,
        Blue,
        Magenta,
        Cyan,
        Gray,
        DarkGray,
        LightRed,
        LightGreen,
        LightYellow,
        LightBlue,
        LightMagenta,
        LightCyan,
        White,
    ];
    named.get(usize::from(n)).copied().unwrap_or(Indexed(n))
}

/// Wraps lines between words to `width` columns, indented to the text right of a label. Lines of source text (in a
/// compiler's message) are cut instead, so that the marks below them stay aligned.
pub fn broken(lines: Vec<Line<'static>>, width: usize) -> Vec<Line<'static>> {
    lines
        .into_iter()
        .flat_map(|line| break_one(line, width.max(8)))
        .collect()
}

fn break_one(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    let letters: Vec<(char, Style)> = line
        .spans
        .iter()
        .flat_map(|s| s.content.chars().map(|c| (c, s.style)).collect::<Vec<_>>())
        .collect();
    let wide = |c: char| ratatui::text::Span::raw(c.to_string()).width();
    if letters.iter().map(|(c, _)| wide(*c)).sum::<usize>() <= width {
        return vec![line];
    }
    let text: String = letters.iter().map(|(c, _)| *c).collect();
    if is_source(&text) {
        let mut cut: Vec<(char, Style)> = letters.into_iter().take(width - 1).collect();
        cut.push(('…', Style::new()));
        return vec![joined(&cut)];
    }
    let indent = indent(&text).min(width / 2);
    let (mut out, mut row, mut used) = (Vec::new(), Vec::new(), 0);
    for (at, &(c, style)) in letters.iter().enumerate() {
        // A word that does not fit starts a new line, if it is not longer than one.
        let begins = c != ' ' && at > 0 && letters[at - 1].0 == ' ';
        let word: usize = letters[at..]
            .iter()
            .take_while(|(c, _)| *c != ' ')
            .map(|(c, _)| wide(*c))
            .sum();
        if used + wide(c) > width || begins && used + word > width && word <= width - indent {
            out.push(joined(&row));
            row = vec![(' ', Style::new()); indent];
            used = indent;
            if c == ' ' {
                continue;
            }
        }
        row.push((c, style));
        used += wide(c);
    }
    out.push(joined(&row));
    out
}

/// Column of the text after a label, as in `    expected  1.5`.
fn indent(text: &str) -> usize {
    let lead = text.chars().take_while(|c| *c == ' ').count();
    let words: Vec<char> = text.chars().skip(lead).collect();
    let label = words.iter().take_while(|c| **c != ' ').count();
    let gap = words[label..].iter().take_while(|c| **c == ' ').count();
    // One space separates words, except after a label of nine letters.
    let labelled = lead == 4 && label <= 9 && label + gap == 10;
    if labelled { lead + 10 } else { lead }
}

/// Whether a line of a compiler's message has a margin: `12 |     let x = 1;`, `   | ^^^`, `  --> file`.
fn is_source(text: &str) -> bool {
    let text = text
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start();
    text.starts_with("| ")
}

fn joined(letters: &[(char, Style)]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for &(c, style) in letters {
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push(c),
            _ => spans.push(Span::styled(c.to_string(), style)),
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_styles_and_other_codes_are_removed() {
        let got = lines("a\x1b[1m\x1b[38;5;9merror\x1b[0m: b\x1b[2K\tc\n\x1b[31mred\nstill\x1b[0m");
        assert_eq!(got.len(), 3);
        let bold_red = Style::new().fg(Color::LightRed).add_modifier(Modifier::BOLD);
        assert_eq!(got[0].spans[1], Span::styled("error", bold_red));
        assert_eq!(got[0].to_string(), "aerror: b    c");
        assert_eq!(got[2].spans[0].style.fg, Some(Color::Red));
        assert_eq!(lines("cut \x1b[3").len(), 1);
    }

    #[test]
    fn broken_lines_fit_and_keep_their_column() {
        let text = "    likely    the bias is added once for each input and not once for the neuron";
        let got = broken(lines(text), 40);
        assert_eq!(got.len(), 3);
        for (i, line) in got.iter().enumerate() {
            let line = line.to_string();
            assert!(line.trim_end().chars().count() <= 40, "{line}");
            assert!(
                i == 0 || line.starts_with(&" ".repeat(14)) && !line.starts_with(&" ".repeat(15)),
                "{line}"
            );
        }
        let words: Vec<String> = got.iter().map(|l| l.to_string().trim().to_owned()).collect();
        assert_eq!(words.join(" "), text.trim());
    }

    #[test]
    fn a_word_longer_than_the_screen_is_cut_into_parts_and_source_is_cut_off() {
        let long = "x".repeat(100);
        let got = broken(lines(&long), 30);
        assert_eq!(
            got.iter().map(|l| l.width()).collect::<Vec<_>>(),
            [30, 30, 30, 10]
        );
        let got = broken(lines(&format!("12 | {long}\n   | {long}")), 30);
        assert_eq!((got.len(), got[0].width()), (2, 30));
    }
}
