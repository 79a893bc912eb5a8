"""Compile a program again with other options, and say what that changed.

The changes may come from a page, so that nothing is believed: only known names pass, with values of their kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.spyre.hardware import MAX_CORES
from irwidget.spyre.options import LAYOUT_SOLVERS, RESTICKIFY_SOLVERS, SpyreSwitches
from irwidget.spyre.picture import SWITCHES
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.tensorspec import TensorSpec


def recompile(program: SpyreProgram, change: Mapping[str, Any]) -> SpyreProgram:
    """The program with some options changed.

    `change`: cores, layout_solver, restickify_solver, the switches of `picture.SWITCHES`, `divisions` ({buffer:
    {loop variable: split}}, None takes a buffer's back) and `orders` ({input or parameter: dim order}, None for the
    default). Raises UsageError for anything else, and what `compile` raises.
    """
    from irwidget.spyre.compiler import compile

    if program.origin is None:
        raise UsageError(f"{program.name} does not know what it was compiled from: call irwidget.spyre.compile again.")
    for name, value in change.items():
        if name not in _CHECKS:
            raise UsageError(f"a Spyre program cannot be changed in {name!r}. {near(name, list(_CHECKS))}")
        _CHECKS[name](name, value)
    options: dict[str, Any] = {f.name: getattr(program.options, f.name) for f in fields(SpyreSwitches)}
    options |= {name: value for name, value in change.items() if name not in ("divisions", "orders")}
    options["divisions"] = _merged(program.options.divisions, change.get("divisions", {}))
    if change.get("divisions"):
        options["ignore_hints"] = change.get("ignore_hints", False)
    inputs = program.origin.inputs
    orders: Mapping[str, Any] = change.get("orders", {})
    if orders:
        inputs, options["layouts"] = _ordered(program, orders)
    return compile(program.origin.function, inputs, name=program.name, **options)


def _merged(before: Mapping[str, Mapping[str, int]], change: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    made: dict[str, Any] = {**before, **change}
    return {buffer: splits for buffer, splits in made.items() if splits}


def _ordered(program: SpyreProgram, orders: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """Inputs and parameter layouts with other dim orders."""
    from irwidget.private_torch import pytree

    assert program.origin is not None
    by_name = {given.parameter or given.name: given for given in program.graph.inputs}
    layouts = dict(program.options.layouts)
    leaves, tree = pytree.tree_flatten(program.origin.inputs, is_leaf=lambda leaf: isinstance(leaf, TensorSpec))
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, TensorSpec)]
    for name, order in orders.items():
        given = by_name.get(name)
        if given is None:
            raise UsageError(f"there is no input {name!r} to lay out. {near(name, by_name)}")
        wanted = None if order is None else tuple(order)
        if given.parameter:
            layouts.pop(name, None)
            if wanted is not None:
                layouts[name] = wanted
            continue
        at = positions[program.call_inputs.index(name)]
        leaves[at] = replace(leaves[at], dim_order=wanted, layout=None)
    return pytree.tree_unflatten(leaves, tree), layouts


# -- what may come from outside --------------------------------------------------------------------


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name}={value!r}: give a whole number from {low} to {high}.")


def _cores(name: str, value: Any) -> None:
    _whole(name, value, 1, MAX_CORES)


def _one_of(choices: tuple[str, ...]) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value not in choices:
            raise UsageError(f"{name}={value!r} is not known. {near(str(value), choices)}")

    return check


def _switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: give true or false.")


def _divisions(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{name}: give splits by buffer.")
    found: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
    for buffer, splits in found.items():
        if splits is not None and not isinstance(splits, dict):
            raise UsageError(f"{name}[{buffer!r}]: give splits by loop variable, or None.")
        for v, n in (splits or {}).items():
            _whole(f"{name}[{buffer!r}][{v!r}]", n, 1, MAX_CORES)


def _orders(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{name}: give dim orders by input.")
    found: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
    for given, order in found.items():
        if order is None:
            continue
        if not isinstance(order, list | tuple):
            raise UsageError(f"{name}[{given!r}]: give a list of dims.")
        for d in order:  # pyright: ignore[reportUnknownVariableType]
            _whole(f"{name}[{given!r}]", d, -1, 5)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "cores": _cores,
    "layout_solver": _one_of(LAYOUT_SOLVERS),
    "restickify_solver": _one_of(RESTICKIFY_SOLVERS),
    **dict.fromkeys(SWITCHES, _switch),
    "divisions": _divisions,
    "orders": _orders,
}


# -- what changed ----------------------------------------------------------------------------------


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs between two pictures of a program: options, and splits, placement, bytes and time by op.

    Ops are matched by the buffer that they make and what they do.
    """
    rows: list[dict[str, Any]] = []
    old, new = _keyed(before["ops"]), _keyed(after["ops"])
    for key in dict.fromkeys([*old, *new]):
        a, b = old.get(key), new.get(key)
        name = f"{key[0]} = {key[1]}" + (f" ({key[2] + 1})" if key[2] else "")
        row: dict[str, Any] = {"op": name, "before": _said(before, a), "after": _said(after, b)}
        row["changed"] = row["before"] != row["after"]
        rows.append(row)
    return {
        "rows": rows,
        "options": [
            {"name": name, "before": x, "after": y} for name, x, y in _pairs(before["options"], after["options"])
        ],
        "totals": [
            {"name": name, "before": x, "after": y}
            for name, x, y in (
                ("us, estimated", before["estimate"]["us"], after["estimate"]["us"]),
                ("bytes of device memory, each once per op", before["moved"]["unique"], after["moved"]["unique"]),
                (
                    "bytes that the cores take and give, each for itself",
                    before["moved"]["device"],
                    after["moved"]["device"],
                ),
                ("bytes within LX", before["moved"]["lx"], after["moved"]["lx"]),
                ("LX peak of a core", before["lx"]["peak"], after["lx"]["peak"]),
                ("pool bytes", before["pool"]["bytes"], after["pool"]["bytes"]),
                ("elements restickified", before["restickify_cost"], after["restickify_cost"]),
                ("kernels", len(before["kernels"]), len(after["kernels"])),
            )
        ],
    }


def _keyed(ops: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], Mapping[str, Any]]:
    """Ops by buffer and function; those that write the same buffer in pieces are counted."""
    found: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    for op in ops:
        number = 0
        while (op["buffer"], op["func"], number) in found:
            number += 1
        found[op["buffer"], op["func"], number] = op
    return found


def _said(made: Mapping[str, Any], op: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if op is None:
        return None
    splits = " ".join(f"{d['label']}/{d['split']}" for d in op["dims"] if d["split"] > 1)
    place = made["buffers"].get(op["buffer"], {}).get("place", "device memory")
    time = op["time"]
    return {
        "splits": splits or "-",
        "cores": op["cores"],
        "place": place,
        "unique": op["moved"]["unique"],
        "us": time and time["us"],
    }


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    flat = [{**o, **o["switches"]} for o in (before, after)]
    for name in flat[0]:
        x, y = flat[0][name], flat[1].get(name)
        if name not in ("choices", "switches") and x != y:
            found.append((name, str(x), str(y)))
    return found
