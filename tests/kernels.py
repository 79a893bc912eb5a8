"""Jupyter kernels for tests. They listen on Unix sockets: the ports that one is given, another may take before it."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jupyter_client.manager import KernelManager


@contextmanager
def kernel(**started: Any) -> Generator[tuple[KernelManager, Any]]:
    """A fresh kernel, started with these arguments, and its client; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="irw", ignore_cleanup_errors=True) as folder:  # the name is short enough
        manager = KernelManager(kernel_name="python3", transport="ipc", connection_file=f"{folder}/kernel.json")
        manager.start_kernel(**started)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=120)
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
