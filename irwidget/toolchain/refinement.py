"""StableHLO whose sizes only run time knows, for the sizes of one set of inputs.

Nothing that is here executes dynamic shapes. The sizes of each operation are found from those of the operations before
it, by StableHLO's own refinement and MLIR's own folding of that operation alone: whole programs they leave as they are,
as a value is not refined that an operation of another dialect uses, and `tensor.dim` and `shape.shape_of` are such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from irwidget import private_torch_mlir
from irwidget.toolchain import interpreted, jit, mlir
from irwidget.toolchain.events import Array, MemRef, Value

_STABLEHLO = ("stablehlo.", "chlo.")
_CONSTANTS = ("arith.constant", "stablehlo.constant", "shape.const_shape", "shape.const_witness")
_LARGEST = 64
"""Of how many elements a constant may hold sizes."""
_REFINE = "builtin.module(stablehlo-refine-shapes)"
_FOLD = "builtin.module(canonicalize)"
_STATIC = "builtin.module(canonicalize,func.func(stablehlo-canonicalize-dynamism),canonicalize)"


def is_needed(module: Any) -> bool:
    """Whether a module is StableHLO, and takes tensors whose sizes only run time knows."""
    main = mlir.main_of(module)
    return (
        main is not None
        and any(_is_dynamic(one) for one in main.regions[0].blocks[0].arguments)
        and any(one.name.startswith(_STABLEHLO) for one in mlir.operations(main))
    )


def refine(module: Any, inputs: Sequence[Value | MemRef]) -> None:
    """Give every value of `main`, which is changed, the sizes that it has for these inputs.

    Raises jit.NotExecutable where a size does not follow from theirs, or operations do not take each other's.
    """
    main = mlir.main_of(module)
    with module.context, mlir.ir.Location.unknown():
        try:
            _Refiner(module.context).main(main, inputs)
            _run(mlir.plan(_STATIC, module.context), module)
        except (ValueError, RuntimeError, mlir.PassFailed) as error:
            said = str(error).splitlines()[0]
            raise jit.NotExecutable(f"its operations do not fit together for the sizes of the inputs: {said}") from None
    left = next((one for one in mlir.operations(main) if any(map(_is_dynamic, one.results))), None)
    if left is not None:
        raise _unknown(left)


class _Refiner:
    """Finds sizes, operation by operation."""

    def __init__(self, context: Any) -> None:
        self._refine, self._folding = mlir.plan(_REFINE, context), mlir.plan(_FOLD, context)

    def main(self, main: Any, inputs: Sequence[Value | MemRef]) -> None:
        """The function, for inputs of these sizes."""
        ir, block = mlir.ir, main.regions[0].blocks[0]
        for argument, value in zip(block.arguments, inputs, strict=True):
            if isinstance(value, Array):
                argument.set_type(ir.RankedTensorType.get(value.shape, argument.type.element_type))
        self._block(block)
        kinds = [value.type for value in _returned(main)]
        signature = ir.FunctionType.get([argument.type for argument in block.arguments], kinds)
        main.attributes["function_type"] = ir.TypeAttr.get(signature)

    def _block(self, block: Any) -> None:
        for one in [operation.operation for operation in block.operations][:-1]:
            if one.name in _CONSTANTS:
                continue
            if one.name == "tensor.cast":
                one.results[0].replace_all_uses_with(one.operands[0])
                continue
            if one.name == "shape.assuming":
                self._block(one.regions[0].blocks[0])
                _retype(one, _returned(one))
                continue
            self._settle(one)
            if not one.name.startswith(_STABLEHLO):
                self._fold(one)
            elif any(map(_is_dynamic, one.results)):
                alone = self._alone(one, self._refine)
                _retype(one, _returned(alone.body.operations[0]))

    def _settle(self, one: Any) -> None:
        """Give an operation as constants what it takes that StableHLO computes of constants, and may be sizes."""
        for number, value in enumerate(one.operands):
            if _may_be_sizes(value.type) and (needed := _of_constants(value)):
                one.operands[number] = self._computed(needed, mlir.ir.InsertionPoint(one))

    def _computed(self, operations: Sequence[Any], at: Any) -> Any:
        """The result of the last of these operations, which take constants and each other's results, as a constant."""
        ir, module, kind = mlir.ir, mlir.ir.Module.create(), operations[-1].results[0].type
        point = ir.InsertionPoint(_function(module, [], [kind]))
        copies: dict[Any, Any] = {}
        for one in operations:
            copies[one] = one.clone(point)
            for number, value in enumerate(one.operands):
                copies[one].operands[number] = copies[value.owner].results[value.result_number]
        ir.Operation.create("func.return", operands=[copies[operations[-1]].results[0]], ip=point)
        interpreted.with_values(module)
        [value] = private_torch_mlir.interpret_stablehlo(module, [])
        return ir.Operation.create("stablehlo.constant", [kind], attributes={"value": value}, ip=at).result

    def _fold(self, one: Any) -> None:
        alone = self._alone(one, self._folding)
        for result, value in zip(one.results, map(_uncast, _returned(alone.body.operations[0])), strict=True):
            if _name(value) and not value.owner.operands[:]:  # it takes nothing that run time knows
                found = value.owner.clone(mlir.ir.InsertionPoint(one))
                result.replace_all_uses_with(found.results[0])

    def _alone(self, one: Any, passes: Sequence[mlir.PlannedPass]) -> Any:
        """A module with a function of but this operation and the constants that it takes, after passes."""
        ir, module = mlir.ir, mlir.ir.Module.create()
        given = [value for value in one.operands if not _is_constant(value)]
        block = _function(module, [value.type for value in given], [value.type for value in one.results])
        arguments, point = iter(block.arguments), ir.InsertionPoint(block)
        taken = [
            value.owner.clone(point).results[value.result_number] if _is_constant(value) else next(arguments)
            for value in one.operands
        ]
        copy = one.clone(point)
        for number, value in enumerate(taken):
            copy.operands[number] = value
        ir.Operation.create("func.return", operands=list(copy.results), ip=point)
        _run(passes, module)
        return module


