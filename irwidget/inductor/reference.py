"""What a graph of Dynamo's should return: what eager PyTorch does, and how far each element may be off.

Lives in a copy of the kernel. The allowance is that of `checking`: float64, and samples of rounding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from irwidget.checking import unsettled
from irwidget.checking.allowance import ExpectedResult, result_of
from irwidget.checking.evaluate import Rounding, Wide, random_operator
from irwidget.checking.expected import CLOSER, SAMPLES, SIZES
from irwidget.checking.resampling import once, resampled, resized
from irwidget.inductor import attributes, private
from irwidget.inductor.reached import Ways, others
from irwidget.private_torch import is_mutable, storage_id, viewed
from irwidget.private_torch_export import default_decompositions

_MUTABLE = ("aten.native_batch_norm", "aten.cudnn_batch_norm")
"""Operations that change an argument and whose schema does not say so."""

_GRADIENT = "gradient of "


class Unexecuted(Exception):
    """Why there is nothing to compare with."""


class Random(Unexecuted):
    """The same of what gives other numbers on every run."""


Modes = Callable[[], AbstractContextManager[None]]


class Outcome:
    """What is compared of a call: results, gradients, and inputs that it changes, each under its name."""

    def __init__(self, function: Callable[..., Any], names: Sequence[str], modes: Modes) -> None:
        self._function, self.names, self._modes = function, names, modes
        self.changed: frozenset[str] = frozenset(names)
        """The inputs that eager PyTorch changes."""

    def __call__(self, args: Sequence[Any], *, copied: bool = True) -> dict[str, Any]:
        """Call it, on copies of the values unless these are such already. Raises what the function raises."""
        given = own(args) if copied else list(args)
        with self._modes():
            taken = [one.view_as(one) if _wants(one) else one for one in given]  # a leaf must not be changed in place
            returned = self._function(*taken)
        outputs = list(returned) if isinstance(returned, list | tuple) else [returned]
        found = {f"result {i}": _kept(one) for i, one in enumerate(outputs) if one is not None}
        found |= self._gradients(outputs, given)
        after = [(name, one, old) for name, one, old in zip(self.names, taken, args, strict=True) if is_tensor(one)]
        changed = {
            name for name, one, old in after if name in self.changed or (copied and not attributes.same(one, old))
        }
        return found | {_input(name): _kept(one) for name, one, _ in after if name in changed}

    def _gradients(self, outputs: Sequence[Any], given: Sequence[Any]) -> dict[str, Any]:
        ends = [one for one in outputs if _wants(one)]
        wanted = [(name, one) for name, one in zip(self.names, given, strict=True) if _wants(one)]
        if not ends or not wanted:
            return {}
        tangents = [_tangent(one, number) for number, one in enumerate(ends)]
        made = torch.autograd.grad(ends, [one for _, one in wanted], tangents, allow_unused=True)
        pairs = zip(wanted, made, strict=True)
        return {f"{_GRADIENT}{name!r}": _kept(grad) for (name, _), grad in pairs if is_tensor(grad)}


@dataclass(frozen=True)
class Case:
    """Inputs of a graph, and what it should make of them."""

    args: list[Any]
    results: tuple[ExpectedResult, ...]
    outcome: Outcome

    @property
    def shapes(self) -> list[torch.Size]:
        """Those of its tensors."""
        return [one.shape for one in self.args if is_tensor(one)]


@dataclass(frozen=True)
class _Judged:
    module: Any
    held: tuple[str, ...]
    """The tensors of its own that it changes, which are taken for inputs after the others."""
    modes: Modes


class Reference:
    """What a graph should return for a call, for one like it, and for other sizes, where these are dynamic.

    Raises Unexecuted where it cannot be known. `held` are values of tensors that the graph has of its own and changes:
    inputs of the cases, after the others.
    """

    def __init__(
        self, module: Any, args: list[Any], modes: Modes, held: Mapping[str, torch.Tensor] = MappingProxyType({})
    ) -> None:
        self._graph, self._closer = _Judged(module, tuple(held), modes), False
        everything = [*args, *held.values()]
        self.cases = [_case(self._graph, everything, SAMPLES)]
        with contextlib.suppress(Exception):
            self.cases.append(_case(self._graph, _like(everything), SAMPLES))
        for step in SIZES:
            with contextlib.suppress(Exception):
                if (sized := _sized(module, args, step)) is not None:
                    self.cases.append(_case(self._graph, [*sized, *held.values()], SAMPLES // 2))
        self.unreached = "" if held else self._reach()
        """The branches that no case takes, in words."""

    def _reach(self) -> str:
        """Add cases that take the branches which the others do not."""
        ways = Ways(self._graph.module)
        for case in self.cases if ways else ():
            with contextlib.suppress(Exception):
                ways.take(ways.of(own(case.args)))
        for args in others(self.cases[0].args, own) if ways else ():
            with contextlib.suppress(Exception):
                if ways and (new := ways.of(own(args))):
                    self.cases.append(_case(self._graph, args, SAMPLES // 2))
                    ways.take(new)
        return str(ways)

    def look_closer(self) -> bool:
        """Evaluate the cases more often, as `checking` does before it calls a result wrong; False if they were."""
        if not self._closer:
            self.cases = [_case(self._graph, case.args, CLOSER * SAMPLES) for case in self.cases]
            self._closer = True
            return True
        return False


def _case(graph: _Judged, args: list[Any], samples_wanted: int) -> Case:
    names = [node.name for node in graph.module.graph.nodes if node.op == "placeholder"]
    names += graph.held
    if number := attributes.rounded_number(graph.module):
        raise Unexecuted(f"{number.name} is a number of Python's made of floats, which rounding would change")
    outcome = Outcome(attributes.lifted(graph.module, graph.held), names, graph.modes)
    before = dict(zip(names, args, strict=True))
    changes = attributes.Changes(graph.module)
    everything = outcome(args)
    if changed := list(changes.found()):
        raise Unexecuted(f"it changes {changed[0]} in place, which is no input of the graph, only on some inputs")
    if graph.held and any(label.startswith(_GRADIENT) for label in everything):
        raise Unexecuted(f"it changes {graph.held[0]} in place, which is no input of the graph, and takes gradients")
    after = {name: everything[_input(name)] for name in names if _input(name) in everything}
    outcome.changed = frozenset(name for name, one in after.items() if not attributes.same(one, before[name]))
    wanted = {label: one for label, one in everything.items() if label not in {_input(name) for name in names}}
    wanted |= {_input(name): after[name] for name in names if name in outcome.changed}
    traced = Outcome(attributes.lifted(graph.module, graph.held, formulas=True), names, graph.modes)
    traced.changed = outcome.changed
    exact, samples, others = _evaluated(*_program(traced, args), samples_wanted)
    results = (
        unsettled.opened(
            result_of(label, want, exact[i], [sample[i] for sample in samples]), exact[i], [one[i] for one in others]
        )
        for i, (label, want) in enumerate(wanted.items())
    )
    return Case(args, tuple(results), outcome)


def _evaluated(program: Any, args: list[Any], samples_wanted: int) -> tuple[Any, list[Any], list[Any]]:
    """The results in float64, those with noise, and those with other choices. Raises Unexecuted."""
    rounding = Rounding(program)
    fed = [value.detach() if is_tensor(value) else value for value in args]
    try:
        with torch.no_grad():
            rounding.run(*own(fed), enable_io_processing=False)
            exact, *samples = [
                Wide(program, rounding.rounds, seed).run(*own(fed), enable_io_processing=False)
                for seed in (None, *range(samples_wanted))
            ]
            return exact, samples, unsettled.evaluations(program, lambda: own(fed))
    except Exception as error:
        raise _not_in_float64(error) from error


def _not_in_float64(error: Exception) -> Unexecuted:
    return Unexecuted(f"it cannot be evaluated in float64: {type(error).__name__}: {first_line(error)}")


def _program(outcome: Outcome, args: list[Any]) -> tuple[torch.fx.GraphModule, list[Any]]:
    """All of it, backward too, as one graph of ATen's operations that changes nothing in place, and what that is given.

    Raises Unexecuted.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    def flat(*values: Any) -> list[Any]:
        return list(outcome(values, copied=False).values())

    table = default_decompositions()
    try:
        made = make_fx(flat, table)(*own(args))
        if _changes(made):
            args, parts = _memories(args)
            functional = private.get("dispatch_functionalize")(lambda *values: flat(*parts(values)))
            made = make_fx(functional, table)(*own(args))
    except Exception as error:
        raise _not_in_float64(error) from error
    if operator := random_operator(made):
        raise Random(f"random: {operator} gives other numbers on every run")
    if _changes(made):
        raise Unexecuted("it changes tensors in place in a way that cannot be evaluated in float64")
    return made, args


