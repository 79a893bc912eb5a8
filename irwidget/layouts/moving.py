"""From one layout to another: where each element goes, and what Triton's code does for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from irwidget.errors import UnsupportedError, UsageError
from irwidget.layouts.code import Code, read
from irwidget.layouts.linear import Linear
from irwidget.layouts.placement import Layout, arch_of
from irwidget.layouts.types import Module
from irwidget.toolchain.triton_archs import find
from irwidget.toolchain.triton_layouts import Question


@dataclass(frozen=True)
class Movement:
    """A conversion of a tensor from one layout to another on one architecture."""

    source: Layout
    result: Layout
    arch: str
    how: str
    """What Triton's code does: `nothing`, `within threads`, `by shuffles`, `by shared memory`; `not known` where it
    could not be lowered alone, and `why` says why."""
    code: Code | None = None
    why: str = ""

    @property
    def stays(self) -> dict[str, int]:
        """How many places of the result find their element in the same `register`, the same thread (`thread`), the
        same warp (`warp`), the same block (`block`), or only in another block (`other`). Empty where one of the two
        layouts is of memory.
        """
        source, result = self.source.known, self.result.known
        if self.source.type.memory or self.result.type.memory:
            return {}
        return distances(source, result)

    @property
    def wavefronts(self) -> tuple[int, int] | None:
        """How often the block goes to shared memory, and how often without bank conflicts. None: not counted.

        Counted on NVIDIA's GPUs only, of every thread's address in Triton's own code. Raises UsageError for a GPU that
        Triton does not know.
        """
        if self.code is None or find(self.arch).backend != "cuda":
            return None
        if not self.code.accesses and (self.source.type.memory or self.result.type.memory):
            return None  # by instructions that are not known here
        counted = [access.wavefronts() for access in self.code.accesses]
        known = [one for one in counted if one is not None]
        if len(known) < len(counted):
            return None
        return sum(one for one, _ in known), sum(one for _, one in known)

    @property
    def conflicts(self) -> int | None:
        """Accesses more than without bank conflicts, for the block; None: not counted."""
        counted = self.wavefronts
        return None if counted is None else counted[0] - counted[1]

    def __repr__(self) -> str:
        return f"<{summary(self)}>"


def distances(source: Linear, result: Linear) -> dict[str, int]:
    """How far away the nearest copy of the element is, for each place of the result; see `Movement.stays`."""
    names = ("register", "lane", "warp", "block")
    have = [source.sizes.get(name, 1) for name in names]
    want = [result.sizes.get(name, 1) for name in names]
    count = int(np.prod(source.shape))
    flat = result.flat.reshape(want)
    found: dict[str, int] = dict.fromkeys(("register", "thread", "warp", "block", "other"), 0)
    where = source.flat.reshape(have)
    blocks, warps, lanes = want[3], want[2], want[1]
    for block in range(blocks):
        in_block = _members(where[..., block % have[3]], count)
        for warp in range(warps):
            in_warp = _members(where[:, :, warp % have[2], block % have[3]], count)
            for lane in range(lanes):
                mine = flat[:, lane, warp, block]
                theirs = where[:, lane % have[1], warp % have[2], block % have[3]]
                fits = min(len(mine), len(theirs))
                same = np.zeros(len(mine), bool)
                same[:fits] = mine[:fits] == theirs[:fits]
                thread = np.isin(mine, theirs)
                found["register"] += int(same.sum())
                found["thread"] += int((thread & ~same).sum())
                found["warp"] += int((in_warp[mine] & ~thread).sum())
                found["block"] += int((in_block[mine] & ~in_warp[mine] & ~thread).sum())
                found["other"] += int((~in_block[mine]).sum())
    return found


def _members(elements: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros(count, bool)
    found[elements.reshape(-1)] = True
    return found


def movements(pairs: Sequence[tuple[Layout, Layout]], arch: str) -> list[Movement]:
    """What Triton does to take tensors from the first layouts of pairs to the second, all asked at once of the library
    that the first is of.

    Raises ToolError without Triton, UsageError for an architecture that there is not.
    """
    target = find(arch)
    if not pairs:
        return []
    answers = pairs[0][0].ask([_question(a, b, arch) for a, b in pairs])
    found: list[Movement] = []
    for (source, result), answer in zip(pairs, answers, strict=True):
        if answer.why:
            found.append(Movement(source, result, target.name, "not known", None, answer.why))
            continue
        module = _module(source, result)
        code = read(answer.text, module.warps, module.threads)
        found.append(Movement(source, result, target.name, _how(source, result, code), code))
    return found


def movement(source: Layout, result: Layout, arch: str = "") -> Movement:
    """From one layout of a tensor to another: in registers both, or one in shared memory (a load or a store).

    Raises UsageError when they are not of one shape and type of element, UnsupportedError when both are of memory, and
    ToolError without Triton.
    """
    if (source.type.shape, source.type.element) != (result.type.shape, result.type.element):
        raise UsageError(f"{source.type.text} and {result.type.text} are not of one shape and type")
    if "tensor" in (source.type.memory, result.type.memory) or (source.type.memory and result.type.memory):
        raise UnsupportedError("A conversion is between registers, or between registers and shared memory")
    return movements([(source, result)], arch or arch_of(source))[0]


def _question(source: Layout, result: Layout, arch: str) -> Question:
    a, b = source.type, result.type
    if b.memory:
        memory = b.text if "mutable" in b.text else f"{b.text[:-1]}, mutable>"
        body = f"tt.func private @f(%arg0: {a.text}, %arg1: {memory}) attributes {{noinline = true}} {{\n"
        body += f"ttg.local_store %arg0, %arg1 : {a.text} -> {memory}\ntt.return\n}}"
    else:
        operation = "ttg.local_load" if a.memory else "ttg.convert_layout"
        body = f"tt.func private @f(%arg0: {a.text}) -> {b.text} attributes {{noinline = true}} {{\n"
        body += f"%0 = {operation} %arg0 : {a.text} -> {b.text}\ntt.return %0 : {b.text}\n}}"
    return Question(source.module.header, _module(source, result).attributes, code=body, arch=arch)


def _module(source: Layout, result: Layout) -> Module:
    """What the operation is lowered in: with the warps that have the tensor, a partition's where that is one."""
    registers = result if source.type.memory else source
    if registers.linear is None:
        return source.module
    sizes = registers.linear.sizes
    return replace(source.module, warps=sizes["warp"], threads=sizes["lane"])


