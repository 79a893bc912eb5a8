"""Inputs without data: shape, dtype, layout and names of dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UnsupportedError, UsageError
from irwidget.spyre.formats import device_format, dtype_name
from irwidget.spyre.hardware import MAX_RANK
from irwidget.spyre.layout import DeviceLayout, device_layout, row_major


@dataclass(frozen=True)
class TensorSpec:
    """An input that is described rather than given.

    `dtype` is a torch dtype or its name. `dim_order` picks the device layout (its last entry is the
    stick dim; a final -1 means sparse); `layout` gives one outright. `dims` names the dims for hints.
    """

    shape: Sequence[int]
    dtype: Any = "float16"
    dim_order: Sequence[int] | None = None
    dims: Sequence[str] | None = None
    stride: Sequence[int] | None = None
    layout: DeviceLayout | None = None
    dynamic: Mapping[int, tuple[int, int]] | None = None
    """Dims marked dynamic: dim -> (min or 0, max)."""


@dataclass(frozen=True, slots=True)
class Input:
    """A graph input after its description was checked."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    dim_order: tuple[int, ...] | None
    layout: DeviceLayout
    dims: tuple[str, ...] = ()
    parameter: str = ""
    """Its name in the module when it is a parameter or buffer."""
    dynamic: tuple[tuple[int, int, int], ...] = ()
    """(dim, min, max) for each dynamic dim."""


def as_spec(value: Any) -> TensorSpec | None:
    """The spec of a tensor (real, meta or fake), a spec as it is, None for anything else."""
    if isinstance(value, TensorSpec):
        return value
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None or not callable(getattr(value, "stride", None)):
        return None
    return TensorSpec(tuple(value.shape), dtype, stride=tuple(value.stride()))


def described(inputs: Any) -> Any:
    """The inputs with a TensorSpec in place of each tensor, nested as they are."""
    from irwidget.private_torch import pytree

    def describe(leaf: Any) -> Any:
        spec = as_spec(leaf)
        return leaf if spec is None else spec

    return pytree.tree_map(describe, inputs, is_leaf=lambda leaf: isinstance(leaf, TensorSpec))


def check_input(name: str, spec: TensorSpec, parameter: str = "") -> Input:
    """Refuse what has no layout on the device before anything is traced."""
    dtype = dtype_name(spec.dtype)
    size = tuple(spec.shape)
    label = f"input {parameter or name}"
    for extent in size:
        if not isinstance(extent, int) or extent < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{label}: shape {list(size)} is no list of sizes.")
    try:
        device_format(dtype)
    except UnsupportedError as error:
        raise UnsupportedError(f"{label}: {error}") from None
    if len(size) > MAX_RANK:
        raise UnsupportedError(
            f"{label}: Unsupported tensor rank {len(size)}; a Spyre layout has at most {MAX_RANK} dims."
        )
    if spec.dims is not None and len(spec.dims) != len(size):
        raise UsageError(f"{label}: {len(spec.dims)} dim names for {len(size)} dims.")
    for dim, (low, high) in (spec.dynamic or {}).items():
        if not 0 <= dim < len(size) or low < 0 or high < max(low, size[dim]):
            raise UsageError(f"{label}: dynamic dim {dim} with sizes {low} to {high} does not fit {list(size)}.")
        size = (*size[:dim], high, *size[dim + 1 :])
    stride = row_major(size) if spec.stride is None else tuple(spec.stride)
    layout = spec.layout or device_layout(size, dtype, spec.dim_order, stride)
    order = tuple(spec.dim_order) if spec.dim_order is not None else None
    dynamic = tuple((dim, low, high) for dim, (low, high) in (spec.dynamic or {}).items())
    stick = next((d for d in reversed(order or range(len(size))) if d >= 0), None)
    if any(dim == stick for dim, _, _ in dynamic):
        raise UnsupportedError(
            f"Spyre backend does not support: symbolic stick dim {stick} of {label}: its size decides how many sticks"
            " there are. Mark another dim dynamic, or give an order that puts another dim into the sticks."
        )
    return Input(name, size, stride, dtype, order, layout, tuple(spec.dims or ()), parameter, dynamic)
