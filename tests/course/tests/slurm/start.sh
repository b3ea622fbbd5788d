# shellcheck shell=bash
# A Slurm on this machine, for tests: a controller and two nodes that listen on loopback only. A script reads this file, and names the
# folder of all files of Slurm in `at`. When the script ends, all jobs are cancelled, and the daemons end.
for program in munged slurmctld slurmd sbatch shellcheck; do
  command -v $program >/dev/null || { echo "not run, because there is no $program (apt-get install slurm-wlm munge shellcheck)"; exit; }
done
host=$(hostname -s)
user=$(id -un)
# Below the ports that the kernel gives to outgoing connections.
port=$((20000 + RANDOM % 4000 * 3))
# Some of the jobs wait for others. Tasks are not bound to cores, so a node may have more than the machine.
cores=$(($(nproc) > 4 ? $(nproc) : 4))
gres=gpu:card:4,gpu:slice:1
# `cred_expire` is the number of seconds that a requeued job waits (5 at least).
cat >"$at/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$user
SlurmdUser=$user
AuthInfo=socket=$at/munge.socket,cred_expire=5
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool-%n
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd-%n.pid
TmpFS=$at/tmp-%n
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
MinJobAge=3600
SchedulerParameters=sched_interval=5,bf_interval=2
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=$cores RealMemory=4000 Gres=$gres
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=$cores RealMemory=4000 Gres=$gres
PartitionName=work Nodes=ALL Default=YES
PartitionName=gpu Nodes=ALL
END
# GPUs that exist only as resources to request.
for gpu in card{0..3} slice0; do
  touch "$at/$gpu"
  echo "NodeName=node[1-2] Name=gpu Type=${gpu%?} File=$at/$gpu" >>"$at/gres.conf"
done
# PMIx creates a folder there whose name is the step's, so the nodes cannot share one.
mkdir "$at"/tmp-node{1,2}
# Clients must be able to enter the folder of munged's socket.
chmod 755 "$at"
head -c 128 /dev/urandom >"$at/key"
chmod 400 "$at/key"

export SLURM_CONF=$at/slurm.conf
finish() {
  local code=$?
  scancel --user="$user" || true
  for _ in {1..300}; do
    [ -n "$(squeue --noheader)" ] || break
    sleep 0.1
  done
  # shellcheck disable=SC2046
  kill $(jobs -p)
  wait
  [ "$code" != 0 ] || rm -rf "$at"
  exit "$code"
}
trap finish EXIT
munged --foreground --key-file="$at/key" --socket="$at/munge.socket" --pid-file="$at/munged.pid" --seed-file="$at/munged.seed" \
  &>"$at/munged.out" &
await test -e "$at/munge.socket"
slurmctld -D &>"$at/slurmctld.out" &
for node in node1 node2; do
  slurmd -D -N$node &>"$at/$node.out" &
done
are_idle() { [ "$(sinfo --noheader --Node --partition=work --format=%T)" = $'idle\nidle' ]; }
await are_idle
