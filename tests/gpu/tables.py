"""Prints the book's tables of the newest record in book/src/results, or of the given one; nothing while there is none."""

import glob
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def table(head, rows, align="--:"):
    """Markdown; by default all columns but the first are numbers."""
    lines = [head, ["---"] + [align] * (len(head) - 1)] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def speeds(rows, mode):
    """Clouds per second of each case, and PyTorch's beside it."""
    of = {}
    for row in rows:
        if row["mode"] == mode:
            of.setdefault((row["model"], row["batch"], row["precision"]), {})[row["by"]] = row
    lines = []
    for (model, batch, precision), by in of.items():
        ours = by.get("canopy", {})
        speed = ours.get("clouds_per_second")
        cells = [f"{model}, {batch} clouds, {precision}", ours.get("failed") or number(speed)]
        for name in ["eager", "torch.compile"]:
            theirs = by.get(name, {})
            rate = theirs.get("clouds_per_second")
            cells.append(theirs.get("failed") or number(rate))
            cells.append(f"{speed / rate:.2f}" if speed and rate else "–")
        cells += [number(by.get(name, {}).get("peak_mib")) for name in ["canopy", "eager"]]
        lines.append(cells)
    head = ["clouds/s", "canopy", "eager", "ratio", "torch.compile", "ratio", "canopy, MiB", "eager, MiB"]
    return table(head, lines)


def page(record):
    gpu = record["machine"]["gpu"] or {}
    where = f"{gpu['name']}, driver {gpu['driver_version']}" if gpu else "no GPU: an emulated grid and the CPU"
    text = [f"Recorded on {record['date'][:10]} on {where}, by `{record['command']}`."]
    parts = record["parts"]
    rows = [[name, part["state"], part["said"].replace("|", "\\|").replace("--", "\\-\\-")] for name, part in parts.items()]
    text.append(table(["part", "result", "what was found"], rows, align="---"))
    found = parts.get("bench", {}).get("numbers", {}).get("rows", [])
    for mode, title in [("train", "Training"), ("infer", "Inference")]:
        if any(row["mode"] == mode for row in found):
            head = f"{title}, clouds of {found[0]['points']} points"
            text.append(f"<details><summary>{head}</summary>\n\n{speeds(found, mode)}\n\n</details>")
    return "\n\n".join(text)


def main():
    paths = sys.argv[1:] or sorted(glob.glob(os.path.join(ROOT, "book", "src", "results", "gpu-*.json")))
    if paths:
        with open(paths[-1], encoding="utf-8") as file:
            print(page(json.load(file)))


if __name__ == "__main__":
    main()
