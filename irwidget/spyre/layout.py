"""Device tensor layouts: how host elements are tiled into 128-byte sticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from irwidget.errors import UnsupportedError, UsageError
from irwidget.spyre.formats import DeviceFormat, device_format
from irwidget.spyre.hardware import MAX_RANK, STICK_BYTES


@dataclass(frozen=True, slots=True)
class DeviceLayout:
    """Where the elements of a host tensor lie on the device.

    `device_size` is row-major; its last extent is one stick. `stride_map[i]` is the number of
    host elements that a step along device dim i moves, -1 for a synthetic or size-1 dim.
    """

    device_size: tuple[int, ...]
    stride_map: tuple[int, ...]
    format: DeviceFormat
    tag: str = "STANDARD"
    """Element arrangement inside the sticks: STANDARD, DL16_TO_FP32, QFP8CH or EXX2."""

    @property
    def elements_per_stick(self) -> int:
        return self.device_size[-1]

    @property
    def elements(self) -> int:
        return prod(self.device_size)

    @property
    def bytes(self) -> int:
        return prod(self.device_size[:-1]) * STICK_BYTES

    @property
    def strides(self) -> tuple[int, ...]:
        """Row-major device strides in elements."""
        return row_major(self.device_size)

    def __str__(self) -> str:
        tag = "" if self.tag == "STANDARD" else f", element_arrangement=ElementArrangement.{self.tag}"
        return (
            f"SpyreTensorLayout(device_size={list(self.device_size)}, stride_map ={list(self.stride_map)}, "
            f"device_dtype=DataFormats.{self.format.name}{tag})"
        )


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return tuple(strides)


def device_layout(
    size: Sequence[int],
    dtype: str,
    dim_order: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    tag: str = "STANDARD",
) -> DeviceLayout:
    """The layout of a host tensor for an order of its dims (docs/spyre-rules.md: Device layouts).

    `dim_order` permutes the host dims; its last entry is the stick dim. One extra final -1 makes
    the tensor sparse: one element per stick.
    """
    rank = len(size)
    order = tuple(range(rank)) if dim_order is None else tuple(dim_order)
    if max(rank, len(order)) > MAX_RANK:
        more = " and one element per stick, which counts as a dim" if len(order) > rank else ""
        raise UnsupportedError(
            f"Unsupported tensor rank: {rank} dims{more}, and a Spyre layout has at most {MAX_RANK}."
        )
    if sorted(d for d in order if d >= 0) != list(range(rank)) or order.count(-1) > 1 or -1 in order[:-1]:
        raise UsageError(f"dim_order {list(order)} is no permutation of the {rank} dims (with -1 only at its end).")
    return layout_in_order(size, device_format(dtype), order, row_major(size) if stride is None else stride, tag)


def layout_in_order(
    size: Sequence[int], fmt: DeviceFormat, order: tuple[int, ...], stride: Sequence[int], tag: str = "STANDARD"
) -> DeviceLayout:
    """The same for an order that is taken as it is: dims that it leaves out have no place in the layout."""
    eps = fmt.elements_per_stick
    if not size:
        return DeviceLayout((1, eps), (-1, -1), fmt, tag)
    dims = _device_dims(order)
    stick = order[-1]
    extents = [_extent(size, d, stick, eps) for d in dims[:-1]] + [eps]
    strides = [-1] * len(dims)
    previous: dict[int, int] = {}
    for i in range(len(dims) - 1, -1, -1):
        d = dims[i]
        if d == -1 or size[d] == 1:
            continue
        strides[i] = strides[previous[d]] * extents[previous[d]] if d in previous else stride[d]
        previous[d] = i
    return DeviceLayout(tuple(extents), tuple(strides), fmt, tag)


def _device_dims(order: tuple[int, ...]) -> tuple[int, ...]:
    """The host dim of each device dim; the first dim of the order lies next to the stick."""
    if len(order) == 1:
        return (order[0], order[0])
    if len(order) == 2:
        return (order[1], order[0], order[1])
    return (*order[1:], order[0], order[-1])


def _extent(size: Sequence[int], dim: int, stick: int, eps: int) -> int:
    if dim == -1:
        return 1
    return -(-size[dim] // eps) if dim == stick else size[dim]


@dataclass(frozen=True, slots=True)
class Transfer:
    """The loop nest of a copy between host and device, outermost device stride first."""

    ranges: tuple[int, ...]
    device_strides: tuple[int, ...]
    host_strides: tuple[int, ...]


def transfer(layout: DeviceLayout) -> Transfer:
    """The DMA description of a layout (docs/spyre-rules.md: Device layouts): strides in elements."""
    return Transfer(layout.device_size, layout.strides, layout.stride_map)


def restickified(layout: DeviceLayout, old: tuple[int, int], new: tuple[int, int]) -> DeviceLayout | None:
    """The layout with the stick moved from host dim `old` to host dim `new`, each (size, host stride).

    None when `layout` holds either of them in no device dim of its own (docs/spyre-rules.md: Layout choice).
    """
    eps = layout.elements_per_stick
    size, strides = list(layout.device_size), list(layout.stride_map)
    outer = _position(layout, old[1] * eps, -(-old[0] // eps))
    inner = next((i for i in range(len(size) - 1) if strides[i] == new[1] and size[i] == new[0] and i != outer), None)
    if inner is None or strides[-1] != old[1]:
        return None
    if outer is None:
        outer = next((i for i in range(len(size) - 1) if size[i] == 1), None)
        if outer is None or old[0] > eps:
            return None
    size[outer], strides[outer] = -(-new[0] // eps), new[1] * eps
    size[inner], strides[inner] = old
    strides[-1] = new[1]
    return DeviceLayout(tuple(size), tuple(strides), layout.format, layout.tag)


def _position(layout: DeviceLayout, stride: int, extent: int) -> int | None:
    for i in range(len(layout.device_size) - 1):
        if layout.stride_map[i] == stride and layout.device_size[i] == extent:
            return i
    return None
