"""What a program should return: eager PyTorch's results, their exact values, and how far each element may be off.

It is found in a copy of the kernel, where the user's model runs on the user's objects and nothing that it changes
stays changed.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irwidget import private_torch_export
from irwidget.checking.allowance import ExpectedResult, Unchecked, result_of
from irwidget.checking.resampling import opposite, resampled, resized, shapes_in
from irwidget.frontends import held
from irwidget.lazy import cached_property
from irwidget.toolchain import forked
from irwidget.toolchain.events import Array, Invocation, Value

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

OTHERS = 4
"""Sets of inputs made of the user's: a fault can hide behind values that happen to be these."""
SIZES = (3, -1)
"""How far dynamic sizes of two more sets are from the user's: a fault can hide behind a size, too."""
_MANY = 100_000
"""Elements of inputs above which one other set is enough."""
SAMPLES = 6
"""Evaluations with rounding noise; half of them for other inputs than the user's."""
CLOSER = 5
"""How many times as many there are before a result is called wrong."""


@dataclass(frozen=True)
class ExpectedCall:
    """Inputs of `@main` and what it should return for them."""

    inputs: tuple[Value, ...]
    results: tuple[ExpectedResult, ...]
    taken: frozenset[tuple[str, bool]] = frozenset()
    """The branches of `torch.cond` that eager PyTorch executed: the name of the node, and its condition."""


@dataclass(frozen=True)
class Expected:
    """The user's inputs, and others made of them, with what `@main` should return."""

    cases: tuple[ExpectedCall, ...]
    unexecuted: tuple[str, ...] = ()
    """Branches of `torch.cond` that none of these inputs reaches."""
    closer: Callable[[], Expected] | None = None
    """The same by more evaluations. Of few, by chance, all are near the exact value in some of very many elements,
    where rounding may lead further. Raises Unchecked.
    """

    def invocation(self, seconds: float, dump: int) -> Invocation:
        """How to execute a dump."""
        import torch

        wanted = [result.want for result in self.cases[0].results]
        sizes = tuple(want.element_size() if isinstance(want, torch.Tensor) else None for want in wanted)
        return Invocation(tuple(case.inputs for case in self.cases), sizes, seconds, dump)


@dataclass(frozen=True)
class ExportedCopy:
    """What torch.export made of a model, as it was before an import, which changes the graph."""

    module: torch.fx.GraphModule
    inputs: tuple[Any, ...]
    """torch's InputSpecs."""
    outputs: tuple[Any, ...]
    """torch's OutputSpecs."""
    state: Mapping[str, torch.Tensor]
    constants: Mapping[str, Any]
    written: ExportedProgram | None = None
    """The program before its operators were taken apart."""

    @staticmethod
    def of(program: ExportedProgram, written: ExportedProgram | None = None) -> ExportedCopy:
        """Keep the graph of an exported program; `written` is the same before its operators were taken apart."""
        import torch

        graph = torch.fx.Graph()
        result = graph.graph_copy(program.graph, {})
        graph.output(result)
        signature = program.graph_signature
        return ExportedCopy(
            torch.fx.GraphModule(program.graph_module, graph),
            tuple(signature.input_specs),
            tuple(signature.output_specs),
            program.state_dict,
            program.constants,
            written,
        )

    @property
    def arguments(self) -> tuple[str | None, ...]:
        """For each leaf of the inputs its placeholder; None for a constant, which is no argument of `@main`."""
        from torch.export.graph_signature import ConstantArgument, InputKind

        given = [spec.arg for spec in self.inputs if spec.kind == InputKind.USER_INPUT]
        return tuple(None if isinstance(arg, ConstantArgument) else arg.name for arg in given)


