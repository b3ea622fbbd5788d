#!/usr/bin/env bash
# grade.sh LESSON: grades ./submission with ./course, and hands the result to the reporter in the output `result`.
set -uo pipefail
cd course || exit 2

# The exit code is 1 if the submission could not be read: then the result says why, without points.
cargo course grade ../submission --lesson "$1" --inside-container --out ../graded
echo "result=$(base64 -w0 ../graded/submission/classroom.json)" >>"$GITHUB_OUTPUT"
test -s ../graded/submission/classroom.json
