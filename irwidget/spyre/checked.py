"""`--check` for IBM Spyre: execute the tiles of every core on the CPU, and compare with eager PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from irwidget.checking.allowance import Unchecked
from irwidget.checking.check import SECONDS, closely, last
from irwidget.checking.expected import ExpectedCall, ExportedCopy, array, expect
from irwidget.checking.resampling import once
from irwidget.frontends import torch as frontend
from irwidget.frontends.base import Given
from irwidget.private_torch import pytree
from irwidget.spyre.memory import TileError
from irwidget.spyre.program import SpyreProgram
from irwidget.toolchain import forked
from irwidget.toolchain.events import Array, Value
from irwidget.trace import Trace, Verdict, not_checked

_IN_FLOAT32 = "it was executed in float32, without the roundings of the card"


def verdict(program: SpyreProgram, given: Given, trace: Trace, index: int) -> Verdict:
    """The verdict on what a program gives for its inputs and for others of their kind.

    `index` is the dump that stands for it; where passes have changed that since, nothing is said of what they made. Nor
    is of what the card rounds: every element is computed in float32, as `SpyreProgram.run` does.
    """
    if given.obj is program:
        return not_checked("a program that is compiled already does not say what it was compiled of")
    name = trace.dumps[index].name
    calls: list[Sequence[Value]] = []
    try:
        copy = ExportedCopy.of(frontend.export(given.obj, given.inputs, given.kwargs, None, given.called))
        expected = expect(given.obj, given.inputs, given.kwargs, copy, seconds=SECONDS)
        for case in expected.cases:
            calls.append(forked.call(lambda case=case: _made(program, given, copy, case), seconds=SECONDS))
    except TileError as error:
        return Verdict("differs", name, index, f"it breaks a rule of the memory: {error}")
    except Unchecked as error:
        return not_checked(str(error))
    except forked.TimedOut:
        return not_checked(f"its execution on the CPU takes longer than {SECONDS:g} s")
    except (forked.Died, MemoryError):
        return not_checked("its execution on the CPU crashed, or needs more memory than there is")
    except Exception as error:  # what torch.export refuses, and what the executor does not compute
        return not_checked(f"it could not be executed: {frontend.first_line(error)}")
    said, _ = closely(name, index, calls, expected)
    if said.state != "equal":
        return said
    return last(trace, replace(said, reason=f"{said.reason}; {_IN_FLOAT32}" if said.reason else _IN_FLOAT32))


def _made(program: SpyreProgram, given: Given, copy: ExportedCopy, case: ExpectedCall) -> list[Any]:
    """What the program returns for a case, and leaves in its inputs, in the order of what is expected."""
    leaves = pytree.tree_leaves((given.inputs, dict(given.kwargs)))
    named = [(name, leaf) for name, leaf in zip(copy.arguments, leaves, strict=True) if name is not None]
    tensors = {
        name: _tensor(value, leaf)
        for (name, leaf), value in zip(named, case.inputs, strict=True)
        if isinstance(value, Array)
    }
    made: dict[str, Any] = {
        f"result {i}": leaf for i, leaf in enumerate(pytree.tree_leaves(program.run(*tensors.values())))
    }
    made.update({f"input {name!r}": tensor for name, tensor in tensors.items()})
    return [_value(made, result.label, result.want) for result in case.results]


def _tensor(value: Array, like: torch.Tensor) -> torch.Tensor:
    """An input of a case, expanded where the given one is."""
    made = torch.empty(like.size(), dtype=like.dtype)
    if value.data:
        made.copy_(torch.frombuffer(bytearray(value.data), dtype=like.dtype).reshape(value.shape))
    return made[once(like.stride())].expand(like.size())


def _value(made: Mapping[str, Any], label: str, want: Any) -> Any:
    """A result as `judge` takes it; a tensor of another dtype as it is."""
    if label not in made:
        raise Unchecked(f"what it writes into {label} is not read back")
    value = made[label]
    same = isinstance(value, torch.Tensor) and isinstance(want, torch.Tensor) and value.dtype == want.dtype
    return array(value) if same else value