def _run(passes: Sequence[mlir.PlannedPass], module: Any) -> None:
    for planned in passes:
        mlir.run(planned, module)


def _function(module: Any, takes: Sequence[Any], returns: Sequence[Any]) -> Any:
    """The block, empty, of a function `main` that a module gets."""
    ir, signature = mlir.ir, mlir.ir.FunctionType.get(takes, returns)
    attributes = {"sym_name": ir.StringAttr.get("main"), "function_type": ir.TypeAttr.get(signature)}
    point = ir.InsertionPoint(module.body)
    return ir.Operation.create("func.func", attributes=attributes, regions=1, ip=point).regions[0].blocks.append(*takes)


def _of_constants(value: Any) -> list[Any]:
    """The operations of StableHLO, in order, that compute a value of constants alone; none where others are in it."""
    found: dict[Any, None] = {}

    def add(value: Any) -> bool:
        if not _name(value).startswith(("arith.constant", "stablehlo.")) or not _is_interpreted(value.type):
            return False
        one = value.owner
        if one not in found:
            if one.regions[:] or not all(map(add, one.operands)):
                return False
            found[one] = None
        return True

    return list(found) if not _is_constant(value) and add(value) else []


def _returned(operation: Any) -> list[Any]:
    """What the block of an operation hands out."""
    operations = operation.regions[0].blocks[0].operations
    return list(operations[len(operations) - 1].operands)


def _uncast(value: Any) -> Any:
    """What folding has wrapped for a function to return it as before."""
    return value.owner.operands[0] if _name(value) == "tensor.cast" else value


def _retype(one: Any, values: Sequence[Any]) -> None:
    """Give results the types of these values. Raises jit.NotExecutable where those are not known."""
    for result, value in zip(one.results, values, strict=True):
        if _is_dynamic(value):
            raise _unknown(one)
        result.set_type(value.type)


def _unknown(one: Any) -> jit.NotExecutable:
    return jit.NotExecutable(f"the sizes of {one.name} do not follow from those of the inputs")


def _name(value: Any) -> str:
    """Of the operation that makes a value; empty for the argument of a block."""
    return "" if isinstance(value.owner, mlir.ir.Block) else value.owner.name


def _is_dynamic(value: Any) -> bool:
    return isinstance(value.type, mlir.ir.RankedTensorType) and not value.type.has_static_shape


def _is_constant(value: Any) -> bool:
    return _name(value) in _CONSTANTS and _is_small(value.type)


def _is_small(kind: Any) -> bool:
    return not isinstance(kind, mlir.ir.RankedTensorType) or (
        kind.has_static_shape and math.prod(kind.shape) <= _LARGEST
    )


def _may_be_sizes(kind: Any) -> bool:
    return (
        isinstance(kind, mlir.ir.RankedTensorType)
        and kind.rank <= 1
        and isinstance(kind.element_type, mlir.ir.IntegerType)
        and _is_small(kind)
    )


def _is_interpreted(kind: Any) -> bool:
    """Whether StableHLO's interpreter takes a type, and soon: it has no `index`."""
    return (
        isinstance(kind, mlir.ir.RankedTensorType) and kind.element_type != mlir.ir.IndexType.get() and _is_small(kind)
    )
