"""PyTorch programs as graphs: calls go, inputs stand in for their results, shapes shrink, weights are one number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from irwidget.reducing import engine
from irwidget.reducing.engine import Change, Test


@dataclass(frozen=True)
class Ref:
    """A value by its name, among the arguments of a node."""

    name: str


@dataclass(frozen=True)
class Code:
    """What is written as it is: `torch.float32`."""

    text: str


@dataclass(frozen=True)
class Tensor:
    """What is known of a tensor."""

    shape: tuple[int, ...]
    dtype: str
    """As PyTorch writes it: `float32`."""


@dataclass(frozen=True)
class Given:
    """An input or a weight."""

    name: str
    of: Tensor
    weight: bool = False
    values: str = "full"
    """`full`: one number; `rand`: random ones; else what stands for the values, as Python."""

    @property
    def text(self) -> str:
        """The tensor, as Python."""
        shape, dtype = self.of.shape, self.of.dtype
        how = "" if dtype == "float32" else f", dtype=torch.{dtype}"
        if self.values not in ("full", "rand"):
            return f"torch.tensor({self.values}{how})"
        floats = dtype.startswith(("float", "bfloat", "complex"))
        if self.values == "rand" and floats:
            return f"torch.rand({shape}{how})"
        return f"torch.full({shape}, {'0.5' if floats else '1'}{how})"


@dataclass(frozen=True)
class Node:
    """A call."""

    name: str
    function: str
    """As Python: `torch.ops.aten.add.Tensor`."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def uses(self) -> set[str]:
        """The names of the values that it takes."""
        return set(_names((self.args, tuple(self.kwargs.values()))))


@dataclass(frozen=True)
class Program:
    """A model: what it is given, its calls, and the names of what it returns."""

    given: tuple[Given, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor], compare=False)
    """What is known of the values, by name; several results of one call are not there."""

    @property
    def text(self) -> str:
        """A file of Python that has it lowered."""
        weights = [one for one in self.given if one.weight]
        inputs = [one for one in self.given if not one.weight]
        held = [f'        self.register_buffer("{one.name}", {one.text})' for one in weights]
        names = {one.name: f"self.{one.name}" for one in weights}
        calls = [f"        {node.name} = {_call(node, names)}" for node in self.nodes]
        returned = ", ".join(names.get(one, one) for one in self.outputs)
        uses_operator = any(node.function.startswith("operator.") for node in self.nodes)
        return "\n".join(
            [
                *(["import operator", ""] if uses_operator else []),
                "import torch",
                "",
                "import irwidget",
                "",
                "",
                "class Program(torch.nn.Module):",
                *(["    def __init__(self):", "        super().__init__()", *held, ""] if held else []),
                f"    def forward({', '.join(['self', *(one.name for one in inputs)])}):",
                *calls,
                f"        return {returned}",
                "",
                "",
                f"irwidget.explore({', '.join(['Program().eval()', *(one.text for one in inputs)])})",
                "",
            ]
        )


def count(program: Program) -> int:
    """How many calls it has."""
    return len(program.nodes)


def smaller(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """Smaller and smaller programs that still fail; from the last one nothing more can be taken."""
    return engine.smallest(program, fails, WAYS)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, tuple | list):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _names(one)


def _call(node: Node, names: Mapping[str, str]) -> str:
    words = [_written(one, names) for one in node.args]
    words += [f"{name}={_written(one, names)}" for name, one in node.kwargs.items()]
    return f"{node.function}({', '.join(words)})"


def _written(value: Any, names: Mapping[str, str]) -> str:
    if isinstance(value, Ref):
        return names.get(value.name, value.name)
    if isinstance(value, Code):
        return value.text
    if isinstance(value, list | tuple):
        inner = ", ".join(_written(one, names) for one in value)  # pyright: ignore[reportUnknownVariableType]
        return f"[{inner}]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_mapped(one, change) for one in value)  # pyright: ignore[reportUnknownVariableType]
    return change(value)


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    def one(value: Any) -> Any:
        return Ref(names.get(value.name, value.name)) if isinstance(value, Ref) else value

    return replace(node, args=_mapped(node.args, one), kwargs={k: _mapped(v, one) for k, v in node.kwargs.items()})


