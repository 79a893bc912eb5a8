"""How torch's tensors become literals of MLIR: by their own memory, or by name alone.

torch-mlir's importer makes a list of Python's numbers of every tensor. Its tracker, which makes sure that a tensor
becomes one literal only, can be told what that literal is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch, private_torch_mlir
from irwidget.toolchain import mlir

if TYPE_CHECKING:
    from torch.export import ExportedProgram

LARGE = 1 << 14
"""Tensors of at least so many bytes become literals by name alone."""
_SAMPLES = 256
_RESOURCE = re.compile(r"dense_resource<([^>]+)>")
_IMPORTER = private_torch_mlir.importer()
FxImporter: Any = _IMPORTER.FxImporter
_RefTracker: Any = _IMPORTER.RefTracker
_TYPES: Any = _IMPORTER.TORCH_DTYPE_TO_NPY_TYPE
"""The dtypes that can be literals; of the others the importer says that they cannot."""


def _plain(tensor: torch.Tensor, least: int = 1) -> bool:
    """Whether a tensor is nothing but its elements in memory, and more than so many."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.device.type in ("cpu", "cuda")
        and tensor.dtype in _TYPES
        and tensor.numel() > least
    )


def large(program: ExportedProgram) -> list[torch.Tensor]:
    """The tensors of a program that are better not sent, each once."""
    found = {id(tensor): tensor for tensor in _tensors(program)}
    return [tensor for tensor in found.values() if _plain(tensor) and size(tensor) >= LARGE]


def _tensors(program: ExportedProgram) -> Iterator[torch.Tensor]:
    yield from program.state_dict.values()
    yield from (value for value in program.constants.values() if isinstance(value, torch.Tensor))
    for module in program.graph_module.modules():
        yield from module.parameters(recurse=False)
        yield from module.buffers(recurse=False)
        yield from (value for value in vars(module).values() if isinstance(value, torch.Tensor))


def size(tensor: torch.Tensor) -> int:
    """Bytes of all elements, whatever memory they share."""
    return tensor.numel() * tensor.element_size()


def is_read(tensor: torch.Tensor) -> bool:
    """Whether passes look at the values: at integers (indices, shapes, quantised weights), not at large floats."""
    return not tensor.dtype.is_floating_point


def memory(tensor: torch.Tensor) -> memoryview:
    """The bytes of the elements, row-major: the tensor's own where they lie so."""
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    pages: Any = flat.view(torch.uint8).numpy()
    return memoryview(pages)


def state(tensor: torch.Tensor) -> tuple[int, bytes]:
    """What changes with a tensor's values: how often torch knows it was written to, and a sample of them."""
    version = -1 if tensor.is_inference() else private_torch.version(tensor)
    along = max(4, round(_SAMPLES ** (1 / tensor.dim())))
    sample = tensor.detach()[tuple(slice(None, None, max(1, length // along)) for length in tensor.shape)]
    return version, bytes(memory(sample))


class Tracker(_RefTracker):
    """The importer's table of tensors, filled as they come."""

    def __init__(self, named: Sequence[torch.Tensor], *, opaque: bool = False) -> None:
        super().__init__()
        self.opaque = opaque
        """Whether vectors of one number become resources too, whose values no pass knows."""
        self._named = {id(tensor): number for number, tensor in enumerate(named)}
        self._kept: list[torch.Tensor] = []
        self.numbers: dict[str, int] = {}
        """The literals that have no values, by the names of their resources: the number of each in `named`."""

    def track(self, referrent: Any) -> Any:
        """The literal of a tensor, made when it is first asked for; empty where the importer should make it."""
        mapping = super().track(referrent)
        if mapping.is_empty:
            self._kept.append(referrent)  # the table goes by id: that of a temporary could come again
            if _plain(referrent, 0 if self.opaque and referrent.dim() else 1):
                mapping.value = self._literal(referrent)
        return mapping

    def _literal(self, tensor: torch.Tensor) -> Any:
        shape = "_".join(str(size) for size in tensor.shape)
        name, kind = f"torch_tensor_{shape}_{tensor.dtype}", _IMPORTER.create_mlir_tensor_type(tensor)
        number = self._named.get(id(tensor))
        if number is None:
            return mlir.ir.DenseResourceElementsAttr.get_from_buffer(memory(tensor), name, kind, tensor.element_size())
        literal = mlir.ir.Attribute.parse(f"dense_resource<{name}> : {kind}")
        self.numbers[resource(literal)] = number
        return literal


def resource(literal: Any) -> str:
    """The name of a literal's resource; MLIR numbers those that would have the same. Empty when it is none."""
    found = _RESOURCE.match(str(literal))
    return found[1] if found else ""
