//! A class graded as an array, with one hostile submission, and merged by the job after it.

use std::fs;

use crate::{Cluster, root};

/// What the students wrote for exercise 1.1, and their points.
const CLASS: [(&str, &str, &str); 5] = [
    (
        "ada",
        "activation(inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>() + bias)",
        "1",
    ),
    ("ben", "todo!()", "0"),
    ("eve", "loop { std::hint::spin_loop() }", "0"),
    ("fay", "this does not compile", "0"),
    (
        "gil",
        "inputs.iter().zip(weights).fold(bias, |s, (x, w)| s + x * w)",
        "0",
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
        let [class, graded] = ["class", "graded"].map(|name| cluster.file(name).display().to_string());
        let arguments = [&class, &graded, "--lesson", "01", "--seconds", "10"];
        let array = cluster.submit("grade", &["--nodelist=node1"], &arguments);
        let after = format!("--dependency=afterany:{array}");
        let merge = cluster.submit("grade-merge", &["--nodelist=node1", &after], &arguments);
        Self { array, merge }
    }

    /// The merged table has every student once, the hostile one without points.
    pub fn end(self, cluster: &Cluster) {
        let array = cluster.slurm.ended(&self.array);
        let merged = cluster.slurm.ended(&self.merge);
        let logs = cluster.log(&self.array) + &cluster.log(&self.merge);
        assert_eq!((&*array, &*merged), ("COMPLETED", "COMPLETED"), "{logs}");
        for i in 1..=3 {
            assert!(logs.contains(&format!("--part {i}/3")), "{logs}");
        }
        let table = fs::read_to_string(cluster.file("graded/marks.json")).unwrap();
        let grades: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
        let points = |grade: &serde_json::Value| -> u64 {
            let exercises = grade["lessons"][0]["exercises"].as_array().unwrap();
            exercises.iter().map(|e| e["points"].as_u64().unwrap()).sum()
        };
        let mut found: Vec<(String, String)> = grades
            .iter()
            .map(|g| {
                (
                    g["submission"].as_str().unwrap().to_owned(),
                    points(g).to_string(),
                )
            })
            .collect();
        found.sort();
        let expected = CLASS.map(|(name, _, points)| (name.to_owned(), points.to_owned()));
        assert_eq!(found, expected, "{logs}");
        let seeds: Vec<_> = grades.iter().map(|g| &g["seed"]).collect();
        assert!(seeds.iter().all(|seed| *seed == seeds[0]), "{seeds:?}");
    }
}
