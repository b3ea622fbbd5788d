#!/usr/bin/env bash
# Cross-validation by plot, with five folds, on the five most frequent species of IDTReeS 2020.
# usage: solutions/results/idtrees.sh DATA [SEED] [OPTIONS of canopy train]
# DATA: the folder that contains RemoteSensing, ITC and Field. CANOPY: the program (default: built by cargo).
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
correct, all_, per = 0, 0, []
print("fold  trees  accuracy  balanced")
for fold in range(5):
    e = json.load(open(f"{sys.argv[1]}/{fold}.json"))
    m = e["confusion"]
    n = sum(map(sum, m))
    correct_here = sum(m[i][i] for i in range(len(m)))
    correct, all_ = correct + correct_here, all_ + n
    per.append(m)
    print(f"{fold:>4}  {n:>5}  {e['accuracy']:.3f}     {e['balanced_accuracy']:.3f}")
print(f" all  {all_:>5}  {correct / all_:.3f}     {correct} correct")
print("confusion matrix over all folds, rows are true species, in the order of --species:")
for i in range(len(per[0])):
    print(" ".join(f"{sum(m[i][j] for m in per):4}" for j in range(len(per[0]))))
PYTHON
