#!/usr/bin/env bash
# Submits every job template of `slurm/` to a Slurm on this machine. Usage: test.sh COURSE, the program beside which is canopy.
set -euo pipefail
shopt -s extglob
programs=$(realpath "$(dirname "$1")")
PATH=$programs:$PATH
# Whatever PATH a job has; messages and numbers do not depend on the user's language.
export CANOPY=$programs/canopy LC_ALL=C
cd "$(dirname "$0")/../../../.."
[ -x "$CANOPY" ] || { echo "there is no canopy beside $1: run \`cargo build\`"; exit 1; }
at=$(mktemp -d --tmpdir slurm.XXXXXX)

fail() {
  echo "error: $* (the logs of Slurm and of its jobs are in $at)" >&2
  exit 1
}
# Until a command succeeds.
await() {
  until "$@"; do
    [ "$SECONDS" -lt 600 ] || fail "too late: $*"$'\n'"$(scontrol show job)"
    sleep 0.3
  done
}
# shellcheck source=tests/course/tests/slurm/start.sh
. tests/course/tests/slurm/start.sh

# With the variables of this test's package, cargo would build ring and its dependents again.
unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}"
export DEVICE=cpu
# Open MPI refuses to start processes as root otherwise.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The two nodes have one host name, so Open MPI would use shared memory between them, with the same names of segments.
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo

