"""Loss scales of PyTorch's GradScaler, step by step, into scalers.golden.json.

    pip install torch
    python solutions/tests/goldens/make_scalers.py
"""

import json
import pathlib
import random

import torch

random.seed(5)
overflows = [random.random() < 0.2 for _ in range(60)] + [False] * 20 + [random.random() < 0.6 for _ in range(20)]


def pytorch(scale, interval):
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scales, taken = [], []
    for overflow in overflows:
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        if overflow:
            weight.grad.fill_(float("inf"))
        steps = []
        handle = optimizer.register_step_post_hook(lambda *_: steps.append(1))
        scaler.step(optimizer)
        handle.remove()
        scaler.update()
        scales.append(scaler.get_scale())
        taken.append(bool(steps))
    return {"rule": "pytorch", "first": scale, "interval": interval, "scales": scales, "taken": taken}


cases = [pytorch(65536.0, 5), pytorch(8.0, 2)]
path = pathlib.Path(__file__).with_name("scalers.golden.json")
text = ",\n".join(json.dumps(case) for case in cases)
path.write_text('{"overflows": ' + json.dumps(overflows) + ',\n"cases": [\n' + text + "\n]}\n")
