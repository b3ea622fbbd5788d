"""PyTorch's side of the benchmark, on a GPU: the network of solutions/benches/peer_pytorch.py, eager and compiled.

    python peer.py DEVICE POINTS SECONDS '[["full", "train", "bf16", 2048, 5, false], …]'

A case is model, mode, precision, clouds, timed steps, and whether torch.compile compiles it.

Prints a JSON object a line for each case that begins within SECONDS.
"""

import json
import os
import sys
import time

import torch
from torch.nn import functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "solutions", "benches"))
from peer_pytorch import PointNet, orthogonality  # noqa: E402

LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}


def mode_of(precision):
    """Sets the precision of products, and says what it is."""
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    if precision in LOW:
        return f"autocast to {precision}" + (", GradScaler" if precision == "fp16" else "")
    return "allow_tf32" if tf32 else "fp32, no tf32"


def step_of(net, train, precision, batch, points, device):
    kind = torch.device(device).type
    x = torch.rand(batch, points, 3) * 2 - 1
    labels = torch.arange(batch) % 7
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=kind == "cuda")
    scaler = torch.amp.GradScaler(kind, enabled=precision == "fp16" and kind == "cuda")
    cast = lambda: torch.autocast(kind, LOW.get(precision, torch.bfloat16), enabled=precision in LOW)

    def training():
        with cast():
            logits, t = net(x.transpose(2, 1))
        loss = F.cross_entropy(logits.float(), labels, label_smoothing=0.1)
        if t is not None:
            loss = loss + 0.001 * orthogonality(t.float())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    def inference():
        with torch.no_grad(), cast():
            net(x.transpose(2, 1))

    return training if train else inference


def measure(job, device, points):
    model, mode, precision, batch, repeats, compiled = job
    row = {"by": "torch.compile" if compiled else "eager", "model": model, "mode": mode, "precision": precision}
    row.update(batch=batch, points=points, form=mode_of(precision), torch=torch.__version__)
    cuda = torch.device(device).type == "cuda"
    wait = torch.cuda.synchronize if cuda else lambda: None
    try:
        torch.manual_seed(0)
        net = PointNet(model == "full", 7).train(mode == "train")
        step = step_of(torch.compile(net) if compiled else net, mode == "train", precision, batch, points, device)
        began = time.perf_counter()
        for _ in range(3):
            step()
        wait()
        row["warmup_s"] = time.perf_counter() - began
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        row["each_ms"] = []
        for _ in range(2):
            start = time.perf_counter()
            for _ in range(repeats):
                step()
            wait()
            row["each_ms"].append((time.perf_counter() - start) / repeats * 1e3)
        row["ms"] = sum(row["each_ms"]) / 2
        row["clouds_per_second"] = batch / row["ms"] * 1e3
        row["peak_mib"] = torch.cuda.max_memory_allocated() / 2**20 if cuda else None
    except torch.cuda.OutOfMemoryError:
        row["failed"] = "out of memory"
    if cuda:
        torch.cuda.empty_cache()
    torch._dynamo.reset()
    return row


def main():
    device, points, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.set_default_device(device)
    began = time.perf_counter()
    for job in json.loads(sys.argv[4]):
        if time.perf_counter() - began > seconds:
            break
        print(json.dumps(measure(job, device, points)), flush=True)


if __name__ == "__main__":
    main()
