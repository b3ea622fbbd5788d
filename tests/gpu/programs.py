"""Builds the programs that the parts run, and finds out whether they see a GPU."""

import ctypes
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The lessons whose experiment runs on the device that it finds.
LESSONS = ["lesson02", "lesson04", "lesson07"]


def artifacts(command):
    """Runs cargo, and returns the programs that it built, by name."""
    done = subprocess.run(command + ["--message-format=json"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(2)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}


def build(folder, cuda):
    """Builds all programs into `folder`, and returns it. Without CUDA in the profile that the tests are built in."""
    os.makedirs(folder, exist_ok=True)
    features = ["--release", "--features", "canopy/cuda"] if cuda else []
    print("building the programs", "with CUDA" if cuda else "", file=sys.stderr)
    packages = ["canopy"] + (LESSONS if cuda else [])
    found = artifacts(["cargo", "build", "--quiet"] + [f"-p{name}" for name in packages] + features)
    tests = artifacts(["cargo", "test", "--quiet", "--no-run", "-pcanopy", "--test", "cuda"] + features)
    programs = {name: found[name] for name in packages}
    programs["cuda-tests"] = tests["cuda"]
    for name, path in programs.items():
        copy = os.path.join(folder, name)
        shutil.copy2(path, copy + ".tmp")
        os.replace(copy + ".tmp", copy)
        if cuda:
            subprocess.run(["strip", copy], check=False)
    return folder


def no_driver():
    """Why the driver shows no GPU; None if it shows one. Needs no program."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "the NVIDIA driver shows no GPU to this process"
    return None


def no_gpu(canopy, device):
    """Why `device` cannot be used; None if it can."""
    command = [canopy, "plan", "--measure", "--json", "--batch", "2", "--points", "8", "--width", "16", "--device", device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    words = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
    return words[0].removeprefix("error: ") if hasattr(str, "removeprefix") else words[0]
