"""Configurations side by side: a sample of the search space, compiled without a GPU."""

from __future__ import annotations

import random

import pytest
import torch

import irwidget
from irwidget.errors import UsageError
from irwidget.helion.binding import bind
from irwidget.helion.search_space import sample
from tests.helion import kernels_pointwise as pw


def test_a_sample_is_the_same_for_a_seed_and_leaves_random_alone():
    binding = bind(pw.add, (torch.empty(1000, device="meta"),) * 2, {})
    random.seed(7)
    before = random.getstate()
    one, again, other = sample(binding, 5, seed=1), sample(binding, 5, seed=1), sample(binding, 5, seed=2)
    assert random.getstate() == before
    assert one == again
    assert one != other
    assert one[0] == binding.bound.config_spec.default_config()
    assert len({repr(config) for config in one}) == 5
    with pytest.raises(UsageError, match="at least one configuration"):
        sample(binding, 0)


def test_table_says_what_each_is_compiled_to():
    arguments = (torch.empty(100_000, device="meta"),) * 2
    configs = [{"block_sizes": [64], "num_warps": 2}, {"block_sizes": [4096], "num_warps": 2}]
    found = irwidget.helion.configurations(pw.add, arguments, configs, arch="sm_80")
    small, large = found.table()
    assert "block_sizes=[64]" in small["config"]
    assert (small["number"], small["num_warps"], small["spill_stores"]) == (0, 2, 0)
    assert "block_sizes=[4096]" in large["config"]
    assert large["registers"] > small["registers"]
    assert found.diverge(0, 1) == (0, 0)
    assert [row["number"] for row in found.table(sort="registers", descending=True)] == [1, 0]


def test_a_configuration_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="no field 'warps'"):
        irwidget.helion.configurations(pw.add, (torch.empty(10, device="meta"),) * 2, [{"warps": 4}])
