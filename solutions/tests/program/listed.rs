//! The commands of `lists/*.txt` print and write what is listed. Sections are separated by empty lines; each runs in a new
//! folder of its own, which holds what the lines before the first command put there (see [`prepare`]). `$` begins the arguments
//! of the program, after variables of its environment; [`SMALL`] stands for the options of a small model. Indented lines below
//! are what must be true of it (see [`check`]); without `exit`, its exit code must be 0.

use std::{collections::HashMap, process::Stdio};

use canopy_data::formats;

use crate::*;

/// The options of a training that takes a second.
const SMALL: &str = "--batch 4 --points 48 --width 16 --device cpu";

#[test]
fn data_is_imported_described_converted_split_and_shown() {
    run_list(include_str!("lists/data.txt"));
}

#[test]
fn clouds_without_extent_cost_a_data_set_these_trees_and_nothing_else() {
    run_list(include_str!("lists/degenerate.txt"));
}

#[test]
fn runs_are_trained_evaluated_and_predict() {
    run_list(include_str!("lists/train.txt"));
}

#[test]
fn wrong_files_of_a_sweep_are_explained() {
    run_list(include_str!("lists/sweep.txt"));
}

#[test]
fn settings_of_ranks_are_used() {
    run_list(include_str!("lists/ranks.txt"));
}

#[test]
fn memory_is_planned_and_profiles_are_shown() {
    run_list(include_str!("lists/machine.txt"));
}

/// With an `nvidia-smi` that prints what real ones print.
#[cfg(all(unix, not(feature = "cuda")))]
#[test]
fn gpus_and_the_errors_of_their_driver_are_explained() {
    run_list(include_str!("lists/gpus.txt"));
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_rank_of_several() {
    run_list(include_str!("lists/without_mpi.txt"));
}

fn run_list(list: &str) {
    for section in list.split("\n\n") {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = HashMap::new();
        let mut lines = section.lines().filter(|line| !line.starts_with('#')).peekable();
        while let Some(line) = lines.next() {
            let Some(words) = line.strip_prefix("$ ") else {
                prepare(dir.path(), line);
                continue;
            };
            let (mut checks, mut code) = (Vec::new(), 0);
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                let (verb, rest) = line[2..].split_once(' ').unwrap();
                match verb {
                    "exit" => code = rest.parse().unwrap(),
                    _ => checks.push((verb, rest.replace("\\n", "\n"))),
                }
            }
            let (out, err) = ran(dir.path(), words, code);
            for (verb, rest) in checks {
                println!("{words}: {verb} {rest}");
                check(dir.path(), verb, &rest, (&out, &err), &mut kept);
            }
        }
    }
}

