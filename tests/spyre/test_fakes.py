"""Strides of elementwise ops on fake tensors, beside those of eager."""

import random

import pytest
import torch

from irwidget.spyre.fakes import eager_strides

OPS = (torch.add, torch.maximum, torch.pow, torch.gt, torch.logical_and, torch.lerp, torch.where)


def arranged(size, draw):
    """A tensor of a size, its dims in any order, some of them broadcast, expanded or not."""
    order = draw.sample(range(len(size)), len(size))
    broadcast = [draw.random() < 0.3 for _ in size]
    made = torch.ones([1 if one else size[d] for d, one in zip(order, broadcast, strict=True)]).half()
    made = made.expand([size[d] for d in order]) if draw.random() < 0.7 else made
    return made.permute([order.index(d) for d in range(len(size))])


def given(op, a, b):
    return {torch.where: (a > b, a, b), torch.lerp: (a, b, b)}.get(op, (a, b))


@pytest.mark.parametrize("op", OPS)
def test_an_elementwise_op_has_the_strides_of_eager(op):
    for seed in range(60):
        draw = random.Random(seed)
        size = [draw.choice([2, 3, 4]) for _ in range(draw.choice([2, 3, 4]))]
        a, b = arranged(size, draw), arranged(size, draw)
        want = op(*given(op, a, b))
        with eager_strides():
            fakes = [torch.empty_strided(one.shape, one.stride(), dtype=one.dtype) for one in (a, b)]
            made = op(*given(op, *fakes))
        strides = [[s for n, s in zip(one.shape, one.stride(), strict=True) if n > 1] for one in (made, want)]
        assert strides[0] == strides[1], (seed, a.stride(), b.stride())
