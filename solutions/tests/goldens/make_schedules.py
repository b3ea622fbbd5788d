"""Learning rates of PyTorch's schedulers, step by step, into schedules.golden.json.

    pip install torch
    python solutions/tests/goldens/make_schedules.py
"""

import json
import pathlib

import torch
from torch.optim import lr_scheduler as pt


def optimizer(lr):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr, momentum=0.9)


def run(scheduler, optimizer, steps):
    rates, momenta = [], []
    for step in range(steps):
        group = optimizer.param_groups[0]
        rates.append(group["lr"])
        momenta.append(group["momentum"])
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return rates, momenta


def pytorch(name, make, lr=0.4, steps=40, **settings):
    o = optimizer(lr)
    rates, momenta = run(make(o, **settings), o, steps)
    case = {"name": name, "lr": lr, "settings": settings, "rates": rates}
    if name.startswith("one_cycle"):
        case["momenta"] = momenta
    return case


cases = [
    pytorch("step", pt.StepLR, step_size=7, gamma=0.7),
    pytorch("multi_step", pt.MultiStepLR, milestones=[3, 11, 12, 30], gamma=0.1),
    pytorch("exponential", pt.ExponentialLR, gamma=0.93),
    pytorch("cosine", pt.CosineAnnealingLR, T_max=40, eta_min=0.01),
    pytorch("one_cycle", pt.OneCycleLR, max_lr=0.4, total_steps=40),
    pytorch("one_cycle_odd", pt.OneCycleLR, steps=23, max_lr=1.5, total_steps=23, pct_start=0.45, div_factor=10.0,
            final_div_factor=100.0, base_momentum=0.8, max_momentum=0.9),
]
path = pathlib.Path(__file__).with_name("schedules.golden.json")
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
