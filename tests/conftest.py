"""Shared by all tests: models that people lower, and a clean worker at the end. PyTorch is imported by who needs it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from irwidget import journal
from irwidget.private_torch import mode_depths, pop_modes
from irwidget.toolchain import client
from tests import sampling

os.environ.setdefault(journal.KEEP, "off")  # what tests show is not the user's

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts so what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="whole tables, not only the sample of every run")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--exhaustive"):
        return
    left_out = {item for item in items if item.get_closest_marker("exhaustive")}
    if not any("::" in one for one in config.args):
        others = sampling.left_out([item.nodeid for item in items if item not in left_out])
        left_out |= {item for item in items if item.nodeid in others}
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def _worker_ends():
    yield
    client.shutdown()


@pytest.fixture(autouse=True)
def _process_as_it_was():
    """What a test leaves changed would fail every later one of its process, and each would look guilty."""

    def state():
        return mode_depths(), gc.isenabled(), signal.getsignal(signal.SIGINT), _handles_interrupts()

    before = state()
    yield
    after = state()
    if after != before:
        pop_modes(before[0])
    assert after == before


def _handles_interrupts() -> bool | None:
    """Whether the kernel knows a handler of SIGINT: native code can put it back where Python does not see it."""
    if not sys.platform.startswith("linux"):
        return None
    caught = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGINT - 1)


@pytest.fixture
def mlp():
    import torch

    from tests.models import MLP

    torch.manual_seed(0)
    return MLP().eval()


@pytest.fixture
def cnn():
    import torch

    from tests.models import CNN

    torch.manual_seed(0)
    return CNN().eval()
