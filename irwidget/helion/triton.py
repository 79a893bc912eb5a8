"""Helion's Triton, without a GPU: its source, and the launches that its host function makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irwidget.errors import ExportError
from irwidget.helion import private, refusals
from irwidget.helion.bound import Binding

_HOST_OPTIONS = ("ptx_options", "launch_cooperative_grid")


@dataclass(frozen=True)
class HelionLaunch:
    """One launch of a Triton kernel: enough to compile it for a target by `kernel.warmup`."""

    kernel: Any
    """The `triton.jit` function."""
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    """In order; tensors may be meta tensors: only their dtype and alignment count."""
    options: dict[str, Any]
    """Keyword arguments of the launch that Triton takes: `num_warps`, `num_stages`, constexprs."""

    @property
    def file(self) -> str:
        """Where the program stands that Helion has generated."""
        return str(self.kernel.fn.__code__.co_filename)


def source(binding: Binding) -> str:
    """The Triton program that Helion generates for the binding's configuration.

    Raises:
        ExportError: Helion cannot generate it, or its backend is not installed.
    """
    try:
        return private.triton_program(binding.bound, binding.config)
    except Exception as error:
        raise ExportError(
            f"{refusals.place(binding.kernel, error)}: Helion cannot generate code for {binding.name} "
            f"with this configuration: {refusals.told(error)}"
        ) from error


def launches(binding: Binding, arch: str = "") -> list[HelionLaunch]:
    """Run Helion's generated host function and record, rather than do, its launches.

    For AMD's architectures (`gfx...`) without `maxnreg`, which Helion leaves out there.
    Meta tensors suffice unless the host code itself reads data.

    Raises:
        ExportError: the host function fails, as with meta tensors whose data it reads.
    """
    recorded: list[HelionLaunch] = []

    def record(kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        recorded.append(HelionLaunch(kernel, tuple(grid), arguments, device_options(options, arch)))

    try:
        host = private.host_function(binding.bound, binding.config)
        with private.pretended_gpu():
            host(*binding.arguments, _launcher=record)
    except Exception as error:
        raise ExportError(
            f"Helion's host function for {binding.name} does not run without a GPU: {refusals.told(error)}"
        ) from error
    return recorded


def device_options(options: dict[str, Any], arch: str) -> dict[str, Any]:
    """Of what Helion's host function launches a kernel with, by keyword, what Triton takes for an architecture."""
    left_out = (*_HOST_OPTIONS, "maxnreg") if arch.startswith("gfx") else _HOST_OPTIONS
    return {name: value for name, value in options.items() if not name.startswith("_") and name not in left_out}