# Ways


def _less(program: Program, gone: Iterable[str]) -> Program | None:
    """Without some calls; inputs stand in for their results. None where these are not known."""
    names = set(gone)
    for node in program.nodes:  # what takes one of several results goes with the call
        if node.function == "operator.getitem" and node.uses & names - program.tensors.keys():
            names.add(node.name)
    kept = tuple(node for node in program.nodes if node.name not in names)
    left = {node.name for node in kept} | {one.name for one in program.given}
    outputs = tuple(one for one in program.outputs if one in left)
    used = {name for node in kept for name in node.uses} | set(outputs)
    if not outputs:
        outputs = tuple(node.name for node in kept if node.name not in used and node.name in program.tensors)
        used |= set(outputs)
    wanted = used & names
    if not outputs or wanted - program.tensors.keys():
        return None
    more = [Given(name, program.tensors[name]) for name in sorted(wanted)]
    given = [one for one in (*program.given, *more) if one.name in used]
    return replace(program, given=tuple(given), nodes=kept, outputs=outputs)


def _calls(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """Without more and more calls, the last first."""

    def without(program: Program, start: int, stop: int) -> Program | None:
        return _less(program, [node.name for node in reversed(program.nodes)][start:stop])

    return engine.chunks(program, fails, count, without)


def _outputs(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """With one result, and with others."""

    def changes(program: Program) -> list[Change[Program]]:
        made = [(one,) for one in program.outputs] if len(program.outputs) > 1 else []
        made += [tuple(other for other in program.outputs if other != one) for one in program.outputs]
        return [partial(_less, replace(program, outputs=one), ()) for one in made if one]

    return engine.each(program, fails, changes)


def _forwards(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """With something that a call takes in place of its result."""

    def forwarded(program: Program, node: Node, other: str) -> Program | None:
        names = {node.name: other}
        nodes = tuple(_renamed(one, names) for one in program.nodes if one is not node)
        outputs = tuple(dict.fromkeys(names.get(one, one) for one in program.outputs))
        return shaped(_less(replace(program, nodes=nodes, outputs=outputs), ()))

    def changes(program: Program) -> list[Change[Program]]:
        return [
            partial(forwarded, program, node, other)
            for node in reversed(program.nodes)
            for other in sorted(node.uses & program.tensors.keys())
        ]

    return engine.each(program, fails, changes)


def _resized(program: Program, size: int, other: int) -> Program | None:
    """With one number in place of another in all shapes and arguments."""

    def one(value: Any) -> Any:
        return other if isinstance(value, int) and not isinstance(value, bool) and value == size else value

    given = tuple(replace(each, of=replace(each.of, shape=_mapped(each.of.shape, one))) for each in program.given)
    nodes = tuple(
        replace(node, args=_mapped(node.args, one), kwargs={k: _mapped(v, one) for k, v in node.kwargs.items()})
        for node in program.nodes
    )
    return shaped(replace(program, given=given, nodes=nodes))


def _sizes(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """With smaller sizes, everywhere at once."""

    def changes(program: Program) -> list[Change[Program]]:
        sizes = sorted({size for one in program.given for size in one.of.shape if size > 1}, reverse=True)
        smaller = {size: dict.fromkeys([1, 2, 3, size // 2]) for size in sizes}
        return [
            partial(_resized, program, size, other) for size in sizes for other in smaller[size] if 0 < other < size
        ]

    return engine.each(program, fails, changes)


def _shapes(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """With fewer dims, or a size of one tensor that is 1."""

    def changed(program: Program, at: int, shape: tuple[int, ...]) -> Program | None:
        one = program.given[at]
        if one.values not in ("full", "rand"):
            return None
        made = replace(one, of=replace(one.of, shape=shape))
        return shaped(replace(program, given=(*program.given[:at], made, *program.given[at + 1 :])))

    def changes(program: Program) -> list[Change[Program]]:
        found: list[Change[Program]] = []
        for at, one in enumerate(program.given):
            shape = one.of.shape
            for dim in range(len(shape)):
                found.append(partial(changed, program, at, (*shape[:dim], *shape[dim + 1 :])))
                if shape[dim] > 1:
                    found.append(partial(changed, program, at, (*shape[:dim], 1, *shape[dim + 1 :])))
        return found

    return engine.each(program, fails, changes)


def _weights(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """With inputs in place of weights, and one number in place of values."""

    def changed(program: Program, at: int, **how: Any) -> Program:
        made = replace(program.given[at], **how)
        return replace(program, given=(*program.given[:at], made, *program.given[at + 1 :]))

    def changes(program: Program) -> list[Change[Program]]:
        found: list[Change[Program]] = []
        for at, one in enumerate(program.given):
            if one.weight:
                found.append(partial(changed, program, at, weight=False))
            if one.values != "full":
                found.append(partial(changed, program, at, values="full"))
        return found

    return engine.each(program, fails, changes)


def _arguments(program: Program, fails: Test[Program]) -> Iterator[Program]:
    """Without the last arguments of calls, and with smaller numbers."""

    def put(program: Program, at: int, node: Node) -> Program | None:
        made = replace(program, nodes=(*program.nodes[:at], node, *program.nodes[at + 1 :]))
        return shaped(_less(made, ()))

    def changes(program: Program) -> list[Change[Program]]:
        found: list[Change[Program]] = []
        for at, node in enumerate(program.nodes):
            if len(node.args) > 1:
                found.append(partial(put, program, at, replace(node, args=node.args[:-1])))
            for name in node.kwargs:
                kept = {key: value for key, value in node.kwargs.items() if key != name}
                found.append(partial(put, program, at, replace(node, kwargs=kept)))
        return found

    return engine.each(program, fails, changes)


WAYS: dict[str, engine.Shrink[Program]] = {
    "calls": _calls,
    "outputs": _outputs,
    "operands in place of results": _forwards,
    "weights": _weights,
    "sizes": _sizes,
    "dims": _shapes,
    "arguments": _arguments,
}


# With PyTorch


def shaped(program: Program | None) -> Program | None:
    """With the shapes that its calls give now; None where PyTorch refuses one. Nothing is computed."""
    if program is None:
        return None
    import operator

    import torch

    from irwidget.frontends.suppressed import suppressed_output
    from irwidget.private_torch import FakeTensorMode

    def value(one: Any) -> Any:
        if isinstance(one, Ref):
            return values[one.name]
        if isinstance(one, Code):
            return eval(one.text, {"torch": torch})  # of this file's own making
        return [value(each) for each in one] if isinstance(one, tuple | list) else one  # pyright: ignore[reportUnknownVariableType]

    values: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    try:
        with suppressed_output(), FakeTensorMode(), torch.no_grad():
            for one in program.given:
                values[one.name] = torch.empty(one.of.shape, dtype=getattr(torch, one.of.dtype))
            for node in program.nodes:
                function = eval(node.function, {"torch": torch, "operator": operator})
                kwargs = {name: value(one) for name, one in node.kwargs.items()}
                values[node.name] = function(*map(value, node.args), **kwargs)
    except Exception:  # whatever an operator says of what it does not take
        return None
    for name, found in values.items():
        if isinstance(found, torch.Tensor):
            tensors[name] = _tensor(found)
    return replace(program, tensors=tensors)


def _tensor(found: Any) -> Tensor:
    return Tensor(tuple(int(size) for size in found.shape), str(found.dtype).removeprefix("torch."))