def _changes(module: Any) -> bool:
    targets = [node.target for node in module.graph.nodes if node.op == "call_function"]
    mutable = any(map(is_mutable, targets))
    return mutable or any(str(one).startswith(_MUTABLE) for one in targets)


# Values


def own(values: Sequence[Any]) -> list[Any]:
    """Copies of values, with the same strides; each wants a gradient where its original does.

    Those that share memory have a copy of that in common, as views of one tensor where they are.
    """
    memories = [storage_id(one) for one in values if is_tensor(one) and one.layout is torch.strided]
    shared = {one for one in memories if memories.count(one) > 1}
    bases: dict[int, torch.Tensor] = {}
    made: list[Any] = []
    for one in values:
        if is_tensor(one) and one.layout is torch.strided and storage_id(one) in shared:
            made.append(_part(one, bases))
        else:
            made.append(_own(one) if is_tensor(one) else one)
    return made


def _memories(values: list[Any]) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Values with one tensor for what shares a memory, which stands first, and a function that takes them from it.

    So what is written through one is read through another where nothing is changed in place. What wants a gradient, and
    what has another type, stays as it is.
    """
    plain = [one for one in values if is_tensor(one) and one.layout is torch.strided and not one.requires_grad]
    keys = [(storage_id(one), one.dtype) for one in plain]
    bases = {
        key: torch.empty(0, dtype=one.dtype).set_(one.untyped_storage())  # pyright: ignore
        for key, one in zip(keys, plain, strict=True)
        if keys.count(key) > 1
    }
    places = {id(one): (key, one) for key, one in zip(keys, plain, strict=True) if key in bases}

    def parts(given: Sequence[Any]) -> list[Any]:
        known = dict(zip(bases, given, strict=False))
        others = iter(given[len(bases) :])
        found: list[Any] = []
        for one in values:
            if id(one) in places:
                key, part = places[id(one)]
                found.append(known[key].as_strided(part.shape, part.stride(), part.storage_offset()))
            else:
                found.append(next(others))
        return found

    return [*bases.values(), *(one for one in values if id(one) not in places)], parts


def _part(one: torch.Tensor, bases: dict[int, torch.Tensor]) -> torch.Tensor:
    """A copy of a tensor in the copy of its memory."""
    of = viewed(one)
    if storage_id(one) not in bases:
        whole = one if of is None else of
        storage = one.detach().untyped_storage().clone()
        laid = torch.empty(0, dtype=whole.dtype)
        laid.set_(storage, whole.storage_offset(), whole.shape, whole.stride())  # pyright: ignore
        bases[storage_id(one)] = laid
    base = bases[storage_id(one)]
    if of is not None and not one.requires_grad and one.dtype == base.dtype:
        return base.as_strided(one.shape, one.stride(), one.storage_offset())
    made = torch.empty(0, dtype=one.dtype)
    made.set_(base.untyped_storage(), one.storage_offset(), one.shape, one.stride())  # pyright: ignore
    return made.requires_grad_(one.requires_grad)


def _own(one: torch.Tensor) -> torch.Tensor:
    made = one.detach().clone()
    if one.layout is torch.strided and made.stride() != one.stride():  # expanded, or with gaps
        storage = one.detach().untyped_storage().clone()
        made = torch.empty(0, dtype=one.dtype).set_(storage, one.storage_offset(), one.shape, one.stride())  # pyright: ignore
    return made.requires_grad_(one.requires_grad)


def _like(args: Sequence[Any]) -> list[Any]:
    """Other values of the same kinds."""
    made = own(args)
    random = torch.Generator().manual_seed(0)
    for one, other in zip(made, resampled([_detached(one) for one in args], 0), strict=True):
        if is_tensor(one):
            part = once(one.stride()) if one.layout is torch.strided else ()
            one.detach()[part].copy_(_told_apart(other[part], random))
    return made


def _told_apart(one: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """Floats that are all the same are no more, with the sign that they have: the weights of a norm before training.

    A pass that loses what such a tensor is multiplied by, or added to, would be right on ones and zeros.
    """
    if not one.is_floating_point() or not one.numel() or one.element_size() < 2:
        return one
    first = one.flatten()[0]
    if not first.isfinite() or bool((one != first).any()):
        return one
    part = torch.rand(one.shape, generator=random).to(one.dtype)
    return one * (part / 2 + 0.75) if first else part / 2


def _sized(module: Any, args: Sequence[Any], step: int) -> list[Any] | None:
    """Values of other sizes, where these are dynamic; None where there are no others for which the code is made.

    Nor are there of inputs that have gaps or share memory, of which strides and offsets would be guessed.
    """
    metas = [node.meta.get("example_value") for node in module.graph.nodes if node.op == "placeholder"]
    tensors = [one for one in args if is_tensor(one)]
    if len({storage_id(one) for one in tensors}) < len(tensors) or not all(map(_is_dense, tensors)):
        return None
    shapes = [one.shape if is_tensor(one) else [one] if isinstance(one, torch.SymInt) else None for one in metas]
    others = [_detached(one) for one in resampled([_detached(one) for one in args], 1)]
    made = resized(others, shapes, step, guarded=True)
    if made is None:
        return None
    wanted = zip(made, args, strict=True)
    return [_laid(one, old).requires_grad_(old.requires_grad) if is_tensor(old) else one for one, old in wanted]


def _order(one: torch.Tensor) -> list[int]:
    """The dims of a tensor, from that with the largest step in memory on."""
    return sorted(range(one.dim()), key=lambda dim: -one.stride(dim))


def _is_dense(one: torch.Tensor) -> bool:
    """Whether a tensor fills its memory, in an order of its dims or another."""
    return one.permute(_order(one)).is_contiguous()


def _laid(one: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """A copy of a tensor, with its dims in memory in the order of another's."""
    order = _order(old)
    back = sorted(range(len(order)), key=order.__getitem__)
    return one.permute(order).contiguous().clone().permute(back)


def _detached(one: Any) -> Any:
    return one.detach() if is_tensor(one) else one


def is_tensor(one: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(one, torch.Tensor)


def _wants(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.requires_grad


def _kept(one: Any) -> Any:
    return one.detach().clone() if isinstance(one, torch.Tensor) else one


def _tangent(one: torch.Tensor, seed: int) -> torch.Tensor:
    """What a gradient begins with: other numbers for each element, the same in each run."""
    count = torch.arange(one.numel(), dtype=torch.float64).reshape(one.shape)
    return torch.cos(count + seed).to(one.dtype)


def _input(name: str) -> str:
    return f"input {name!r}"


def first_line(error: BaseException) -> str:
    """What an error says, in a line."""
    return next(iter(str(error).strip().splitlines()), "")
