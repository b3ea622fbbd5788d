"""The parts of tests/gpu. Each returns what one line says of it, and its numbers, or raises Failed or NotRun."""

import csv
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import bench
import programs


class Failed(Exception):
    """A check failed; the message says which."""


class NotRun(Exception):
    """The part cannot run here; the message says why."""


class Context:
    def __init__(self, folder, device, grid, small, python):
        self.folder, self.device, self.grid, self.small, self.python = folder, device, grid, small, python

    def run(self, program, *arguments, seconds=300, check=True, prefix=()):
        """Runs one of the programs. Tests run on the GPU if there is one."""
        command = [*prefix, os.path.join(self.folder, program), *map(str, arguments)]
        env = dict(os.environ) if self.grid else dict(os.environ, CANOPY_TEST_DEVICE=self.device)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=env)
        except subprocess.TimeoutExpired:
            raise Failed(f"{program} {' '.join(map(str, arguments))}: no end after {seconds} s")
        if check and done.returncode:
            raise Failed(f"{program} {' '.join(map(str, arguments))}: exit code {done.returncode}: {last(done.stderr)}")
        return done

    def canopy(self, *arguments, seconds=300):
        return json.loads(self.run("canopy", *arguments, "--json", "--device", self.device, seconds=seconds).stdout)

    def forest(self, folder):
        """A few trees of the built-in forest; options of a short training on them."""
        path = os.path.join(folder, "forest")
        self.run("canopy", "data", "grow", "--trees", 42, "--points", 256, "--out", path)
        sizes = ["--points", 64, "--width", 8] if self.small else ["--points", 256, "--width", 1]
        return ["train", "--data", path, "--device", self.device, "--model", "full", "--batch", 8, *sizes]


