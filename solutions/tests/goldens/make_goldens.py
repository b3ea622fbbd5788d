"""Makes the goldens that `solutions/tests/library/goldens.rs` compares canopy with.

    python make_goldens.py     writes KIND.weights.safetensors and KIND.golden.safetensors here

Everything is computed twice, in f64 (what is written) and in f32. The greatest difference of the two, relative to the
tensor's greatest value, is PyTorch's own rounding. Where a value stands within rounding of a switch (a ReLU at 0, two
points equal to seven digits in the max) ten steps blow it up to 1e-2, and nothing could be held to 1e-5. So seeds are
tried in turn until PyTorch's own rounding stays under LIMIT everywhere; what it is then is printed for each group.
"""

import itertools
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from pointnet import PointNet, orthogonality

HERE = Path(__file__).parent
CLOUDS, POINTS, CLASSES, WIDTH = 16, 12, 5, 16
STEPS, WARMUP, RATE, CLIP = 10, 3, 1e-3, 1.0
LIMIT = 5e-6
CLASS_WEIGHTS = [1.0, 0.5, 2.0, 1.25, 0.75]


def make_input():
    """Clouds of many shapes, so that batch norm in the head has a variance to divide by that is not rounding; every
    third point is the copy of an earlier one, so that the max over points has ties."""
    points = torch.randn(CLOUDS, POINTS, 3) * torch.empty(CLOUDS, 1, 3).uniform_(0.2, 2)
    points += torch.randn(CLOUDS, 1, 3)
    for i in range(2, POINTS, 3):
        points[:, i] = points[:, i // 2]
    return points, torch.arange(CLOUDS) * 7 % 6 % CLASSES


# The β of a layer before the max has no gradient where every cloud's greatest value is above 0: the next batch norm
# subtracts it again. Only channels that are all 0 in some clouds have one, so let there be many.
LAST_BEFORE_MAX = ("transform.mlp.2.bn.bias", "mlp.4.bn.bias")


def shake(model):
    """Every parameter away from where it starts: no gradient is zero by construction, some γ are negative, and one
    channel is constant and stands at the ReLU's corner, where PyTorch's slope is 0."""
    for name, p in model.named_parameters():
        with torch.no_grad():
            if name.endswith("bn.weight"):
                p.uniform_(0.5, 1.5)
                p[::5] *= -1
            elif name.endswith(LAST_BEFORE_MAX):
                p.normal_(-1, 0.5)
            elif name.endswith("bn.bias"):
                p.normal_(0, 0.1)
            elif ".out." in name:
                p.normal_(0, 0.03)
    with torch.no_grad():
        model.mlp[1].weight[0] = 0
        model.mlp[1].bn.bias[0] = 0
    for name, b in model.named_buffers():
        if name.endswith("running_mean"):
            b.normal_(0, 0.1)
        elif name.endswith("running_var"):
            b.uniform_(0.5, 1.5)


def whole_loss(model, points, labels):
    """As the trainer's with everything on: smoothing, class weights, orthogonality."""
    logits, t = model(points)
    weights = torch.tensor(CLASS_WEIGHTS, dtype=logits.dtype)
    loss = cross_entropy(logits, labels, weight=weights, label_smoothing=0.1)
    if t is not None:
        loss = loss + 0.001 * orthogonality(t)
    return logits, loss


def tensors_of(model, prefix):
    named = list(model.named_parameters()) + [b for b in model.named_buffers() if "num_batches" not in b[0]]
    return {f"{prefix}.{name}": value.detach().clone() for name, value in named}


def one_pass(model, points, labels):
    out = {}
    model.eval()
    out["eval.logits"] = model(points)[0].detach()
    model.train()
    points = points.clone().requires_grad_()
    logits, t = model(points)
    plain = cross_entropy(logits, labels)
    plain.backward()
    out["plain.logits"], out["plain.loss"] = logits.detach(), plain.detach()
    for name, p in model.named_parameters():
        # The loss without orthogonality depends on every parameter as well.
        out[f"plain.grad.{name}"] = p.grad.clone()
    out["plain.grad_points"] = points.grad.clone()
    for name, b in model.named_buffers():
        if "num_batches" not in name:
            out[f"plain.after.{name}"] = b.clone()
    if t is not None:
        out["plain.orthogonality"] = orthogonality(t).detach()
    model.zero_grad()
    _, loss = whole_loss(model, points, labels)
    loss.backward()
    out["whole.loss"] = loss.detach()
    for name, p in model.named_parameters():
        out[f"whole.grad.{name}"] = p.grad.clone()
    return out


OPTIMIZERS = {
    "sgd": lambda p, eps: torch.optim.SGD(p, lr=RATE * 10, momentum=0.9, weight_decay=1e-3),
    "nesterov": lambda p, eps: torch.optim.SGD(p, lr=RATE * 10, momentum=0.9, nesterov=True),
    "adam": lambda p, eps: torch.optim.Adam(p, lr=RATE, weight_decay=1e-3, eps=eps),
    "adamw": lambda p, eps: torch.optim.AdamW(p, lr=RATE, weight_decay=1e-2, eps=eps),
}


def schedule_of(optimizer):
    up = LinearLR(optimizer, 1 / WARMUP, 1.0, WARMUP - 1)
    down = CosineAnnealingLR(optimizer, STEPS - WARMUP)
    return SequentialLR(optimizer, [up, down], [WARMUP])


def ten_steps(model, points, labels, name):
    model.train()
    optimizer = OPTIMIZERS[name](model.parameters(), 1e-4)
    schedule = schedule_of(optimizer)
    losses, norms, rates = [], [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = whole_loss(model, points, labels)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        rates.append(schedule.get_last_lr()[0])
        losses.append(loss.item())
        optimizer.step()
        schedule.step()
    model.eval()
    out = tensors_of(model, f"{name}.after")
    for key, values in [("losses", losses), ("norms", norms), ("rates", rates)]:
        out[f"{name}.{key}"] = torch.tensor(values, dtype=torch.float64)
    out[f"{name}.logits"] = model(points)[0].detach()
    return out


def optimizer_alone(dtype):
    """Ten steps on gradients given: the optimizer without what a network does to rounding."""
    torch.manual_seed(5)
    w = torch.randn(7, 5).to(dtype)
    grads = (torch.randn(STEPS, 7, 5) * torch.logspace(-6, 0, 35).reshape(7, 5)).to(dtype)
    grads[:, 0, 0] = 0
    out = {"alone.start": w, "alone.grads": grads}
    for name, build in OPTIMIZERS.items():
        p = torch.nn.Parameter(w.clone())
        optimizer = build([p], 1e-8)
        schedule = schedule_of(optimizer)
        for g in grads:
            p.grad = g.clone()
            optimizer.step()
            schedule.step()
        out[f"alone.{name}"] = p.detach()
    return out


def relative(a, b):
    a, b = a.double(), b.double()
    difference = (a - b).abs().max().item()
    return difference / max(b.abs().max().item(), 1e-30) if difference > 0 else 0.0


def report(kind, exact, single):
    worst = {}
    for key in exact:
        group = ".".join(key.split(".")[:2])
        worst[group] = max(worst.get(group, (0, "")), (relative(single[key], exact[key]), key))
    for group, (error, key) in sorted(worst.items()):
        print(f"{kind:8} {group:20} f32 is within {error:.1e}   ({key})")


def save(name, tensors):
    tensors = {k: v.contiguous() for k, v in tensors.items()}
    path = HERE / f"{name}.safetensors"
    save_file(tensors, path, {"format": "pt"})
    path.chmod(0o644)


def make(kind):
    for seed in itertools.count(2017):
        weights, inputs, exact, single = compute(kind, seed)
        if max(relative(single[key], exact[key]) for key in exact) < LIMIT:
            break
    print(f"{kind:8} seed {seed}")
    report(kind, exact, single)
    save(f"{kind}.weights", weights)
    save(f"{kind}.golden", exact | inputs)


def compute(kind, seed):
    torch.manual_seed(seed)
    base = PointNet(kind, CLASSES, WIDTH, dropout=0.0)
    shake(base)
    weights = {k: v.clone() for k, v in base.state_dict().items()}
    points, labels = make_input()

    def outcome(dtype):
        def fresh():
            model = PointNet(kind, CLASSES, WIDTH, dropout=0.0)
            model.load_state_dict(weights)
            return model.to(dtype)

        x = points.to(dtype)
        out = one_pass(fresh(), x, labels)
        for name in OPTIMIZERS:
            out |= ten_steps(fresh(), x, labels, name)
        return out

    return weights, {"points": points, "labels": labels}, outcome(torch.float64), outcome(torch.float32)


def make_biased():
    """A vanilla model with a bias before each batch norm and convolutions' weights, as most ports have them."""
    torch.manual_seed(7)
    model = PointNet("vanilla", CLASSES, WIDTH, bias=True).eval()
    shake(model)
    points, _ = make_input()
    state = model.state_dict()
    for name in list(state):
        if name.startswith("mlp.") and name.count(".") == 2 and name.endswith(".weight"):
            state[name] = state[name].unsqueeze(2)
    save("biased.weights", state)
    save("biased.golden", {"points": points, "logits": model(points)[0].detach()})


if __name__ == "__main__":
    torch.set_num_threads(1)
    for kind in ("full", "vanilla"):
        make(kind)
    exact = optimizer_alone(torch.float64)
    report("alone", exact, optimizer_alone(torch.float32))
    save("optimizers.golden", exact)
    make_biased()
