#!/usr/bin/env bash
# Five folds by plot of IDTReeS 2020's five commonest species, and the accuracy over all of them.
# usage: solutions/results/idtrees.sh DATA [SEED] [OPTIONS of canopy train]
# DATA: the folder of RemoteSensing, ITC and Field. CANOPY: the program, otherwise it is built by cargo.
set -euo pipefail
data=${1:?usage: $0 DATA [SEED] [OPTIONS]}
seed=${2:-1}
shift $(($# < 2 ? $# : 2))
read -ra canopy <<<"${CANOPY:-cargo run -q  -p canopy --}"
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

for fold in 0 1 2 3 4; do
    "${canopy[@]}" train --data "$data" --species QURU,ACRU,QUAL,PIPA2,QUCO2 --min-points 64 \
        --folds 5 --fold "$fold" --seed "$seed" --model vanilla --features intensity --frame metric \
        --points 128 --batch 16 --epochs 40 --votes 8 --out "$out/$fold" --json "$@" \
        2>"$out/$fold.log" >"$out/$fold.json" || { cat "$out/$fold.log" >&2; exit 1; }
done
python3 - "$out" <<'PYTHON'
import json, sys
names, right, all_, per = None, 0, 0, []
print("fold  trees  accuracy  balanced")
for fold in range(5):
    e = json.load(open(f"{sys.argv[1]}/{fold}.json"))
    m = e["confusion"]
    n = sum(map(sum, m))
    hits = sum(m[i][i] for i in range(len(m)))
    right, all_ = right + hits, all_ + n
    per.append(m)
    print(f"{fold:>4}  {n:>5}  {e['accuracy']:.3f}     {e['balanced_accuracy']:.3f}")
print(f" all  {all_:>5}  {right / all_:.3f}     {right} right")
print("confusion over all folds, rows the truth, in the order of --species:")
for i in range(len(per[0])):
    print(" ".join(f"{sum(m[i][j] for m in per):4}" for j in range(len(per[0]))))
PYTHON
