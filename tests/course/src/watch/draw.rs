//! Draws the screen: two lines for lesson and exercises, the verdict or a panel, the keys. From 40 × 12 characters up.

use std::time::Instant;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, BorderType, Clear, Padding, Paragraph},
};

use super::{
    ansi, pages, panels,
    state::{Check, Panel, Watch},
};

/// Colours of the terminal's palette, which suit light and dark terminals; none if `NO_COLOR` is set.
#[derive(Clone, Copy)]
pub struct Theme {
    pub colour: bool,
}

impl Theme {
    fn of(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    pub fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn accent(self) -> Style {
        self.of(Color::Cyan)
    }

    /// Style of a state of progress.
    pub fn state(self, word: &str) -> Style {
        self.of(match word {
            "right" => Color::Green,
            "wrong" => Color::Red,
            "not run" => Color::Yellow,
            _ => Color::Blue,
        })
    }

    /// Removes all colours if the theme has none.
    pub fn plain(self, mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        for span in lines
            .iter_mut()
            .flat_map(|l| &mut l.spans)
            .filter(|_| !self.colour)
        {
            (span.style.fg, span.style.bg) = (None, None);
        }
        lines
    }
}

/// Sign of a state of progress, one column wide.
pub fn sign(word: &str) -> &'static str {
    match word {
        "right" => "✓",
        "wrong" => "✗",
        "not run" => "–",
        _ => "·",
    }
}

pub fn draw(frame: &mut Frame, watch: &mut Watch, theme: Theme, now: Instant) {
    let area = frame.area();
    if area.width < 20 || area.height < 6 {
        frame.render_widget(Paragraph::new("This window is too small."), area);
        return;
    }
    let roomy = area.height >= 16;
    let rows = [
        Constraint::Length(2),
        Constraint::Length(u16::from(roomy)),
        Constraint::Min(2),
        Constraint::Length(u16::from(roomy)),
        Constraint::Length(1),
    ];
    let [top, rule, body, foot, keys] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(head(watch, theme, top.width.into())), top);
    frame.render_widget(
        Paragraph::new(strip(watch, theme, top.width.into())),
        Rect {
            y: top.y + 1,
            height: 1,
            ..top
        },
    );
    frame.render_widget(
        Paragraph::new("─".repeat(rule.width.into())).style(theme.faint()),
        rule,
    );
    // A wide window shows a panel beside the verdict, a narrow one instead of it.
    let (verdict, panel) = match watch.panel {
        Panel::None | Panel::Reset => (Some(body), None),
        _ if body.width >= 120 => {
            let [a, b] =
                Layout::horizontal([Constraint::Fill(1), Constraint::Length(84.min(body.width / 2))])
                    .areas(body);
            (Some(a), Some(b))
        }
        _ => (None, Some(body)),
    };
    if let Some(area) = verdict {
        let inner = Rect {
            x: area.x + 1,
            width: area.width.saturating_sub(2).min(100),
            ..area
        };
        let lines = pages::verdict(watch, theme, inner.width.into(), roomy, now);
        let scroll = if panel.is_some() { 0 } else { watch.scroll };
        let scroll = scrolled(frame, lines, inner, scroll, theme);
        if panel.is_none() {
            watch.scroll = scroll;
        }
    }
    if let Some(area) = panel {
        let block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(theme.accent())
            .title(Span::styled(format!(" {} ", panels::title(watch)), theme.bold()))
            .padding(Padding::horizontal(1));
        let inner = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let (lines, follow) = panels::panel(watch, theme, inner.width.into());
        if let Some(row) = follow {
            watch.scroll = follow_row(watch.scroll, row, inner.height.into());
        }
        watch.scroll = scrolled(frame, lines, inner, watch.scroll, theme);
    }
    let has_message = watch.panel == Panel::Reset || !watch.note.is_empty();
    let line = pages::foot(watch, theme, foot.width.into());
    match (roomy, has_message) {
        (true, _) => {
            frame.render_widget(Paragraph::new(line), foot);
            frame.render_widget(Paragraph::new(pages::keys(watch, theme, keys.width.into())), keys);
        }
        // In a low window a question or a message replaces the keys.
        (false, true) => frame.render_widget(Paragraph::new(line), keys),
        (false, false) => {
            frame.render_widget(Paragraph::new(pages::keys(watch, theme, keys.width.into())), keys)
        }
    }
}

