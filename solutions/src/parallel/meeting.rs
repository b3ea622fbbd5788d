//! Where the ranks of a job meet, and what tells it from other jobs: from the environment that a launcher leaves.

use anyhow::{Context, Result, bail};

use super::Place;

/// Ports that are given to nobody by the system itself, and need no rights.
const PORTS: std::ops::Range<u64> = 20_000..32_000;

/// Where rank 0 waits for the others: `ADDRESS:PORT`.
///
/// `MASTER_ADDR` and `MASTER_PORT` say it, as torchrun sets them. Without a port it is made of the job's number, so that two
/// jobs on a node seldom meet; without an address it is this machine, or the first node of Slurm's list.
///
/// # Errors
/// Ranks on several nodes of which the environment does not name the first; no number of a job.
pub fn meeting_place(place: &Place, variable: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let Place { launcher, .. } = place;
    let asked = "say where rank 0 is, with --rendezvous ADDRESS:PORT";
    let address = match variable("MASTER_ADDR") {
        Some(address) => address,
        None if on_one_node(place, variable) => "127.0.0.1".into(),
        None => {
            let nodes = variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_JOB_NODELIST"));
            let first = nodes.as_deref().and_then(first_node);
            first.with_context(|| format!("{launcher} does not tell where rank 0 is: {asked}"))?
        }
    };
    // torchrun itself listens at MASTER_PORT, unless told otherwise.
    let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True");
    let port = match variable("MASTER_PORT") {
        Some(port) if !taken => port
            .parse::<u16>()
            .with_context(|| format!("MASTER_PORT is '{port}', expected the number of a port"))?,
        _ => match job(variable) {
            Some(job) => derived_port(&job),
            None => bail!("{launcher} names neither a port nor a job: {asked}"),
        },
    };
    match address.contains(':') {
        true => Ok(format!("[{address}]:{port}")),
        false => Ok(format!("{address}:{port}")),
    }
}

/// What tells this job from others: `CANOPY_TOKEN`, or the launcher's name for it. It is no secret unless it is set to one.
pub fn token(variable: &dyn Fn(&str) -> Option<String>) -> String {
    let named = variable("CANOPY_TOKEN").or_else(|| job(variable));
    named.unwrap_or_else(|| "unnamed".into())
}

/// How many threads a rank may have of `all` that its process sees: as many as Slurm gave it cores, else its share of the
/// node's, where the launcher tells how many ranks there are.
pub fn threads_for(place: &Place, all: usize, variable: &dyn Fn(&str) -> Option<String>) -> usize {
    let given = variable("SLURM_CPUS_PER_TASK").and_then(|cores| cores.parse().ok());
    let threads = match given {
        Some(cores) if place.launcher == "Slurm" => all.min(cores),
        _ => all / ranks_of_node(variable).unwrap_or(1),
    };
    threads.max(1)
}

/// How many ranks there are on this rank's node, where the launcher tells.
fn ranks_of_node(variable: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    let names = [
        "LOCAL_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MPI_LOCALNRANKS",
        // `4(x2)`, or `4,2`: of the first node.
        "SLURM_STEP_TASKS_PER_NODE",
    ];
    let value = names.iter().find_map(|name| variable(name))?;
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|&ranks| ranks > 0)
}

fn on_one_node(place: &Place, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let slurm = place.launcher == "Slurm";
    match variable("SLURM_STEP_NUM_NODES").or_else(|| variable("SLURM_NNODES")) {
        Some(nodes) if slurm => nodes == "1",
        _ => ranks_of_node(variable) == Some(place.world_size),
    }
}

/// The launcher's name of the job and its step, the inner one first.
fn job(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let joined = |first: &str, second: &str| {
        let second = variable(second).unwrap_or_default();
        Some(format!("{first} {} {second}", variable(first)?))
    };
    joined("TORCHELASTIC_RUN_ID", "MASTER_PORT")
        .or_else(|| joined("PMIX_NAMESPACE", "SLURM_JOB_ID"))
        .or_else(|| joined("OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"))
        .or_else(|| joined("SLURM_JOB_ID", "SLURM_STEP_ID"))
}

fn derived_port(job: &str) -> u16 {
    let hash = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    let mixed = job.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let port = PORTS.start + (mixed >> 16) % (PORTS.end - PORTS.start);
    port as u16
}

