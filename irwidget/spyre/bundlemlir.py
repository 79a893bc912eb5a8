"""bundle.mlir: what a kernel launches, as MLIR (docs/spyre-rules.md: Bundle).

The interface's own syntax is what the back end reads; the generic form is the same program for `mlir-opt
--allow-unregistered-dialect`.
"""

from __future__ import annotations

from collections.abc import Sequence

from irwidget.spyre.kernel import SpyreKernel, Symbol
from irwidget.spyre.opspec import LoopSpec, OpSpec

_INDEX_ARG = "!sdscbundle.input_arg<index>"


def bundle_mlir(kernel: SpyreKernel, generic: bool = False) -> str:
    """The bundle of a kernel: concrete addresses, or symbolic ones as arguments; loops unrolled or `scf.for`."""
    if kernel.written is not None:
        return kernel.written
    if not kernel.unroll and any(spec.loops for spec in kernel.specs):
        return _looped(kernel, generic)
    if kernel.symbolic:
        return _symbolic(kernel, generic)
    lines = [_execute(execution.filename, "", "", generic) for execution in kernel.executions]
    return _module("", lines)


def _module(parameters: str, lines: list[str], maps: list[str] | None = None) -> str:
    body = "\n".join(f"\t\t{line}" for line in [*lines, "return"])
    head = "".join(f"{m}\n" for m in maps or [])
    return f"{head}module {{\n\tfunc.func @sdsc_bundle({parameters}) {{\n{body}\n\t}}\n}}\n"


def _execute(filename: str, operands: str, ids: str, generic: bool) -> str:
    if not generic:
        extra = f', "symbol_ids"=[{ids}]' if ids else ""
        return f'sdscbundle.sdsc_execute ({operands}) {{sdsc_filename="{filename}"{extra}}}'
    extra = f", symbol_ids = [{ids}]" if ids else ""
    count = len(operands.split(", ")) if operands else 0
    types = ", ".join(["index"] * count)
    return f'"sdscbundle.sdsc_execute"({operands}) {{sdsc_filename = "{filename}"{extra}}} : ({types}) -> ()'


def _bases(kernel: SpyreKernel, generic: bool) -> tuple[str, list[str]]:
    names = (["pool"] if kernel.has_pool else []) + [f"arg_{i}" for i in range(len(kernel.arguments))]
    parameters = ", ".join(f"%{n}_base_addr: {_INDEX_ARG}" for n in names)
    lines: list[str] = []
    for n in names:
        if generic:
            lines.append(f'%{n} = "sdscbundle.input_arg_extract"(%{n}_base_addr) : ({_INDEX_ARG}) -> index')
        else:
            lines.append(f"%{n} = sdscbundle.input_arg_extract value from %{n}_base_addr : {_INDEX_ARG} -> index")
    return parameters, lines


def _base_name(kernel: SpyreKernel, symbol: Symbol) -> str:
    return f"arg_{kernel.arguments.index(symbol.buffer)}" if symbol.buffer in kernel.arguments else "pool"


def _symbolic(kernel: SpyreKernel, generic: bool) -> str:
    parameters, lines = _bases(kernel, generic)
    known: dict[tuple[str, int], str] = {}
    for symbol in kernel.symbols:
        base = _base_name(kernel, symbol)
        key = (base, symbol.offset)
        if key in known:
            continue
        if not symbol.offset:
            known[key] = f"%{base}"
            continue
        name = f"%pool_addr_{symbol.offset}" if base == "pool" else f"%{base}_core_{symbol.offset}"
        constant = f"{name}_offset"
        lines.append(f"{constant} = arith.constant {symbol.offset} : index")
        lines.append(f"{name} = arith.addi %{base}, {constant} : index")
        known[key] = name
    for execution in kernel.executions:
        mine = [s for s in kernel.symbols if s.execution == execution.number]
        operands = ", ".join(known[_base_name(kernel, s), s.offset] for s in mine)
        lines.append(_execute(execution.filename, operands, ", ".join(str(s.id) for s in mine), generic))
    return _module(parameters, lines)


def _looped(kernel: SpyreKernel, generic: bool) -> str:
    """Counted loops whose addresses are affine in the iterations: base + step * iteration + ..."""
    parameters, lines = _bases(kernel, generic) if kernel.symbolic else ("", [])
    made = _Loops(kernel, generic, [*lines, "%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"])
    made.add(kernel.tree, ())
    return _module(parameters, made.lines, made.maps)


class _Loops:
    """The body of a bundle with `scf.for`, as it grows."""

    def __init__(self, kernel: SpyreKernel, generic: bool, lines: list[str]) -> None:
        self.kernel, self.generic, self.lines = kernel, generic, lines
        self.maps: list[str] = []
        self.files = {id(execution.spec): execution.filename for execution in kernel.executions}
        self.loop = 0

    def add(self, tree: Sequence[OpSpec | LoopSpec], names: tuple[str, ...]) -> None:
        """OpSpecs and loops inside of the loops with these induction variables."""
        indent = "\t" * len(names)
        for node in tree:
            if isinstance(node, OpSpec):
                self._launch(node, names, indent)
                continue
            name, bound = f"%i_{self.loop}", f"%loop_bound_{self.loop}"
            self.loop += 1
            self.lines.append(f"{indent}{bound} = arith.constant {node.count} : index")
            self.lines.append(f"{indent}scf.for {name} = %c0 to {bound} step %c1 {{")
            self.add(node.body, (*names, name))
            self.lines.append(f"{indent}}}")

    def _launch(self, spec: OpSpec, names: tuple[str, ...], indent: str) -> None:
        operands: list[str] = []
        dims = ", ".join(f"d{k}" for k in range(len(names)))
        for arg in spec.args:
            if not names or arg.allocation[0] == "lx":
                continue
            number = len(self.maps)
            sums = "".join(f" + d{k} * {step}" for k, step in enumerate(arg.advances) if step)
            self.maps.append(f"#map_{number} = affine_map<({dims})[s0] -> (s0{sums})>")
            base = f"%base_{number}"
            if self.kernel.symbolic:
                arguments = self.kernel.arguments
                base = f"%arg_{arguments.index(arg.name)}" if arg.name in arguments else "%pool"
            else:
                self.lines.append(f"{indent}{base} = arith.constant {arg.allocation[1]} : index")
            self.lines.append(f"{indent}%addr_{number} = affine.apply #map_{number}({', '.join(names)})[{base}]")
            operands.append(f"%addr_{number}")
        ids = ", ".join(str(-1 - k) for k in range(len(operands)))
        self.lines.append(indent + _execute(self.files[id(spec)], ", ".join(operands), ids, self.generic))