# Slurm looks at the time limits every 30 seconds, and signals a job if its margin would begin before the next look: with this margin
# and a limit of a minute, at the first look.
cat >"$at/site.toml" <<END
partition = "work"
gpu_partition = "gpu"
account = "course"
reservation = "workshop"
mail = "a@example.org"
cores = 1
memory_gib = 1
time = "00:30:00"
margin = 50
array_tasks = 3
gres = "gpu:card"
gpus_per_node = 2
mig = "gpu:slice"
build = []
scratch = "$at/local"
logs = "$at/logs"
END
(cat "$at/site.toml"; echo 'launcher = "srun"') >"$at/srun.toml"
jobs=$at/jobs
course slurm render --site "$at/srun.toml" --out "$jobs/srun" >/dev/null
course slurm render --site "$at/site.toml" --out "$jobs"
shellcheck --shell=bash "$jobs"/*.sbatch "$jobs"/srun/*.sbatch
shellcheck -x tests/course/tests/slurm/test.sh
# A script that a site lacks is removed.
mkdir "$jobs/plain"
touch "$jobs/plain/train-mig.sbatch"
printf 'logs = "%s"\n' "$at/logs" >"$at/plain.toml"
course slurm render --site "$at/plain.toml" --out "$jobs/plain" >"$at/plain.out" 2>&1
grep -q 'gpus_per_node is less than 2' "$at/plain.out" || fail "render does not say what the site lacks"
[ ! -e "$jobs/plain/train-mig.sbatch" ] || fail "an old script remains"
scontrol create reservation ReservationName=workshop StartTime=now Duration=30 Users="$user" Nodes=node2 CoreCnt=1

# A training of seconds, and one of 50 seconds on an idle machine.
canopy data grow --trees 60 --points 96 --out "$at/forest"
tiny=(--batch 8 --points 48 --width 16 --workers 1 --data "$at/forest")
begin=${EPOCHREALTIME/./}
canopy --threads 1 train --out "$at/measured" --device cpu --epochs 300 "${tiny[@]}" &>"$at/measured.out"
epochs=$((300 * 50000000 / (${EPOCHREALTIME/./} - begin)))

# Submits a job, with the state in which it must end, and what Slurm and its log must say then.
expected=()
job() { # job STATE[|STATE] 'PART|PART…' [options of sbatch] TEMPLATE [arguments]
  id=$(sbatch --parsable "${@:3}")
  expected+=("$id $1 $2")
}
# These take longest. The first one is cut by its time limit, at least once.
job COMPLETED 'saved; requeueing job|train --resume|GPU hours' --time=1 --nodelist=node1 \
  "$jobs/train-gpu.sbatch" "$at/cut" --epochs $epochs "${tiny[@]}"
job COMPLETED 'Restarts=0' --nodelist=node2 "$jobs/train-gpu.sbatch" "$at/whole" --epochs $epochs "${tiny[@]}"

# What the students wrote for exercise 1.1.
answer() { # answer STUDENT CODE
  mkdir -p "$at/class/$1/exercises/lesson01/src"
  sed "s~todo!(\"1\.1: .*\")~$2~" lessons/lesson01/src/stubs.rs >"$at/class/$1/exercises/lesson01/src/lib.rs"
}
answer ada 'activation(inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>() + bias)'
answer eve 'loop { std::hint::spin_loop() }'
answer fay 'this does not compile'
answer gil 'inputs.iter().zip(weights).fold(bias, |s, (x, w)| s + x * w)'
class=("$at/class" "$at/graded" --lesson 01 --seconds 10)
job COMPLETED 'course -- grade --out' --nodelist=node1 "$jobs/grade.sbatch" "${class[@]}"

# Slurm has no accounting here, and the machine has no GPU.
printf '# two runs\n--learning-rate 0.01 --epochs 1\n\n--learning-rate 0.02 --epochs 1 --seed 3\n' >"$at/rates.txt"
job COMPLETED 'build --offline --package canopy|core hours' "$jobs/build.sbatch"
job COMPLETED 'Partition=gpu|gres:gpu:card:1|Account=course|MailUser=a@example.org|GPU hours' "$jobs/doctor.sbatch"
job COMPLETED "a\\'slice\\;\\\$\\(id\\)|the driver measures no slice" "$jobs/train-mig.sbatch" "$at/a'slice;\$(id)" --epochs 1 "${tiny[@]}"
job COMPLETED '2 ranks|the data was copied to' "$jobs/train-threads.sbatch" 2 "$at/threads" --epochs 1 "${tiny[@]}"
job COMPLETED 'nsys is not in PATH' "$jobs/profile.sbatch" "$at/profiled" --epochs 1 "${tiny[@]}"
job COMPLETED 'rate 0.01|rate 0.02 --epochs 1 --seed 3' "$jobs/sweep.sbatch" "$at/rates.txt" "$at/sweep" "${tiny[@]}"
# The exercise is right or not, depending on who wrote in this folder.
job 'COMPLETED|FAILED' '--package lesson01 -- 1.1|1.1 A neuron|Partition=work' "$jobs/lesson.sbatch" 01 1.1
job 'COMPLETED|FAILED' '1.1 A neuron|Reservation=workshop|TimeLimit=00:10:00|gres:gpu:slice:1' "$jobs/workshop.sbatch" 01 1.1
job FAILED 'no/such/folder' "$jobs/train-gpu.sbatch" "$at/wrong" --data no/such/folder
if [ -n "${CANOPY_MPI:-}" ]; then
  export SBATCH_EXPORT=ALL,CANOPY=$CANOPY_MPI
  job COMPLETED '2 ranks|NumNodes=1' "$jobs/train-gpus.sbatch" "$at/gpus" --epochs 2 "${tiny[@]}"
  # One after the other: on one host, a rank could connect to one of another job.
  job COMPLETED '4 ranks|NumNodes=2|the data was copied to' --dependency=afterany:"$id" \
    "$jobs/train-nodes.sbatch" "$at/nodes" --epochs 2 "${tiny[@]}"
  # This site's slurm.conf has no MpiDefault.
  job COMPLETED '4 ranks|NumNodes=2' --dependency=afterany:"$id" --export="$SBATCH_EXPORT,SLURM_MPI_TYPE=pmix" \
    "$jobs/srun/train-cpus.sbatch" "$at/cpus" --epochs 2 "${tiny[@]}"
  unset SBATCH_EXPORT
else
  echo "train-gpus, train-nodes, train-cpus: not run, because CANOPY_MPI names no canopy built with MPI"
fi

# A job is monitored, then cancelled.
cost='GPU hours|core hours|CPU use|canopy monitor|energy not known, because no device'
job CANCELLED "$cost" "$jobs/train-gpu.sbatch" "$at/endless" --epochs 1000000 "${tiny[@]}"
endless=$id
is_running() { squeue --noheader --jobs="$endless" --states=running | grep -q .; }
await is_running
job COMPLETED 'has ended; its log' "$jobs/monitor.sbatch" "$endless" 1
has_samples() { [ "$(cat "$at/logs/monitor-$endless"-*.csv 2>/dev/null | wc -l)" -gt 2 ]; }
await has_samples
scancel "$endless"

has_ended() { [ -z "$(squeue --noheader --jobs="$1")" ]; }
for line in "${expected[@]}"; do
  read -r id state parts <<<"$line"
  await has_ended "$id"
  # The lines of tables break somewhere. The name of a log ends with the job, or with the job and the task of an array.
  report=$(cat <(scontrol show job "$id") "$at"/logs/*[a-z]-"$id"?(-*).log | tr -s ' \n' ' ')
  [[ "$(grep -o 'JobState=[A-Z]*' <<<"$report" | sort -u)" =~ ^JobState=($state)$ ]] || fail "job $id is not $state: $report"
  IFS='|' read -r -a parts <<<"$parts"
  for part in "${parts[@]}"; do
    grep -qF -e "$part" <<<"$report" || fail "job $id does not say '$part': $report"
  done
done
ls "$at"/a*slice*/report.html "$at/profiled/profile/trace.json" "$at"/sweep/{2,4}/report.html >/dev/null

# How many epochs a run has recorded, and a digest of its last state without the file's header, which has times.
result() {
  local file=$at/$1/last.safetensors
  wc -l <"$at/$1/metrics.jsonl"
  tail -c +$((9 + $(od -An -tu8 -N8 "$file"))) "$file" | sha256sum
}
[[ "$(result cut)" = "$epochs"$'\n'* ]] || fail "the run that was cut has not recorded $epochs epochs: $(result cut)"
[ "$(result cut)" = "$(result whole)" ] || fail "the run that was cut differs: $(result cut), $(result whole)"
[ -z "${CANOPY_MPI:-}" ] || [ "$(result nodes)" = "$(result cpus)" ] || fail "the launchers make a difference"

points=$(awk -F, 'NR == 1 { while (++i < NF && $i != "1.1") continue; next } { print $1, $i }' "$at/graded/marks.csv")
[ "$points" = $'ada 1\neve 0\nfay 0\ngil 0' ] || fail "the points of 1.1 are $points"

# Nothing remains on the nodes' own storage.
is_empty() { [ -z "$(ls "$at/local")" ]; }
await is_empty
echo "ok: ${#expected[@]} jobs in $SECONDS s"
