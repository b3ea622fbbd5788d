//! What the names and the metadata of learning platforms say: who handed in what, and when.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use grader::grades::Student;
use serde::Deserialize;
use serde_norway::Value;

use crate::late::instant;

/// Whose a file or folder of a class is.
#[derive(Debug, Default, PartialEq)]
pub struct Owner {
    /// The same for all files of one submission.
    pub name: String,
    pub student: Student,
    /// Whether the platform says that it is late.
    pub late: bool,
    /// In seconds since 1970, if the platform says it.
    pub time: Option<u64>,
}

/// Moodle's `Anna Example_12345_assignsubmission_file_`, followed by a file's name if the files are not in folders
/// (`mod/assign/classes/downloader.php`). The number is that of the participant in the assignment.
pub fn moodle(name: &str) -> Option<Owner> {
    let (person, _) = name.split_once("_assignsubmission_")?;
    let (full, number) = person.rsplit_once('_')?;
    let all_digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let student = Student {
        name: full.to_owned(),
        ..Student::default()
    };
    (all_digits && !full.is_empty()).then(|| Owner {
        name: person.to_owned(),
        student,
        ..Owner::default()
    })
}

/// Canvas' `exampleanna_LATE_3101_778_submission.tar.gz` and the number of the file, here 778 (`lib/content_zipper.rb`): the
/// name for sorting without any sign, `LATE`, the number of the user, that of the file, the student's name of it.
pub fn canvas(name: &str) -> Option<(Owner, u64)> {
    let mut parts = name.splitn(6, '_').peekable();
    let person = parts.next().filter(|p| !p.is_empty() && p.to_lowercase() == *p)?;
    let late = parts.next_if_eq(&"LATE").is_some();
    let user = parts.next()?;
    // Anonymous grading has `anon_` and five letters and digits in place of name and number.
    let anonymous = person == "anon" && user.bytes().all(|b| b.is_ascii_alphanumeric());
    let file: u64 = parts.next()?.parse().ok()?;
    parts.next().filter(|rest| !rest.is_empty())?;
    if !anonymous && user.parse::<u64>().is_err() {
        return None;
    }
    let student = match anonymous {
        true => Student::default(),
        false => Student {
            name: person.to_owned(),
            canvas: user.to_owned(),
            ..Student::default()
        },
    };
    let name = format!("{person}_{user}");
    Some((
        Owner {
            name,
            student,
            late,
            time: None,
        },
        file,
    ))
}

/// A submission in `submission_metadata.yml`.
#[derive(Deserialize)]
struct Exported {
    #[serde(rename = ":submitters", default)]
    submitters: Vec<BTreeMap<String, Value>>,
    #[serde(rename = ":created_at")]
    created_at: Option<String>,
}

/// Gradescope's `submission_metadata.yml` beside the folders of an export: their owners by the folder's name. Ruby wrote it,
/// with lines that only libyaml accepts, and sometimes as several documents.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn gradescope(text: &str) -> Result<BTreeMap<String, Owner>> {
    let mut owners = BTreeMap::new();
    // The end of a document begins another one only for newer libyaml.
    let text = text.replace("\n...\n", "\n---\n");
    for document in serde_norway::Deserializer::from_str(&text) {
        let exported = Option::<BTreeMap<String, Exported>>::deserialize(document)?;
        for (folder, facts) in exported.unwrap_or_default() {
            let word = |one: &BTreeMap<String, Value>, key: &str| match one.get(key) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            let people = facts.submitters.iter();
            let people = people.map(|one| [":name", ":email", ":sid"].map(|key| word(one, key)));
            let owner = Owner {
                name: folder.clone(),
                student: together(people.collect()),
                late: false,
                time: facts.created_at.as_deref().and_then(ruby_time),
            };
            owners.insert(folder, owner);
        }
    }
    Ok(owners)
}

/// Gradescope's `submission_metadata.json` beside `/autograder/submission`.
pub fn autograder(submission: &Path) -> Option<Owner> {
    let path = submission.parent()?.join("submission_metadata.json");
    let facts: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let people = facts["users"]
        .as_array()?
        .iter()
        .map(|u| ["name", "email", "sid"].map(|key| text(u, key)));
    Some(Owner {
        name: submission.file_name()?.to_string_lossy().into_owned(),
        student: together(people.collect()),
        late: false,
        time: facts["created_at"].as_str().and_then(|t| instant(t).ok()),
    })
}

/// One student, or a group with all its names.
fn together(people: Vec<[String; 3]>) -> Student {
    let one = |[name, email, id]: [String; 3]| Student {
        name,
        email,
        id,
        ..Student::default()
    };
    let mut group: Vec<Student> = people.into_iter().map(one).collect();
    if group.len() < 2 {
        return group.pop().unwrap_or_default();
    }
    let names: Vec<&str> = group.iter().map(|s| &*s.name).filter(|n| !n.is_empty()).collect();
    Student {
        name: names.join(", "),
        group,
        ..Student::default()
    }
}

/// A time as Ruby writes it into YAML: `2026-09-11 01:25:53.109082000 Z`, `2026-09-10 18:25:53.1 -07:00`.
fn ruby_time(text: &str) -> Option<u64> {
    let mut parts = text.split_whitespace();
    let (date, clock, zone) = (parts.next()?, parts.next()?, parts.next()?);
    instant(&format!("{date}T{clock}{zone}")).ok()
}

