"""FX graphs, loop IR and code as text, with the user's line for each line."""

from __future__ import annotations

import dis
import functools
import linecache
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from irwidget import private_torch
from irwidget.inductor import private
from irwidget.inductor.data import InductorText
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in ')
_PYTORCH = re.compile(r"[/\\]site-packages[/\\]torch[/\\]|[/\\]torch[/\\](?:nn|_dynamo|_functorch|_inductor)[/\\]")


@functools.lru_cache(4096)
def place_of(stack_trace: str, module: str = "") -> Location | None:
    """The line that a stack says: the innermost of the user's own, else of a library, else PyTorch's."""
    frames = [Location(file, int(line), name=module) for file, line in _FRAME.findall(stack_trace)]
    ours = [frame for frame in frames if is_user_file(frame.file)]
    libraries = [frame for frame in frames if not _PYTORCH.search(frame.file)]
    found = ours or libraries or frames
    return found[-1] if found else None


def module_path(node: Any) -> str:
    """The module that an FX node was called in: `layers.3.linear1`; empty outside of any."""
    stack: Any = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    return _module_path(str(next(reversed(stack.values()))[0]))


@functools.cache
def _module_path(path: str) -> str:
    path = re.sub(r"_modules\['([^']+)'\]", r"\1", path)
    path = re.sub(r"\['([^']+)'\]|\[(\d+)\]", lambda found: f".{found[1] or found[2]}", path)
    return re.sub(r"^L\.(?:self|fn)\b\.?|^L\b\.?|^self\.", "", path).strip(".")


REPLACED = "irwidget_replaced"
"""Of what node a node has taken the place, and the line of that, where it has none of its own: in its `meta`."""


def node_place(node: Any) -> Location | None:
    """The user's line of an FX node, with its module.

    A node that a pass has made without one has that of what uses it, or else of what it uses; None when none has.
    """
    if place := _own_place(node) or node.meta.get(REPLACED):
        return place
    if node.op == "placeholder" or node.op == "output":
        return None
    for one in (*node.users, *node.all_input_nodes, *(two for user in node.users for two in user.users)):
        if place := _own_place(one):
            return place
    return None


def _own_place(node: Any) -> Location | None:
    trace = node.meta.get("stack_trace")
    return place_of(trace, module_path(node)) if trace else None


def origins_place(origins: Iterable[Any]) -> Location | None:
    """The line of the last FX node of several that has one: what a loop nest computes in the end."""
    placed = [place for node in sorted(origins, key=_order) if (place := node_place(node))]
    return placed[-1] if placed else None


def _order(node: Any) -> Any:
    """Where a node stands in its graph."""
    return private_torch.position(node)


# FX graphs


def graph(module: Any) -> InductorText:
    """An FX graph module: a function of typed values, one node a line; its subgraphs after it."""
    lines: list[str] = []
    places: list[Location | None] = []
    for name, part in _parts(module):
        if lines:
            lines.append("")
            places.append(None)
        for line, place in _function(name, part.graph):
            lines.append(line)
            places.append(place)
    return InductorText("\n".join(lines) + "\n", tuple(places))


def _parts(module: Any) -> Iterator[tuple[str, Any]]:
    """The graph and those that it calls, each with its name."""
    import torch

    yield "forward", module
    for name, part in module.named_modules():
        if name and isinstance(part, torch.fx.GraphModule):
            yield name.replace(".", "_"), part


def _function(name: str, graph: Any) -> Iterator[tuple[str, Location | None]]:
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    if inputs:
        yield f"def {name}(", None
        for node in inputs:
            yield f"    {node.name}{_type(node)},", node_place(node)
        yield "):", None
    else:
        yield f"def {name}():", None
    for node in graph.nodes:
        if node.op == "output":
            yield f"    return {_argument(node.args[0])}", None
        elif node.op != "placeholder":
            yield f"    {node_line(node)}", node_place(node)


def node_line(node: Any) -> str:
    """A node as its graph shows it: `add: "f32[4][1]" = aten.add.Tensor(x, 1)`."""
    return f"{node.name}{_type(node)} = {_call(node)}"


def _type(node: Any) -> str:
    value = node.meta.get("val", node.meta.get("example_value"))
    shown = _value(value)
    return f": {shown}" if shown else ""


_DTYPES = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


@functools.cache
def dtype(value: Any) -> str:
    """`f32` for torch.float32."""
    name = str(value).removeprefix("torch.")
    found = re.fullmatch(r"([a-z]+?)(\d+)", name)
    return f"{_DTYPES[found[1]]}{found[2]}" if found and found[1] in _DTYPES else "b8" if name == "bool" else name


