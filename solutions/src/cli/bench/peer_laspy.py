"""laspy's time for one LAS or LAZ file, for `canopy bench data`: python peer_laspy.py FILE REPEATS

Prints one JSON object. The coordinates are asked for, scaled, as a reader of clouds needs them.
"""
import json
import sys
import time

import laspy
import numpy as np

path, repeats = sys.argv[1], int(sys.argv[2])
seconds = []
points = 0
for i in range(repeats + 1):
    start = time.perf_counter()
    file = laspy.read(path)
    xyz = np.stack([file.x, file.y, file.z], axis=1).astype(np.float32)
    points = len(xyz)
    if i > 0:
        seconds.append(time.perf_counter() - start)
print(json.dumps({"laspy": laspy.__version__, "points": points, "seconds": seconds}))
