"""`mlir-translate --mlir-to-llvmir`, embedded: from the LLVM dialect to LLVM IR that LLVM 22 reads."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from irwidget.toolchain import constants, literals, locations, mlir
from irwidget.toolchain.gpu_kernels import Kernels
from irwidget.toolchain.llvm_state import LINES, DebugText
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State
from irwidget.trace import Diagnostic, Location, Scope, Step

TO_LLVM_IR = "--mlir-to-llvmir"

LARGE_GLOBAL = 64
"""Constants of more elements than this become external symbols when constants are elided."""

_DEBUG_SCOPES = "builtin.module(ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly})"
_TRANSLATED = ("llvm.", "nvvm.", "rocdl.")
"""Dialects whose operations the translation knows."""


def embeds(arguments: str) -> bool:
    """Whether these arguments are ones that the embedded translation has."""
    return [word.lstrip("-") for word in shlex.split(arguments) if word != "-"] == [TO_LLVM_IR.lstrip("-")]


def check(run: Run, step: Step) -> None:
    """Raise NeedsProgram for arguments that only the program has."""
    if not embeds(step.arguments):
        raise NeedsProgram(f"embedded mlir-translate has {TO_LLVM_IR} only, not {step.arguments!r}")


def mlir_translate(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The tool: one pass."""
    check(run, step)
    module = as_mlir(run, state, step).module.operation
    kernels = [operation for operation in _body(module) if operation.operation.name == "gpu.module"]
    if kernels:
        yield from _translate_kernels(kernels, run)
        return

    def apply(_: State) -> State:
        return translate(module.clone(), run)

    yield Pass("mlir-to-llvmir", apply, pipeline=f"mlir-translate {TO_LLVM_IR}")


def _translate_kernels(kernels: list[Any], run: Run) -> Iterator[Pass]:
    """Each outlined kernel becomes LLVM IR of its own; the host's part, which launches them, is left."""
    made = Kernels({})
    for kernel in kernels:
        name = kernel.operation.attributes["sym_name"].value

        def apply(_: State, kernel: Any = kernel, name: str = name) -> State:
            nonlocal made
            module = mlir.ir.Module.create(kernel.operation.location)
            for operation in kernel.operation.regions[0].blocks[0].operations:
                module.body.append(operation.operation.clone())
            made = made.put(name, translate(module, run))
            return made

        yield Pass("mlir-to-llvmir", apply, scope=Scope(name), pipeline=f"mlir-translate {TO_LLVM_IR}")


def _body(module: Any) -> Any:
    return module.operation.regions[0].blocks[0].operations


def translate(module: Any, run: Run) -> DebugText:
    """LLVM IR of a module, which is changed: lines and symbols are prepared in place.

    Raises PassFailed for operations that have no translation; the native call would crash on them.
    """
    _refuse_untranslatable(module)
    if run.request.elide:
        if run.request.keep_constants:
            run.held.constants.update(_values(module))
        _elide_globals(module)
    lines = _number_lines(module)
    mlir.passmanager.PassManager.parse(_DEBUG_SCOPES, context=module.context).run(module.operation)
    return DebugText("llvm", _text(module), lines=lines)


def bare(module: Any) -> tuple[str, Mapping[str, bytes]]:
    """LLVM IR without lines of a module, which is changed, and the values of the globals that it leaves out.

    Raises PassFailed as `translate` does.
    """
    _refuse_untranslatable(module)
    values = _values(module)
    _elide_globals(module)
    return _text(module), values


def _text(module: Any) -> str:
    from torch_mlir.dialects import llvm  # pyright: ignore[reportMissingImports]

    to_llvm_ir: Any = llvm.translate_module_to_llvmir  # pyright: ignore[reportAttributeAccessIssue]
    try:
        return literals.rewrite(to_llvm_ir(module.operation))
    except literals.UnknownLiteral as error:
        raise mlir.PassFailed(f"LLVM 22 cannot read a constant: {error}", ()) from None


def _number_lines(module: Any) -> tuple[Location, ...]:
    """Give every operation a line number that stands for its place in the user's code: the n-th (from 1) of the result.

    LLVM's own debug information would keep a call stack too, but attributes
    every caller to the file of the function that is compiled.
    """
    ir = mlir.ir
    found: dict[Location, int] = {}
    last: tuple[Any, Any] = (None, None)

    def number(operation: Any) -> Any:
        nonlocal last
        place = operation.location
        if last[0] is None or place != last[0]:
            user = locations.user_location(str(place))
            line = found.setdefault(user, len(found) + 1) if user else 0
            last = (place, ir.Location.file(LINES, line, 0, context=module.context))
        operation.location = last[1]
        return ir.WalkResult.ADVANCE

    module.operation.walk(number)
    return tuple(found)


def _refuse_untranslatable(module: Any) -> None:
    found: list[Any] = []

    def look(operation: Any) -> Any:
        name = operation.name
        if not name.startswith(_TRANSLATED) and name != "builtin.module":
            found.append(operation)
        return mlir.ir.WalkResult.ADVANCE

    module.operation.walk(look)
    if not found:
        return
    names = ", ".join(sorted({str(operation.name) for operation in found}))
    message = f"{len(found)} operations are not of the LLVM dialect and have no translation to LLVM IR: {names}"
    place = str(found[0].location)
    where = locations.user_location(place) or next(locations.frames(place), None)
    raise mlir.PassFailed(message, (Diagnostic("error", f"cannot translate {found[0].name}", where),))


def _large_globals(module: Any) -> Iterator[Any]:
    """The globals whose values are elided."""
    ir = mlir.ir
    for operation in _body(module):
        attributes = operation.attributes
        if operation.operation.name != "llvm.mlir.global" or "value" not in attributes:
            continue
        value = attributes["value"]
        if not isinstance(value.type, ir.RankedTensorType | ir.VectorType):
            continue
        if math.prod(value.type.shape) > LARGE_GLOBAL and not _is_zero(value):
            yield operation


def _values(module: Any) -> dict[str, bytes]:
    """What the globals hold whose values are elided, by name."""
    return {
        operation.attributes["sym_name"].value: constants.values(operation.attributes["value"])
        for operation in _large_globals(module)
    }


def _elide_globals(module: Any) -> None:
    """Make large constants external symbols. They stay what they are to the optimiser: memory that it cannot see."""
    external = mlir.ir.Attribute.parse("#llvm.linkage<external>", context=module.context)
    for operation in list(_large_globals(module)):
        del operation.attributes["value"]
        operation.attributes["linkage"] = external


def _is_zero(value: Any) -> bool:
    """A splat of zero prints as `zeroinitializer`: there is nothing to elide."""
    try:
        dense = mlir.ir.DenseElementsAttr(value)
    except ValueError:  # a resource
        return False
    return dense.is_splat and str(dense.get_splat_value()).split(" :")[0] in ("0", "0.000000e+00", "false")