def last(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def run(name, context):
    """Runs a part, and returns its record."""
    try:
        said, numbers = ALL[name](context)
        return {"state": "ok", "said": said, "numbers": numbers}
    except NotRun as why:
        return {"state": "not run", "said": f"because {why}"}
    except (Failed, KeyError, ValueError, OSError) as wrong:
        said = str(wrong) if isinstance(wrong, Failed) else f"{type(wrong).__name__}: {wrong}"
        return {"state": "failed", "said": said}


ERROR = re.compile(r"error (\S+::\S+) (\S+) ([\d.e+-]+|NaN|inf) ([\d.]+|NaN|inf)$", re.M)


def cuda_tests(context, *filters, prefix=(), seconds=300):
    """Runs the tests of the kernels. Returns the greatest error of each test and dtype, and what was not run."""
    done = context.run("cuda-tests", "--nocapture", "--test-threads", 4, *filters, check=False, prefix=prefix, seconds=seconds)
    text = done.stdout + done.stderr
    result = re.search(r"test result: \w+\. (\d+) passed; (\d+) failed", text)
    if done.returncode or not result:
        names = re.findall(r"^test (\S+) \.\.\. FAILED", text, re.M) or re.findall(r"^    (\S+::\S+)$", text, re.M)
        message = re.search(r"panicked at .*\n(.*)", text)
        said = f"{', '.join(sorted(set(names))) or 'the tests'}: {message[1] if message else last(text)}"
        raise Failed(said)
    numbers = {}
    for test, dtype, error, share in ERROR.findall(text):
        of = numbers.setdefault(test, {}).setdefault(dtype, {"error": 0.0, "of_tolerance": 0.0})
        if float(share) >= of["of_tolerance"]:
            of.update(error=float(error), of_tolerance=float(share))
    not_run = sorted(set(re.findall(r"not run, because (.*)", text)))
    passed = int(result[1])
    if not passed:
        raise Failed("there are no such tests")
    if not numbers:
        raise NotRun(not_run[0] if not_run else "the tests compare no numbers")
    return passed, numbers, not_run


def worst(numbers):
    rows = [(of["of_tolerance"], test, dtype) for test, dtypes in numbers.items() for dtype, of in dtypes.items()]
    share, test, dtype = max(rows)
    return f"greatest error {share:.2f} of its tolerance ({test.split('::')[-1][:30]}, {dtype})"


def operators(context):
    # On a GPU, the part `steps` is the test of whole steps.
    others = ["steps::", "known_bad::"] + ([] if context.grid else ["low_precision::"])
    filters = ["operators::"] if context.small else [w for name in others for w in ("--skip", name)]
    passed, numbers, not_run = cuda_tests(context, *filters)
    return f"{passed} tests, {worst(numbers)}", {"tests": passed, "errors": numbers, "not_run": not_run}


def steps(context):
    _, numbers, not_run = cuda_tests(context, "steps::ten_steps_of_the_vanilla" if context.small else "steps::")
    losses = {case: of for cases in numbers.values() for case, of in cases.items()}
    said = f"{len(losses)} of {4 if context.small else 8} trainings of ten steps, {worst(numbers)}"
    return said + "".join(f"; not run: {why}" for why in not_run), {"losses": losses, "not_run": not_run}


def memory(context):
    size = ["--batch", 4, "--points", 32, "--repeats", 30] if context.small else ["--repeats", 1000]
    first, now = context.canopy("bench", "train", "--rounds", 1, *size)["memory_mib"]
    numbers = {"steps": size[-1], "after_a_tenth_mib": first, "at_the_end_mib": now}
    if now > 1.01 * first + 1:
        raise Failed(f"{first:.1f} MiB after a tenth of {size[-1]} steps, {now:.1f} MiB at the end")
    said = f"flat over {size[-1]} steps ({first:.1f}, then {now:.1f} MiB)"
    size = ["--batch", 4, "--points", 64] if context.small else ["--batch", 256]
    # A CPU emulates bf16 and fp16 in tensors of fp32.
    for form in ["fp32"] + ([] if context.grid else ["bf16", "fp16"]):
        step = context.canopy("plan", "--measure", "--model", "full", "--format", form, *size)
        numbers[f"plan_{form}"] = {key: step[key] for key in ["form", "total", "measured"]}
        share = step["total"] / step["measured"]
        said += f"; canopy plan counts {100 * share:.0f} % of a step in {form}"
        if not 0.5 < share < 1.5:
            raise Failed(said)
    if context.grid:
        return said + "; not run: out-of-memory, which ends a CPU process", numbers
    # The activations need hundreds of GB, the points less than one.
    size = ["--batch", 1 << 16, "--points", 1 << 10]
    done = context.run("canopy", "bench", "train", *size, "--device", context.device, check=False)
    numbers["out_of_memory"] = done.stderr.strip()
    if done.returncode != 1 or "smaller --batch" not in done.stderr:
        raise Failed(f"out-of-memory: exit code {done.returncode}: {last(done.stderr)}")
    return said + "; out-of-memory is reported", numbers


def epochs(run):
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def resume(context):
    with tempfile.TemporaryDirectory() as folder:
        train = context.forest(folder) + ["--epochs", 12, "--checkpoint-seconds", 0]
        whole, broken = os.path.join(folder, "whole"), os.path.join(folder, "broken")
        context.run("canopy", *train, "--out", whole)
        command = [os.path.join(context.folder, "canopy"), *map(str, train), "--out", broken]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            saved = os.path.join(broken, "last.safetensors")
            while child.poll() is None and not os.path.exists(saved):
                time.sleep(0.01)
            ended = child.poll() is not None
            child.kill()
        if ended:
            raise Failed("the run ended before it could be killed")
        context.run("canopy", "train", "--resume", broken)
        pairs = list(zip(epochs(whole), epochs(broken)))
        if len(pairs) != 12 or len(epochs(broken)) != 12:
            raise Failed(f"expected 12 epochs, the resumed run has {len(epochs(broken))}")
        difference = max(abs(a["train_loss"] - b["train_loss"]) / abs(a["train_loss"]) for a, b in pairs)
    # On a CPU the runs are bit-identical. On a GPU cuBLAS may add in another order.
    if not difference <= (0 if context.grid else 1e-2):
        raise Failed(f"the losses of the resumed run differ by {difference:.1e}")
    return f"killed and resumed: losses differ by {difference:.1e}", {"epochs": 12, "difference": difference}


def sanitizer(context):
    if context.grid:
        raise NotRun("the emulated grid itself checks bounds and races")
    tool = shutil.which("compute-sanitizer", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not tool:
        raise NotRun("there is no compute-sanitizer in PATH")
    filters = ["operators::", "optimizers::"]
    for check in ["memcheck", "racecheck"]:
        cuda_tests(context, *filters, prefix=[tool, "--tool", check, "--error-exitcode", "9"], seconds=400)
    return "memcheck and racecheck find nothing", {"tests": filters}


def profile(context):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        context.run("canopy", *context.forest(folder), "--epochs", 2, "--profile", "--monitor", 0.1, "--out", run)
        found = json.loads(context.run("canopy", "profile", run, "--json").stdout)
        with open(os.path.join(run, "monitor.csv"), newline="", encoding="utf-8") as file:
            logged = sorted({row["name"] for row in csv.DictReader(file)})
        numbers = {key: found[key] for key in ["wall", "pattern", "shares", "copies"]}
        numbers["monitored"] = logged
        missing = []
        if context.grid:
            missing.append("NVML, because there is no GPU")
        elif len(logged) < 2:
            missing.append("NVML, because it shows no GPU")
        if context.grid or not shutil.which("nsys"):
            missing.append("nsys, because there is none" if not context.grid else "nsys")
        else:
            numbers["kernels"] = by_nsys(context, folder)
        numbers["not_run"] = missing
    return f"pattern: {found['pattern']}" + "".join(f"; not run: {one}" for one in missing), numbers


def by_nsys(context, folder):
    """The time of each kernel, as nsys measures it."""
    report = os.path.join(folder, "report")
    nsys = ["nsys", "profile", "--output", report]
    context.run("canopy", "bench", "train", "--rounds", 1, "--device", context.device, prefix=nsys)
    (path,) = glob.glob(report + ".nsys-rep")
    table = ["nsys", "stats", "--report", "cuda_gpu_sum,cuda_gpu_mem_size_sum", "--format", "csv", path]
    text = subprocess.run(table, capture_output=True, text=True, check=False).stdout
    kernels = os.path.join(folder, "kernels.csv")
    with open(kernels, "w", encoding="utf-8") as file:
        file.write(text)
    return json.loads(context.run("canopy", "profile", kernels, "--json").stdout)


def find_batch(context):
    size = ["--search", 8, "--points", 32, "--width", 16] if context.small else ["--search", 1 << 15]
    found = context.canopy("plan", "--model", "full", *size)
    said = f"a step of {found['searched']} clouds × {found['points']} points fits"
    return said, {"batch": found["searched"], "points": found["points"], "estimate": found["total"]}


def lessons(context):
    if context.grid:
        raise NotRun("the lessons' programs have no emulated grid")
    numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in programs.LESSONS:
            start = time.monotonic()
            done = context.run(name, "--reference", "--out", folder, seconds=240)
            if "not run on a GPU" in done.stdout:
                raise Failed(f"{name} did not find the GPU")
            numbers[name] = {"seconds": round(time.monotonic() - start, 1)}
    return "the reference of " + ", ".join(numbers), numbers


def measure(context):
    numbers = bench.run(context, Failed)
    ours = [row for row in numbers["rows"] if row["by"] == "canopy" and "ms" in row]
    said = f"{len(ours)} cases of canopy"
    if numbers["not_run"]:
        said += f"; not run: {numbers['not_run']}"
    return said, numbers


ALL = {
    "operators": operators,
    "steps": steps,
    "memory": memory,
    "resume": resume,
    "sanitizer": sanitizer,
    "profile": profile,
    "find-batch": find_batch,
    "lessons": lessons,
    "bench": measure,
}
