"""PointNet in PyTorch, with canopy's names: a state_dict saved by safetensors is a canopy file and the reverse.

canopy has no bias before a batch norm (it would be subtracted with the mean). `bias=True` makes the module with
it, as most PyTorch ports have; canopy reads such a file and folds the bias into the running mean.
"""

import torch
from torch import nn


class Dense(nn.Linear):
    """relu(bn(x·wᵀ)) over [rows, channels]: keys weight, (bias), bn.weight, bn.bias, bn.running_mean, …"""

    def __init__(self, inputs, outputs, bias=False):
        super().__init__(inputs, outputs, bias=bias)
        self.bn = nn.BatchNorm1d(outputs)

    def forward(self, x):
        return torch.relu(self.bn(super().forward(x)))


def stack(inputs, widths, bias):
    pairs = zip([inputs, *widths], widths)
    return nn.Sequential(*(Dense(i, o, bias) for i, o in pairs))


def max_points(x, clouds):
    return x.reshape(clouds, -1, x.shape[1]).max(dim=1).values


class TNet(nn.Module):
    def __init__(self, k, width, bias):
        super().__init__()
        self.k = k
        self.mlp = stack(k, [64 // width, 128 // width, 1024 // width], bias)
        self.fc = stack(1024 // width, [512 // width, 256 // width], bias)
        self.out = nn.Linear(256 // width, k * k)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, clouds):
        x = self.fc(max_points(self.mlp(x), clouds))
        return self.out(x).reshape(clouds, self.k, self.k) + torch.eye(self.k, dtype=x.dtype)


class PointNet(nn.Module):
    def __init__(self, kind, classes, width=1, dropout=0.3, bias=False):
        super().__init__()
        if kind == "full":
            self.input_transform = TNet(3, width, bias)
            self.feature_transform = TNet(64 // width, width, bias)
        self.mlp = stack(3, [c // width for c in (64, 64, 64, 128, 1024)], bias)
        self.head = stack(1024 // width, [512 // width, 256 // width], bias)
        self.classifier = nn.Linear(256 // width, classes)
        self.dropout = nn.Dropout(dropout)
        self.kind = kind

    def forward(self, points):
        """[clouds, points, 3] -> logits [clouds, classes], feature transform [clouds, 64, 64] or None"""
        clouds = points.shape[0]

        def turn(x, t):
            return torch.bmm(x.reshape(clouds, -1, x.shape[1]), t).reshape(x.shape)

        x, feature = points.reshape(-1, 3), None
        if self.kind == "full":
            x = turn(x, self.input_transform(x, clouds))
        x = self.mlp[:2](x)
        if self.kind == "full":
            feature = self.feature_transform(x, clouds)
            x = turn(x, feature)
        x = max_points(self.mlp[2:](x), clouds)
        for layer in self.head:
            x = self.dropout(layer(x))
        return self.classifier(x), feature


def orthogonality(t):
    """Mean over the clouds of ‖I − A·Aᵀ‖²_F (Qi et al. 2017, equation 2)."""
    eye = torch.eye(t.shape[1], dtype=t.dtype)
    return (eye - torch.bmm(t, t.transpose(1, 2))).pow(2).sum(dim=(1, 2)).mean()
