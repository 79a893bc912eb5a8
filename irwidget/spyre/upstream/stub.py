"""What stands for torch-spyre's compiled extension, `torch_spyre._C`: it describes the device and runs nothing.

Runs in the process of the front end only. Layouts, formats and the encoding of constants are those of irwidget
(docs/spyre-rules.md). A function that would need a card raises; so does a name that no version had when this was
written, when it is called, so that the error says which.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from typing import Any, cast

import torch

from irwidget.spyre.encoding import encode_constant
from irwidget.spyre.formats import FORMAT_NUMBERS, device_format, dtype_name
from irwidget.spyre.hardware import MAX_RANK, STICK_BYTES
from irwidget.spyre.layout import DeviceLayout, layout_in_order, row_major

_WIDTHS = {
    "SEN169_FP16": 2,
    "IEEE_FP32": 4,
    "SEN143_FP8": 1,
    "SEN152_FP8": 1,
    "SENINT8": 1,
    "SENINT16": 2,
    "IEEE_INT64": 8,
    "IEEE_INT32": 4,
    "SENUINT32": 4,
    "IEEE_FP16": 2,
    "BOOL": 1,
    "BFLOAT16": 2,
}
"""Bytes of an element; the other formats fill no stick."""


class DataFormats(enum.Enum):
    """Formats of elements on the device, by the numbers that the extension gives them."""

    locals().update(FORMAT_NUMBERS)

    def elems_per_stick(self) -> int:
        """Elements in 128 bytes; 0 for what has no size."""
        return STICK_BYTES // _WIDTHS[self.name] if self.name in _WIDTHS else 0

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"DataFormats.{self.name}"

    __str__ = __repr__


class ElementArrangement(enum.Enum):
    """How elements lie inside of sticks."""

    STANDARD = 0
    DL16_TO_FP32 = 1
    QFP8CH = 2
    EXX2 = 3

    def __repr__(self) -> str:
        return f"ElementArrangement.{self.name}"

    __str__ = __repr__


class SpyreTensorLayout:
    """Device extents, host elements that a step along each moves, format and arrangement."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        arrangement = kwargs.pop("element_arrangement", None)
        given = list(args)
        if given and isinstance(given[-1], ElementArrangement):
            arrangement = given.pop()
        self.element_arrangement: ElementArrangement = arrangement or ElementArrangement.STANDARD
        names = _names(given, kwargs)
        if "device_size" in names:
            self._extents = [int(n) for n in names["device_size"]]
            self._strides = [int(n) for n in names["stride_map"]]
            self.device_dtype = cast("DataFormats", names["device_dtype"])
            return
        size = [int(n) for n in names["host_size"]]
        stride = [int(n) for n in names.get("host_strides") or row_major(size)]
        given_order: Any = names.get("dim_order")
        order = range(len(size)) if given_order is None else (int(d) for d in given_order)
        made = _tiled(size, stride, tuple(order), names["dtype"])
        self._extents, self._strides = list(made.device_size), list(made.stride_map)
        self.device_dtype = get_device_dtype(names["dtype"])

    @property
    def device_size(self) -> list[int]:
        """A list of the caller's own, as the extension's bindings make one of a vector: the front end changes it."""
        return list(self._extents)

    @property
    def stride_map(self) -> list[int]:
        """As `device_size`."""
        return list(self._strides)

    def elems_per_stick(self) -> int:
        return self.device_dtype.elems_per_stick()

    def with_element_arrangement(self, element_arrangement: ElementArrangement) -> SpyreTensorLayout:
        return SpyreTensorLayout(self.device_size, self.stride_map, self.device_dtype, element_arrangement)

    def _key(self) -> tuple[Any, ...]:
        return (*self._extents, *self._strides, self.device_dtype, self.element_arrangement)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpyreTensorLayout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        standard = self.element_arrangement is ElementArrangement.STANDARD
        more = "" if standard else f", element_arrangement={self.element_arrangement}"
        return (
            f"SpyreTensorLayout(device_size={self.device_size}, stride_map={self.stride_map},"
            f" device_dtype={self.device_dtype}{more})"
        )


