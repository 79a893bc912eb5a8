"""A launch as data, and as a file of Python that stock Triton runs: the kernel, its arguments, how it is compiled."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irwidget import output
from irwidget.errors import UnsupportedError
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.specialization import Specialization
from irwidget.frontends.triton.stand_ins import Pointer, TypeName
from irwidget.toolchain import triton_private

_SYMBOL = re.compile(r"func public @\"?([^\"(]+)\"?\(")
"""The kernel that a module of TTIR, or of Gluon's TTGIR, has."""


@dataclass(frozen=True)
class Recipe:
    """How a kernel is launched and compiled: `low.results["recipe"]`."""

    launch: Launch
    special: Specialization

    @property
    def data(self) -> dict[str, Any]:
        """The launch as JSON-able data.

        `arguments` has for each its name, Triton's type (`*fp32`, `i32`, `constexpr`), whether it is known to be
        `divisible_by_16`, and its value; for a tensor dtype, shape, strides (in elements) and offset instead.
        """
        special, launch = self.special, self.launch
        return {
            "kernel": launch.name,
            "file": str(launch.kernel.fn.__code__.co_filename),
            "line": int(launch.kernel.fn.__code__.co_firstlineno),
            "launched_at": str(launch.location) if launch.location else None,
            "language": "gluon" if special.gluon else "triton",
            "arch": special.arch.name,
            "grid": launch.grid,
            "config": launch.config or None,
            "options": {name: _plain(value) for name, value in {**special.given, **special.chosen}.items()},
            "settings": dict(special.settings),
            "arguments": [self._argument(index, name) for index, name in enumerate(launch.kernel.arg_names)],
        }

    def _argument(self, index: int, name: str) -> dict[str, Any]:
        value, kind = self.special.bound[name], self.special.signature[name]
        found: dict[str, Any] = {"name": name, "type": str(kind)}
        found["divisible_by_16"] = ["tt.divisibility", 16] in [
            list(one) for one in self.special.attributes.get((index,), [])
        ]
        if isinstance(value, Pointer):
            dtype = str(value.dtype).removeprefix("torch.")
            return {**found, "dtype": dtype, "shape": value.shape, "strides": value.strides, "offset": value.offset}
        return {**found, "value": None if isinstance(value, TypeName) else _plain(value)}

    def reproducer(self, path: str | Path | None = None) -> str:
        """A Python file that launches this kernel with stock Triton, on a GPU: with what it calls, the constants that
        it names, and tensors of the shapes, strides and dtypes of the launch, filled with random numbers (floats) and
        zeros. Written to `path` when given.

        Raises UnsupportedError for what no file can say: a kernel whose source is not there, an argument or a global
        that is an object of the user's own; UsageError when the file cannot be written.
        """
        text = _File(self.launch, self.special).text()
        if path is not None:
            output.write(path, text)
        return text


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return str(getattr(value, "__name__", None) or value)


