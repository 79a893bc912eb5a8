"""The configuration that a kernel is lowered with: which one it is, what it says, and what of it MLIR shows."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.helion import config_values, private

DEFAULT = "Helion's default"

_FOR_ONE = {
    name.removesuffix("s"): name
    for name in (
        *("block_sizes", "loop_orders", "reduction_loops", "l2_groupings", "flatten_loops", "static_ranges"),
        *(
            "range_unroll_factors",
            "range_warp_specializes",
            "range_num_stages",
            "range_multi_buffers",
            "range_flattens",
        ),
    )
}
"""Names of one value, which Helion takes for a list of it -> the fields' own; a list may be given by them, too."""
_TOLD = ("range_flattens", "range_multi_buffers", "range_warp_specializes")
"""Lists whose False says something, and whose None says nothing."""


@dataclass(frozen=True)
class Chosen:
    """A configuration (`helion.Config`, every field filled in) and where it comes from, in words."""

    config: Any
    origin: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that say something: lists of nothing but None, 0, False and empty texts are left out.

        For some, False is not None: Triton is then told so.
        """
        given = dict(self.config.config)
        return {name: value for name, value in given.items() if _says(value) or (name in _TOLD and False in value)}

    @property
    def facts(self) -> dict[str, Any]:
        """The fields as facts of a lowering, with `configuration` for where they come from."""
        return {"configuration": self.origin, **{name: _shown(value) for name, value in self.fields.items()}}

    @property
    def text(self) -> str:
        """As `--config` takes it: `block_sizes=[16, 16], num_warps=4`."""
        return ", ".join(f"{name}={value!r}" for name, value in self.fields.items())


def choose(bound: Any, kernel: Any, given: Any) -> Chosen:
    """The configuration that is asked for, else the first of the kernel's decorator, else Helion's default.

    `given` is a `helion.Config`, a dict of its fields, a number of one of the
    decorator's, or a text: that number, or fields as in
    `"block_sizes=[16, 16], num_warps=8"`. Fields that are left out are Helion's default.

    Raises:
        UsageError: it does not fit the kernel; says which fields there are.
    """
    own = list(kernel.configs)
    if given is None and not own:
        return Chosen(bound.config_spec.default_config(), DEFAULT)
    if given is None:
        others = f", the first of its {len(own)} (0 to {len(own) - 1})" if len(own) > 1 else ""
        return _filled(bound, kernel, own[0], f"the decorator's{others}")
    if isinstance(given, str):
        given = _read(given.strip(), kernel)
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 <= given < len(own):
            listed = "".join(f"\n  {i}: {dict(c.config)}" for i, c in enumerate(own)) or " none in its decorator."
            raise UsageError(f"{kernel.fn.__name__} has no configuration {given}. It has:{listed}")
        return _filled(bound, kernel, own[given], f"number {given} of the decorator's {len(own)}")
    return _filled(bound, kernel, given, "as given")


def _read(text: str, kernel: Any) -> Any:
    """A number, or the fields that a text gives."""
    if text.isdigit():
        return int(text)
    inside = text.removeprefix("helion.").removeprefix("Config(").removesuffix(")") if "Config(" in text else text
    try:
        call: Any = ast.parse(f"f({inside})", mode="eval").body
        if call.args or not call.keywords:
            raise ValueError
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise UsageError(
            f"A configuration of {kernel.fn.__name__} is a number, or fields of helion.Config as in "
            f"'block_sizes=[16, 16], num_warps=8', not {text!r}."
        ) from None


def _filled(bound: Any, kernel: Any, given: Any, origin: str) -> Chosen:
    """A copy with every field, those that are not given as in Helion's default; what is not as given is said."""
    kind = private.config_type()
    if not isinstance(given, (dict, kind)):
        raise UsageError(f"A configuration of {kernel.fn.__name__} is a helion.Config or a dict, not {given!r}.")
    fields: dict[str, Any] = dict(given if isinstance(given, dict) else given.config)
    default: dict[str, Any] = dict(bound.config_spec.default_config().config)
    known = list(dict.fromkeys((*sorted(default), *private.config_fields())))
    for name in fields:
        if name not in known and name not in _FOR_ONE:
            hint = near(name, known)
            raise UsageError(f"A configuration of {kernel.fn.__name__} has no field {name!r}. {hint}")
    if "block_sizes" in default and "block_size" not in fields:
        fields.setdefault("block_sizes", default["block_sizes"])
    config = kind(**fields)  # normalize() writes into it
    wanted = copy.deepcopy(dict(config.config))
    try:
        private.normalize(bound.config_spec, config)
    except Exception as error:
        said = config_values.said_of(error)
        raise UsageError(f"The configuration does not fit {kernel.fn.__name__}: {said}") from None
    if reason := config_values.wrong(bound, config) or _unfit(bound, config):
        raise UsageError(f"The configuration does not fit {kernel.fn.__name__}: {reason}")
    meant = {_FOR_ONE.get(name, name): [value] if name in _FOR_ONE else value for name, value in wanted.items()}
    changed = [name for name, value in meant.items() if not _kept(value, config.config.get(name))]
    said = ", ".join(f"{name} {config.config.get(name)!r}" for name in changed)
    return Chosen(config, f"{origin}, but Helion makes of it: {said}" if said else origin)


