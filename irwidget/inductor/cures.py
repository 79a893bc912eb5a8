"""What would have to change for two things to be one kernel, or for a call to be generated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from irwidget.inductor.data import TAKEN, InductorOp

_TEMPLATE = "max_autotune=True makes a Triton template of it, into which what surrounds it can be fused"
_BY_NATURE = "nothing: it is a call by nature"
_CPU_TEMPLATES = (
    (r"bmm|baddbmm", "max_autotune=True tries a C++ template of it, and takes that where it is faster"),
    (r"(?:add|_int_)?mm", "freezing=True and max_autotune=True, without gradients, try a C++ template of it where the "
                          "second factor is a weight, and take that where it is faster"),
)  # fmt: skip
"""What a CPU has in its place; of convolutions nothing."""
_GENERATED = "have it generated: max_autotune=True makes templates of matrix products and convolutions on a GPU"
_AGGRESSIVE = ", or aggressive_fusion=True with score_fusion_memory_threshold=0"
_COMBO = (
    ", or combo_kernels=True for one launch of both, where both are tiled alike and peak memory stays within "
    "combo_kernel_peak_memory_pct_threshold"
)
_FAR = 2048
"""Elements beyond which a reduction is combined only with others of that length."""
_SAME_LOOPS = "give both loops the same number of elements, reduced and kept"
_PROLOGUE = "nothing else: a template takes what it reads from loops alone that nobody else reads"
_CURES: tuple[tuple[str, str], ...] = (
    ("intermediate nodes between", "fuse what lies between them first, or compute it so that neither waits for it"),
    ("numel/rnumel mismatch", _SAME_LOOPS),
    ("nodes numel", _SAME_LOOPS),
    ("the loops do not match", "give both loops the same extents"),
    ("the second waits for the whole reduction", "keep an outer dimension that both have, whose loops are joined"),
    ("exceeds cpp.max_horizontal_fusion_size", "raise cpp.max_horizontal_fusion_size"),
    ("no shared data due to indexing mismatch", "have both read the buffer in the same order: make it contiguous once"),
    ("no shared data", "have both read or write the same elements of a buffer, in the same order"),
    ("memory deps did not match", "have the second read what the first writes element by element, in the same order"),
    ("exceeds max fusion", "raise max_fusion_size"),
    ("Fusion will increase peak memory", "nothing: it would hold more memory at once"),
    ("Nodes are too far away", "compute them closer to each other: more than 64 operations lie between"),
    ("fusion_prevent_too_many_reads_and_writes", "raise max_fusion_unique_io_buffers"),
    ("score_fusion_memory_threshold", "lower score_fusion_memory_threshold"),
    ("tiling mismatch", "use one memory layout in both, or set triton.tiling_prevents_pointwise_fusion=False"),
    ("invalid tiling for reduction", "triton.tiling_prevents_reduction_fusion=False"),
    ("will create cycle", "break the circle: one of them waits for a third that waits for the other"),
    ("node1's triton kernel", "epilogue_fusion_user_defined_triton_kernel=True, for a kernel that stores once"),
    ("epilogue reads from buffers other", "have it read only what the kernel writes"),
    ("node1 and node2 uses different buf layouts", "use one memory layout in both"),
    ("node1 is extern", _GENERATED),
    ("node2 is extern", _GENERATED),
    ("node1 is nop", "nothing: it computes nothing"),
    ("prologue fusion turned off", "prologue_fusion=True"),
    ("prologue fusion", _PROLOGUE),
    ("template prologue", _PROLOGUE),
    ("template has no allowed prologue inputs", _PROLOGUE),
    ("template epilogue not satisfied", "epilogue_fusion=True, for what neither reduces nor changes what it is given"),
    ("foreach do not have same length", "give both lists the same length"),
    ("Split scan cannot fuse with reductions", "nothing: a long scan is a kernel of several blocks"),
    ("device mismatch", "compute both on one device"),
    ("node1 must go before node2", "nothing: the second makes what the first reads"),
)
"""How the scheduler's reasons begin, and what would have to change."""


def cure_of(reason: str) -> str:
    """What would have to change for a reason of the scheduler's; empty where nothing is known."""
    return next((cure for begin, cure in _CURES if reason.startswith(begin)), "")


def cure_of_steps(reason: str) -> str:
    """The same for two operations that are the two steps of one reduction."""
    split = reason.startswith(("numel/rnumel mismatch", "the second waits for the whole"))
    return "split_reductions=False: these are two steps of one reduction" if split else cure_of(reason)


def are_steps(first: Sequence[InductorOp], second: Sequence[InductorOp]) -> bool:
    """Whether two operations are one reduction, which Inductor has split in two."""
    return any(a.reduced and b.reduced and a.origins and a.origins == b.origins for a in first for b in second)


def in_one_launch(ones: Sequence[InductorOp], others: Sequence[InductorOp], *, side_by_side: bool) -> str:
    """What else makes kernels one that do not wait for one another; `side_by_side`: both wait for as many others."""
    ops = (*ones, *others)
    if any(op.kind != "loops" for op in ops) or len({op.device for op in ops}) > 1:
        return ""
    loops = {op.loops for op in ops}
    equal = len(loops) == 1 and () not in loops and not any(op.reduced for op in ops)
    gpu = side_by_side and all(op.device not in ("", "cpu") for op in ops) and _reduces(ones) == _reduces(others)
    return (_AGGRESSIVE if equal else "") + (_COMBO if gpu else "")


def _reduces(ops: Sequence[InductorOp]) -> str:
    """How Inductor sorts a launch before it combines some: it keeps those apart that reduce, and that reduce far."""
    far = any(prod(map(int, op.reduced)) > _FAR for op in ops if all(map(str.isdigit, op.reduced)))
    return "far" if far else "short" if any(op.reduced for op in ops) else ""


def reason_of_call(op: InductorOp) -> str:
    """Why an operation is a call."""
    if op.runs:
        return f"it runs {', '.join(op.runs)}, compiled by {'itself' if len(op.runs) == 1 else 'themselves'}"
    if op.kernel == TAKEN:
        return "it takes one result of the call before it, and computes nothing"
    if op.kind != "fallback":
        return "a library does it"
    return {
        "": "Inductor has no loops for it",
        "complex": "Inductor has no loops of complex numbers",
        "these": "Inductor has loops for it, but not for what it is given here: its dtype, size or device",
    }[op.refused]


def cure_of_call(op: InductorOp) -> str:
    """What would have to change for it to be generated."""
    target = op.targets[-1] if op.targets else ""
    if op.runs:
        return "compute outside of it what is to be one kernel with what is outside"
    if re.search(r"aten\.scatter_reduce_?\.two", op.kernel):
        return "reduce floats by 'sum', on the CPU with cpp.fallback_scatter_reduce_sum=False: of these there are loops"
    if re.search(r"aten\.(?:mm|addmm|bmm|baddbmm|convolution|_int_mm)", target):
        return _cpu_template(target) if op.device == "cpu" else _TEMPLATE
    if op.refused == "complex":
        return "compute with the real and imaginary parts (torch.view_as_real)"
    if op.kind == "fallback":
        return "write it with operations that Inductor lowers, or register a lowering or decomposition for it"
    return _BY_NATURE


def _cpu_template(target: str) -> str:
    name = target.removeprefix("aten.").split(".")[0]
    return next(
        (cure for names, cure in _CPU_TEMPLATES if re.fullmatch(names, name)), "nothing: it is a call by nature"
    )