class _File:
    """A file under construction: imports, then definitions in an order in which each finds what it names."""

    def __init__(self, launch: Launch, special: Specialization) -> None:
        self.launch, self.special = launch, special
        self.imports: dict[str, None] = dict.fromkeys(["import torch", "import triton"])
        self.definitions: dict[str, str] = {}
        self.arguments: list[str] = []

    def text(self) -> str:
        launch, special = self.launch, self.special
        self.define(launch.kernel.fn.__name__, launch.kernel)
        given = list(zip(launch.kernel.arg_names, launch.arguments, strict=False))
        named = [(name, value) for name, value in launch.keywords.items() if name in launch.kernel.arg_names]
        words = [f"{name}={self.argument(name, value)}" for name, value in [*given, *named]]
        options = {**special.given, **special.chosen}
        words += [f"{name}={self.written(value, name)}" for name, value in options.items()]
        grid = launch.grid or (1,)
        settings = [f"os.environ[{name!r}] = {value!r}" for name, value in special.settings]
        head = ["import os", "", *settings, ""] if settings else []
        lines = [
            f"# {launch.name}, as it was launched for {special.arch.name}",
            *head,
            *self.imports,
            "",
            *[f"\n{one}" for one in self.definitions.values()],
            "",
            'if __name__ == "__main__":',
            *[f"    {one}" for one in ["torch.manual_seed(0)", *self.arguments]],
            f"    {launch.kernel.fn.__name__}[{grid!r}](",
            *[f"        {word}," for word in words],
            "    )",
            "",
        ]
        return "\n".join(lines)

    # Definitions

    def define(self, name: str, value: Any) -> None:
        """Have a global name mean what it means to the kernel."""
        if name in self.definitions or name in ("torch", "triton"):
            return
        if isinstance(value, types.ModuleType):
            self.imports[f"import {value.__name__} as {name}"] = None
        elif triton_private.is_jit_callable(value) and not _of_a_package(value):
            self.definitions[name] = ""  # what it calls may call it
            source = self.function(name, value)
            del self.definitions[name]
            self.definitions[name] = source
        elif triton_private.is_jit_callable(value) or isinstance(
            value, type | types.FunctionType | types.BuiltinFunctionType
        ):
            home, own = getattr(value, "__module__", ""), getattr(value, "__name__", "")
            if not home or home == "__main__" or _of_the_user(value):
                raise self.refused(name, value)
            self.imports[f"from {home} import {own} as {name}"] = None
        else:
            self.definitions[name] = f"{name} = {self.written(value, name)}"

    def function(self, name: str, function: Any) -> str:
        for used, value in _named(function):
            self.define(used, value)
        decorator = triton_private.decorator(function)
        self.imports[f"import {decorator.rpartition('.')[0]}"] = None
        given = [f"{key}={self.written(value, key)}" for key, value in triton_private.jit_arguments(function).items()]
        if function is self.launch.kernel and triton_private.names_itself(function):
            given.append(f"repr=lambda _: {self.symbol()!r}")
        called = f"({', '.join(given)})" if given else ""
        alias = f"\n{name} = {function.fn.__name__}\n" if function.fn.__name__ != name else ""
        return f"@{decorator}{called}\n{function.src.rstrip()}\n{alias}"

    def symbol(self) -> str:
        """What the launched kernel is called in its TTIR."""
        found = _SYMBOL.search(str(self.launch.compiled()[1].data))
        return found[1] if found else self.launch.name

    def refused(self, name: str, value: Any) -> UnsupportedError:
        kind = type(value).__name__
        return UnsupportedError(
            f"{self.launch.name} cannot be written to a file that stands alone: {name} is a {kind} that no file can say"
        )

    # Values

    def named_tuple(self, value: Any) -> str:
        """The class of a named tuple, which the file defines; of another tuple nothing."""
        fields = getattr(value, "_fields", None)
        if fields is None:
            return ""
        kind = type(value).__name__
        self.imports["import collections"] = None
        self.definitions[kind] = f"{kind} = collections.namedtuple({kind!r}, {tuple(fields)!r})\n"
        return kind

    def argument(self, name: str, value: Any) -> str:
        """An argument of the launch as an expression; a tensor is made before it."""
        if isinstance(value, Pointer):
            if value.nbytes >= 1 << 40:  # of something that has an address and is no tensor
                raise self.refused(name, value)
            self.arguments.append(f"{name} = {self.tensor(value)}")
            return name
        if hasattr(value, "base") and hasattr(value, "block_shape"):
            self.arguments.append(f"{name}_base = {self.tensor(value.base)}")
            home = type(value).__module__
            self.imports[f"import {home}"] = None
            rest = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.name != "base"}
            words = [f"base={name}_base", *(f"{key}={self.written(one, name)}" for key, one in rest.items())]
            return f"{home}.{type(value).__name__}({', '.join(words)})"
        if isinstance(value, TypeName):
            raise self.refused(name, value)
        if isinstance(value, tuple):
            items = "".join([self.argument(f"{name}_{i}", one) + ", " for i, one in enumerate(value)])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return f"{self.named_tuple(value)}({items})"
        return self.written(value, name)

    def tensor(self, pointer: Pointer) -> str:
        dtype = str(pointer.dtype)
        count = max(1, pointer.nbytes // pointer.dtype.itemsize)
        start = f"torch.randn({count}, device='cuda').to({dtype})"
        flat = start if pointer.dtype.is_floating_point else f"torch.zeros({count}, dtype={dtype}, device='cuda')"
        if (pointer.shape, pointer.strides, pointer.offset) == ((count,), (1,), 0):
            return flat
        return f"{flat}.as_strided({tuple(pointer.shape)}, {tuple(pointer.strides)}, {pointer.offset})"

    def written(self, value: Any, name: str) -> str:
        """A value as an expression. Raises UnsupportedError."""
        if value is None or isinstance(value, bool):
            return repr(value)
        if isinstance(value, str):
            return repr(str.__str__(value))
        if isinstance(value, int | float):  # of NumPy's and of an enum, too
            plain = int(value) if isinstance(value, int) else float(value)
            return repr(plain) if math.isfinite(plain) else f"float({str(plain)!r})"
        if isinstance(value, list):
            return f"[{', '.join(self.written(one, name) for one in value)}]"  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, tuple):
            inner = "".join(self.written(one, name) + ", " for one in value)  # pyright: ignore[reportUnknownVariableType]
            return f"{self.named_tuple(value)}({inner.removesuffix(' ')})"
        if isinstance(value, Mapping):
            pairs = ", ".join(f"{key!r}: {self.written(one, name)}" for key, one in value.items())  # pyright: ignore[reportUnknownVariableType]
            return f"{{{pairs}}}"
        if triton_private.is_jit_callable(value):
            function: Any = value
            self.define(function.fn.__name__, function)
            return str(function.fn.__name__)
        if (said := triton_private.expression(value)) is not None:
            self.imports["import triton.language"] = None
            kind, inner = said
            return f"triton.language.constexpr({self.written(inner, name)})" if kind == "constexpr" else inner
        if (
            dataclasses.is_dataclass(value)
            and not isinstance(value, type)
            and type(value).__module__.startswith("triton.")
        ):
            home = type(value).__module__
            self.imports[f"import {home}"] = None
            fields = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value) if one.init)
            return (
                f"{home}.{type(value).__name__}({', '.join(f'{key}={self.written(one, name)}' for key, one in fields)})"
            )
        raise self.refused(name, value)


def _of_a_package(function: Any) -> bool:
    return str(function.fn.__module__).startswith("triton.")


def _of_the_user(value: Any) -> bool:
    from irwidget.toolchain.locations import is_user_file

    code = getattr(value, "__code__", None)
    return is_user_file(code.co_filename) if code is not None else False


def _named(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals, and names of enclosing functions, that the source of a function names, with their values."""
    inner = function.fn
    code = inner.__code__
    cells = zip(code.co_freevars, inner.__closure__ or (), strict=True)
    values = {**inner.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    tree = ast.parse(function.src)
    used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    local = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    local |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for name in dict.fromkeys(used):
        if name in values and name not in local:
            yield name, values[name]
