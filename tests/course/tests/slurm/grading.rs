//! A class graded as an array, with one hostile submission, and merged by the job after it.

use std::{collections::BTreeMap, fs};

use crate::{Cluster, root};

/// What the students wrote for exercise 1.1, and their points.
const CLASS: [(&str, &str, u64); 5] = [
    (
        "ada",
        "activation(inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>() + bias)",
        1,
    ),
    ("ben", "todo!()", 0),
    ("eve", "loop { std::hint::spin_loop() }", 0),
    ("fay", "this does not compile", 0),
    (
        "gil",
        "inputs.iter().zip(weights).fold(bias, |s, (x, w)| s + x * w)",
        0,
    ),
];

pub struct Grading {
    array: String,
    merge: String,
}

impl Grading {
    pub fn begin(cluster: &Cluster) -> Self {
        let stubs = fs::read_to_string(root().join("lessons/lesson01/src/stubs.rs")).unwrap();
        let todo = "todo!(\"1.1: the weighted sum, the bias, the activation\")";
        assert!(stubs.contains(todo));
        for (name, answer, _) in CLASS {
            let folder = cluster.file("class").join(name).join("exercises/lesson01/src");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("lib.rs"), stubs.replace(todo, answer)).unwrap();
        }
        let arguments = "AT/class AT/graded --lesson 01 --seconds 10";
        let array = cluster.submit("grade", "--nodelist=node1", arguments);
        let after = format!("--nodelist=node1 --dependency=afterany:{array}");
        let merge = cluster.submit("grade-merge", &after, arguments);
        Self { array, merge }
    }

    /// The merged table has every student once, the hostile one without points.
    pub fn end(self, cluster: &Cluster) {
        let parts = [1, 2, 3].map(|i| format!("--part {i}/3"));
        let logs = cluster.completed(&self.array, &parts.each_ref().map(String::as_str));
        cluster.completed(&self.merge, &[]);
        let table = fs::read_to_string(cluster.file("graded/marks.json")).unwrap();
        let grades: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
        let points = |grade: &serde_json::Value| {
            let exercises = grade["lessons"][0]["exercises"].as_array().unwrap();
            let points: u64 = exercises.iter().map(|e| e["points"].as_u64().unwrap()).sum();
            (grade["submission"].as_str().unwrap().to_owned(), points)
        };
        let expected = CLASS.map(|(name, _, points)| (name.to_owned(), points));
        assert_eq!(grades.len(), CLASS.len(), "{logs}");
        assert_eq!(
            grades.iter().map(points).collect::<BTreeMap<_, _>>(),
            expected.into(),
            "{logs}"
        );
        assert!(
            grades.iter().all(|grade| grade["seed"] == grades[0]["seed"]),
            "{table}"
        );
    }
}