/// The first of Slurm's short list of nodes: of `n[03-05,9],m1` it is `n03`.
fn first_node(list: &str) -> Option<String> {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    let numbers = rest.strip_prefix('[').unwrap_or_default();
    let number = numbers.split(['-', ',', ']']).next().unwrap_or_default();
    let node = format!("{name}{number}");
    (!node.is_empty()).then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::place_from;

    fn found(set: &[(&str, &str)]) -> Result<String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        meeting_place(&place_from(&variable)?, &variable)
    }

    const TORCHRUN: [(&str, &str); 5] = [
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "1"),
        ("MASTER_ADDR", "n7"),
        ("MASTER_PORT", "29500"),
    ];
    const SLURM: [(&str, &str); 5] = [
        ("SLURM_PROCID", "5"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_JOB_ID", "4711"),
        ("SLURM_STEP_ID", "0"),
    ];

    #[test]
    fn address_and_port_are_taken_as_given() {
        assert_eq!(found(&TORCHRUN).unwrap(), "n7:29500");
        let agent = [
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
            ("TORCHELASTIC_RUN_ID", "none"),
        ];
        let other = found(&[&TORCHRUN[..], &agent].concat()).unwrap();
        assert!(other.starts_with("n7:2") && other != "n7:29500", "{other}");
        let wrong = [&TORCHRUN[..4], &[("MASTER_PORT", "99999")]].concat();
        assert!(found(&wrong).unwrap_err().to_string().contains("'99999'"));
    }

    #[test]
    fn slurm_gives_a_port_of_the_job_on_its_first_node() {
        let several = [("SLURM_NNODES", "2"), ("SLURM_JOB_NODELIST", "n[03-05,9],m1")];
        let on_n03 = found(&[&SLURM[..], &several].concat()).unwrap();
        assert!(on_n03.starts_with("n03:"), "{on_n03}");
        let alone = found(&[&SLURM[..], &[("SLURM_NNODES", "1")]].concat()).unwrap();
        assert_eq!(alone.strip_prefix("127.0.0.1"), on_n03.strip_prefix("n03"));
        let next = [&SLURM[..4], &[("SLURM_STEP_ID", "1"), ("SLURM_NNODES", "1")]].concat();
        assert_ne!(found(&next).unwrap(), alone, "another step, another port");
        for (list, first) in [("n1", "n1"), ("a,b", "a"), ("n[7]", "n7"), ("n[08,2]-x", "n08")] {
            assert_eq!(first_node(list).unwrap(), first);
        }
    }

    #[test]
    fn mpirun_on_one_node_needs_no_address_and_on_several_asks_for_it() {
        let of = |local: &'static str| {
            [
                ("OMPI_COMM_WORLD_RANK", "0"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
                ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", local),
                ("PMIX_NAMESPACE", "prterun-n1-17@1"),
            ]
        };
        assert!(found(&of("4")).unwrap().starts_with("127.0.0.1:2"));
        let said = found(&of("2")).unwrap_err().to_string();
        assert!(said.contains("--rendezvous"), "{said}");
        let said = found(&of("4")[..4]).unwrap_err().to_string();
        assert!(said.contains("--rendezvous"), "{said}");
    }

    #[test]
    fn threads_are_the_cores_of_the_task_or_a_share_of_the_nodes() {
        let threads = |set: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = set.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            threads_for(&place_from(&variable).unwrap(), 8, &variable)
        };
        assert_eq!(threads(&TORCHRUN), 8, "nobody says how many there are");
        assert_eq!(
            threads(&[&TORCHRUN[..], &[("LOCAL_WORLD_SIZE", "3")]].concat()),
            2
        );
        let cores = [("SLURM_CPUS_PER_TASK", "5"), ("SLURM_STEP_TASKS_PER_NODE", "8")];
        assert_eq!(threads(&[&SLURM[..], &cores].concat()), 5);
        assert_eq!(threads(&[&SLURM[..], &cores[1..]].concat()), 1);
    }

    #[test]
    fn ranks_of_a_node_are_counted_as_each_launcher_writes_them() {
        for (name, value, ranks) in [
            ("LOCAL_WORLD_SIZE", "3", Some(3)),
            ("SLURM_STEP_TASKS_PER_NODE", "4(x2)", Some(4)),
            ("SLURM_STEP_TASKS_PER_NODE", "", None),
        ] {
            assert_eq!(ranks_of_node(&|n| (n == name).then(|| value.to_owned())), ranks);
        }
    }
}
