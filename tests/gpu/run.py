"""Runs the parts of tests/gpu, each in processes of its own, and records them in a JSON file. Called by run.sh."""

import argparse
import datetime
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time

import parts
import programs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/gpu/run.sh",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="parts: " + ", ".join(parts.ALL),
    )
    names = lambda text: text.split(",")
    parser.add_argument("--only", metavar="PART,…", type=names, action="extend", help="these parts")
    parser.add_argument("--grid", action="store_true", help="no GPU: an emulated grid for the kernels, the CPU for the rest")
    parser.add_argument("--small", action="store_true", help="small sizes, and some of the operators")
    parser.add_argument("--bin", metavar="DIR", default=os.environ.get("CANOPY_GPU_BIN"), help="programs that are built already [env: CANOPY_GPU_BIN]")
    parser.add_argument("--build", metavar="DIR", help="only build the programs, and copy them into DIR")
    parser.add_argument("--device", metavar="NAME", default="cuda:0", help="the GPU [default: cuda:0]")
    parser.add_argument("--out", metavar="FILE", help="the record [default: book/src/results/gpu-DATE.json; with --grid or --small in target/gpu]")
    parser.add_argument("--again", action="store_true", help="also run the parts that the record has")
    parser.add_argument("--python", metavar="PY", default=sys.executable, help="a Python with torch, for the comparison")
    given = parser.parse_args()
    given.only = [name for name in given.only or parts.ALL if name]
    for name in given.only:
        if name not in parts.ALL:
            parser.error(f"there is no part '{name}': choose from {', '.join(parts.ALL)}")
    if given.bin and not os.path.isfile(os.path.join(given.bin, "canopy")):
        parser.error(f"{given.bin} has no program canopy: make the folder with --build {given.bin}")
    if not given.out:
        today = datetime.date.today().isoformat()
        book = os.path.join(ROOT, "book", "src", "results", f"gpu-{today}.json")
        trial = os.path.join(ROOT, "target", "gpu", "grid.json" if given.grid else "small.json")
        given.out = trial if given.grid or given.small else book
    return given


def text_of(*command):
    """The output of a command; None if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine(canopy):
    """What runs the parts: as the driver and the doctor report it."""
    query = "name,driver_version,memory.total,compute_cap,clocks.max.sm,power.limit"
    doctor = subprocess.run([canopy, "doctor", "--json"], capture_output=True, text=True)
    try:
        lines = json.loads(doctor.stdout)["lines"]
    except ValueError:
        lines = []
    card = text_of("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "gpu": dict(zip(query.split(","), card.splitlines()[0].split(", "))) if card else None,
        "doctor": {line["name"]: line["found"] for line in lines if line["name"] != "Slurm"},
    }


def digest(folder):
    """Of the programs and of these scripts: a changed one is measured again."""
    hashed = hashlib.sha256()
    scripts = [os.path.join(HERE, name) for name in sorted(os.listdir(HERE)) if name.endswith(".py")]
    for path in sorted(os.path.join(folder, name) for name in os.listdir(folder)) + scripts:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                hashed.update(block)
    return hashed.hexdigest()[:16]


class Record:
    """The JSON file. It is replaced as a whole after each part, so that Ctrl-C leaves a whole one."""

    def __init__(self, path, head, again):
        self.path, self.data = path, dict(head, parts={})
        same = lambda old: all(old.get(key) == head[key] for key in ["binary", "kernels", "small", "device"])
        if os.path.exists(path) and not again:
            with open(path, encoding="utf-8") as file:
                old = json.load(file)
            if same(old):
                self.data["parts"] = old["parts"]
            else:
                print("the record is of other programs or another device: all parts run again")

    def put(self, name, result):
        self.data["parts"][name] = result
        ordered = {part: self.data["parts"][part] for part in parts.ALL if part in self.data["parts"]}
        self.data["parts"] = ordered
        folder = os.path.dirname(os.path.abspath(self.path))
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            json.dump(self.data, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, self.path)


def say(name, result, recorded=False):
    head = f"{name:<11}{result['state']:<8}{result['seconds']:6.0f} s  "
    lines = textwrap.wrap(result["said"], 50, max_lines=7)
    if recorded:
        lines.append("(recorded; --again runs it again)")
    for line in lines:
        print(head + line, flush=True)
        head = " " * len(head)


def no_gpu(why, doctor):
    """Says why nothing runs, and returns the exit code."""
    print(f"there is no GPU to run on: {why}\n`{doctor}` says what is missing", file=sys.stderr)
    print("`tests/gpu/run.sh --grid --small` needs none: the kernels run on an emulated grid", file=sys.stderr)
    return 2


def main():
    given = arguments()
    if given.build:
        programs.build(given.build, cuda=not given.grid)
        return 0
    no_driver = None if given.grid else programs.no_driver()
    if no_driver:
        return no_gpu(no_driver, "canopy doctor")
    folder = given.bin or programs.build(os.path.join(ROOT, "target", "gpu", "grid" if given.grid else "cuda"), cuda=not given.grid)
    canopy = os.path.join(folder, "canopy")
    device = "cpu" if given.grid else given.device
    if not given.grid:
        why = programs.no_gpu(canopy, device)
        if why:
            return no_gpu(why, f"{canopy} doctor")
    kernels = os.environ.get("CANOPY_TEST_KERNELS")
    head = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["tests/gpu/run.sh"] + sys.argv[1:]),
        "kernels": kernels or ("emulated grid" if given.grid else "GPU"),
        "device": device,
        "small": given.small,
        "machine": machine(canopy),
        "versions": {
            "canopy": text_of(canopy, "--version"),
            "commit": text_of("git", "-C", ROOT, "rev-parse", "HEAD"),
            "python": platform.python_version(),
        },
        "binary": digest(folder),
    }
    record = Record(given.out, head, given.again)
    context = parts.Context(folder, device, given.grid, given.small, given.python)
    try:
        for name in given.only:
            if name in record.data["parts"]:
                say(name, record.data["parts"][name], recorded=True)
                continue
            if sys.stdout.isatty():
                print(f"{name:<11}…", end="\r", flush=True)
            start = time.monotonic()
            result = parts.run(name, context)
            result["seconds"] = round(time.monotonic() - start, 1)
            record.put(name, result)
            say(name, result)
    except KeyboardInterrupt:
        print(f"\nstopped; {given.out} has the parts that ended, and the same command runs the others", file=sys.stderr)
        return 130
    print(f"written: {os.path.relpath(given.out)}")
    return int(any(part["state"] == "failed" for part in record.data["parts"].values()))


if __name__ == "__main__":
    sys.exit(main())
