"""Group ops into kernels and number their arguments (docs/spyre-rules.md: Kernels)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from irwidget.spyre.hardware import SEGMENT_BYTES
from irwidget.spyre.ir import Graph, Op

_MAX_TENSORS = 6


@dataclass(frozen=True)
class KernelBundle:
    """One kernel: ops that are launched together."""

    name: str
    """Without its number, which its code decides: equal kernels are one that is launched again."""
    ops: tuple[Op, ...]
    arguments: tuple[str, ...]
    """Buffers in launch order: what is read before it is written, by first use, then outputs; of both kinds, twice."""
    bases: Mapping[str, int]
    """Buffer -> address of its segment."""


@dataclass(frozen=True)
class HostCall:
    """An op on the CPU between kernels: its operands are copied to the host and its results back."""

    op: Op
    results: tuple[Op, ...]

    def transfers(self, graph: Graph) -> tuple[int, int]:
        """Bytes of device memory that go to the host, and that come back."""
        sent = {read.buffer for read in self.op.tensor_reads}
        back = {result.target for result in self.results}
        return sum(graph.buffers[n].device.bytes for n in sent), sum(graph.buffers[n].device.bytes for n in back)


def bundle(graph: Graph, in_lx: Mapping[str, int], in_pool: Mapping[str, int]) -> tuple[KernelBundle | HostCall, ...]:
    """Kernels and host calls in order; a kernel takes at most 6 tensors, 5 beside a pool."""
    limit = _MAX_TENSORS - bool(in_pool)
    steps: list[KernelBundle | HostCall] = []
    current: list[Op] = []

    def close() -> None:
        nonlocal current
        if current:
            steps.append(_bundle(current, in_lx, in_pool))
            current = []

    ops = list(graph.ops)
    for i, op in enumerate(ops):
        if op.kind == "fallback":
            close()
            steps.append(HostCall(op, tuple(takewhile(lambda other: other.kind == "multi_output", ops[i + 1 :]))))
        if not op.computed:
            if op.kind == "empty":
                close()
            continue
        if current and current[-1].loop_scopes[:1] != op.loop_scopes[:1]:
            close()
        if current and len(_tensors([*current, op], in_lx, in_pool)) > limit and not op.loops:
            close()
        current.append(op)
    close()
    return tuple(steps)


def _tensors(ops: list[Op], in_lx: Mapping[str, int], in_pool: Mapping[str, int]) -> list[str]:
    """What counts for the limit: tensors in device memory, and upstream each copy into one by a name of its own."""
    names = [name for op in ops for name in (*(r.buffer for r in op.tensor_reads), op.target)]
    held = [n for n in names if n not in in_lx and n not in in_pool]
    copies = [op.buffer for op in ops if op.is_mutation and op.target in held]
    return list(dict.fromkeys((*held, *copies)))


def _bundle(ops: list[Op], in_lx: Mapping[str, int], in_pool: Mapping[str, int]) -> KernelBundle:
    local = {*in_lx, *in_pool}
    inputs, outputs = dict[str, None](), dict[str, None]()
    for op in ops:
        inputs.update((r.buffer, None) for r in op.tensor_reads if r.buffer not in local and r.buffer not in outputs)
        if op.target not in local:
            outputs[op.target] = None
    arguments = (*inputs, *outputs)
    first = 1 if in_pool else 0
    bases = {name: (arguments.index(name) + first) * SEGMENT_BYTES for name in arguments}
    names = sorted({origin for op in ops for origin in op.origins})
    return KernelBundle("_".join(["sdsc_fused", *names]), tuple(ops), arguments, bases)
