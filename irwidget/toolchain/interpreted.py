"""Execute StableHLO by its reference interpreter, which comes with torch-mlir, where no pass leads on from it.

It goes element by element, so that it is for what cannot be compiled alone.
"""

from __future__ import annotations

import math
from typing import Any

from irwidget import private_torch_mlir
from irwidget.toolchain import constants, forked, jit, mlir
from irwidget.toolchain.events import Array, Invocation

_NOT_COMPILED = ("stablehlo.scatter", "stablehlo.sort")
"""Operations that `stablehlo-legalize-to-linalg` leaves as they are."""
_KNOWN = ("stablehlo.", "func.", "builtin.", "arith.constant")
_FIRST = "builtin.module(func.func(chlo-legalize-to-stablehlo))"


def is_needed(module: Any) -> bool:
    """Whether a module has an operation that only the interpreter executes."""
    return any(one.name in _NOT_COMPILED for one in mlir.operations(module.operation))


def run(module: Any, invocation: Invocation) -> jit.Calls:
    """What `main` of a module, which is changed, returns for each of the inputs.

    Raises jit.NotExecutable for what the interpreter does not take, and jit.TookTooLong.
    """
    try:
        return forked.call(lambda: _called(module, invocation), seconds=invocation.seconds, cuda=False)
    except forked.TimedOut:
        said = f"StableHLO's interpreter has not returned after {invocation.seconds:g} s"
        raise jit.TookTooLong(said) from None
    except forked.Died as death:
        raise jit.NotExecutable(f"StableHLO's interpreter {death}") from None
    except (RuntimeError, ValueError, TypeError, mlir.ir.MLIRError, mlir.PassFailed) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise jit.NotExecutable(f"StableHLO's interpreter does not take it: {first}") from None


def _called(module: Any, invocation: Invocation) -> jit.Calls:
    for planned in mlir.plan(_FIRST, module.context):
        mlir.run(planned, module)
    _with_something(module)
    if others := sorted({one.name for one in mlir.operations(module.operation) if not one.name.startswith(_KNOWN)}):
        raise ValueError(", ".join(others))
    with_values(module)
    _with_wide_integers(module)
    kinds = [argument.type for argument in mlir.main_of(module).regions[0].blocks[0].arguments]
    with module.context, mlir.ir.Location.unknown():
        return tuple(
            tuple(
                Array(constants.values(one), tuple(one.type.shape))
                for one in private_torch_mlir.interpret_stablehlo(
                    module, [_tensor(value, kind) for value, kind in zip(inputs, kinds, strict=True)]
                )
            )
            for inputs in invocation.inputs
        )


def _with_something(module: Any) -> None:
    """Tensors that nothing has written are of ones, bit by bit, which no float is: it shows where they are read."""
    ir = mlir.ir
    for one in list(mlir.operations(module.operation)):
        if one.name != "tensor.empty" or len(one.operands):
            continue
        kind = ir.RankedTensorType(one.results[0].type)
        width = 8 if str(kind.element_type) == "i1" else getattr(kind.element_type, "width", 0)
        bits = Array(b"\xff" * (math.prod(kind.shape) * width // 8), ())
        with one.location, ir.InsertionPoint(one):
            own = ir.Operation.create("stablehlo.constant", [kind], attributes={"value": _tensor(bits, kind)})
        one.results[0].replace_all_uses_with(own.result)
        one.erase()


def with_values(module: Any, *, unsigned: bool = False) -> None:
    """Constants as the interpreter knows them: StableHLO's own, with their values in place of resources.

    With `unsigned` only those without a sign in resources, of which `stablehlo-legalize-to-linalg` makes invalid IR.
    """
    ir = mlir.ir
    for one in list(mlir.operations(module.operation)):
        if one.name not in ("stablehlo.constant", "arith.constant"):
            continue
        value, kind = one.attributes["value"], one.results[0].type
        if unsigned and not (_has_no_sign(kind) and constants.is_resource(value)):
            continue
        with one.location, ir.InsertionPoint(one):
            if constants.is_resource(value):  # whose values the interpreter would take from anywhere
                value = _tensor(Array(constants.values(value), ()), kind)
            own = ir.Operation.create("stablehlo.constant", [kind], attributes={"value": value})
        one.results[0].replace_all_uses_with(own.result)
        one.erase()


def _has_no_sign(kind: Any) -> bool:
    ir = mlir.ir
    return isinstance(kind, ir.RankedTensorType) and str(kind.element_type).startswith("ui")


def _with_wide_integers(module: Any) -> None:
    """Floats that become narrow integers by way of 64 bits, so that what is too large wraps, as eager PyTorch has it.

    StableHLO leaves open what that becomes ("StableHLO Specification", convert); the interpreter takes the largest.
    """
    ir = mlir.ir
    for one in list(mlir.operations(module.operation)):
        if one.name != "stablehlo.convert":
            continue
        given, made = (ir.RankedTensorType(value.type) for value in (one.operands[0], one.results[0]))
        element = str(made.element_type)
        if "f" not in str(given.element_type) or not element.endswith(("i8", "i16", "i32")):
            continue
        with one.location, ir.InsertionPoint(one):
            wide = ir.RankedTensorType.get(given.shape, ir.IntegerType.get_signless(64))
            own = ir.Operation.create("stablehlo.convert", [wide], [one.operands[0]])
        one.operands[0] = own.result


def _tensor(value: object, kind: Any) -> Any:
    """A value as an attribute of a type. Raises ValueError for numbers, and for elements that have no bytes."""
    import numpy

    ir = mlir.ir
    tensor = ir.RankedTensorType(kind)
    element = tensor.element_type
    if not isinstance(value, Array):
        raise ValueError(f"{value!r} is no tensor")
    width = 1 if str(element) == "i1" else getattr(element, "width", 0)
    if width not in (1, 8, 16, 32, 64):
        raise ValueError(f"elements of {element} are not given to it")
    found = numpy.frombuffer(value.data, numpy.bool_ if width == 1 else f"uint{width}").reshape(tensor.shape)
    return ir.DenseElementsAttr.get(numpy.ascontiguousarray(found), type=element, shape=tensor.shape)
