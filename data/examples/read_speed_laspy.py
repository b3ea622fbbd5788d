"""How fast laspy reads a LAS or LAZ file: python read_speed_laspy.py FILE [RUNS].

Needs `pip install laspy lazrs`. What is timed is what `read_speed.rs` gives too: coordinates in metres, intensity,
class and both return numbers, as arrays of their own.
"""

import sys
import time

import laspy
import numpy

path = sys.argv[1]
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
for backend in (laspy.LazBackend.LazrsParallel, laspy.LazBackend.Lazrs):
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        las = laspy.read(path, laz_backend=backend)
        origin = numpy.floor(las.header.offsets)
        xyz = (las.xyz - origin).astype(numpy.float32)
        rest = [numpy.array(a) for a in (las.intensity, las.classification, las.return_number, las.number_of_returns)]
        best = min(best, time.perf_counter() - begin)
    print(f"laspy {laspy.__version__} {backend.name}: {len(xyz)} points in {best:.3f} s, {len(xyz) / best / 1e6:.2f} million a second")

# Decompression alone, nothing made of it.
best = float("inf")
for _ in range(runs):
    begin = time.perf_counter()
    las = laspy.read(path, laz_backend=laspy.LazBackend.LazrsParallel)
    best = min(best, time.perf_counter() - begin)
print(f"laspy, raw records only: {best:.3f} s, {len(las) / best / 1e6:.2f} million a second")
