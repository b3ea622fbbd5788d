//! The minutes that the book and `cargo course` state are counted: an experiment takes 15, a point of an exercise 10, and 200
//! words are read in one.

use std::{collections::BTreeMap, fs, path::Path};

/// The words that a page shows, without included code and results.
fn words(page: &str) -> usize {
    let mut shown = String::new();
    for (i, part) in page.split('<').enumerate() {
        let is_tag = i > 0 && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        match part.split_once('>') {
            Some((_, text)) if is_tag => shown += text,
            _ => shown += part,
        }
    }
    shown.split_whitespace().count()
}

/// Minutes to read `words` and, in a lesson, to do exercises of `points` and the experiment: whole tens, but 5 at least.
fn minutes(words: usize, points: Option<i64>) -> i64 {
    let work = points.map_or(0, |points| 10 * points + 15);
    ((words as f64 / 2000.0 + work as f64 / 10.0).round() as i64 * 10).max(5)
}

/// The chapters that a row of a table links.
fn links(row: &str) -> Vec<&str> {
    let ends = row.split("](").skip(1).filter_map(|part| part.split(')').next());
    ends.filter(|link| link.ends_with(".md")).collect()
}

/// The numbers in a cell that add up to its value.
fn numbers(cell: &str) -> Vec<i64> {
    cell.split('+')
        .filter_map(|number| number.trim().parse().ok())
        .collect()
}

/// The sum of the numbers in parentheses, such as `04 (190)`.
fn in_parentheses(cell: &str) -> i64 {
    let starts = cell.split('(').skip(1);
    starts
        .filter_map(|part| part.split(')').next()?.parse::<i64>().ok())
        .sum()
}

#[test]
fn stated_minutes_are_counted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let page = |name: &str| fs::read_to_string(root.join("book/src").join(name)).unwrap();
    // A row of the introduction links a lesson's chapter, and the pages to read with it.
    let introduction = page("introduction.md");
    let (mut counted, mut core, mut choices, mut all) = (BTreeMap::new(), 0, 0, 0);
    for row in introduction.lines().filter(|line| line.starts_with("| [")) {
        let pages = links(row);
        let stated = numbers(row.split('|').nth(3).unwrap())[0];
        let words = pages.iter().map(|name| words(&page(name))).sum();
        let mut expected = minutes(words, None);
        let number = &pages[0][..2];
        let file = format!("lessons/lesson{number}/lesson.toml");
        if let Ok(text) = fs::read_to_string(root.join(&file)) {
            let manifest: toml::Table = text.parse().unwrap();
            let exercises = manifest["exercise"].as_array().unwrap();
            let points = exercises.iter().map(|e| e["points"].as_integer().unwrap()).sum();
            expected = minutes(words, Some(points));
            let count = format!("{words} words and {points} points are {expected} minutes");
            assert_eq!(
                manifest["minutes"].as_integer(),
                Some(expected),
                "{file}: {count}"
            );
            let chapter = page(pages[0]).split_whitespace().collect::<Vec<_>>().join(" ");
            let head = format!("about {expected} minutes");
            assert!(chapter.contains(&head), "{}: {count}; write: {head}", pages[0]);
            *if number <= "08" { &mut core } else { &mut choices } += expected;
        } else if number == "00" {
            // Its installations and first builds are not counted.
            expected = stated;
        }
        assert_eq!(stated, expected, "introduction.md: {row} of {words} words");
        counted.insert(pages[0].to_owned(), expected);
        all += expected;
    }
    assert_eq!(counted.len(), 16, "rows of the introduction");
    let hours = format!("{:.0} hours in all", all as f64 / 60.0);
    assert!(
        introduction.contains(&hours),
        "introduction.md: {all} minutes are {hours}"
    );

    let timetables = page("instructors-timetables.md");
    let mut listed = 0;
    for row in timetables.lines().filter(|line| line.starts_with("| [")) {
        let stated = numbers(row.split('|').nth(2).unwrap());
        let expected: Vec<i64> = links(row)
            .iter()
            .filter_map(|page| counted.get(*page))
            .copied()
            .collect();
        assert_eq!(stated, expected, "instructors-timetables.md: {row}");
        listed += expected.len();
    }
    assert_eq!(
        listed,
        counted.len(),
        "chapters in the table of instructors-timetables.md"
    );
    let plain = timetables.split_whitespace().collect::<Vec<_>>().join(" ");
    let [all_hours, core_hours, choice_hours] =
        [core + choices, core, choices].map(|part| part as f64 / 60.0);
    let hours = format!(
        "{all_hours:.1} hours: {core_hours:.1} for the core (lessons 01 to 08), {choice_hours:.1} for the five choices"
    );
    assert!(
        plain.contains(&hours),
        "instructors-timetables.md: write: {hours}"
    );

    // Three days: the head of each column is the sum of its cells.
    let mut days = timetables
        .lines()
        .skip_while(|line| !line.starts_with("| day 1 ("))
        .take(4);
    let heads: Vec<i64> = days.next().unwrap().split('|').map(in_parentheses).collect();
    let mut sums = vec![0; heads.len()];
    for (i, cell) in days.flat_map(|row| row.split('|').enumerate()) {
        sums[i] += in_parentheses(cell);
    }
    assert_eq!(
        heads, sums,
        "instructors-timetables.md: minutes of three days, and the sums of their cells"
    );
    assert!(
        heads.iter().all(|&day| day <= 480),
        "a day has more than 8 hours: {heads:?}"
    );
    let left = core + counted["what-a-gpu-is.md"] - sums.iter().sum::<i64>();
    let rest = format!("The remaining {left} minutes of lesson 08");
    assert!(
        timetables.contains(&rest),
        "instructors-timetables.md: write: {rest}"
    );
}
