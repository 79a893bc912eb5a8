"""Shared by all tests: models that people lower, and a clean worker at the end. PyTorch is imported by who needs it."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from irwidget import journal
from irwidget.toolchain import client

os.environ.setdefault(journal.KEEP, "off")  # what tests show is not the user's

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _worker_ends():
    yield
    client.shutdown()


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
