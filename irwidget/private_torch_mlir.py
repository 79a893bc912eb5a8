"""torch-mlir's undocumented names: its importer of FX graphs, where its libraries are, and LLVM's functions in them.

`tests/core/test_private.py` says of each what it must do. Importing this costs nothing: `importer()` does.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.util
import inspect
import mmap
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget.errors import UnsupportedError

if TYPE_CHECKING:
    from irwidget.trace import Location as Place

_MLIR = {
    "ir": ("Context", "Location", "MLIRError", "Module", "Operation", "SymbolTable"),
    "passmanager": ("PassManager",),
    "dialects.torch": ("register_dialect",),
}
_IMPORTER = {
    "extras.fx_importer": (
        "FxImporter.import_frozen_program",
        "ContextCache.get_node_location",
        "GraphNodeImporter._import_argument",
        "GraphNodeImporter._import_list_argument",
        "GraphNodeImporter._import_literal",
        "GraphNodeImporter._import_symbolic_torch_op",
        "GraphNodeImporter.bind_node_value",
        "RefTracker",
        "TORCH_DTYPE_TO_INT",
        "TORCH_DTYPE_TO_NPY_TYPE",
        "create_mlir_tensor_type",
    ),
    "extras.fx_decomp_util": ("get_decomposition_table",),
}
"""What irwidget calls, by module; without it there is nothing to be done. `missing` tells."""
_IMPORTER_ARGUMENTS = ("context", "py_attr_tracker", "graph_node_importer_cls")
_BUILD = re.compile(rb"(\d+\.\d+\.\d+git) ([0-9a-f]{40})\0")


@cache
def importer() -> Any:
    """The module of the importer: `FxImporter`, its tables of dtypes and of tensors.

    Raises UnsupportedError, by name, for what a build of torch-mlir lacks.
    """
    require_importer()
    return importlib.import_module("torch_mlir.extras.fx_importer")


def decompositions() -> dict[Any, Any]:
    """The table of the ATen operators that are decomposed before the import. Raises as `importer`."""
    require_importer()
    return importlib.import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table()


@cache
def require_importer() -> None:
    """Raises UnsupportedError where the importer is not the one that irwidget calls, with the names that it lacks."""
    lacking = _lacking(_IMPORTER)
    if not lacking:
        made = importlib.import_module("torch_mlir.extras.fx_importer").FxImporter
        taken = inspect.signature(made).parameters
        lacking = [f"FxImporter({name}=)" for name in _IMPORTER_ARGUMENTS if name not in taken]
    if lacking:
        raise UnsupportedError(
            f"torch-mlir's importer in {libraries().parent} has no {', '.join(lacking[:5])}: irwidget cannot import "
            "models with this build; MLIR as text it can run"
        )


def missing() -> list[str]:
    """What irwidget calls of MLIR itself and this torch-mlir lacks."""
    return _lacking(_MLIR)


def _lacking(needed: Mapping[str, Sequence[str]]) -> list[str]:
    found: list[str] = []
    for name, members in needed.items():
        try:
            module: Any = importlib.import_module(f"torch_mlir.{name}")
        except ModuleNotFoundError as error:
            if not f"torch_mlir.{name}".startswith(str(error.name)):
                raise
            found.append(str(error.name))
            continue
        for member in members:
            here = module
            for part in member.split("."):
                here = getattr(here, part, None)
            if here is None:
                found.append(f"torch_mlir.{name}.{member}")
    return found


def has_stablehlo() -> bool:
    """Whether the build has StableHLO, which one may leave out."""
    return importlib.util.find_spec("torch_mlir._mlir_libs._stablehlo") is not None


def register_stablehlo_passes() -> None:
    """Have MLIR know the passes of StableHLO."""
    importlib.import_module("torch_mlir._mlir_libs._stablehlo").register_stablehlo_passes()


def interpret_stablehlo(module: Any, arguments: Sequence[Any]) -> Sequence[Any]:
    """What StableHLO's reference interpreter returns for `main` of a module, as attributes.

    Raises ValueError, or ends the process, for what it does not take.
    """
    return importlib.import_module("torch_mlir._mlir_libs._stablehlo").eval_module(module, list(arguments))


def only_from(folders: Sequence[str]) -> None:
    """Have `torch_mlir` be that of the first of these folders which has one, and no other's.

    It is a package without an `__init__.py`: Python would put those of all folders together, and take what a build
    lacks from the installed one.
    """
    place = next((place for one in folders if (place := Path(one) / "torch_mlir").is_dir()), None)
    if place is None or (place / "__init__.py").is_file():
        return
    spec = importlib.machinery.ModuleSpec("torch_mlir", None, is_package=True)
    spec.submodule_search_locations = [str(place)]
    sys.modules["torch_mlir"] = importlib.util.module_from_spec(spec)


@cache
def build(folder: Path) -> str:
    """LLVM's version and commit, as a library of the torch-mlir below a folder has them; empty where none says."""
    for library in sorted((folder / "torch_mlir" / "_mlir_libs").glob("libTorchMLIRAggregateCAPI*")):
        with (
            contextlib.suppress(OSError, ValueError),
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            if found := _revision(data):
                return f"LLVM {found[1].decode()} {found[2][:12].decode()}"
    return ""


def _revision(data: mmap.mmap) -> re.Match[bytes] | None:
    at = data.find(b"git ")
    while at >= 0:
        start = data.rfind(b"\0", max(0, at - 20), at) + 1
        if start and (found := _BUILD.match(data[start : at + 60])):
            return found
        at = data.find(b"git ", at + 1)
    return None


def libraries() -> Path:
    """The folder of the shared libraries, and of the program `torch-mlir-opt` where a wheel has it."""
    import torch_mlir  # pyright: ignore[reportMissingImports]

    return Path(next(iter(torch_mlir.__path__))) / "_mlir_libs"


def tell_crashes() -> None:
    """Have this process, when a signal ends it, print its stack first; nothing where that cannot be had."""
    if prints := _printing_stacks():
        prints(_NO_NAMES, len(_NO_NAMES), False)


_NO_NAMES = b"llvm-symbolizer"
"""As a program of this name, LLVM starts no other to look for names of functions, which takes seconds."""


@cache
def _printing_stacks() -> Any:
    """`llvm::sys::PrintStackTraceOnErrorSignal`, of a name, its length and whether the system is not to be told."""
    with contextlib.suppress(ImportError, OSError, AttributeError, StopIteration):
        library = ctypes.CDLL(str(next(libraries().glob("libTorchMLIRAggregateCAPI*"))))
        found = library["_ZN4llvm3sys28PrintStackTraceOnErrorSignalENS_9StringRefEb"]
        found.argtypes, found.restype = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_bool), None
        return found
    return None