def expect(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    program: ExportedCopy,
    *,
    seconds: float,
    memory: int | None = None,
    samples: int = SAMPLES,
) -> Expected:
    """Run a model eagerly and evaluate its exported program, away from the kernel, with rounding noise `samples` times.

    Raises Unchecked, with the reason, when there is nothing to compare with: random operations, inputs without data,
    a model that fails, crashes or takes longer than `seconds`.
    """
    _refuse(program, args, kwargs)
    call = functools.partial(_case, program=program, samples_wanted=samples)

    def run() -> ExpectedCall:
        return forked.call(lambda: call(model, args, kwargs), seconds=seconds, memory=memory)

    try:
        try:
            first = run()
        except RuntimeError:  # as of a model that takes gradients
            call = functools.partial(call, with_gradients=True)
            first = run()
    except forked.Died as death:
        raise Unchecked(f"the eager run of the model {death}") from None
    except forked.TimedOut:
        raise Unchecked(f"the eager run of the model took longer than {seconds:g} s") from None
    except MemoryError:
        raise Unchecked("the eager run of the model needs more memory than it may have") from None
    except Unchecked:
        raise
    except Exception as error:
        said = next(iter(str(error).strip().splitlines()), "")
        raise Unchecked(
            f"eager PyTorch fails on copies of the inputs: {type(error).__name__}: {said}".rstrip(": ")
        ) from error
    others = functools.partial(call, samples_wanted=samples // 2)
    given = _Given(model, args, kwargs, shapes_in(program.module, program.arguments, (args, dict(kwargs))))
    cases = (first, *_others(given, others, seconds, memory, _branches(program) - first.taken))
    left = _branches(program) - frozenset[tuple[str, bool]]().union(*(case.taken for case in cases))
    unexecuted = tuple(f"{name} where it is {chosen}" for name, chosen in sorted(left))

    def closer() -> Expected:
        more: Any = {"seconds": CLOSER * seconds, "memory": memory, "samples": CLOSER * samples}
        found = expect(model, args, kwargs, program, **more)
        if len(found.cases) != len(cases):
            raise Unchecked("the other inputs could not be evaluated more often")
        return found

    return Expected(cases, unexecuted, None if samples > SAMPLES else closer)


def _branches(program: ExportedCopy) -> frozenset[tuple[str, bool]]:
    from irwidget.checking.evaluate import conditions

    return frozenset((name, chosen) for name in conditions(program.module).values() for chosen in (False, True))


@dataclass(frozen=True)
class _Given:
    """What a model is called with, and the shapes of its inputs, with symbols for what is dynamic."""

    model: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    shapes: Sequence[Any]

    def others(self, count: int) -> Iterator[Any]:
        """Inputs with other values, then as many, two at most, with other sizes, where these are dynamic."""
        yield from map(self._resampled, range(count))
        sized = (self._resized(seed, step) for seed, step in enumerate(SIZES[:count]))
        yield from (one for one in sized if one is not None)

    def opposites(self, count: int) -> Iterator[Any]:
        """Inputs with values of the other sign."""
        yield from (opposite(self._resampled(seed)) for seed in range(count, count + OTHERS))

    def _resized(self, seed: int, step: int) -> Any:
        with contextlib.suppress(RuntimeError):  # of a dtype of which PyTorch selects no elements
            return resized(self._resampled(seed), self.shapes, step)

    def _resampled(self, seed: int) -> Any:
        return resampled((self.args, dict(self.kwargs)), seed)


def _others(
    given: _Given,
    call: Callable[..., ExpectedCall],
    seconds: float,
    memory: int | None,
    branches: frozenset[tuple[str, bool]],
) -> tuple[ExpectedCall, ...]:
    """Cases with other values of the same kind: those that eager PyTorch takes, and none where it crashes on one.

    Where one of the branches is in none of them, there are some more, of values of the other sign.
    """
    import torch

    from irwidget.private_torch import pytree

    leaves = [leaf for leaf in pytree.tree_leaves((given.args, dict(given.kwargs))) if isinstance(leaf, torch.Tensor)]
    count = OTHERS if sum(leaf.numel() for leaf in leaves) <= _MANY else 1

    def work() -> tuple[ExpectedCall, ...]:
        cases: list[ExpectedCall] = []
        left = set(branches)
        for positional, named in given.others(count):
            with contextlib.suppress(Exception):
                cases.append(call(copy.deepcopy(given.model), positional, named))
                left -= cases[-1].taken
        for positional, named in given.opposites(count):
            if not left:
                break
            with contextlib.suppress(Exception):
                case = call(copy.deepcopy(given.model), positional, named)
                if left & case.taken:
                    cases.append(case)
                left -= case.taken
        return tuple(cases)

    try:
        return forked.call(work, seconds=seconds, memory=memory)
    except Exception:
        return ()


def _refuse(program: ExportedCopy, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    import torch

    from irwidget.checking.evaluate import random_operator
    from irwidget.private_torch import pytree

    if operator := random_operator(program.module):
        raise Unchecked(f"random: {operator} gives other numbers on every run")
    for leaf in [*pytree.tree_leaves((args, dict(kwargs))), *program.state.values()]:
        if isinstance(leaf, torch.Tensor) and (leaf.is_meta or _is_fake(leaf)):
            raise Unchecked("the inputs or weights are meta or fake tensors, which hold no data")


def _is_fake(tensor: torch.Tensor) -> bool:
    from irwidget.private_torch import FakeTensor

    return isinstance(tensor, FakeTensor)


def _case(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    program: ExportedCopy,
    samples_wanted: int,
    with_gradients: bool = False,
) -> ExpectedCall:
    """What eager PyTorch returns, which keeps no gradients but for a model that takes some itself."""
    import torch

    from irwidget.checking import unsettled
    from irwidget.private_torch import called_as_written, pytree

    model, args, kwargs = _own(model, args, kwargs)
    leaves = pytree.tree_leaves((args, dict(kwargs)))
    names = program.arguments
    before = [_value(leaf) for leaf, name in zip(leaves, names, strict=True) if name is not None]
    with torch.no_grad(), called_as_written(), _default_dtype(torch.get_default_dtype()):
        named = {name: leaf for leaf, name in zip(leaves, names, strict=True) if name is not None}
        fed_by = {name: _copies([leaf])[0] for name, leaf in named.items()}
        evaluated = _evaluated(program, _placeholders(program, fed_by), samples_wanted)
        call = model.module() if isinstance(model, torch.export.ExportedProgram) else model
        with torch.set_grad_enabled(with_gradients), held.untrained(model):
            returned = call(*args, **kwargs)
        wanted = _wanted(program, returned, call, named)
    if isinstance(evaluated, Exception):
        said = next(iter(str(evaluated).strip().splitlines()), "")
        raise Unchecked(f"the exported program, not the model, fails: {type(evaluated).__name__}: {said}".rstrip(": "))
    exact, samples, others, taken = evaluated
    _refuse_dtypes(program, wanted)
    written = _Written(program, fed_by)
    meant, others = written.otherwise() or (exact, others)
    made = [
        unsettled.opened(
            result_of(
                *(label, want, one, [sample[i] for sample in samples]),
                *(lambda i=i: written.result(i), lambda i=i: written.shaken(i, samples_wanted)),
            ),
            meant[i],
            [other[i] for other in others],
        )
        for i, ((label, want), one) in enumerate(zip(wanted, exact, strict=True))
        if not _is_none(label, want, one)
    ]
    return ExpectedCall(tuple(before), tuple(made), taken)


def _evaluated(program: ExportedCopy, fed: Sequence[Any], samples_wanted: int) -> tuple[Any, ...] | Exception:
    """The program's exact results, those with rounding noise, those with other values in what is left open.

    And the branches that it takes; or why it cannot be evaluated.
    """
    import torch

    from irwidget.checking import unsettled
    from irwidget.checking.evaluate import Rounding, Wide

    try:
        rounding = Rounding(program.module)
        rounding.run(*_copies(fed), enable_io_processing=False)
        with _default_dtype(torch.float64):
            exact, *samples = [
                Wide(program.module, rounding.rounds, seed).run(*_copies(fed), enable_io_processing=False)
                for seed in (None, *range(samples_wanted))
            ]
            others = unsettled.evaluations(program.module, lambda: _copies(fed))
    except Exception as error:
        return error
    return exact, samples, others, frozenset(rounding.taken)


def _refuse_dtypes(program: ExportedCopy, wanted: Sequence[tuple[str, Any]]) -> None:
    """What PyTorch says of an operator while it traces is not always what it returns: bytes would be read wrongly."""
    import torch

    results: Any = program.module.graph.output_node().args[0]
    for (label, want), node in zip(wanted, results, strict=True):
        said = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        if isinstance(want, torch.Tensor) and isinstance(said, torch.Tensor) and want.dtype != said.dtype:
            raise Unchecked(f"{label} is {want.dtype} in eager PyTorch, but {said.dtype} in the exported program")


def _is_none(label: str, want: Any, exact: Any) -> bool:
    """Whether eager PyTorch and the exported program agree on None, which `@main` does not return."""
    if (want is None) != (exact is None):
        one, other = "eager PyTorch", "the exported program"
        one, other = (one, other) if want is None else (other, one)
        raise Unchecked(f"{label} is None in {one}, but not in {other}")
    return want is None


def _own(model: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The model and its inputs, to be changed at will: the copy of the process has its own, this process has not."""
    return (model, args, kwargs) if forked.available() else copy.deepcopy((model, args, dict(kwargs)))


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Generator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _copies(values: Sequence[Any]) -> list[Any]:
    import torch

    return [value.detach().clone() if isinstance(value, torch.Tensor) else value for value in values]


def _placeholders(program: ExportedCopy, named: Mapping[str, Any]) -> list[Any]:
    """What the graph's placeholders stand for, in order."""
    from torch.export.graph_signature import InputKind

    values: list[Any] = []
    for spec in program.inputs:
        if spec.kind == InputKind.USER_INPUT:
            values.append(named[spec.arg.name] if spec.arg.name in named else getattr(spec.arg, "value", None))
        elif spec.target in program.state:
            values.append(program.state[spec.target])
        else:
            values.append(program.constants[spec.target])
    return values


def _wanted(program: ExportedCopy, returned: Any, call: Any, named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Each result of `@main` as eager PyTorch leaves it, with what it is."""
    from torch.export.graph_signature import OutputKind

    from irwidget.private_torch import pytree

    returned_leaves = pytree.tree_leaves(returned)
    exported = sum(spec.kind == OutputKind.USER_OUTPUT for spec in program.outputs)
    if len(returned_leaves) != exported:
        raise Unchecked(f"eager PyTorch returns {len(returned_leaves)} results, and the exported program {exported}")
    leaves = iter(returned_leaves)
    counter = itertools.count()
    buffers = dict(call.named_buffers()) if hasattr(call, "named_buffers") else {}
    parameters = dict(call.named_parameters()) if hasattr(call, "named_parameters") else {}
    wanted: list[tuple[str, Any]] = []
    for spec in program.outputs:
        if spec.kind == OutputKind.BUFFER_MUTATION:
            if spec.target not in buffers:
                raise Unchecked("the exported program writes to a tensor that is not the model's")
            wanted.append((f"buffer {spec.target!r}", buffers[spec.target]))
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            wanted.append((f"input {spec.target!r}", named[spec.target]))
        elif spec.kind == OutputKind.USER_OUTPUT:
            wanted.append((f"result {next(counter)}", next(leaves)))
        elif spec.target in parameters:
            wanted.append((f"parameter {spec.target!r}", parameters[spec.target]))
        else:
            raise Unchecked(f"the exported program has a result of a kind that is not compared: {spec.kind.name}")
    return wanted


class _Written:
    """The program before its operators were taken apart, in float64; evaluated when somebody asks."""

    def __init__(self, program: ExportedCopy, named: Mapping[str, Any]) -> None:
        self._program, self._named = program, named

    def result(self, number: int) -> Any:
        """One of its results; None where it cannot be had."""
        return None if self._results is None else self._results[number]

    def shaken(self, number: int, count: int) -> Sequence[Any]:
        """The same as often, as if every operation rounded a little differently; nothing where it cannot be had."""
        found = [self._run(seed) for seed in range(count)]
        return [one[number] for one in found if one is not None]

    def otherwise(self) -> tuple[Sequence[Any], list[Sequence[Any]]] | None:
        """Its results, and those with other orders, where these were taken apart; None of others."""
        import torch

        from irwidget.checking import unsettled

        whole = self._program.written
        if whole is None or not unsettled.were_taken_apart(self._program.module, whole.graph_module):
            return None
        copied, results = self._copy, self._results
        if copied is None or results is None:
            return None
        fed = _placeholders(copied, self._named)
        with _default_dtype(torch.float64):
            return results, unsettled.evaluations(copied.module, lambda: _copies(fed))

    @cached_property
    def _results(self) -> Sequence[Any] | None:
        return self._run(None)

    @cached_property
    def _copy(self) -> ExportedCopy | None:
        if self._program.written is None:
            return None
        written = ExportedCopy.of(private_torch_export.decomposed(self._program.written, {}))
        same = [spec.kind for spec in written.outputs] == [spec.kind for spec in self._program.outputs]
        return written if same else None

    def _run(self, seed: int | None) -> Sequence[Any] | None:
        import torch

        from irwidget.checking.evaluate import Wide

        try:
            if self._copy is None:
                return None
            fed = _copies(_placeholders(self._copy, self._named))
            with torch.no_grad(), _default_dtype(torch.float64):
                return Wide(self._copy.module, {}, seed).run(*fed, enable_io_processing=False)
        except Exception:  # what it is made of cannot be run one by one
            return None


def _value(leaf: Any) -> Value:
    """An input as `@main` takes it."""
    import torch

    if isinstance(leaf, torch.Tensor):
        return array(leaf)
    if isinstance(leaf, bool | int | float):
        return leaf
    raise Unchecked(f"an input is a {type(leaf).__name__}, which compiled code does not take")


def array(tensor: torch.Tensor) -> Array:
    """A tensor's elements."""
    import torch

    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return Array(flat.reshape(-1).view(torch.uint8).numpy().tobytes() if flat.numel() else b"", tuple(tensor.shape))