def _value(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        shape = ", ".join(map(str, value.shape))
        stride = ", ".join(map(str, value.stride())) if value.layout is torch.strided else str(value.layout)
        device = "" if value.device.type == "cpu" else f" {value.device}"
        return f'"{dtype(value.dtype)}[{shape}][{stride}]{device}"'
    if isinstance(value, list | tuple):
        inner = [_value(one) or "None" for one in value]
        return f"({', '.join(inner)})" if any(inner) else ""
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return f'"{value}"'
    return ""


def _call(node: Any) -> str:
    arguments = [_argument(one) for one in node.args]
    arguments += [f"{name}={_argument(one)}" for name, one in node.kwargs.items()]
    if node.op == "get_attr":
        return f"self.{node.target}"
    if node.op == "call_method":
        return f"{arguments[0]}.{node.target}({', '.join(arguments[1:])})"
    return f"{target_name(node.target)}({', '.join(arguments)})"


def target_name(target: Any) -> str:
    """What an FX node calls, as it is written: `aten.add.Tensor`, `torch.nn.functional.relu`."""
    import torch

    if isinstance(target, str):
        return target
    if private_torch.has_schema(target):
        return str(target)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__name__
    home = getattr(target, "__module__", None) or ""
    if home in ("torch._C._nn", "torch._C", "torch._VariableFunctions", "") and hasattr(torch, name):
        home = "torch"
    home = {"_operator": "operator", "builtins": ""}.get(home, home)
    return f"{home}.{name}" if home else str(name)


def _argument(value: Any) -> str:
    from torch.fx import Node

    if isinstance(value, Node):
        return value.name
    if isinstance(value, list | tuple):
        inner = ", ".join(_argument(one) for one in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_argument(one)}" for key, one in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({_argument(value.start)}, {_argument(value.stop)}, {_argument(value.step)})"
    if callable(value) and hasattr(value, "__name__"):
        return target_name(value)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


# Bytecode


def bytecode(code: types.CodeType) -> InductorText:
    """Python's bytecode of a frame, each instruction with its line."""
    lines = [f"# {code.co_name}, {code.co_filename} line {code.co_firstlineno}"]
    places: list[Location | None] = [Location(code.co_filename, code.co_firstlineno)]
    line: int | None = code.co_firstlineno
    for one in dis.get_instructions(code):
        line = (one.positions.lineno if one.positions else None) or line
        shown = re.sub(r" at 0x[0-9a-f]+", "", one.argrepr)
        mark = ">>" if one.is_jump_target else "  "
        lines.append(f"{mark} {one.offset:5} {one.opname:24} {shown}".rstrip())
        places.append(Location(code.co_filename, line) if line else None)
    return InductorText("\n".join(lines) + "\n", tuple(places))


# Loop IR


def schedule(nodes: Sequence[Any]) -> InductorText:
    """The nodes of Inductor's scheduler as it prints them; each line has the user's line of its operation."""
    lines: list[str] = []
    places: list[Location | None] = []
    for node in nodes:
        by_name = {one.get_name(): origins_place(_origins(one)) for one in node.get_nodes()}
        last = origins_place(_origins(node))
        here = last
        for line in _ADDRESS.sub("", str(node.debug_str())).rstrip().split("\n"):
            found = _OPENS.match(line)
            if found and found[1] in by_name:
                here = by_name[found[1]]
            lines.append(line)
            places.append(here or last)
        lines.append("")
        places.append(None)
    return InductorText("\n".join(lines) + "\n" if lines else "", tuple(places))


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_OPENS = re.compile(r"\s*(?:class )?(\w*op\d+)(?:_loop_body|: \w*SchedulerNode)")


def _origins(node: Any) -> Sequence[Any]:
    """The FX nodes that a scheduler's node computes; not the call of the branch or loop that it is in."""
    found: dict[Any, None] = {}
    for one in node.get_nodes():
        inner = getattr(one, "node", None)
        for origin in inner.get_origins() if inner is not None else ():
            found[origin] = None
    return [one for one in found if not private.is_around(one)]


origins_of = _origins


# Code


_ASSIGNED = re.compile(r"(?:auto )?(tmp\d+) =")


def assigned(line: str) -> str:
    """What a line of a kernel defines: names of arguments change after it was written, those of values do not."""
    found = _ASSIGNED.match(line)
    return f"{found[1]} =" if found else ""


_BEGINS = re.compile(r"def |extern |template\b|static |inline |void ")
"""How the function begins whose lines are the kernel's."""


def placed(text: str, noted: Mapping[str, list[Location | None]], whole: Location | None) -> InductorText:
    """Code with the lines that were noted as they were written, by their text; others have that of the whole."""
    used: dict[str, int] = {}
    places: list[Location | None] = []
    inside = False
    for line in text.split("\n"):
        key = line.strip()
        known = noted.get(key) or noted.get(assigned(key))
        if not inside or not key or key.startswith(("#", "//")):
            inside = inside or _BEGINS.match(line) is not None
            places.append(None)
        elif known:
            at = used.get(key, 0)
            used[key] = at + 1
            places.append(known[min(at, len(known) - 1)] or whole)
        else:
            places.append(whole)
    return InductorText(text, tuple(places))


_KERNEL_PATH = re.compile(r"^(# kernel path: ).*[/\\]", re.M)
_CONSTANT_ADDRESS = re.compile(r"^(\w+ = None  # .*) [0-9a-f]+$", re.M)


def output_code(text: str) -> str:
    """Inductor's output code without what is another each time: the folder of the cache, and addresses of constants."""
    return _CONSTANT_ADDRESS.sub(r"\1", _KERNEL_PATH.sub(r"\1", text))


def sources(names: Iterable[str]) -> dict[str, str]:
    """The text of files that lines point into."""
    found = {name: "".join(linecache.getlines(name)) for name in dict.fromkeys(names)}
    return {name: text for name, text in found.items() if text}