/// Scrolls as little as possible so that `row` is within the `height` visible rows.
fn follow_row(scroll: usize, row: usize, height: usize) -> usize {
    scroll.min(row).max((row + 1).saturating_sub(height))
}

/// Draws scrolled lines, with a mark if more follow, and returns `scroll` clamped to its bounds.
fn scrolled(frame: &mut Frame, lines: Vec<Line<'static>>, area: Rect, scroll: usize, theme: Theme) -> usize {
    let lines = ansi::broken(theme.plain(lines), area.width.into());
    let height = usize::from(area.height);
    let scroll = scroll.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(scroll + height);
    let shown: Vec<Line> = lines.into_iter().skip(scroll).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
    if below > 0 && area.width > 12 {
        let mark = format!(" ↓ {below} more ");
        let wide = mark.chars().count() as u16;
        let corner = Rect {
            x: area.right() - wide,
            y: area.bottom() - 1,
            width: wide,
            height: 1,
        };
        frame.render_widget(Clear, corner);
        frame.render_widget(Paragraph::new(mark).style(theme.accent()), corner);
    }
    scroll
}

/// First line: lesson and points.
fn head(watch: &Watch, theme: Theme, width: usize) -> Line<'static> {
    let m = &watch.lesson().manifest;
    let (points, of) = watch.points();
    let end = if width < 60 {
        format!("{points}/{of} ")
    } else {
        format!("{points} of {of} points ")
    };
    let begin = if width < 60 {
        " ".to_owned()
    } else {
        " Lesson ".to_owned()
    };
    let title = format!("{begin}{} · {}", m.lesson, m.title);
    ends(
        vec![Span::styled(title, theme.bold())],
        vec![Span::styled(end, theme.accent())],
        width,
    )
}

/// Second line: the lesson's exercises with their states, the current one reversed.
fn strip(watch: &Watch, theme: Theme, width: usize) -> Line<'static> {
    let exercises = &watch.lesson().manifest.exercises;
    let long = |each: usize| exercises.iter().map(|e| e.id.len() + each).sum::<usize>() < width;
    // If not all fit, show those around the current one.
    let (gap, near) = match (long(5), long(3)) {
        (true, _) => (" ", usize::MAX),
        (_, true) => ("", usize::MAX),
        _ => ("", (width / 14).max(1)),
    };
    let mut spans = vec![Span::raw(" ")];
    for (at, e) in exercises
        .iter()
        .enumerate()
        .filter(|(at, _)| at.abs_diff(watch.at.1) <= near)
    {
        let word = watch.progress.state(&e.id);
        let (mut style, mut sign) = (theme.state(word), sign(word));
        if at == watch.at.1 {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        } else if watch.unchecked && word != "to do" {
            (style, sign) = (theme.faint(), "?");
        }
        spans.push(Span::styled(format!("{gap}{} {sign}{gap}", e.id), style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

/// A line with one text at each end; the first is cut if necessary.
pub fn ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let available = width.saturating_sub(right.iter().map(Span::width).sum::<usize>() + 1);
    let (mut spans, mut used) = (Vec::new(), 0);
    for span in left {
        let mut text = span.content.into_owned();
        if used + Span::raw(text.as_str()).width() > available {
            text = text
                .chars()
                .take(available.saturating_sub(used + 1))
                .chain(['…'])
                .collect();
        }
        used += Span::raw(text.as_str()).width();
        spans.push(Span::styled(text, span.style));
        if used >= available {
            break;
        }
    }
    spans.push(Span::raw(" ".repeat((available + 1).saturating_sub(used))));
    spans.extend(right);
    Line::from(spans)
}

/// While a check runs: the sign of the spinner and the seconds so far.
pub fn turning(watch: &Watch, now: Instant) -> Option<(char, f64)> {
    let Check::Running(since) = watch.check else {
        return None;
    };
    let took = now.saturating_duration_since(since).as_secs_f64();
    let signs = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    Some((signs[(took * 10.0) as usize % signs.len()], took))
}
