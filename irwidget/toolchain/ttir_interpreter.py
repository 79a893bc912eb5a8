"""Execute a kernel on the CPU: its TTIR, program by program, on the memory of this process.

TTIR is what is compiled for a GPU, so its types and its constants are those of the compiled kernel, whatever Python's
would be. Each function becomes a list of steps, each of which reads and writes numbered places; arrays are NumPy's.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irwidget.toolchain.triton_archs import Arch
from irwidget.toolchain.ttir_assembly import assembly
from irwidget.toolchain.ttir_combining import combining
from irwidget.toolchain.ttir_float8 import to_float8
from irwidget.toolchain.ttir_library import library_function
from irwidget.toolchain.ttir_memory import Descriptor, Memory, Watch, in_memory
from irwidget.toolchain.ttir_numbers import Poison, constant, elementwise, from_bits, rounded, to_bits
from irwidget.toolchain.ttir_program import (
    Block,
    Function,
    NotRead,
    Operation,
    Type,
    callee,
    functions,
    is_pure,
    needed,
    only_reduced,
)
from irwidget.toolchain.ttir_steps import Places, Procedure, Refused, Region, RunnableBlock, Step, decided
from irwidget.toolchain.ttir_tensors import on_tensors


class Kernel:
    """A kernel that can be executed.

    Raises NotImplementedError where it does what is not executed: assembly, a library's functions for a GPU.
    """

    def __init__(self, ttir: str, arch: Arch) -> None:
        self.functions = functions(ttir)
        self.arch = arch
        """What it was compiled for."""
        self._made: dict[str, Procedure] = {}
        self.name = next(iter(self.functions))
        self.parameters = [kind for _, kind in self.functions[self.name].arguments]
        self.program = (0, 0, 0)
        """Which program of the grid runs."""
        self.grid = (1, 1, 1)
        self.poison = Poison()
        self.memory = Memory(None)
        self._launch: Callable[[], object] = lambda: None
        self._left: Iterator[tuple[int, int, int]] = iter(())
        """The programs that have not begun."""

    def run(self, arguments: Sequence[Any], grid: Sequence[int], watch: Watch | None, poison: Poison) -> None:
        """Execute all programs of a grid, one after the other; `watch` is told of each access to memory.

        `arguments` are as Python has them: numbers, addresses, and of a descriptor its address, shape, strides in
        elements, and whether NaN is around it.
        """
        x, y, z = (*grid, 1, 1, 1)[:3]
        self.grid, self.poison, self.memory = (x, y, z), poison, Memory(watch)
        self._made = {}
        kernel = self.function(self.name)
        values = [_argument(value, kind) for value, kind in zip(arguments, self.parameters, strict=True)]
        self._launch = lambda: kernel(*values)
        self._left = itertools.product(range(x), range(y), range(z))
        with np.errstate(all="ignore"):
            for program in self._left:
                self.program = program
                self._launch()

    def wait(self) -> None:
        """Execute another program: the one that runs waits. Raises NotImplementedError where all have begun."""
        waiting = self.program
        following = next(self._left, None)
        if following is None:
            raise NotImplementedError(
                f"program {waiting} waits in a loop for what another writes, and all others have ended or wait, too"
            )
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 100)
        self.program = following
        self._launch()
        self.program = waiting
        sys.setrecursionlimit(limit)

    def function(self, name: str) -> Procedure:
        """A function of the module, made when it is called first. Raises NotImplementedError."""
        if name not in self._made:
            if name not in self.functions:
                raise NotRead(f"there is no function {name}")
            _Compiled(self, self.functions[name]).into(self._made)
        return self._made[name]


def _argument(value: Any, kind: Type) -> Any:
    """An argument of a launch as its parameter has it."""
    if kind.element == "desc":
        base, shape, strides, nan = value
        assert kind.to is not None
        return Descriptor(base, tuple(shape), tuple(strides), kind.shape, kind.to, nan)
    if kind.element == "ptr":
        return np.array(value, dtype=np.uint64)
    if kind.is_float:
        return rounded(np.array(float(value)), kind)
    number = int(value) % (1 << kind.bits)
    return from_bits(np.array(number, dtype=kind.bits_dtype), kind)


class _Compiled:
    """Makes steps of the operations of one function."""

    def __init__(self, kernel: Kernel, function: Function) -> None:
        self._kernel = kernel
        self._function = function
        self._numbers: dict[str, int] = {}
        self._template: Places = []
        self._needed = needed(function, kernel.functions)
        self._only_reduced = only_reduced(function)

    def into(self, made: dict[str, Procedure]) -> None:
        arguments = self._new([name for name, _ in self._function.arguments])
        made[self._function.name] = found = Procedure(arguments, self._template)
        found.body = self._region(self._function.blocks)

    def _new(self, names: Sequence[str]) -> list[int]:
        """The places of what is defined; regions side by side have the same names for other values."""
        for name in names:
            self._numbers[name] = len(self._template)
            self._template.append(None)
        return self._many(names)

    def _many(self, names: Sequence[str]) -> list[int]:
        return [self._numbers[name] for name in names]

    def _region(self, blocks: Sequence[Block]) -> Region:
        made = Region([RunnableBlock(self._new(block.arguments)) for block in blocks])
        by_name = {block.name: one for block, one in zip(blocks, made.blocks, strict=True)}
        reached = {blocks[0].name}
        for block, one in zip(blocks, made.blocks, strict=True):
            if block.name not in reached:  # the rest of a function, after `return`
                continue
            for op in block.operations:
                if op.name.startswith("cf."):
                    reached.update(name for name, _ in op.places)
                    one.ends = self._branch(op, by_name)
                elif op.name.endswith((".return", ".yield", ".condition")):
                    one.ends = self._ending(op)
                elif (step := self._placed(op)) is not None:
                    one.steps.append(step)
                    one.lines.append(op.line)
        return made

    def _ending(self, op: Operation) -> Callable[[Places], Any]:
        name, given = op.name, self._many(op.operands)
        return lambda places: (name, [places[one] for one in given])

    def _branch(self, op: Operation, blocks: dict[str, RunnableBlock]) -> Callable[[Places], Any]:
        ways = [(blocks[name], self._many(given)) for name, given in op.places]
        condition = self._numbers[op.operands[0]] if op.operands else -1

        def branch(places: Places) -> RunnableBlock:
            block, given = ways[0 if condition < 0 or decided(places[condition]) else 1]
            values = [places[one] for one in given]
            for place, value in zip(block.arguments, values, strict=True):
                places[place] = value
            return block

        return branch

    def _placed(self, op: Operation) -> Step | None:
        """As `_step`. Raises Refused."""
        try:
            return self._step(op)
        except Refused:
            raise
        except NotImplementedError as error:
            raise Refused(error, op.line) from None

    def _step(self, op: Operation) -> Step | None:
        """What executes an operation; None for one that needs nothing done."""
        if op.name in ("ttg.barrier", "gpu.barrier"):
            return None
        if is_pure(op) and self._needed.isdisjoint(op.results):
            self._new(op.results)
            return None
        if op.name == "arith.constant":
            self._template[self._new(op.results)[0]] = constant(op.text, op.made[0])
            return None
        if op.name == "ub.poison":
            return self._poison(op)
        if op.name == "tt.reshape" and op.results[0] in self._only_reduced:
            op = replace(op, text=op.text.replace(" allow_reorder", ""))
        special = {
            "scf.for": self._loop,
            "scf.while": self._while,
            "scf.if": self._if,
            "tt.call": self._call,
            "tt.reduce": self._combine,
            "tt.scan": self._combine,
            "tt.map_elementwise": self._combine,
        }
        if op.name in special:
            return special[op.name](op)
        return self._plain(op, self._compute(op))

    def _plain(self, op: Operation, compute: Callable[..., Any]) -> Step:
        """A step that computes results of operands."""
        given, results = self._many(op.operands), self._new(op.results)
        if len(results) == 1:
            (result,) = results
            if len(given) == 2:
                one, other = given

                def of_two(places: Places) -> None:
                    places[result] = compute(places[one], places[other])

                return of_two

            def of_any(places: Places) -> None:
                places[result] = compute(*[places[one] for one in given])

            return of_any

        def step(places: Places) -> None:
            made = compute(*[places[one] for one in given])
            for place, value in zip(results, made or (), strict=True):
                places[place] = value

        return step

    def _compute(self, op: Operation) -> Callable[..., Any]:
        kernel = self._kernel
        for found in (
            to_float8(op, kernel.arch, kernel.poison),
            elementwise(op, kernel.poison),
            on_tensors(op, kernel.poison),
        ):
            if found is not None:
                return found
        if (access := in_memory(op, kernel.memory)) is not None:
            return kernel.memory.at(op.line, access)
        match op.name:
            case "tt.get_program_id":
                axis = _axis(op)
                return lambda: np.array(kernel.program[axis], dtype=np.int32)
            case "tt.get_num_programs":
                axis = _axis(op)
                return lambda: np.array(kernel.grid[axis], dtype=np.int32)
            case "tt.print":
                return self._print(op)
            case "tt.assert":
                return _asserting(op)
            case "llvm.intr.assume":
                return _assuming
            case _:
                unused = self._needed.isdisjoint(op.results)
                return _refused(op, Poison() if unused else kernel.poison)

    def _poison(self, op: Operation) -> Step | None:
        (place,), kind, poison = self._new(op.results), op.made[0], self._kernel.poison
        if kind.element != "desc":
            self._template[place] = np.broadcast_to(poison.value(kind), kind.shape)
        if op.results[0] not in self._needed:
            return None

        def meet(_: Places) -> None:
            poison.met["a variable that has no value yet"] = None

        return meet

    # --- control flow

    def _loop(self, op: Operation) -> Step:
        low, high, by, *first = self._many(op.operands)
        body, results = self._region(op.regions[0]), self._new(op.results)
        variable, *carried = body.blocks[0].arguments
        kind, without_sign = op.types[0], op.text == "unsigned"

        def loop(places: Places) -> None:
            begin, end, step = (decided(places[one]) for one in (low, high, by))
            if without_sign:
                begin, end, step = (one % (1 << kind.bits) for one in (begin, end, step))
            if step <= 0:
                raise NotImplementedError(f"a loop in steps of {step} has no end")
            values = [places[one] for one in first]
            dtype = kind.bits_dtype if without_sign else kind.dtype
            for at in range(begin, end, step):
                places[variable] = np.array(at, dtype=dtype).view(kind.dtype)
                for place, value in zip(carried, values, strict=True):
                    places[place] = value
                values = body.run(places)[1]
            for place, value in zip(results, values, strict=True):
                places[place] = value

        return loop

    def _while(self, op: Operation) -> Step:
        first, results = self._many(op.operands), self._new(op.results)
        before, after = (self._region(one) for one in op.regions)
        carried, handed = before.blocks[0].arguments, after.blocks[0].arguments
        kernel = self._kernel

        def turn(places: Places, values: list[Any]) -> tuple[bool, list[Any]]:
            for place, value in zip(carried, values, strict=True):
                places[place] = value
            condition, *values = before.run(places)[1]
            if not decided(condition):
                return False, values
            for place, value in zip(handed, values, strict=True):
                places[place] = value
            return True, after.run(places)[1]

        def changes(places: Places, values: list[Any]) -> tuple[bool, list[Any], bool]:
            """One turn, and whether the next one may be another: with other values, or on other memory."""
            memory, given = kernel.memory, _bits(values)
            count = memory.changes
            memory.compared += 1
            goes_on, values = turn(places, values)
            memory.compared -= 1
            return goes_on, values, memory.changes > count or _bits(values) != given

        def repeat(places: Places) -> None:
            values, goes_on, count = [places[one] for one in first], True, 0
            while goes_on:
                count += 1
                if count & (_LOOKED_AT - 1):
                    goes_on, values = turn(places, values)
                    continue
                goes_on, values, changed = changes(places, values)
                if goes_on and not changed:
                    kernel.wait()
                    count -= 1
            for place, value in zip(results, values, strict=True):
                places[place] = value

        return repeat

    def _if(self, op: Operation) -> Step:
        condition, results = self._numbers[op.operands[0]], self._new(op.results)
        ways = [self._region(one) for one in op.regions]

        def choose(places: Places) -> None:
            way = 0 if decided(places[condition]) else 1
            if way < len(ways):
                for place, value in zip(results, ways[way].run(places)[1], strict=True):
                    places[place] = value

        return choose

    def _call(self, op: Operation) -> Step:
        name, kernel = callee(op), self._kernel
        return self._plain(op, lambda *given: _one_or_all(kernel.function(name)(*given)))

    def _combine(self, op: Operation) -> Step:
        given, results = self._many(op.operands), self._new(op.results)
        return combining(op, given, results, self._region(op.regions[0]), self._kernel.poison)

    # --- what is said

    def _print(self, op: Operation) -> Callable[..., Any]:
        match = re.match(r'\s*"((?:[^"\\]|\\.)*)"', op.text)
        prefix, in_hex = match[1] if match else "", "hex = true" in op.text
        kernel, kinds = self._kernel, op.types
        signs = re.search(r"isSigned = array<i32: ([^>]*)>", op.text)
        without = [one.strip() == "0" for one in signs[1].split(",")] if signs else []

        def show(*given: Any) -> None:
            for value, kind, plain in zip(given, kinds, without, strict=True):
                bits = kind.is_integer and kind.bits > 1 and plain
                shown = to_bits(value, kind) if in_hex or bits else value
                text = np.vectorize(lambda one: f"0x{int(one):02x}", otypes=[object])(shown) if in_hex else shown
                print(f"{kernel.program}{prefix}{text}")
            if not given:
                print(f"{kernel.program}{prefix}")

        return show


_LOOKED_AT = 64
"""Of how many turns of a loop one is looked at: whether there is an end of it. A power of two."""


def _bits(values: list[Any]) -> list[Any]:
    """What two lists have in common only where no operation tells them apart."""
    return [one.tobytes() if isinstance(one, np.ndarray | np.generic) else one for one in values]


def _axis(op: Operation) -> int:
    match = re.match(r"\s*([xyz])", op.text)
    return "xyz".index(match[1]) if match else 0


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _asserting(op: Operation) -> Callable[..., Any]:
    match = re.search(r'"((?:[^"\\]|\\.)*)"', op.text)
    message = match[1] if match else ""

    def check(condition: Any) -> None:
        if not np.all(condition):
            raise AssertionError(message)

    return check


def _assuming(condition: Any) -> None:
    if not np.all(condition):
        raise NotImplementedError("what tl.assume says is not so")


def _refused(op: Operation, poison: Poison) -> Callable[..., Any]:
    """What raises NotImplementedError where an operation would be executed that nothing here executes."""
    if op.name == "tt.elementwise_inline_asm":
        try:
            return assembly(op, poison)
        except NotImplementedError as error:
            return _refusing(str(error))
    if op.name == "tt.extern_elementwise":
        symbol = re.search(r'symbol = "([^"]*)"', op.text)
        name = symbol[1] if symbol else op.name
        found = library_function(name, op.types, op.made[0])
        return found or _refusing(f"{name} is not executed: a library's for a GPU")
    return _refusing(f"{op.name} is not executed")


def _refusing(reason: str) -> Callable[..., Any]:
    """What raises NotImplementedError when it is reached."""

    def refuse(*_: Any) -> None:
        raise NotImplementedError(reason)

    return refuse
