"""bundle.mlir: what a kernel launches, as MLIR (section 12).

The interface's own syntax is what the back end reads; the generic form is the same program for `mlir-opt
--allow-unregistered-dialect`.
"""

from __future__ import annotations

from irwidget.spyre.kernel import Kernel, Symbol, groups

_INDEX_ARG = "!sdscbundle.input_arg<index>"


def bundle_mlir(kernel: Kernel, generic: bool = False) -> str:
    """The bundle of a kernel: concrete addresses, or symbolic ones as arguments; loops unrolled or `scf.for`."""
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
        extra = f", \"symbol_ids\"=[{ids}]" if ids else ""
        return f'sdscbundle.sdsc_execute ({operands}) {{sdsc_filename="{filename}"{extra}}}'
    extra = f", symbol_ids = [{ids}]" if ids else ""
    count = len(operands.split(", ")) if operands else 0
    types = ", ".join(["index"] * count)
    return f'"sdscbundle.sdsc_execute"({operands}) {{sdsc_filename = "{filename}"{extra}}} : ({types}) -> ()'


def _bases(kernel: Kernel, generic: bool) -> tuple[str, list[str]]:
    names = (["pool"] if kernel.has_pool else []) + [f"arg_{i}" for i in range(len(kernel.arguments))]
    parameters = ", ".join(f"%{n}_base_addr: {_INDEX_ARG}" for n in names)
    lines: list[str] = []
    for n in names:
        if generic:
            lines.append(f'%{n} = "sdscbundle.input_arg_extract"(%{n}_base_addr) : ({_INDEX_ARG}) -> index')
        else:
            lines.append(
                f"%{n} = sdscbundle.input_arg_extract value from %{n}_base_addr : {_INDEX_ARG} -> index"
            )
    return parameters, lines


def _base_name(kernel: Kernel, symbol: Symbol) -> str:
    return f"arg_{kernel.arguments.index(symbol.buffer)}" if symbol.buffer in kernel.arguments else "pool"


def _symbolic(kernel: Kernel, generic: bool) -> str:
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


def _looped(kernel: Kernel, generic: bool) -> str:
    """Counted loops whose addresses are affine in the iterations: base + step * iteration + ..."""
    parameters, lines = _bases(kernel, generic) if kernel.symbolic else ("", [])
    maps: list[str] = []
    lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
    by_spec = {id(e.spec): e for e in kernel.executions}
    loop = address = 0
    for group in groups(kernel.specs):
        names: list[str] = []
        for count in group[0].loops:
            lines.append(f"%loop_bound_{loop} = arith.constant {count} : index")
            indent = "\t" * len(names)
            lines.append(f"{indent}scf.for %i_{loop} = %c0 to %loop_bound_{loop} step %c1 {{")
            names.append(f"%i_{loop}")
            loop += 1
        indent = "\t" * len(names)
        for spec in group:
            execution = by_spec[id(spec)]
            operands: list[str] = []
            for arg in spec.args:
                if not names or arg.allocation[0] == "lx":
                    continue
                dims = ", ".join(f"d{k}" for k in range(len(names)))
                sums = "".join(f" + d{k} * {step}" for k, step in enumerate(arg.advances) if step)
                maps.append(f"#map_{address} = affine_map<({dims})[s0] -> (s0{sums})>")
                base = f"%base_{address}"
                if kernel.symbolic:
                    base = f"%arg_{kernel.arguments.index(arg.name)}" if arg.name in kernel.arguments else "%pool"
                else:
                    lines.append(f"{indent}{base} = arith.constant {arg.allocation[1]} : index")
                lines.append(f"{indent}%addr_{address} = affine.apply #map_{address}({', '.join(names)})[{base}]")
                operands.append(f"%addr_{address}")
                address += 1
            ids = ", ".join(str(-1 - k) for k in range(len(operands)))
            lines.append(indent + _execute(execution.filename, ", ".join(operands), ids, generic))
        for k in range(len(names) - 1, -1, -1):
            lines.append("\t" * k + "}")
    return _module(parameters, lines, maps)