@cache
def operations(dialect: str) -> frozenset[str]:
    """The operations of one of MLIR's dialects, as the bindings in the wheel name them; none of another's."""
    file = libraries().parent / "dialects" / f"_{dialect}_ops_gen.py"
    if not file.is_file():
        return frozenset()
    return frozenset(re.findall(r'OPERATION_NAME = "([\w.]+)"', file.read_text(encoding="utf-8")))


def place_nodes(fx_importer: Any, frames: Callable[[Any], Sequence[Place]]) -> None:
    """Have an `FxImporter`, before it imports, ask `frames` for the calls that a node comes from, outermost first.

    By itself it reads them from the text of the node's stack trace, without columns.
    """
    base: Any = importer().ContextCache
    location: Any = importer().Location

    class PlacedCache(base):
        def get_node_location(self, node: Any) -> Any:
            usual = super().get_node_location(node)
            places = [location.file(one.file, one.line, one.column, context=self._c) for one in frames(node)]
            if not usual or not places:
                return usual
            return location.callsite(places[-1], places[-2::-1], context=self._c) if places[1:] else places[0]

    fx_importer._cc = PlacedCache(fx_importer._c, py_attr_tracker=fx_importer._py_attr_tracker)


@cache
def node_importer() -> Any:
    """A class to derive from: the importer of a graph's nodes, its hooks and members by names of ours.

    `literal`, `cond`, `while_loop`, `map` and `scan` are called for a value and for the higher-order operators of these
    names, `tensor_list` for a list of tensors of which some are constants, `symbol` for what is computed of sizes, and
    `number` for such a value that an operator takes as a tensor.
    """
    import torch

    base: Any = importer().GraphNodeImporter

    class HookedNodeImporter(base):
        def _import_literal(self, py_value: Any, info: Any = None) -> Any:
            return self.literal(py_value, info)

        def _import_hop_cond(self, loc: Any, node: Any, hop: Any) -> None:
            self.cond(loc, node)

        def _import_hop_while_loop(self, loc: Any, node: Any, hop: Any) -> None:
            self.while_loop(loc, node)

        def _import_hop_map_impl(self, loc: Any, node: Any, hop: Any) -> None:
            self.map(loc, node)

        def _import_hop_scan(self, loc: Any, node: Any, hop: Any) -> None:
            self.scan(loc, node)

        def _import_symbolic_torch_op(self, loc: Any, node: Any, target: Any) -> None:
            if not self.symbol(loc, node):
                super()._import_symbolic_torch_op(loc, node, target)

        def _import_list_argument(self, loc: Any, arg: Sequence[Any], expected_jit_type: Any) -> Any:
            if any(isinstance(one, torch.Tensor) for one in arg):
                return self.tensor_list(loc, arg, "Optional[Tensor]" in str(expected_jit_type))
            return super()._import_list_argument(loc, arg, expected_jit_type)

        def _import_argument(self, loc: Any, arg: Any, expected_jit_type: Any = None) -> Any:
            value = arg.meta.get("val") if isinstance(arg, torch.fx.Node) else None
            if isinstance(expected_jit_type, torch.TensorType) and isinstance(value, torch.SymInt | torch.SymFloat):
                return self.number(loc, arg, value)
            return super()._import_argument(loc, arg, expected_jit_type)

        def literal(self, value: Any, info: Any = None) -> Any:
            """The SSA value of a constant."""
            return super()._import_literal(value, info)

        def rebind(self, node: Any, value: Any) -> None:
            """Have a node stand for another SSA value from here on."""
            self._v[(node, 0)] = value

        def argument(self, loc: Any, node: Any) -> Any:
            """The SSA value of an argument of a node."""
            return self._import_argument(loc, node)

        @property
        def types(self) -> Any:
            """What makes MLIR types of dtypes, shapes and values."""
            return self._cc

        @property
        def tracker(self) -> Any:
            """The table of tensors that have become literals."""
            return self._cc._py_attr_tracker

        @property
        def mlir_context(self) -> Any:
            """MLIR's context."""
            return self._c

        def function_name(self, module: Any) -> str:
            """The function that a graph module of the program has become."""
            return self.fx_importer._graph_module_to_func_name[id(module)]

        def bind(self, node: Any, results: Sequence[Any], *, several: bool) -> None:
            """Note the SSA values that a node has become; `several` where its value is a tuple."""
            if not several:
                self.bind_node_value(node, results[0])
                return
            self._multi_result_nodes.add(node)
            for number, value in enumerate(results):
                self.bind_node_value(node, value, number)

    return HookedNodeImporter
