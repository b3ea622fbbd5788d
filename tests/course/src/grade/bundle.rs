//! Groups the files of a submission by the folders that enclose them, and chooses those that count.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{
    placed::Place,
    sources::{Files, Taken},
};
use crate::{late::instant, marks::clean, submission::Submission as Paper};

/// Maximum number of left-out entries that are listed.
const NAMED: usize = 50;

/// All files that were read.
#[derive(Default)]
pub struct Bundles {
    /// By the path of the enclosing folder.
    all: BTreeMap<String, Bundle>,
    left_out: Vec<String>,
    more_left_out: usize,
    /// Why archives could not be read.
    damaged: Vec<String>,
}

/// Files that belong together, because one folder of one archive encloses them.
#[derive(Default)]
struct Bundle {
    lessons: BTreeMap<String, Files>,
    /// Files that do not name their lesson.
    bare: Files,
    packed: Option<u64>,
    date: Option<u64>,
}

impl Bundles {
    /// Leaves an entry out, which is reported once.
    pub fn leave_out(&mut self, path: &str, why: &str) {
        let line = format!("{}: {why}", path.chars().take(200).collect::<String>());
        if self.left_out.len() >= NAMED {
            self.more_left_out += 1;
        } else if !self.left_out.contains(&line) {
            self.left_out.push(line);
        }
    }

    /// Reports an archive that could not be read.
    pub fn damage(&mut self, why: String) {
        self.damaged.push(why);
    }

    /// Forgets what was read within a folder.
    pub fn forget(&mut self, within: &str) {
        self.all.retain(|root, _| !root.starts_with(within));
    }

    /// Keeps the text of an entry.
    pub fn keep(&mut self, path: &str, place: Place, text: String, date: Option<u64>) {
        let (root, file, lesson) = match place {
            Place::Paper { root } => {
                let paper: Option<Paper> = toml::from_str(&text).ok();
                let packed = paper.and_then(|p| instant(&p.packed).ok());
                self.all.entry(root).or_default().packed = packed;
                return;
            }
            Place::Source { root, lesson, file } => (root, file, Some(lesson)),
            Place::Bare { root, file } => (root, file, None),
        };
        let bundle = self.all.entry(root).or_default();
        bundle.date = bundle.date.max(date);
        let files = match lesson {
            Some(lesson) => bundle.lessons.entry(lesson.to_owned()).or_default(),
            None => &mut bundle.bare,
        };
        match files.entry(file) {
            Entry::Vacant(free) => {
                free.insert(text);
            }
            Entry::Occupied(_) => self.leave_out(path, "it occurs twice; the first one counts"),
        }
    }

    /// Chooses the files that count: if a lesson occurs several times, those that were packed last.
    pub fn choose(mut self, lesson: Option<&str>) -> Result<Taken, String> {
        self.place_bare(lesson);
        let mut taken = Taken::default();
        let mut by_lesson: BTreeMap<&String, Vec<(&String, &Bundle)>> = BTreeMap::new();
        for (root, bundle) in &self.all {
            for lesson in bundle.lessons.keys() {
                by_lesson.entry(lesson).or_default().push((root, bundle));
            }
        }
        for (lesson, mut from) in by_lesson {
            from.sort_by_key(|(_, bundle)| bundle.packed);
            let Some((last, older)) = from.split_last() else {
                continue;
            };
            let other = older
                .iter()
                .find(|(_, b)| b.lessons[lesson] != last.1.lessons[lesson]);
            if let Some(other) = other {
                if other.1.packed.is_none() || other.1.packed == last.1.packed {
                    let [a, b] =
                        [other.0, last.0].map(|root| if root.is_empty() { "its top folder" } else { root });
                    return Err(format!(
                        "{a} and {b} contain different versions of lesson {lesson}, and neither says when it was packed"
                    ));
                }
                let line = format!(
                    "lesson {lesson} of {}: packed before the one that counts",
                    other.0
                );
                self.left_out.push(line);
            }
            taken.times[1] = taken.times[1].max(last.1.packed);
            taken.times[2] = taken.times[2].max(last.1.date);
            taken
                .lessons
                .insert(lesson.clone(), last.1.lessons[lesson].clone());
        }
        if taken.lessons.is_empty() {
            return Err(self.nothing());
        }
        let damaged = self.damaged.iter().map(|why| format!("{why} (another was read)"));
        taken.left_out = self
            .left_out
            .iter()
            .cloned()
            .chain(damaged)
            .map(|l| shown(&l))
            .collect();
        if self.more_left_out > 0 {
            taken.left_out.push(format!("and {} more", self.more_left_out));
        }
        Ok(taken)
    }

    /// Assigns files that do not name their lesson to the one that their first comment or `lesson` names. They count
    /// only if there is nothing else, because a submission may contain other Rust files.
    fn place_bare(&mut self, lesson: Option<&str>) {
        let others = self.all.values().any(|b| !b.lessons.is_empty());
        for (root, bundle) in &mut self.all {
            let mut bare = std::mem::take(&mut bundle.bare);
            if bare.len() == 1
                && let Some((_, only)) = bare.pop_first()
            {
                bare.insert("lib.rs".into(), only);
            }
            let named = bare.get("lib.rs").and_then(|text| lesson_in(text)).or(lesson);
            match named {
                Some(named) if !others => {
                    bundle.lessons.insert(named.to_owned(), bare);
                }
                _ => {
                    let why = match others {
                        true => "only src/**.rs of a lesson is taken",
                        false => "it does not name its lesson; name the lesson with --lesson",
                    };
                    let lines = bare.keys().map(|file| format!("{root}{file}: {why}"));
                    self.left_out.extend(lines);
                }
            }
        }
    }

    /// Why there is nothing to grade in it.
    fn nothing(&self) -> String {
        let mut why = self.damaged.clone();
        if why.is_empty() {
            why.push("there is no exercises/lessonNN/src/lib.rs in it".into());
            why.extend(self.left_out.iter().take(3).cloned());
        }
        shown(&why.join("; "))
    }
}

/// Printable text: names come from students.
fn shown(line: &str) -> String {
    clean::line(line)
}

/// The lesson that the stub's first comment names: `//! Lesson 01: …`.
fn lesson_in(text: &str) -> Option<&str> {
    let number = text
        .lines()
        .take(20)
        .find_map(|l| l.trim_start_matches('\u{feff}').strip_prefix("//! Lesson "))?;
    let number = number.get(..2)?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
}