/// Puts something into `dir`: `forest N`, `scans` or `wood` a data set, `write FILE TEXT` and `patch FILE OFFSET BYTE COUNT` a
/// file, which `script FILE` lets the system run; `cloud FILE KIND SEED COUNT` a point file; `copy`, `move` and `remove` are
/// the shell's.
fn prepare(dir: &Path, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let path = |name: &str| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    match *words {
        ["forest", clouds] => drop(tiny_forest(dir, clouds.parse().unwrap())),
        ["scans"] => scans(dir),
        ["wood"] => wood(dir),
        ["write", name, ..] => {
            let text = line["write ".len() + name.len()..]
                .trim_start()
                .replace("\\n", "\n");
            fs::write(path(name), text).unwrap();
        }
        ["patch", name, offset, byte, count] => {
            let mut bytes = fs::read(path(name)).unwrap();
            let from: usize = offset.parse().unwrap();
            bytes[from..from + count.parse::<usize>().unwrap()].fill(byte.parse().unwrap());
            fs::write(path(name), bytes).unwrap();
        }
        ["cloud", name, kind, seed, count] => {
            let points = shape(kind.parse().unwrap(), seed.parse().unwrap());
            write_xyz(&path(name), points.into_iter().take(count.parse().unwrap()));
        }
        #[cfg(unix)]
        ["script", name] => {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        ["copy", from, to] => drop(fs::copy(path(from), path(to)).unwrap()),
        ["move", from, to] => fs::rename(path(from), path(to)).unwrap(),
        ["remove", name] if dir.join(name).is_dir() => fs::remove_dir_all(path(name)).unwrap(),
        ["remove", name] => fs::remove_file(path(name)).unwrap(),
        _ => panic!("'{line}' prepares nothing"),
    }
}

/// Standard output and standard error of a command.
fn ran(dir: &Path, words: &str, code: i32) -> (String, String) {
    let words = words.replace("SMALL", SMALL);
    let mut rest = &*words;
    let mut variables = Vec::new();
    while let Some((variable, after)) = rest.split_once(' ')
        && let Some(pair) = variable.split_once('=')
    {
        variables.push(pair);
        rest = after;
    }
    let mut command = canopy(rest);
    command.current_dir(dir).env("CANOPY_CACHE", dir.join("cache"));
    let output = command.stdin(Stdio::null()).envs(variables).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{words}: {out}{err}");
    assert!(!err.contains("panicked"), "{words}: {err}");
    (out, err)
}

/// One thing that must be true. In what a command printed: `out TEXT`, `err TEXT`, `not TEXT`. In JSON on standard output:
/// `json POINTER VALUE`, `count POINTER N`; `same NAME POINTER` and `other NAME POINTER` compare with the value of that name.
/// Of two numbers, each written out, at a pointer or a name: `near A B MOST` is their difference, `ratio A B LOW HIGH` their
/// quotient. In files: `file PATH TEXT`, `lines PATH N`, `equal PATH PATH` (the same bytes), `none PATH` (does not exist).
fn check(dir: &Path, verb: &str, rest: &str, (out, err): (&str, &str), kept: &mut HashMap<String, Value>) {
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let at = |pointer: &str| {
        let printed: Value = serde_json::from_str(out).unwrap();
        let found = printed.pointer(pointer).cloned();
        found.unwrap_or_else(|| panic!("no {pointer} in {printed}"))
    };
    let read = || fs::read_to_string(dir.join(first)).unwrap();
    let number = |text: &str| -> f64 {
        let value = || kept.get(text).cloned().unwrap_or_else(|| at(text));
        text.parse().ok().or_else(|| value().as_f64()).unwrap()
    };
    match verb {
        "out" => assert_contains(out, &[rest]),
        "err" => assert_contains(err, &[rest]),
        "not" => assert!(!out.contains(rest) && !err.contains(rest), "{out}{err}"),
        "json" => assert_eq!(at(first), serde_json::from_str::<Value>(second).unwrap()),
        "count" => assert_eq!(at(first).as_array().unwrap().len().to_string(), second),
        "same" => {
            let found = at(second);
            assert_eq!(
                kept.entry(first.to_owned()).or_insert_with(|| found.clone()),
                &found
            );
        }
        "other" => assert_ne!(kept[first], at(second)),
        "near" => {
            let (base, most) = second.split_once(' ').unwrap();
            let off = (number(first) - number(base)).abs();
            assert!(off <= number(most), "{rest}: {off}");
        }
        "ratio" => {
            let bounds: Vec<f64> = second.split(' ').map(number).collect();
            let ratio = number(first) / bounds[0];
            assert!((bounds[1]..bounds[2]).contains(&ratio), "{rest}: {ratio}");
        }
        "file" => assert_contains(&read(), &[second]),
        "lines" => assert_eq!(read().lines().count().to_string(), second),
        "equal" => assert!(
            fs::read(dir.join(first)).unwrap() == fs::read(dir.join(second)).unwrap(),
            "{rest}"
        ),
        "none" => assert!(!dir.join(first).exists()),
        _ => panic!("'{verb}' checks nothing"),
    }
}

/// Two species on four plots, three trees each, in `scans`.
fn scans(dir: &Path) {
    for (s, species) in ["ash", "oak"].iter().enumerate() {
        for plot in 0..4 {
            for tree in 0..3 {
                let mark = (s * 100 + plot * 10 + tree) as f32;
                let point = |i| [i as f32 * 0.1, mark, (i % 50) as f32];
                let cloud = Cloud::from_points((0..200).map(point).collect());
                let path = dir.join(format!("scans/{species}/p{plot}/t{tree}.laz"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                formats::write(&path, &cloud, &formats::Options::default()).unwrap();
            }
        }
    }
}

/// A folder of point files, 42 of usual trees, one of 40 points at the same place and one of a single point.
pub fn wood(dir: &Path) {
    let root = dir.join("wood");
    for (kind, species) in ["ball", "cone", "box"].iter().enumerate() {
        for i in 0..14 {
            let plot = root.join(format!("{species}/p{}", i % 7));
            fs::create_dir_all(&plot).unwrap();
            write_xyz(&plot.join(format!("t{i}.xyz")), shape(kind, i));
        }
    }
    write_xyz(&root.join("ball/p3/flat.xyz"), [[3.5, 2.5, 1.5]; 40]);
    write_xyz(&root.join("cone/p5/one.xyz"), [[3.5, 2.5, 1.5]]);
}
