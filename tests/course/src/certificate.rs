//! `cargo course certificate`: a page which states that a student won all points of some lessons. ssh-keygen signs it.

use std::{fs, path::PathBuf, process::ExitCode, time::SystemTime};

use anyhow::{Context, Result, ensure};
use grader::grades::{Grade, Status};
use minijinja::{Environment, UndefinedBehavior, context, value::Serde};
use serde::Serialize;

use crate::{
    late,
    lessons::{self, Lesson},
    marks::{clean, put},
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
    /// Student's name, as it is printed on the certificate [default: the name in the grade]
    #[arg(long)]
    name: Option<String>,
    /// Folder for certificate.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// A lesson of which the student won all points.
#[derive(Debug, PartialEq, Serialize)]
struct Won {
    /// `01`.
    number: String,
    title: String,
    points: u32,
}

/// Writes the certificate. If points are missing, prints which, and the exit code is 1.
///
/// # Errors
/// Returns an error if the grade cannot be read, a lesson does not exist, the name cannot be printed, or the file cannot be
/// written.
pub fn run(lessons: &[Lesson], options: &Options) -> Result<ExitCode> {
    let grade = Grade::load(&options.dir.join("grade.json"))?;
    let won = match won(&grade, lessons, &options.lessons)? {
        Ok(won) => won,
        Err(missing) => {
            eprintln!("No certificate, because points are missing:");
            for line in missing {
                eprintln!("  {line}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let name = options.name.as_ref().unwrap_or(&grade.origin.student.name).trim();
    ensure!(
        !name.is_empty(),
        "the grade does not contain the student's name; give it with --name"
    );
    // A name with other characters could imitate another name, or another line.
    ensure!(
        clean::line(name) == name && name.chars().count() <= 200,
        "a name on a certificate must have at most 200 characters, all printable, unlike {}",
        clean::cut(name, 200)
    );
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = late::rfc3339(
        now.context("the clock of this machine is set before 1970")?
            .as_secs(),
    );
    let path = options.out.join("certificate.html");
    fs::create_dir_all(&options.out)
        .with_context(|| format!("{} cannot be created", options.out.display()))?;
    put(&path, page(name, &won, &now[..10], &grade)?)?;
    let path = path.display();
    println!("{path}\n\nTo sign it with a key of ssh-keygen, in {path}.sig:");
    println!("  ssh-keygen -Y sign -n canopy -f KEY {path}");
    Ok(ExitCode::SUCCESS)
}

/// The page, which prints on one sheet of A4, landscape.
fn page(name: &str, won: &[Won], date: &str, grade: &Grade) -> Result<String> {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.add_template("certificate.html", include_str!("certificate.html"))?;
    let (course, submission) = (Serde(&grade.course), &grade.digest);
    let page = context! { name, date, course, submission, lessons => Serde(won) };
    Ok(pages.get_template("certificate.html")?.render(page)?)
}

/// Returns the chosen lessons with their titles and points, or a line for each exercise that lacks points. The points of an
/// exercise are those in the course, not those in the grade.
fn won(grade: &Grade, lessons: &[Lesson], chosen: &[String]) -> Result<Result<Vec<Won>, Vec<String>>> {
    if grade.status != Status::Graded {
        return Ok(Err(vec!["the submission was not graded".into()]));
    }
    let (mut won, mut missing) = (Vec::<Won>::new(), Vec::new());
    for name in chosen {
        let manifest = &lessons::lesson(lessons, name)?.manifest;
        let twice = won.iter().any(|w| w.number == manifest.lesson);
        ensure!(!twice, "lesson {name} is listed twice");
        won.push(Won {
            number: manifest.lesson.clone(),
            title: manifest.title.clone(),
            points: manifest.points(),
        });
        let Some(graded) = grade.lessons.iter().find(|l| l.lesson == manifest.lesson) else {
            missing.push(format!("lesson {} was not graded", manifest.lesson));
            continue;
        };
        for required in &manifest.exercises {
            let found = graded.exercises.iter().find(|e| e.id == required.id);
            let points = found.map_or(0, |e| e.points.min(required.points));
            if found.is_none_or(|e| e.points != e.of) || points != required.points {
                let (id, title, of) = (&required.id, &required.title, required.points);
                missing.push(format!("{id} {title}: {points} of {of} points"));
            }
        }
    }
    Ok(if missing.is_empty() { Ok(won) } else { Err(missing) })
}

#[cfg(test)]
mod tests {
    use grader::grades::{ExerciseGrade, LessonGrade};

    use super::*;

    const LESSON: &str = "lesson = \"01\"\ntitle = \"T\"\nminutes = 1\nchapter = \"c\"\n[[exercise]]\nid = \"1.1\"\n\
        title = \"Double\"\npoints = 2\nfunction = \"f\"\nsolution = \"s\"\nanswer = \"f\"\nhints = []\n[[exercise]]\n\
        id = \"1.2\"\ntitle = \"Halve\"\npoints = 3\nfunction = \"g\"\nsolution = \"s\"\nanswer = \"g\"\nhints = []\n";

    fn grade(points: &[(u32, u32)]) -> Grade {
        let exercises = points
            .iter()
            .zip(["1.1", "1.2"])
            .map(|(&(points, of), id)| ExerciseGrade {
                id: id.into(),
                title: id.into(),
                points,
                of,
                checks: Vec::new(),
                remark: None,
            });
        Grade {
            status: Status::Graded,
            digest: "cd".repeat(32),
            lessons: vec![LessonGrade {
                lesson: "01".into(),
                title: "T".into(),
                stopped: None,
                exercises: exercises.collect(),
            }],
            ..Default::default()
        }
    }

    #[test]
    fn only_all_points_of_a_lesson_are_certified() {
        let lesson = |text: &str| Lesson {
            manifest: grader::Manifest::parse(text).unwrap(),
            stubs: String::new(),
        };
        let lessons = [lesson(LESSON), lesson(&LESSON.replace("\"01\"", "\"02\""))];
        let ask = |grade: &Grade, chosen: &str| won(grade, &lessons, &[chosen.into()]).unwrap();
        let full = grade(&[(2, 2), (3, 3)]);
        assert_eq!(ask(&full, "1").unwrap()[0].points, 5);
        // The grade gives an exercise fewer points than the course, or lacks it.
        for (points, missing) in [
            (&[(2, 2), (0, 3)][..], "1.2 Halve: 0 of 3 points"),
            (&[(2, 2), (1, 1)], "1.2 Halve: 1 of 3 points"),
            (&[(2, 2)], "1.2 Halve: 0 of 3 points"),
        ] {
            assert_eq!(ask(&grade(points), "1").unwrap_err(), [missing]);
        }
        assert_eq!(ask(&full, "2").unwrap_err(), ["lesson 02 was not graded"]);
        let refused = Grade {
            status: Status::Refused,
            ..full.clone()
        };
        assert_eq!(ask(&refused, "1").unwrap_err(), ["the submission was not graded"]);
        assert!(won(&full, &lessons, &["07".into()]).is_err());
        assert!(won(&full, &lessons, &["01".into(), "1".into()]).is_err());
    }

    #[test]
    fn the_page_escapes_the_name() {
        let won = [Won {
            number: "01".into(),
            title: "T".into(),
            points: 5,
        }];
        let page = page("<b>\"x\" & 'y'", &won, "2026-11-21", &grade(&[])).unwrap();
        assert!(!page.contains("<b>"), "{page}");
        assert!(
            page.contains("&lt;b&gt;") && page.contains("all 5 points") && page.contains("Lesson 01: T"),
            "{page}"
        );
    }
}
