"""The host module that torch-spyre's Inductor writes, read without running it: OpSpecs, buffers, calls in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from irwidget.errors import UsageError
from irwidget.spyre.formats import DeviceFormat
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.recorded.data import (
    FoundArg,
    FoundBuffer,
    FoundCall,
    FoundHost,
    FoundKernel,
    FoundOp,
)

_QUIET = frozenset({"clear", "assert_alignment", "wait"})
"""Calls of the host that move nothing."""
_ALIASES = frozenset({"reinterpret_tensor", "reinterpret_tensor_with_layout", "as_strided"})
"""Calls of the host that give a buffer another name."""


@dataclass(frozen=True)
class _Made:
    """A call in the text: what is called, and its arguments."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]

    def get(self, name: str, position: int, default: Any = None) -> Any:
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else default


@dataclass
class _Reading:
    """What is found while the statements are gone through."""

    kernels: dict[str, FoundKernel] = field(default_factory=dict[str, FoundKernel])
    buffers: dict[str, FoundBuffer] = field(default_factory=dict[str, FoundBuffer])
    calls: list[FoundCall] = field(default_factory=list[FoundCall])
    outputs: tuple[str, ...] = ()


def is_host_module(text: str) -> bool:
    """Whether a text looks like one."""
    return "SpyreAsyncCompile()" in text or (".sdsc(" in text and "OpSpec(" in text)


