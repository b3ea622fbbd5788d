//! Letters that a PDF's standard fonts have, beyond ASCII: each with the name of its glyph, and the ASCII letter that
//! is as wide.

/// Accents: the end of the glyphs' names, and pairs of a letter and its base. Not Ț: readers draw its glyph, which by name
/// is the same, with a cedilla.
const ACCENTS: [(&str, &str); 14] = [
    ("acute", "ÁAÉEÍIÓOÚUÝYáaéeíióoúuýyĆCćcŃNńnŚSśsŹZźzĹLĺlŔRŕr"),
    ("grave", "ÀAÈEÌIÒOÙUàaèeìiòoùu"),
    ("circumflex", "ÂAÊEÎIÔOÛUâaêeîiôoûu"),
    ("dieresis", "ÄAËEÏIÖOÜUŸYäaëeïiöoüuÿy"),
    ("tilde", "ÃAÑNÕOãañnõo"),
    ("ring", "ÅAåaŮUůu"),
    ("cedilla", "ÇCçcŞSşs"),
    ("caron", "ČCčcĎDďdĚEěeŇNňnŘRřrŠSšsŤTťtŽZžzĽLľl"),
    ("ogonek", "ĄAąaĘEęeĮIįiŲUųu"),
    ("macron", "ĀAāaĒEēeĪIīiŌOōoŪUūu"),
    ("breve", "ĂAăaĞGğg"),
    ("dotaccent", "ŻZżzĖEėeİI"),
    ("hungarumlaut", "ŐOőoŰUűu"),
    ("commaaccent", "ĢGģgĶKķkĻLļlŅNņnŖRŗrȘSșs"),
];

const OTHERS: [(char, &str, char); 30] = [
    ('Ł', "Lslash", 'L'),
    ('ł', "lslash", 'l'),
    ('Đ', "Dcroat", 'D'),
    ('đ', "dcroat", 'd'),
    ('Ø', "Oslash", 'O'),
    ('ø', "oslash", 'o'),
    ('Æ', "AE", 'W'),
    ('æ', "ae", 'm'),
    ('Œ', "OE", 'W'),
    ('œ', "oe", 'm'),
    ('ß', "germandbls", 'u'),
    ('Ð', "Eth", 'D'),
    ('ð', "eth", 'o'),
    ('Þ', "Thorn", 'P'),
    ('þ', "thorn", 'p'),
    ('ı', "dotlessi", 'i'),
    ('·', "periodcentered", '.'),
    ('–', "endash", '0'),
    ('—', "emdash", 'W'),
    ('‘', "quoteleft", '.'),
    ('’', "quoteright", '.'),
    ('“', "quotedblleft", 'r'),
    ('”', "quotedblright", 'r'),
    ('…', "ellipsis", 'W'),
    ('×', "multiply", '+'),
    ('°', "degree", '*'),
    ('«', "guillemotleft", '0'),
    ('»', "guillemotright", '0'),
    ('¿', "questiondown", '?'),
    ('¡', "exclamdown", '!'),
];

/// The glyph of a letter beyond ASCII.
pub fn glyph(letter: char) -> Option<(String, char)> {
    if let Some((_, name, wide)) = OTHERS.iter().find(|(c, ..)| *c == letter) {
        return Some(((*name).into(), *wide));
    }
    ACCENTS.iter().find_map(|(accent, pairs)| {
        let letters: Vec<char> = pairs.chars().collect();
        let pair = letters.chunks_exact(2).find(|p| p[0] == letter)?;
        Some((format!("{}{accent}", pair[1]), pair[1]))
    })
}

/// Thousandths of the font's size from ` ` to `~`, in Helvetica and Helvetica-Bold: Adobe's metrics of the fonts that
/// every reader of PDF has.
const WIDTHS: [[u16; 95]; 2] = [
    [
        278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
        556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
        722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
        278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
        556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
    ],
    [
        278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
        556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778,
        722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333,
        278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611,
        611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
    ],
];

/// How wide a text is, in units of the font's size.
pub fn width(text: &str, bold: bool) -> f32 {
    let of = |c: char| {
        let c = glyph(c).map_or(c, |(_, wide)| wide);
        let at = (c as usize).wrapping_sub(' ' as usize);
        f32::from(*WIDTHS[usize::from(bold)].get(at).unwrap_or(&556))
    };
    text.chars().map(of).sum::<f32>() / 1000.0
}
