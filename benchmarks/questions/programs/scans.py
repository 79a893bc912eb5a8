import torch


def f(x, y):
    kept = torch.relu(x + y) * 2
    scanned = torch.cumprod(kept, dim=-1)
    return torch.tanh(scanned) - y


x, y = torch.randn(4, 8), torch.randn(4, 8)
