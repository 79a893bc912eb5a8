"""Loop order and core numbering: which core does which slice of an op."""

from __future__ import annotations

from functools import cmp_to_key
from math import gcd, prod

from irwidget.spyre.ir import Op
from irwidget.spyre.options import SpyreSwitches


def loop_order(op: Op) -> tuple[str, ...]:
    """Loop variables from the outermost in: strides of the write and the reads vote, as Inductor's scheduler has it."""
    indices = [op.write, *(read.index for read in op.reads)]

    def order(variables: list[str]) -> list[str]:
        strides = {v: [abs(index.step(v)) for index in indices] for v in variables}
        positions = {v: i for i, v in enumerate(variables)}

        def compare(a: str, b: str) -> int:
            pairs = list(zip(strides[a], strides[b], strict=True))
            a_first = sum(y == 0 or x < y for x, y in pairs)
            b_first = sum(x == 0 or y < x for x, y in pairs)
            if a_first != b_first:
                return -1 if a_first > b_first else 1
            return positions[b] - positions[a]

        inner_first = variables[::-1]
        inner_first.sort(key=cmp_to_key(compare))
        return inner_first[::-1]

    return (*order([v for v, _ in op.ranges]), *order([v for v, _ in op.reduced]))


def core_order(op: Op, options: SpyreSwitches) -> tuple[str, ...]:
    """Variables from the one whose slices vary fastest over the core ids (docs/spyre-rules.md: Core numbers)."""
    order = loop_order(op)
    splits = dict(op.splits)
    if op.kind == "matmul" and options.core_id_k_fast_emission and len(order) >= 3 and op.reduced:
        k = op.reduced[0][0]
        if splits.get(k, 1) > 1:
            return (k, *(v for v in order if v != k))
    return order


def slice_formulas(op: Op, options: SpyreSwitches) -> dict[str, tuple[int, int]]:
    """Variable -> (divisor, split): its slice is (core // divisor) mod split."""
    splits = dict(op.splits)
    found: dict[str, tuple[int, int]] = {}
    earlier = 1
    for v in core_order(op, options):
        split = splits.get(v, 1)
        found[v] = (earlier, split)
        earlier *= split
    return found


def cores_used(op: Op) -> int:
    return prod(gcd(split, op.space[variable]) for variable, split in op.splits)
