"""The benchmark: canopy's steps and PyTorch's, in the same shapes and precisions, one case after another."""

import json
import os
import subprocess
import tempfile

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")

# Seconds in which PyTorch runs all its cases. Compiled ones come last, the largest batches first.
PEER_SECONDS = 200

PRECISIONS = ["bf16", "tf32", "fp32", "fp16"]


def cases(small):
    """Model, mode, precision, clouds and timed steps of each case."""
    if small:
        inference = [("vanilla", "infer", precision, 4, 2) for precision in PRECISIONS]
        return [("vanilla", "train", "fp32", 4, 2)] + inference
    return [
        (model, mode, precision, batch, max(5, min(50, 4096 // batch)))
        for batch in [2048, 256, 32]
        for model in ["full", "vanilla"]
        for mode in ["train", "infer"]
        for precision in PRECISIONS
    ]


def run(context, failed):
    rows, points = [], 32 if context.small else 1024
    for model, mode, precision, batch, repeats in cases(context.small):
        row = {"by": "canopy", "model": model, "mode": mode, "precision": precision, "batch": batch, "points": points}
        command = ["bench", mode, "--model", model, "--precision", precision, "--batch", batch, "--points", points]
        command += ["--repeats", repeats, "--rounds", 2, "--json", "--device", context.device]
        done = context.run("canopy", *command, check=False, seconds=120)
        if done.returncode:
            if "out of memory" not in done.stderr.lower():
                raise failed(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
            row["failed"] = "out of memory"
        else:
            found = json.loads(done.stdout)
            row.update(ms=found["total_ms"], each_ms=found["all_totals_ms"])
            row.update(clouds_per_second=found["clouds_per_second"], peak_mib=found["peak_memory_mib"])
            row["form"] = found["low_precision"] or "fp32"
        rows.append(row)
    theirs, why = pytorch(context, points)
    return {"rows": rows + theirs, "not_run": why}


def pytorch(context, points):
    """PyTorch's rows, and why some or all are missing."""
    test = [context.python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"]
    try:
        done = subprocess.run(test, capture_output=True, text=True, timeout=120)
    except OSError as error:
        return [], f"PyTorch, because {context.python} cannot be started: {error.strerror}"
    if done.returncode:
        return [], f"PyTorch, because {os.path.basename(context.python)} has no torch"
    if not context.grid and not done.stdout.strip().endswith("True"):
        return [], "PyTorch, because its torch sees no GPU"
    jobs = [(*case, compiled) for compiled in [False, True] for case in cases(context.small)]
    device = "cpu" if context.grid else context.device
    command = [context.python, "-B", PEER, device, str(points), str(PEER_SECONDS), json.dumps(jobs)]
    with tempfile.TemporaryFile("w+") as output:
        try:
            code = subprocess.run(command, stdout=output, timeout=PEER_SECONDS + 90).returncode
        except subprocess.TimeoutExpired:
            code = 0
        output.seek(0)
        rows = [json.loads(line) for line in output if line.startswith("{") and line.endswith("\n")]
    if code:
        return rows, f"PyTorch after {len(rows)} cases, because it failed with exit code {code}"
    late = len(jobs) - len(rows)
    return rows, f"{late} cases of PyTorch, because its {PEER_SECONDS} s had passed" if late else None