def _unfit(bound: Any, config: Any) -> str:
    """Why Helion generates no code, or wrong code, for a configuration that it takes; empty where nothing is known."""
    device_ir, kind = bound.host_function.device_ir, config.config.get("pid_type")
    if len(device_ir.phases) > 1 and kind != "persistent_blocked":
        return f"hl.barrier() needs pid_type='persistent_blocked', not {kind!r}"
    if kind == "xyz" and len(device_ir.root_ids) > 1:
        return "pid_type='xyz' is for one top-level loop: of several, Helion's Triton would leave out tiles"
    if kind == "xyz" and any(len(blocks) not in (2, 3) for blocks in device_ir.grid_block_ids):
        return "pid_type='xyz' is for top-level loops of two or three dims"
    return ""


def _kept(given: Any, taken: Any) -> bool:
    """Whether what is given of a field holds: lists may be completed, and one value stand for a list."""
    own, others = (value if isinstance(value, list) else [value] for value in (given, taken))
    if len(own) == 1 and isinstance(own[0], list) and not any(isinstance(one, list) for one in others):
        own = own[0]
    return others[: len(own)] == own or not (_says(own) or _says(others))


def _says(value: Any) -> bool:
    return any(map(_says, value)) if isinstance(value, (list, tuple)) else value not in (None, 0, False, "")


def _shown(value: Any) -> Any:
    return value if isinstance(value, (int, str)) else str(value)


# --- what MLIR shows of it ----------------------------------------------------------------


def loop_order(env: Any, config: Any, blocks: Sequence[int]) -> list[int]:
    """The positions of a loop's blocks in the order of the configuration."""
    order = private.config_value(env.config_spec, config, "loop_orders", blocks[0]) if len(blocks) > 1 else None
    return list(order) if order and len(order) == len(blocks) else list(range(len(blocks)))


def grid_order(env: Any, config: Any, blocks: Sequence[int]) -> list[int]:
    """The positions of a top-level loop's blocks, the one that runs fastest first."""
    order = loop_order(env, config, blocks)
    return order[::-1] if flattened(env, config, blocks) else order


_OF_LOOPS = {
    "loop_unroll_factor": "range_unroll_factors",
    "num_stages": "range_num_stages",
    "disallow_acc_multi_buffer": "range_multi_buffers",
    "flatten": "range_flattens",
    "warp_specialize": "range_warp_specializes",
    "static_ranges": "static_ranges",
}
"""What Triton's loops are told, for which MLIR has no form -> the field of a configuration that it comes from."""


def loop_attributes(env: Any, config: Any, block: int) -> tuple[dict[str, Any], list[str]]:
    """What Helion's Triton says of the loop of a block, as attributes of the op: `helion.range_unroll_factor`.

    And what of the configuration it does not take over, in words: stages of loops that are unrolled, say. Call inside
    Helion's contexts.
    """
    told = private.range_options(config, block)
    if "disallow_acc_multi_buffer" in told:
        told["disallow_acc_multi_buffer"] = not told["disallow_acc_multi_buffer"]
    found = {f"helion.{field.removesuffix('s')}": told[name] for name, field in _OF_LOOPS.items() if name in told}
    lost: list[str] = []
    for name, field in _OF_LOOPS.items():
        wanted = private.config_value(env.config_spec, config, field, block)
        if _says(wanted) and told.get(name) != wanted and "static_ranges" not in told:
            has = f"{told[name]!r}" if name in told else "nothing"
            lost.append(f"Helion's Triton tells this loop {has} where {field} says {wanted!r}")
    return found, lost


def l2_grouping(env: Any, config: Any, blocks: Sequence[int]) -> int:
    """How many programs along the first dim follow one another before the second dim goes on; 1 for no groups."""
    if len(blocks) < 2 or flattened(env, config, blocks):
        return 1
    return int(private.config_value(env.config_spec, config, "l2_groupings", blocks[0]) or 1)


def flattened(env: Any, config: Any, blocks: Sequence[int]) -> bool:
    """Whether Helion tiles one row of all elements of a loop; it then has no groups for the L2 cache."""
    return len(blocks) > 1 and bool(private.config_value(env.config_spec, config, "flatten_loops", blocks[0]))


def persistent(config: Any) -> str:
    """`interleaved` or `blocked` where a program takes several tiles, else nothing."""
    kind = str(config.config.get("pid_type", "flat"))
    return kind.removeprefix("persistent_") if kind.startswith("persistent_") else ""
