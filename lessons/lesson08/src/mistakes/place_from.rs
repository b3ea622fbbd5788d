//! Known wrong answers to exercise 8.5.

use super::*;

pub const MISTAKES: &[Mistake<Lesson08>] = &[
    wrong!("8.5", reads_each_launcher, "Only Slurm's variables are read.",
        place_from: |v| found(&LAUNCHERS[2..], v, number, beyond)),
    wrong!("8.5", reads_each_launcher, "Rank and local rank are swapped.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        (p.rank, p.local_rank) = (p.local_rank, p.rank);
        p
    })),
    wrong!("8.5", reads_each_launcher, "The local rank is the rank: that is right only on the first node.",
        place_from: |v| (REFERENCE.place_from)(v).map(|mut p| { p.local_rank = p.rank; p })),
    wrong!("8.5", ignores_white_space, "White space around a number is rejected: trim it.",
        place_from: |v| found(&LAUNCHERS, v, |name, text| match text {
            Some(text) => text.parse().map_err(|_| anyhow::anyhow!("{name} is no number")),
            None => anyhow::bail!("{name} is missing"),
        }, beyond)),
    wrong!("8.5", prefers_the_inner_launcher, "Slurm is read first; under mpirun or torchrun in a Slurm job, its numbers are those of the batch script.",
        place_from: |v| found(&[LAUNCHERS[2], LAUNCHERS[0], LAUNCHERS[1]], v, number, beyond)),
    wrong!("8.5", prefers_the_inner_launcher, "Open MPI is read before torchrun; torchrun comes first in the table.",
        place_from: |v| found(&[LAUNCHERS[1], LAUNCHERS[0], LAUNCHERS[2]], v, number, beyond)),
    wrong!("8.5", is_a_single_rank_without_launcher, "Without a launcher an error is returned; it should be a single rank.",
    place_from: |v| {
        let place = (REFERENCE.place_from)(v)?;
        anyhow::ensure!(place.launcher != "alone", "no launcher");
        Ok(place)
    }),
    wrong!("8.5", is_a_single_rank_without_launcher, "The world has no ranks: a single process is rank 0 of 1.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher == "alone" {
            p.world_size = 0;
        }
        p
    })),
    wrong!("8.5", reports_the_missing_variable, "A missing number counts as 0; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| number(n, Some(t.unwrap_or("0".into()))), |r, w| w > 0 && r >= w)),
    wrong!("8.5", reports_the_missing_variable, "The error does not name the missing variable.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => number(n, Some(text)),
            None => anyhow::bail!("a variable is missing"),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A launcher with a missing number is skipped, and the process runs as a single rank.",
    place_from: |v| {
        let whole: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, names)| names.iter().all(|n| v(n).is_some())).collect();
        found(&whole, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A value that is not a number counts as 0, so that two ranks become rank 0.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse().unwrap_or(0)),
            None => number(n, None),
        }, |r, w| w > 0 && r >= w)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "The error does not name the variable with the wrong value.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse()?),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "A rank that is not below the world size is accepted.",
        place_from: |v| found(&LAUNCHERS, v, number, |_, _| false)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "Rank p of p is accepted: ranks go from 0 to p − 1.",
        place_from: |v| found(&LAUNCHERS, v, number, |r, w| r > w)),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "The GPU is chosen by the rank; each node numbers its GPUs from 0, so use the local rank.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), 1 => "cuda:0".into(), _ => format!("cuda:{}", p.rank) })),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "All ranks of a node use GPU 0.",
        device_for: |p, gpus| (REFERENCE.device_for)(p, gpus.min(1))),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees no GPU still requires one; it should use the CPU.",
        device_for: |p, gpus| if gpus == 0 { Ok("cuda:0".into()) } else { (REFERENCE.device_for)(p, gpus) }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu,
    "A rank that sees one GPU chooses it by its local rank; the scheduler gave it that one, and its number is 0.",
    device_for: |p, gpus| Ok(match gpus {
        0 => "cpu".into(),
        _ if gpus > 1 && p.local_rank >= gpus => anyhow::bail!("too few"),
        _ => format!("cuda:{}", p.local_rank),
    })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "Ranks share GPUs by the remainder; return an error, because each rank requires its own.",
        device_for: |p, gpus| Ok(match gpus { 0 => "cpu".into(), n => format!("cuda:{}", p.local_rank % n) })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "A rank beyond the number of GPUs falls back to the CPU, and all others wait for it.",
        device_for: |p, gpus| Ok((REFERENCE.device_for)(p, gpus).unwrap_or("cpu".into()))),
    wrong!("8.5", reads_each_launcher, "No variable is found: ask `variable`, not the environment of this process.",
        place_from: |_| (REFERENCE.place_from)(&|_| None)),
    wrong!("8.5", reads_each_launcher, "SLURM_STEP_ID is required; the three variables of the table are enough.",
    place_from: |v| match v("SLURM_STEP_ID") {
        None => found(&LAUNCHERS[..2], v, number, beyond),
        Some(_) => found(&LAUNCHERS, v, number, beyond),
    }),
    wrong!("8.5", reads_each_launcher, "The local rank is computed from the rank; read it from its variable.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| { p.local_rank = p.rank % 4; p })),
    wrong!("8.5", reads_each_launcher, "The launcher's name is not as it is in the table.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher != "alone" {
            p.launcher = "";
        }
        p
    })),
    wrong!("8.5", is_a_single_rank_without_launcher, "The launcher of a single rank is `alone`.",
    place_from: |v| (REFERENCE.place_from)(v).map(|mut p| {
        if p.launcher == "alone" {
            p.launcher = "";
        }
        p
    })),
    wrong!("8.5", prefers_the_inner_launcher, "A launcher counts if its world size is set; its rank decides.",
    place_from: |v| {
        let set: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, names)| v(names[1]).is_some()).collect();
        let Some(&(_, names)) = set.first() else { return (REFERENCE.place_from)(v) };
        found(&set[..1], &|n| if n == names[0] { v(n).or(Some(String::new())) } else { v(n) }, number, beyond)
    }),
    wrong!("8.5", reports_the_missing_variable, "A missing local rank counts as 0; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None if n.contains("LOCAL") => Ok(0),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing world size counts as 1; return an error, because something is wrong with the launch.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None if n.contains("SIZE") || n.contains("NTASKS") => Ok(1),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing variable panics: return an error that names it.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None => panic!("called `Option::unwrap()` on a `None` value"),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", reports_the_missing_variable, "A missing variable panics: return an error that names it.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            None => panic!("{n}"),
            text => number(n, text),
        }, beyond)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is not a number counts as not set, and the process runs as a single rank.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| number(n[0], v(n[0])).is_ok()).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is set to an empty text counts as not set; it is not a number, so return an error.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| v(n[0]).is_some_and(|t| !t.is_empty())).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A rank that is set to an empty text counts as not set; it is not a number, so return an error.",
    place_from: |v| {
        let read: Vec<Launcher> = LAUNCHERS.into_iter().filter(|(_, n)| v(n[0]).is_some_and(|t| !t.trim().is_empty())).collect();
        found(&read, v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A negative number or one with a fraction is accepted: read whole numbers, `parse::<usize>()`.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse::<f64>().map_err(|_| anyhow::anyhow!("{n} is no number"))? as usize),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A value that is not a number panics: return an error that names the variable.",
        place_from: |v| found(&LAUNCHERS, v, |n, t| match t {
            Some(text) => Ok(text.trim().parse::<usize>().unwrap_or_else(|e| panic!("called `Result::unwrap()` on an `Err` value: {e:?}"))),
            None => number(n, None),
        }, beyond)),
    wrong!("8.5", rejects_a_rank_beyond_world_size, "A rank that is too great becomes the last one; return an error.",
    place_from: |v| found(&LAUNCHERS, v, number, |_, _| false).map(|mut p| {
        p.rank = p.rank.min(p.world_size.saturating_sub(1));
        p
    })),
    wrong!("8.5", chooses_the_gpu_by_local_rank, "The rank is used where the local rank is asked for: each node numbers its own GPUs from 0.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus < 2 || p.rank < gpus, "too few GPUs");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees no GPU gets an error; it uses the CPU.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus > 0, "no GPU");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "A rank that sees one GPU gets an error; the scheduler gave it that one, whatever its local rank is.",
    device_for: |p, gpus| {
        anyhow::ensure!(gpus != 1 || p.local_rank == 0, "too few GPUs");
        (REFERENCE.device_for)(p, gpus)
    }),
    wrong!("8.5", reads_each_launcher,
        "Valid variables are an error: a name may be swapped or not as in the table, or `variable` is not asked for it.",
        place_from: |v| found(&LAUNCHERS.map(|(name, [rank, world, local])| (name, [rank, local, world])), v, number, beyond)),
    wrong!("8.5", prefers_the_inner_launcher,
    "The three numbers come from different launchers: the first one whose rank is set counts for all three.",
    place_from: |v| {
        let first = |at: usize| LAUNCHERS.iter().map(|(_, names)| names[at]).find(|n| v(n).is_some());
        let Some(&(launcher, _)) = LAUNCHERS.iter().find(|(_, names)| v(names[0]).is_some()) else {
            return (REFERENCE.place_from)(v);
        };
        let names = [0, 1, 2].map(|at| first(at).unwrap_or(LAUNCHERS[0].1[at]));
        found(&[(launcher, names)], v, number, beyond)
    }),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A negative number is accepted, and becomes a huge one: read it with `parse::<usize>()`.",
        place_from: |v| found(&LAUNCHERS, v, signed, beyond)),
    wrong!("8.5", rejects_a_value_that_is_not_a_number, "A negative number is accepted, and becomes a huge one: read it with `parse::<usize>()`.",
    place_from: |v| found(&LAUNCHERS, v, signed, |_, _| false).and_then(|p| {
        anyhow::ensure!(p.rank < p.world_size, "the rank is too great");
        Ok(p)
    })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "Local rank N of N GPUs is accepted: their numbers are 0 to N − 1.",
    device_for: |p, gpus| Ok(match gpus {
        0 => "cpu".into(),
        1 => "cuda:0".into(),
        _ if p.local_rank > gpus => anyhow::bail!("too few GPUs"),
        _ => format!("cuda:{}", p.local_rank),
    })),
    wrong!("8.5", rejects_more_ranks_than_gpus, "A local rank that is not below the number of GPUs is accepted; return an error.",
    device_for: |p, gpus| Ok(match gpus {
        0 => "cpu".into(),
        1 => "cuda:0".into(),
        _ => format!("cuda:{}", p.local_rank),
    })),
    wrong!("8.5", uses_the_only_gpu_or_the_cpu, "The only GPU is `cuda:0`, with its number.",
        device_for: |p, gpus| if gpus == 1 { Ok("cuda".into()) } else { (REFERENCE.device_for)(p, gpus) }),
];
