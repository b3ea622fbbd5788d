"""Loss scales of PyTorch's GradScaler and DeepSpeed's DynamicLossScaler, step by step, into scalers.golden.json.

    pip install torch deepspeed        (DS_BUILD_OPS=0; no operator is built)
    python solutions/tests/goldens/make_scalers.py
"""

import json
import pathlib
import random

import torch
from deepspeed.runtime.fp16 import loss_scaler

loss_scaler.dist.get_rank = lambda: 0  # one process, no group
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


def deepspeed(power, window, hysteresis, least):
    scaler = loss_scaler.DynamicLossScaler(2**power, window, least, hysteresis, consecutive_hysteresis=False)
    scales = []
    for overflow in overflows:
        try:
            scaler.update_scale(overflow)
        except Exception:
            scales.append(None)
            break
        scales.append(float(scaler.cur_scale))
    return {"rule": "deepspeed", "power": power, "window": window, "hysteresis": hysteresis, "least": least,
            "scales": scales}


cases = [pytorch(65536.0, 5), pytorch(8.0, 2), deepspeed(16, 5, 2, 1.0), deepspeed(16, 7, 1, 1.0),
         deepspeed(3, 4, 3, 4.0), deepspeed(4, 1000, 2, 1.0)]
path = pathlib.Path(__file__).with_name("scalers.golden.json")
text = ",\n".join(json.dumps(case) for case in cases)
path.write_text('{"overflows": ' + json.dumps(overflows) + ',\n"cases": [\n' + text + "\n]}\n")