def read_host(text: str, name: str) -> FoundHost:
    """The kernels, buffers and calls of a host module. Raises UsageError for a text that is none; runs nothing."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no host module: it is no Python ({error})") from None
    found = _Reading()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _ends(node.value.func, "sdsc"):
            made = _kernel(node.value, name)
            found.kernels[made.name] = made
    call = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if not found.kernels and call is None:
        raise UsageError(
            f"{name} has neither OpSpecs nor a function `call`: give the host module that torch-spyre's Inductor writes"
        )
    for statement in call.body if call is not None else ():
        _statement(statement, found)
    return FoundHost(text, tuple(found.kernels.values()), found.buffers, tuple(found.calls), found.outputs)


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(node: ast.Call, where: str) -> FoundKernel:
    made = cast("_Made", _value(node))
    name, specs = made.get("kernel_name", 0), made.get("specs", 1)
    if not isinstance(name, str) or not isinstance(specs, list):
        raise UsageError(f"{where}, line {node.lineno}: a kernel is not written as a name and a list of OpSpecs")
    numbers = iter(range(1 << 30))
    items = cast("list[Any]", specs)
    try:
        ops = tuple(_ops(items, (), (), numbers))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{where}, kernel {name}: its OpSpecs are not written as those of June and July 2026 are"
            f" ({type(error).__name__}: {error})"
        ) from None
    missing = next((str(i.get("op", 0)) for i in items if isinstance(i, _Made) and i.name == "UnimplementedOp"), "")
    return FoundKernel(name, ops, unimplemented=missing)


def _ops(
    items: list[Any], loops: tuple[tuple[int, int], ...], tiled: tuple[str, ...], numbers: Iterator[int]
) -> Iterator[FoundOp]:
    for item in items:
        if item.name == "LoopSpec":
            inner = (*loops, (next(numbers), int(str(item.get("count", 0)))))
            more = tuple(str(s) for s in item.get("tiled_symbols", 2, []))
            yield from _ops(item.get("body", 1), inner, (*tiled, *more), numbers)
        elif item.name == "OpSpec":
            space: Any = item.get("iteration_space", 2)
            yield FoundOp(
                str(item.get("op", 0)),
                bool(item.get("is_reduction", 1)),
                tuple((str(v), int(str(n)), int(str(split))) for v, (n, split) in space.items()),
                tuple(_arg(arg) for arg in item.get("args", 3)),
                item.get("op_info", 4, {}),
                loops,
                tiled,
            )


def _arg(made: _Made) -> FoundArg:
    ((place, address),) = made.get("allocation", 5).items()
    return FoundArg(
        bool(made.get("is_input", 0)),
        int(made.get("arg_index", 1)),
        str(made.get("device_dtype", 2)),
        tuple(int(str(n)) for n in made.get("device_size", 3)),
        tuple(str(c) for c in made.get("device_coordinates", 4)),
        str(place),
        int(str(address)),
        str(made.get("name", 99, "") or ""),
        tuple(int(str(n)) for n in made.get("stride_map", 99) or ()),
    )


def _value(node: ast.expr) -> Any:
    """A literal of the text; `sympify('c0')` and names are strings, other calls `_Made`."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=parts):
            return [_value(part) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {_value(k): _value(v) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _value(operand)
            return -value if isinstance(value, int | float) else ast.unparse(node)
        case ast.Name(id="inf" | "nan" as name):  # as Python prints these numbers
            return float(name)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Call(func=func, args=args, keywords=keywords):
            name = _last(func)
            if name in ("sympify", "Symbol", "Integer") and len(args) >= 1:
                return str(_value(args[0]))
            if name == "IndirectAccess" and len(args) == 1:
                return f"{name}({_value(args[0])})"
            if name == "float" and len(args) == 1:
                return float(str(_value(args[0])))
            kwargs = {k.arg: _value(k.value) for k in keywords if k.arg}
            return _Made(name, [_value(a) for a in args], kwargs)
        case _:
            return ast.unparse(node)


def _last(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _ends(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


# -- the host's calls ------------------------------------------------------------------------------


def _statement(node: ast.stmt, found: _Reading) -> None:
    match node:
        case ast.Expr(value=ast.Call() as call):
            _call(call, found)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _assign(name, value, found)
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id="args")):
            for part in parts:
                found.buffers[_last(part)] = FoundBuffer(_last(part), (), (), kind="input")
        case ast.Return(value=ast.expr() as value):
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            found.outputs = tuple(ast.unparse(part) for part in parts)
        case ast.With(body=body) | ast.If(body=body):
            for inner in body:
                _statement(inner, found)
        case _:
            pass


def _call(node: ast.Call, found: _Reading) -> None:
    name = _last(node.func)
    if name == "assert_size_stride":
        made = cast("_Made", _value(node))
        buffer = found.buffers.get(str(made.get("", 0)))
        if buffer is not None and buffer.kind == "input":
            found.buffers[buffer.name] = replace(buffer, size=made.get("", 1), stride=made.get("", 2))
    elif name == "run" and isinstance(node.func, ast.Attribute) and _last(node.func.value) in found.kernels:
        arguments = tuple(ast.unparse(a) for a in node.args if not isinstance(a, ast.Starred))
        found.calls.append(FoundCall(_last(node.func.value), arguments))
    elif name not in _QUIET:
        found.calls.append(FoundCall(text=ast.unparse(node)))


def _assign(name: str, node: ast.expr, found: _Reading) -> None:
    if not isinstance(node, ast.Call):
        if isinstance(node, ast.Name | ast.Subscript):  # another name, or a part of what a call gave
            source = found.buffers.get(ast.unparse(node))
            found.buffers[name] = replace(source, name=name) if source else FoundBuffer(name, (), (), kind="fallback")
        return
    callee = _last(node.func)
    made = cast("_Made", _value(node))
    if callee == "spyre_empty_with_layout":
        found.buffers[name] = FoundBuffer(
            name, made.get("", 0), made.get("", 1), str(made.get("", 2)), layout_of(made.get("", 3))
        )
    elif callee in _ALIASES:
        source = next((n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in found.buffers), "")
        found.buffers[name] = replace(found.buffers[source], name=name) if source else FoundBuffer(name, (), ())
    elif callee == "spyre_constant_tensor":
        dtype = str(made.get("dtype", 2, "float16"))
        found.buffers[name] = FoundBuffer(name, (), (), dtype, kind="constant")
    else:
        found.buffers[name] = FoundBuffer(name, (), (), kind="fallback")
        found.calls.append(FoundCall(text=ast.unparse(node), makes=name))


def layout_of(made: Any) -> DeviceLayout | None:
    """A SpyreTensorLayout of the text; None where it is written in another way."""
    if not isinstance(made, _Made) or made.name != "SpyreTensorLayout":
        return None
    size, strides = made.get("device_size", 0), made.get("stride_map", 1)
    form, tag = made.get("device_dtype", 2), made.get("element_arrangement", 3, "STANDARD")
    return layout_from({"device_size": size, "stride_map": strides, "format": form, "tag": tag})


def layout_from(given: Mapping[str, Any]) -> DeviceLayout:
    """A layout from its plain data."""
    size = tuple(int(n) for n in given["device_size"])
    form = DeviceFormat(str(given["format"]), size[-1])
    return DeviceLayout(size, tuple(int(n) for n in given["stride_map"]), form, str(given.get("tag") or "STANDARD"))
