"""bundle.mlir: what a kernel launches, as MLIR (docs/spyre-rules.md: Bundle).

The interface's own syntax is what the back end reads; the generic form is the same program for `mlir-opt
--allow-unregistered-dialect`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irwidget.spyre.kernel import SpyreKernel, Symbol
from irwidget.spyre.opspec import LoopSpec, OpSpec

_INDEX_ARG = "!sdscbundle.input_arg<index>"


def bundle_mlir(kernel: SpyreKernel, generic: bool = False) -> str:
    """The bundle of a kernel: concrete addresses, or symbolic ones as arguments; loops unrolled or `scf.for`."""
    if kernel.written is not None:
        return kernel.written
    tree = list(kernel.tree if not kernel.unroll else (execution.spec for execution in kernel.executions))
    return _Bundle(kernel, generic).text(tree)


def _counts(tree: Sequence[OpSpec | LoopSpec]) -> Iterator[int]:
    """How often each loop runs, in the order in which they begin."""
    for node in tree:
        if isinstance(node, LoopSpec):
            yield node.count
            yield from _counts(node.body)


class _Bundle:
    """A bundle as it grows."""

    def __init__(self, kernel: SpyreKernel, generic: bool) -> None:
        self.kernel, self.generic = kernel, generic
        self.lines: list[str] = []
        self.maps: dict[tuple[int, ...], int] = {}
        """Bytes that an address moves by in each loop -> number of the affine map."""
        self.launched = self.loops = self.addresses = 0
        self.known: dict[tuple[str, int], str] = {}
        """Base and offset of an address -> its value."""

    def text(self, tree: Sequence[OpSpec | LoopSpec]) -> str:
        parameters = self._bases() if self.kernel.symbolic else ""
        if counts := list(_counts(tree)):
            self.lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
            self.lines += [f"%loop_bound_{k} = arith.constant {count} : index" for k, count in enumerate(counts)]
        if self.kernel.symbolic:
            self._offsets()
        self._add(tree, ())
        body = "\n".join(f"\t\t{line}" for line in [*self.lines, "return"])
        return f"{self._map_lines()}module {{\n\tfunc.func @sdsc_bundle({parameters}) {{\n{body}\n\t}}\n}}\n"

    def _map_lines(self) -> str:
        found = ""
        for steps, number in self.maps.items():
            dims = ", ".join(f"d{k}" for k in range(len(steps)))
            sums = " + ".join(f"{step}*d{k}" for k, step in enumerate(steps))
            found += f"#map_{number} = affine_map<({dims})[s0] -> (s0 + {sums})>\n"
        return found

    def _bases(self) -> str:
        """Arguments in the order in which they are first used, behind the pool; their values."""
        used = dict.fromkeys(self._base(symbol) for symbol in self.kernel.symbols)
        names = sorted(used, key=lambda name: name != "pool")
        for n in names:
            made = f"%{n}_base_addr : {_INDEX_ARG} -> index"
            if self.generic:
                made = f'"sdscbundle.input_arg_extract"(%{n}_base_addr) : ({_INDEX_ARG}) -> index'
                self.lines.append(f"%{n} = {made}")
            else:
                self.lines.append(f"%{n} = sdscbundle.input_arg_extract value from {made}")
        return ", ".join(f"%{n}_base_addr: {_INDEX_ARG}" for n in names)

    def _base(self, symbol: Symbol) -> str:
        arguments = self.kernel.arguments
        return f"arg_{arguments.index(symbol.buffer)}" if symbol.buffer in arguments else "pool"

    def _offsets(self) -> None:
        """Addresses beside the begin of an argument, and all in the pool, each once."""
        for symbol in self.kernel.symbols:
            base, offset = self._base(symbol), symbol.offset
            if (base, offset) in self.known:
                continue
            if base != "pool" and not offset:
                self.known[base, offset] = f"%{base}"
                continue
            constant, name = (
                (f"%pool_offset_{offset}", f"%pool_addr_{offset}")
                if base == "pool"
                else (f"%{base}_core_offset_{offset}", f"%{base}_core_{offset}")
            )
            self.lines.append(f"{constant} = arith.constant {offset} : index")
            self.lines.append(f"{name} = arith.addi %{base}, {constant} : index")
            self.known[base, offset] = name

    def _add(self, tree: Sequence[OpSpec | LoopSpec], names: tuple[str, ...]) -> None:
        """OpSpecs and loops inside of the loops with these induction variables."""
        indent = "\t" * len(names)
        for node in tree:
            if isinstance(node, OpSpec):
                self._launch(names, indent)
                continue
            name, bound = f"%i_{self.loops}", f"%loop_bound_{self.loops}"
            self.loops += 1
            self.lines.append(f"{indent}scf.for {name} = %c0 to {bound} step %c1 {{")
            self._add(node.body, (*names, name))
            self.lines.append(f"{indent}}}")

    def _launch(self, names: tuple[str, ...], indent: str) -> None:
        """A SuperDSC with its addresses, of which those that move with a loop are made right before."""
        execution = self.kernel.executions[self.launched]
        self.launched += 1
        operands: dict[int, str] = {}
        for symbol in self.kernel.symbols_of(execution) if self.kernel.symbolic else ():
            base = self.known[self._base(symbol), symbol.offset]
            if steps := {k: step for k, step in enumerate(symbol.steps) if step}:
                number = self.maps.setdefault(tuple(steps.values()), len(self.maps))
                at = ", ".join(names[k] for k in steps)
                self.lines.append(f"{indent}%addr_{self.addresses} = affine.apply #map_{number}({at})[{base}]")
                base = f"%addr_{self.addresses}"
                self.addresses += 1
            operands[symbol.id] = base
        self.lines.append(indent + self._execute(execution.filename, operands))

    def _execute(self, filename: str, operands: Mapping[int, str]) -> str:
        given, ids = ", ".join(operands.values()), ", ".join(map(str, operands))
        if not self.generic:
            extra = f', "symbol_ids"=[{ids}]' if self.kernel.symbolic else ""
            return f'sdscbundle.sdsc_execute ({given}) {{sdsc_filename="{filename}"{extra}}}'
        extra = f", symbol_ids = [{ids}]" if self.kernel.symbolic else ""
        types = ", ".join(["index"] * len(operands))
        return f'"sdscbundle.sdsc_execute"({given}) {{sdsc_filename = "{filename}"{extra}}} : ({types}) -> ()'
