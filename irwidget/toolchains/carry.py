"""The user's objects as bytes that a process with other releases of Triton, Helion and torch makes anew.

Pickle keeps the insides of an object, which are another release's there. Kernels cross as what they were made of: the
function with its globals, by value, and the arguments of its decorator. What was typed into cells goes along, because
the compilers read it.
"""

from __future__ import annotations

import importlib
import io
import linecache
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from irwidget.errors import IRWidgetError, ToolError, UsageError
from irwidget.helion import private as helion_private
from irwidget.toolchain import triton_private


@dataclass(frozen=True)
class Parcel:
    """Objects on their way, with what they need on the other side."""

    data: bytes
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The text of files that are on no disk, by name: cells."""
    directory: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    default_dtype: str = ""
    """PyTorch's, by name."""
    path: Sequence[str] = ()
    """Where Python imports from, also since the process was started."""

    def opened(self, own: Mapping[str, str]) -> Any:
        """The objects, made of what is installed here. Changes this process: it is for one that serves, whose variables
        of its own are `own`.
        """
        os.environ.clear()
        os.environ.update({**self.environment, **own})
        os.chdir(self.directory)
        sys.path += [entry for entry in self.path if entry not in sys.path]
        importlib.invalidate_caches()
        for name, text in self.files.items():
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        if self.default_dtype:
            import torch

            torch.set_default_dtype(getattr(torch, self.default_dtype))
        return pickle.loads(self.data)


def packed(objects: Any) -> Parcel:
    """Objects as a parcel. Raises UsageError for what cannot be sent, ToolError without cloudpickle."""
    try:
        import cloudpickle
    except ImportError:
        raise ToolError(
            "A toolchain is another process, and what is lowered goes there by cloudpickle: "
            "pip install 'irwidget[toolchains]'",
            tool="cloudpickle",
        ) from None
    seen: set[str] = set()

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            for carried in (triton_private.carried, helion_private.carried, _carried):
                if (found := carried(obj)) is not None:
                    return found
            if isinstance(obj, FunctionType):
                seen.add(obj.__code__.co_filename)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(objects)
    except IRWidgetError:
        raise
    except Exception as error:
        raise UsageError(
            f"What is lowered cannot be sent to the process of the toolchain: {type(error).__name__}: {error}. Put it "
            "in a file, and: python -m irwidget lower FILE.py --toolchain ..."
        ) from None
    files = {name: "".join(linecache.getlines(name)) for name in seen if not os.path.isfile(name)}
    ask: Any = getattr(sys.modules.get("torch"), "get_default_dtype", None)
    dtype = str(ask()).removeprefix("torch.") if ask else ""
    texts = {name: text for name, text in files.items() if text}
    path = tuple(entry or os.getcwd() for entry in sys.path)
    return Parcel(buffer.getvalue(), texts, os.getcwd(), dict(os.environ), dtype, path)


def _carried(obj: Any) -> Any:
    """An exported program, by PyTorch's own format."""
    exported = sys.modules.get("torch.export")
    if exported is None or not isinstance(obj, getattr(exported, "ExportedProgram", ())):
        return None
    buffer = io.BytesIO()
    exported.save(obj, buffer)
    return _load, (buffer.getvalue(),)


def _load(data: bytes) -> Any:
    return importlib.import_module("torch.export").load(io.BytesIO(data))
