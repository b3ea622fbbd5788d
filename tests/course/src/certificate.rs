//! `cargo course certificate`: a page which states that a student took part in some lessons, or won all their points. ssh-keygen
//! signs it.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use grader::{
    Manifest,
    grades::{Grade, Status},
};
use minijinja::{Value, context, value::Serde};

use crate::{
    capstone::Board,
    lessons::{self, Lesson},
    marks::{clean, put, render},
};

/// Options of `cargo course certificate`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo course certificate graded/anna --lessons 01,02 --name \"Anna Müller\" --out certificates/anna\n  \
    ssh-keygen -Y sign -n canopy -f instructor.key certificates/anna/certificate.html"
)]
pub struct Options {
    /// Folder of a graded submission
    #[arg(value_name = "DIR/SUBMISSION")]
    dir: PathBuf,
    /// Lessons to certify, such as `01,02`
    #[arg(long, value_name = "NN,…", value_delimiter = ',', required = true)]
    lessons: Vec<String>,
    /// Certify that the student took part, with the points won, instead of all points
    #[arg(long)]
    participation: bool,
    /// Also state the place and the score in a race: the board.json of `cargo course capstone score`
    #[arg(long, value_name = "FILE")]
    capstone: Option<PathBuf>,
    /// Student's name, as it is printed on the certificate [default: the name in the grade]
    #[arg(long)]
    name: Option<String>,
    /// Folder for certificate.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Writes the certificate.
///
/// # Errors
/// Returns an error if points are missing, the grade cannot be read, a lesson does not exist, the name cannot be printed, or
/// the file cannot be written.
pub fn run(lessons: &[Lesson], options: &Options) -> Result<()> {
    let grade = Grade::load(&options.dir.join("grade.json"))?;
    let chosen = options.lessons.iter();
    let chosen = chosen.map(|n| Ok(&lessons::lesson(lessons, n)?.manifest));
    let mut chosen: Vec<&Manifest> = chosen.collect::<Result<_>>()?;
    chosen.sort_by_key(|m| &m.lesson);
    chosen.dedup_by_key(|m| &m.lesson);
    let name = options.name.as_ref().unwrap_or(&grade.origin.student.name);
    let board = options.capstone.as_deref().map(Board::load).transpose()?;
    let race = board.map(|board| board.line(&grade.submission)).transpose()?;
    let page = page(name.trim(), &chosen, &grade, race, options.participation)?;
    let path = options.out.join("certificate.html");
    put(&path, page)?;
    let path = path.display();
    println!("{path}\n\nTo sign it with a key of ssh-keygen, in {path}.sig:");
    println!("  ssh-keygen -Y sign -n canopy -f KEY {path}");
    Ok(())
}

/// The page, which prints on one sheet of A4, landscape. The points of an exercise must be the same in the course and in
/// the grade.
fn page(
    name: &str,
    chosen: &[&Manifest],
    grade: &Grade,
    race: Option<String>,
    took_part: bool,
) -> Result<String> {
    ensure!(grade.status == Status::Graded, "the submission was not graded");
    let mut missing = String::new();
    for e in chosen.iter().flat_map(|m| &m.exercises) {
        let own = grade.exercises().find(|own| own.id == e.id);
        let (points, of) = own.map_or((0, e.points), |own| (own.points, own.of));
        if of != e.points || (points < of && !took_part) {
            missing += &format!("\n  {} {}: {points} of {of} points", e.id, e.title);
        }
        if of != e.points {
            missing += &format!(", but now it has {}: grade again", e.points);
        }
    }
    ensure!(
        missing.is_empty(),
        "points are missing; --participation certifies without them:{missing}"
    );
    ensure!(
        !name.is_empty(),
        "the grade does not contain the student's name; give it with --name"
    );
    // A name with other characters could imitate another name, or another line.
    ensure!(
        clean::cut(name, 200) == name,
        "a name on a certificate must have at most 200 characters, all printable, unlike {}",
        clean::cut(name, 200)
    );
    let lesson = |m: &&Manifest| {
        let own = grade.exercises().filter(|own| m.exercise(&own.id).is_some());
        let won: u32 = own.map(|own| own.points).sum();
        context! { number => &*m.lesson, title => &*m.title, points => m.points(), won }
    };
    let lessons: Vec<Value> = chosen.iter().map(lesson).collect();
    let date = jiff::Timestamp::now().strftime("%F").to_string();
    let (course, submission) = (Serde(&grade.course), &grade.digest);
    let page = context! { name, date, course, submission, lessons, race, took_part };
    render(include_str!("certificate.html"), page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::tests::graded;

    #[test]
    fn only_all_points_are_certified_and_the_page_escapes_the_name() {
        let lesson = |points: u32| {
            let text = "lesson = \"01\"\ntitle = \"A lesson\"\nminutes = 1\nchapter = \"c\"\n[[exercise]]\n\
                id = \"1.2\"\ntitle = \"T\"\nfunction = \"f\"\nsolution = \"s\"\nanswer = \"f\"\nhints = [\"\", \"\", \"\"]\n";
            Manifest::parse(&format!("{text}points = {points}\n")).unwrap()
        };
        let [anna, ben, mut refused] = [2, 1, 2].map(|won| graded("x", won));
        refused.status = Status::Refused;
        for (grade, points, name, expected) in [
            (&ben, 3, "Ben", "\n  1.2 T: 0 of 3 points"),
            // The exercise has fewer points in the grade than in the course.
            (&anna, 4, "Anna", "3 of 3 points, but now it has 4: grade"),
            (&refused, 3, "Anna", "was not graded"),
            (&anna, 3, "", "--name"),
            (&anna, 3, "Anna\u{202e}", "all printable, unlike Anna\\u{202e}"),
        ] {
            let error = page(name, &[&lesson(points)], grade, None, false).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(page("Ben", &[&lesson(4)], &ben, None, true).is_err());
        let participation = page("Ben", &[&lesson(3)], &ben, None, true).unwrap();
        assert!(participation.contains("took part in") && participation.contains("0 of 3 points"));
        let page = page(
            "<b>\"x\" & 'y'",
            &[&lesson(3)],
            &anna,
            Some("place 1".into()),
            false,
        )
        .unwrap();
        for part in ["&lt;b&gt;", "all 3 points", "Lesson 01: A lesson", "place 1"] {
            assert!(page.contains(part) && !page.contains("<b>"), "{part}: {page}");
        }
    }
}
