"""PyTorch's time for the same step, for `canopy bench`: the same PointNet, shapes and threads, eager and compiled.

    python peer_pytorch.py --mode train --model full --points 1024 --batch 32 --threads 2 [--compile]

Prints one JSON object: milliseconds of each repeat by part, and the peak memory in MiB.
"""
import argparse
import json
import resource
import signal
import time

import torch
from torch import nn
from torch.nn import functional as F


def shared(widths, last_relu=True):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += [nn.Conv1d(a, b, 1), nn.BatchNorm1d(b)]
        if last_relu or i < len(widths) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def dense(a, b):
    return nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU())


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.mlp = shared([k, 64, 128, 1024])
        self.fc = nn.Sequential(dense(1024, 512), dense(512, 256), nn.Linear(256, k * k))

    def forward(self, x):
        x = self.fc(self.mlp(x).max(2)[0])
        return x.view(-1, self.k, self.k) + torch.eye(self.k, device=x.device, dtype=x.dtype)


class PointNet(nn.Module):
    def __init__(self, full, classes):
        super().__init__()
        self.full = full
        if full:
            self.input, self.feature = TNet(3), TNet(64)
        self.first = shared([3, 64, 64])
        self.second = shared([64, 64, 128, 1024])
        self.head = nn.Sequential(
            dense(1024, 512), nn.Dropout(0.3), dense(512, 256), nn.Dropout(0.3), nn.Linear(256, classes)
        )

    def forward(self, x):
        t = None
        if self.full:
            x = torch.bmm(x.transpose(2, 1), self.input(x)).transpose(2, 1)
        x = self.first(x)
        if self.full:
            t = self.feature(x)
            x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        return self.head(self.second(x).max(2)[0]), t


def orthogonality(t):
    off = torch.eye(t.shape[1]) - torch.bmm(t, t.transpose(2, 1))
    return off.square().sum() / t.shape[0]


def warm_up(step, times, limit):
    """Steps that are not timed, compiling among them: how many seconds they took, or None past the limit."""

    def stop(*_):
        raise TimeoutError

    start = time.perf_counter()
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        for _ in range(times):
            step()
    except Exception as error:
        # torch.compile wraps what stops it in errors of its own.
        if time.perf_counter() - start < limit:
            raise error
        return None
    finally:
        signal.alarm(0)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["train", "infer"], default="train")
    parser.add_argument("--model", choices=["full", "vanilla"], default="full")
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--classes", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="the forward pass under autocast to bf16")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--warmup-limit", type=int, default=300, help="seconds that the warm-up, compiling included, may take")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    net = PointNet(args.model == "full", args.classes)
    forward = torch.compile(net) if args.compile else net
    x = torch.rand(args.batch, args.points, 3) * 2 - 1
    labels = torch.arange(args.batch) % args.classes
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    parts = {"forward": [], "backward": [], "optimizer": []}

    def train():
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            logits, t = forward(x.transpose(2, 1))
        loss = F.cross_entropy(logits.float(), labels, label_smoothing=0.1)
        if t is not None:
            loss = loss + 0.001 * orthogonality(t.float())
        forwarded = time.perf_counter()
        optimizer.zero_grad()
        loss.backward()
        walked = time.perf_counter()
        optimizer.step()
        return forwarded - start, walked - forwarded, time.perf_counter() - walked

    def infer():
        start = time.perf_counter()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            forward(x.transpose(2, 1))
        return time.perf_counter() - start, 0.0, 0.0

    net.train(args.mode == "train")
    step = train if args.mode == "train" else infer
    warmed = warm_up(step, args.warmup, args.warmup_limit)
    for _ in range(args.repeats if warmed is not None else 0):
        for part, seconds in zip(parts, step()):
            parts[part].append(seconds * 1e3)
    total = [sum(t) for t in zip(*parts.values())]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"torch": torch.__version__, "compiled": args.compile, "warmup_s": warmed, "total_ms": total, **{f"{k}_ms": v for k, v in parts.items()}, "peak_mib": peak}))


if __name__ == "__main__":
    main()
