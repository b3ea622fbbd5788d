"""Makes `more_optimizers.golden.safetensors`, which `solutions/tests/library/optim.rs` and
`lessons/lesson01/tests/lbfgs.rs` compare with.

    python make_optimizers.py

In f64. LARS and LAMB take twelve steps by their papers' equations. L-BFGS takes twenty, one gradient each, without
line search, on a least-squares loss whose gradients canopy computes itself.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

torch.manual_seed(11)
start = torch.randn(7, 5, dtype=torch.float64)
grads = torch.randn(12, 7, 5, dtype=torch.float64) * torch.logspace(-6, 0, 35, dtype=torch.float64).reshape(7, 5)
grads[:, 0, 0] = 0
matrix = torch.randn(20, 35, dtype=torch.float64) * torch.logspace(-1, 0.3, 35, dtype=torch.float64)
wanted = torch.randn(20, dtype=torch.float64)
out = {"start": start, "grads": grads, "matrix": matrix, "wanted": wanted}

w = torch.nn.Parameter(start.clone())
optimizer = torch.optim.LBFGS([w], lr=0.5, max_iter=1, history_size=5)


def closure():
    optimizer.zero_grad()
    loss = ((matrix @ w.reshape(-1) - wanted) ** 2).mean()
    loss.backward()
    losses.append(loss.item())
    return loss


losses = []
for _ in range(20):
    optimizer.step(closure)
print("loss under L-BFGS:", losses[0], "to", losses[-1])
out["lbfgs"] = w.detach()

# By the equations of the papers: no release of PyTorch has them. Two tensors, so that a ratio over all would show.
starts = [start, torch.randn(3, 2, dtype=torch.float64) * 20]
small = [grads, torch.randn(12, 3, 2, dtype=torch.float64) * 0.01]
out["start_2"], out["grads_2"] = starts[1], small[1]
for k, (first, steps) in enumerate(zip(starts, small)):
    w, v = first.clone(), torch.zeros_like(first)
    for g in steps:  # LARS, You et al. 2017, algorithm 1
        rate = 0.02 * w.norm() / (g.norm() + 0.01 * w.norm())
        v = 0.9 * v + 0.3 * rate * (g + 0.01 * w)
        w = w - v
    out[f"lars_{k}"] = w
    w, m, v = first.clone(), torch.zeros_like(first), torch.zeros_like(first)
    for t, g in enumerate(steps, 1):  # LAMB, You et al. 2020, algorithm 2
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        r = m / (1 - 0.9**t) / ((v / (1 - 0.99**t)).sqrt() + 1e-6) + 0.05 * w
        w = w - 0.02 * w.norm() / r.norm() * r
    out[f"lamb_{k}"] = w
path = Path(__file__).parent / "more_optimizers.golden.safetensors"
save_file({k: v.contiguous() for k, v in out.items()}, path, {"format": "pt"})
path.chmod(0o644)
