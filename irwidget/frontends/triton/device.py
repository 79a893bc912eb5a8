"""A machine without a GPU, made to look like one with: for as long as a cell runs.

Tensors are fake ones on the CPU (shapes and types without data), or with `values` real ones there, that say they
are on `cuda:0`; Triton's driver names the architecture; `torch.cuda` answers.
Tensors that were fake CUDA ones inside would abort the process in autograd.
Everything is put back at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from functools import partial

import torch

from irwidget import private_torch
from irwidget.frontends.triton import cuda, generators, gpu
from irwidget.frontends.triton.measuring import not_measured, unmeasured
from irwidget.frontends.triton.reading import Reading
from irwidget.frontends.triton.scopes import replaced
from irwidget.frontends.triton.tensors import fake_mode, on_a_gpu
from irwidget.toolchain import triton_private
from irwidget.toolchain.triton_archs import Arch


@contextlib.contextmanager
def machine(
    arch: Arch, tell: Callable[[str], None] = lambda _: None, seeded: generators.Seeded = lambda *_: None
) -> Generator[None]:
    """Triton and `torch.cuda` say that there is a GPU of this architecture; tensors are as they are.

    `tell` is told what is left out of what code asks for, `seeded` what seeds its random numbers.
    """
    with ExitStack() as stack:
        stack.enter_context(private_torch.plain_triton_kernels())
        for name in ("range_push", "range_pop", "mark"):
            stack.enter_context(replaced(torch.cuda.nvtx, name, gpu.no_op()))
        stack.enter_context(replaced(triton_private.driver_config(), triton_private.ACTIVE_DRIVER, gpu.driver(arch)))
        for owner, name, value in private_torch.of_host_modules(_empty_strided):
            stack.enter_context(replaced(owner, name, value))
        for owner, name, value in cuda.replacements(arch, tell, seeded):
            stack.enter_context(replaced(owner, name, value))
        stack.enter_context(replaced(torch, "set_default_device", lambda device: None))
        stack.enter_context(replaced(torch, "Generator", generators.Generator))
        stack.enter_context(replaced(torch, "compile", gpu.not_compiled(tell)))
        for module, name in triton_private.vendor_libraries():
            stack.enter_context(replaced(module, name, partial(gpu.VendorLibrary, name, tell)))
        for name in ("do_bench", "do_bench_cudagraph"):
            stack.enter_context(replaced(triton_private.testing(), name, not_measured))
        stack.enter_context(replaced(triton_private.testing(), "nvsmi", unmeasured))
        stack.enter_context(replaced(torch.version, "hip", "6.4" if arch.backend == "hip" else None))
        stack.enter_context(replaced(torch.version, "cuda", None if arch.backend == "hip" else "13.0"))
        yield


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="cuda")


@contextlib.contextmanager
def pretend(
    arch: Arch,
    *,
    values: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    reading: Reading | None = None,
) -> Generator[None]:
    """Run the body as on a machine with a GPU of this architecture; with `values`, its tensors have some.

    Without, `reading` is how they are read.
    """
    seeded = fake_mode().reader.tape.seeded
    with machine(arch, tell, seeded), on_a_gpu(values=values, reading=reading or Reading(tell)):
        yield