def _how(source: Layout, result: Layout, code: Code) -> str:
    if code.accesses or source.type.memory or result.type.memory:
        return "by shared memory"
    if code.shuffles:
        return "by shuffles"
    if source.linear is None or result.linear is None:
        return "within threads"
    far = distances(source.linear, result.linear)
    return "nothing" if not any(count for name, count in far.items() if name != "register") else "within threads"


def summary(one: Movement) -> str:
    """A conversion in a sentence."""
    parts = [f"{one.source.type.text} -> {one.result.type.text}: {one.how}"]
    if one.why:
        parts.append(one.why)
    if one.code and one.code.shuffles:
        parts.append(f"{one.code.shuffles} shuffles a thread")
    if one.code and one.how == "by shared memory":
        counts: dict[str, int] = {}
        for access in one.code.accesses:
            counts[access.instruction] = counts.get(access.instruction, 0) + 1
        known = ", ".join(f"{count} x {name}" for name, count in counts.items())
        parts.append(f"{known} a thread" if known else "by instructions that are not known here")
        counted = one.wavefronts
        if counted is None:
            parts.append("bank conflicts not counted")
        else:
            parts.append(f"{counted[0]} accesses by the block, {counted[0] - counted[1]} of them by bank conflicts")
    return "; ".join(parts)