def _tiled(size: list[int], stride: list[int], order: tuple[int, ...], dtype: torch.dtype) -> DeviceLayout:
    """What the extension makes of an order of dims; what it refuses, it refuses by an error of its own, as here."""
    sparse = len(order) == len(size) + 1 and order[-1] == -1
    if len(order) != len(size) and not sparse:
        raise RuntimeError("Incompatible host_size and dim_order")
    if size and len(order) > MAX_RANK:
        raise RuntimeError(f"Unsupported tensor rank: {len(order)}")
    return layout_in_order(size, device_format(dtype_name(dtype)), order, stride)


def _names(given: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name: of the three constructors, the one that they fit."""
    device = "device_size" in kwargs or (len(given) > 2 and isinstance(given[2], DataFormats))
    if device:
        order = ("device_size", "stride_map", "device_dtype")
    elif len(given) + len(kwargs) == 2:
        order = ("host_size", "dtype")
    else:
        order = ("host_size", "host_strides", "dtype", "dim_order")
    return dict(zip(order, given, strict=False)) | kwargs


def get_device_dtype(dtype: torch.dtype) -> DataFormats:
    """The device format of a dtype; INVALID where there is none."""
    from irwidget.errors import UnsupportedError

    try:
        return DataFormats[device_format(dtype_name(dtype)).name]
    except UnsupportedError:
        return DataFormats["INVALID"]


def get_elem_in_stick(dtype: torch.dtype) -> int:
    """Elements of a dtype in a stick."""
    return get_device_dtype(dtype).elems_per_stick()


def layout_of(tensor: Any) -> SpyreTensorLayout:
    """The layout that was given to a tensor, or the default for its size."""
    given = getattr(tensor, "irwidget_layout", None)
    if given is not None:
        return given
    size, stride = [int(n) for n in tensor.shape], [int(n) for n in tensor.stride()]
    return SpyreTensorLayout(size, stride, tensor.dtype, list(range(len(size))))


def set_layout(tensor: Any, layout: SpyreTensorLayout) -> None:
    """Give a tensor a layout."""
    tensor.irwidget_layout = layout


class _Absent:
    """A name of the extension that needs a card, or that this stub does not know."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"torch_spyre._C.{self.name} needs the card or the compiled extension: there is a stub here")


class _JobPlan:
    """What launching a kernel takes; nothing is launched."""


class _Stub(types.ModuleType):
    """The module; what it does not have can be imported, and raises when it is called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)


def module(name: str) -> types.ModuleType:
    """The stub, to be put into `sys.modules` under `name`."""
    made = _Stub(name, "A description of the device, in place of the compiled extension.")
    made.__dict__.update(
        DataFormats=DataFormats,
        ElementArrangement=ElementArrangement,
        SpyreTensorLayout=SpyreTensorLayout,
        get_device_dtype=get_device_dtype,
        get_elem_in_stick=get_elem_in_stick,
        get_spyre_tensor_layout=layout_of,
        set_spyre_tensor_layout=set_layout,
        encode_constant=lambda value, form: encode_constant(float(value), form.name),  # pyright: ignore
        start_runtime=lambda: None,
        free_runtime=lambda: None,
        set_device=lambda _: None,  # pyright: ignore[reportUnknownLambdaType]
        current_device=lambda: 0,
        device_count=lambda: 1,
        synchronize=lambda *_: None,  # pyright: ignore[reportUnknownLambdaType]
        get_downcast_warning=lambda: False,
        set_downcast_warning=lambda _: None,  # pyright: ignore[reportUnknownLambdaType]
        _SpyreStreamBase=type("_SpyreStreamBase", (), {}),
        JobPlan=_JobPlan,
        prepare_kernel=lambda *_, **__: _JobPlan(),  # pyright: ignore[reportUnknownLambdaType]
    )
    return made
