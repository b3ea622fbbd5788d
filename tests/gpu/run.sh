#!/usr/bin/env bash
# Every check and measurement of a machine with an NVIDIA GPU, in one command. README.md beside this file says more.
#
#   tests/gpu/run.sh                           builds with CUDA, and runs all parts
#   tests/gpu/run.sh --bin DIR                 runs the programs in DIR, which `--build DIR` has made elsewhere
#   tests/gpu/run.sh --grid --small            without a GPU: the kernels on an emulated grid, the rest on the CPU
#   tests/gpu/run.sh --only operators,steps    some of the parts
#   tests/gpu/run.sh --help                    all options
#
# Exit codes: 0 no part failed, 1 a part failed, 2 wrong usage, 130 after Ctrl-C.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if ! command -v python3 >/dev/null; then
  echo "tests/gpu/run.sh needs python3, 3.8 or newer" >&2
  exit 2
fi
exec python3 -B "$here/run.py" "$@"