/// The user of a clone of GitHub Classroom: it is named `ASSIGNMENT-USER`, and `gh classroom clone student-repos` puts all
/// into `ASSIGNMENT-submissions`. Elsewhere the clones' common beginning is the assignment's name.
pub fn github(folder: &str, clones: &[String]) -> BTreeMap<String, Owner> {
    let assignment = folder.strip_suffix("-submissions").map(|a| format!("{a}-"));
    let common = || {
        let (first, rest) = clones.split_first()?;
        let same = |end: &usize| rest.iter().all(|other| other.starts_with(&first[..*end]));
        let mut ends = first.match_indices('-').map(|(at, _)| at + 1).filter(same);
        ends.next_back()
            .filter(|_| !rest.is_empty())
            .map(|end| first[..end].to_owned())
    };
    let known = assignment.filter(|a| clones.iter().all(|c| c.starts_with(a)));
    let Some(before) = known.or_else(common) else {
        return BTreeMap::new();
    };
    let owner = |clone: &String| {
        let student = Student {
            login: clone[before.len()..].to_owned(),
            ..Student::default()
        };
        (
            clone.clone(),
            Owner {
                name: clone.clone(),
                student,
                ..Owner::default()
            },
        )
    };
    clones.iter().map(owner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moodle_and_canvas_name_the_student() {
        for name in [
            "Anna_Maria Example_12345_assignsubmission_file_",
            "Anna_Maria Example_12345_assignsubmission_file_submission.tar.gz",
            "Anna_Maria Example_12345_assignsubmission_onlinetext_",
        ] {
            let owner = moodle(name).unwrap();
            assert_eq!(
                (&*owner.name, &*owner.student.name),
                ("Anna_Maria Example_12345", "Anna_Maria Example")
            );
        }
        let (owner, file) = canvas("exampleanna_LATE_3101_778_my_work.zip").unwrap();
        assert_eq!(
            (owner.late, file, &*owner.student.canvas, &*owner.name),
            (true, 778, "3101", "exampleanna_3101")
        );
        let (owner, _) = canvas("anon_x1y2z_778_work.zip").unwrap();
        assert_eq!(
            (owner.late, &owner.student, &*owner.name),
            (false, &Student::default(), "anon_x1y2z")
        );
        for name in [
            "anna",
            "anna.zip",
            "anna_1.zip",
            "Anna_1_2_x.zip",
            "anna_1_2_",
            "a_b_c_d.zip",
            "submission_12",
        ] {
            assert!(moodle(name).is_none() && canvas(name).is_none(), "{name}");
        }
    }

    #[test]
    fn an_export_of_gradescope_names_students_and_times() {
        // The output of a test may look like metadata, and its end is not where YAML wants it.
        let text = "---\nsubmission_423401597:\n  :submitters:\n  - :sid: '0042'\n    :name: Anna Example\n    \
            :email: anna@example.org\n  :created_at: 2026-11-20 22:41:00.109082000 Z\n  :score: 3.0\n  :results:\n    tests:\n    \
            - name: one\n      output: 'a\n\n        submission_1:\n\n'\n      status: passed\n  :history:\n  - :id: 1\n    \
            :created_at: 2026-11-01 10:00:00.000000000 Z\n...\nsubmission_423401598:\n  :submitters:\n  - :name: Ben\n    \
            :sid: 7\n  - :name: Cem\n    :sid: 8\n  :created_at: 2026-11-20 18:00:00 -07:00\n";
        let owners = gradescope(text).unwrap();
        assert_eq!(owners.len(), 2);
        let anna = &owners["submission_423401597"];
        assert_eq!((&*anna.student.name, &*anna.student.id), ("Anna Example", "0042"));
        assert_eq!(anna.time, instant("2026-11-20T22:41:00Z").ok());
        let pair = &owners["submission_423401598"];
        assert_eq!(
            (&*pair.student.name, pair.time),
            ("Ben, Cem", instant("2026-11-21T01:00:00Z").ok())
        );
        let ids: Vec<&str> = pair.student.each().iter().map(|s| &*s.id).collect();
        assert_eq!(ids, ["7", "8"]);
        assert!(gradescope("a: [").is_err());
    }

    #[test]
    fn clones_name_the_user() {
        let clones = ["lesson-01-anna-x", "lesson-01-ben"].map(String::from);
        let of = |folder, clones: &[String]| -> Vec<String> {
            github(folder, clones)
                .into_values()
                .map(|o| o.student.login)
                .collect()
        };
        assert_eq!(of("lesson-01-submissions", &clones), ["anna-x", "ben"]);
        assert_eq!(of("lesson-01-submissions", &clones[..1]), ["anna-x"]);
        assert_eq!(of("handed-in", &clones), ["anna-x", "ben"]);
        assert!(of("handed-in", &clones[..1]).is_empty());
    }

    #[test]
    fn the_workflow_has_the_names_that_classroom_looks_for() {
        let text = include_str!("../../examples/github-classroom/classroom.yml");
        let workflow: Value = serde_norway::from_str(text).unwrap();
        assert_eq!(workflow["name"], "Autograding Tests");
        assert_eq!(workflow["permissions"]["checks"], "write");
        let steps = workflow["jobs"]["run-autograding-tests"]["steps"]
            .as_sequence()
            .unwrap();
        let grade = steps.iter().find(|s| s["id"] == "canopy").unwrap();
        let script = grade["run"].as_str().unwrap().split(' ').next().unwrap();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert!(
            root.join(script.strip_prefix("course/").unwrap()).is_file(),
            "{script}"
        );
        let report = steps.last().unwrap();
        assert_eq!(
            report["env"]["CANOPY_RESULTS"],
            "${{ steps.canopy.outputs.result }}"
        );
        assert_eq!(report["with"]["runners"], "canopy");
    }
}
