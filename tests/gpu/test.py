"""Tests of tests/gpu/run.sh on the emulated grid: about 40 s. Called by .ci/run."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(HERE, "run.sh")
SMALL = [RUN, "--grid", "--small"]


def run(*arguments, **env):
    return subprocess.run(arguments, cwd=ROOT, env=dict(os.environ, **env), capture_output=True, text=True)


def tables(*arguments):
    return run("python3", "-B", os.path.join(HERE, "tables.py"), *arguments).stdout


class EmulatedGrid(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "record.json")

    def record(self):
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)

    def test_all_parts_run_and_are_recorded(self):
        done = run(*SMALL, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        record = self.record()
        expected = "operators steps memory resume sanitizer profile find-batch lessons bench".split()
        self.assertEqual(list(record["parts"]), expected)
        for key in ["date", "command", "device", "machine", "versions", "binary"]:
            self.assertTrue(record[key], key)
        for name, part in record["parts"].items():
            wanted = "not run" if name in ["sanitizer", "lessons"] else "ok"
            self.assertEqual(part["state"], wanted, f"{name}: {part['said']}")
        errors = record["parts"]["operators"]["numbers"]["errors"]
        self.assertEqual(set(errors["operators::cross_entropy"]), {"f32", "bf16", "f16"})
        self.assertIn("vanilla/fp32", record["parts"]["steps"]["numbers"]["losses"])
        rows = record["parts"]["bench"]["numbers"]["rows"]
        self.assertTrue(all(row["ms"] > 0 for row in rows if row["by"] == "canopy"))
        precisions = [row["precision"] for row in rows if row["by"] == "canopy" and row["mode"] == "infer"]
        self.assertEqual(sorted(precisions), ["bf16", "fp16", "fp32", "tf32"])
        self.assertTrue(all(len(line) <= 80 for line in done.stdout.splitlines()[:-1]), done.stdout)
        again = run(*SMALL, "--out", self.out)
        self.assertEqual((again.returncode, again.stdout.count("(recorded;")), (0, len(expected)))
        self.assertIn("| vanilla, 4 clouds, fp32 |", tables(self.out))

    def test_a_wrong_kernel_fails_its_part(self):
        kernels = os.path.join(self.folder, "kernels")
        shutil.copytree(os.path.join(ROOT, "solutions", "src", "kernels"), kernels)
        path = os.path.join(kernels, "max_points.cu")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("r < end", text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("r < end", "r < end - 1"))
        done = run(*SMALL, "--only", "operators", "--out", self.out, CANOPY_TEST_KERNELS=kernels)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        part = self.record()["parts"]["operators"]
        self.assertEqual(part["state"], "failed")
        self.assertIn("operators::the_first_of_equals_takes_the_gradient", part["said"])

    def test_ctrl_c_leaves_the_parts_that_ended(self):
        command = [*SMALL, "--only", "find-batch,operators", "--out", self.out]
        # A shell's background job ignores SIGINT, and so would the program.
        usual = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        null = subprocess.DEVNULL
        child = subprocess.Popen(command, cwd=ROOT, stdout=null, stderr=null, start_new_session=True, preexec_fn=usual)
        while not os.path.exists(self.out) and child.poll() is None:
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGINT)
        self.assertEqual(child.wait(timeout=60), 130)
        self.assertEqual(list(self.record()["parts"]), ["find-batch"])

    def test_wrong_usage_exits_with_2(self):
        done = run(RUN, "--only", "speed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no part 'speed'", done.stderr)
        done = run(RUN, CUDA_VISIBLE_DEVICES="")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("canopy doctor", done.stderr)
        self.assertIn("--grid", done.stderr)

    def test_the_book_has_the_tables_of_the_newest_record(self):
        with open(os.path.join(ROOT, "book", "src", "recorded", "gpu.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), tables(), "run book/record gpu")


if __name__ == "__main__":
    unittest.main()
