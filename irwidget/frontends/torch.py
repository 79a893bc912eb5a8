"""PyTorch: export a model once, in the user's process."""

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from irwidget import private_torch, private_torch_export, private_torch_mlir
from irwidget.errors import ExportError, IRWidgetError, UsageError
from irwidget.frontends.places import node_lines, quote
from irwidget.frontends.stack import whole_user_stacks
from irwidget.frontends.suppressed import suppressed_output
from irwidget.frontends.undo import tracing
from irwidget.garbage import uncollected
from irwidget.imports import some_temporary_folder
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram
    from torch.fx import Node

_Inputs = tuple[tuple[Any, ...], Mapping[str, Any]]
"""By position and by name."""


def is_model(obj: object) -> bool:
    """Whether `lower` takes this object for a PyTorch model: a module, an exported program or a function."""
    import torch
    from torch.export import ExportedProgram

    return isinstance(obj, torch.nn.Module | ExportedProgram) or (callable(obj) and not isinstance(obj, type))


def export(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    name: str | None = None,
    *,
    in_parts: bool = False,
    more: Mapping[Any, Callable[..., Any]] | None = None,
    changes: Iterable[Callable[[ExportedProgram], None]] = (),
    heard: Callable[[ExportedProgram], None] = lambda _: None,
    written: ExportedProgram | None = None,
) -> ExportedProgram:
    """`torch.export` of a module or function, in inference form, decomposed for torch-mlir.

    `in_parts` writes complex numbers as real and imaginary parts; `more` are further decompositions, by operator;
    `changes` are made in the program at last. `heard` is given the program before all that, in its own operators; not
    where it is written in parts. `written` is what it was given before, of the same
    model.

    Raises ExportError with the user's line, the cause and what to try.
    """
    from irwidget.frontends import mixed, refusing

    label = name or model_name(model)
    try:
        quiet = suppressed_output(), whole_user_stacks(), uncollected(), some_temporary_folder()
        with tracing("torch.export", model, *quiet):
            program = written or _traced(model, args, dict(kwargs or {}), dynamic_shapes)
            if in_parts:
                from irwidget.frontends import complex_parts

                program = complex_parts.without(program, label, args, dict(kwargs or {}), dynamic_shapes, _traced)
            refusing.check_layouts(program, label)
            found = mixed.refused(program)  # the decompositions convert what eager PyTorch does not
            if not found:
                if not in_parts:
                    heard(program)
                program = _decomposed(program, model, (args, kwargs or {}), more or {})
                refusing.check_sizes(program, label)
                for change in changes:
                    change(program)
                return program
    except IRWidgetError:
        raise
    except Exception as error:
        raise explain(error, label, "torch.export") from error
    raise _refused(label, *found)


def _decomposed(
    program: ExportedProgram, model: Any, inputs: _Inputs, more: Mapping[Any, Callable[..., Any]]
) -> ExportedProgram:
    """The program in the operators that torch-mlir imports."""
    import torch

    from irwidget.frontends import decompositions_dynamic, decompositions_places, gradients, refusing
    from irwidget.frontends.decompositions_bytes import either

    known, open_ = private_torch_mlir.decompositions(), refusing.is_dynamic(program)
    sized = decompositions_dynamic.averages(known) if open_ else {}
    table = {**known, **decompositions_places.traceable(known), **sized}
    table |= {name: either(made, table[name]) if name in table else made for name, made in more.items()}
    alone = open_ or isinstance(model, torch.export.ExportedProgram)
    try:
        decomposed = private_torch_export.decomposed(program, table)
        if alone or not gradients.are_left(decomposed):
            return decomposed
    except Exception as error:
        if alone or not _may_take_gradients(error):
            raise
    return private_torch_export.decomposed(gradients.program(model, *inputs), table)


def traced(
    model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic_shapes: Any, name: str
) -> ExportedProgram:
    """`torch.export` of a module or function in its own operators, as `export` before it decomposes them.

    Raises ExportError.
    """
    try:
        quiet = suppressed_output(), whole_user_stacks(), uncollected(), some_temporary_folder()
        with tracing("torch.export", model, *quiet):
            return _traced(model, args, dict(kwargs), dynamic_shapes)
    except IRWidgetError:
        raise
    except Exception as error:
        raise explain(error, name, "torch.export") from error


def _traced(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
    """The program of a model of any kind, before decompositions."""
    import torch

    from irwidget.frontends import dynamic_shapes as shapes_of
    from irwidget.frontends import gradients, held

    if isinstance(model, torch.export.ExportedProgram):
        return model
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        from irwidget.private_torch import TS2EPConverter

        if dynamic_shapes is not None:
            raise UsageError("A TorchScript program has its inputs' sizes: give dynamic_shapes to the model itself")
        return TS2EPConverter(model, args, kwargs).convert()
    module = model if isinstance(model, torch.nn.Module) else _function_module(model)
    dynamic_shapes = shapes_of.nested(dynamic_shapes, module.forward, args, len(kwargs))
    shapes_of.check(dynamic_shapes, module.forward, args, kwargs)
    args, kwargs = _told_apart(args, kwargs)
    try:
        with held.as_it_was(model):  # before anything else is tried
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except Exception as error:
        if any(said in str(error) for said in _OTHERWISE):
            from irwidget.frontends import otherwise

            with held.as_it_was(model), otherwise.Otherwise():
                return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        transformed = _may_take_gradients(error) or "_functorch" in getattr(model, "__code__", _no_code).co_filename
        if not transformed or dynamic_shapes:
            raise
        return gradients.program(model, args, kwargs)


def _may_take_gradients(error: Exception) -> bool:
    """Whether it is what torch.export says of a model with gradients in it, of autograd's or of torch.func's."""
    return any(said in str(error) for said in (*_OF_GRADIENTS, *_PERHAPS_OF_GRADIENTS))


_NEEDS_NUMBER = "Could not extract specialized integer"
_OTHERWISE = (_NEEDS_NUMBER, "aten.equal.default")
"""What torch.export says of what `frontends/otherwise.py` has another way for."""
_OF_GRADIENTS = (
    "Cannot access data pointer of Tensor that doesn't have storage",
    "Cannot access storage of TensorWrapper",
    "'Tensor' object has no attribute 'constant'",
    "We found a fake tensor in the exported program constant's list",
    "attempted to apply meta conversion to view functorch tensor",
    "Autograd not implemented for",
)
_PERHAPS_OF_GRADIENTS = ("appears to not have been used in the graph", "does not require grad")
"""What PyTorch says of gradients that there are none of, too."""


def _told_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs, with a tensor that is given twice as two: torch.export would take them for one argument."""
    import torch

    from irwidget.private_torch import pytree

    seen: set[int] = set()

    def apart(leaf: Any) -> Any:
        again = type(leaf) is torch.Tensor and id(leaf) in seen
        seen.add(id(leaf))
        return leaf.detach() if again else leaf

    return pytree.tree_map(apart, (args, kwargs))


_no_code = (lambda: None).__code__


def uncompiled(model: Any) -> Any:
    """The module or function that `torch.compile` was given, or the model itself."""
    return private_torch.uncompiled(model)


def _refused(name: str, node: Node, error: Exception) -> ExportError:
    """The error for what torch.export takes, and eager PyTorch does not."""
    places = [place for place in node_lines(node) if is_user_file(place.file)]
    lines = [f"eager PyTorch refuses {name}: {first_line(error)}", *map(quote, places[-1:])]
    refused = ExportError("\n".join(lines))
    refused.location = places[-1] if places else None
    return refused


def _function_module(function: Callable[..., Any]) -> torch.nn.Module:
    """A module whose forward is the function, with the function's own signature; a builtin may have none."""
    import torch

    module = torch.nn.Module()
    module.forward = as_function(function)
    return module


def as_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Anything that can be called as a function of Python, which tracers want: builtins, operators, objects."""
    signature = _signature(function)
    if signature and (inspect.isfunction(function) or inspect.ismethod(function)):
        return function

    def forward(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    if signature:
        forward.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    name = re.sub(r"\W", "_", model_name(function)) or "forward"
    forward.__name__ = forward.__qualname__ = name
    return forward


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    with contextlib.suppress(TypeError, ValueError):
        return inspect.signature(function)
    return None


def model_name(model: Any) -> str:
    """A readable name: the class of a module, the name of a function."""
    inner = getattr(model, "func", model) if isinstance(model, functools.partial) else model
    return getattr(inner, "__name__", None) or type(inner).__name__


def read_sources(names: Iterable[str]) -> dict[str, str]:
    """The text of those files that are the user's; notebook cells are files too."""
    files = {name: "".join(linecache.getlines(name)) for name in dict.fromkeys(names) if is_user_file(name)}
    return {name: text for name, text in files.items() if text}


_HINTS = (
    (
        ("\nwithin triton.runtime.",),
        "it launches a Triton kernel, which has no form in MLIR of PyTorch",
        "lower the kernel, %%lower --to triton_ir in the cell that launches it, or all of it to inductor_triton",
    ),
    (
        ("\nwithin helion.runtime.",),
        "it calls a Helion kernel, which has no form in MLIR of PyTorch",
        "lower the kernel, %%lower --to helion_mlir in the cell that calls it",
    ),
    (
        (_NEEDS_NUMBER,),
        "the value of a tensor is needed as a Python integer, and is not known while the model is traced",
        "pass the number as an argument, or use i.reshape(1) where it is an index of no dimensions",
    ),
    (
        ("< 0 (unhinted",),
        "the value of a tensor is compared with zero, as an index is, and is not known while the model is traced",
        "write y[i] = y[i] + v for y[i] += v at an index of no dimensions; of a branch, use torch.where or torch.cond",
    ),
    (
        ("data-dependent", "GuardOnDataDependent", "Dynamic control flow"),
        "the branch or loop depends on the values of a tensor, which are not known while the model is traced",
        "use torch.where or torch.cond, or compute the condition from shapes or Python values",
    ),
    (
        (".numpy() is not supported", "numpy() is not supported"),
        ".numpy() takes the values of a tensor, which are not known while the model is traced",
        "keep the computation in torch operations, or do it outside of forward",
    ),
    (
        ("PendingUnbackedSymbolNotFound",),
        "how many elements an operator takes depends on the values of a tensor, and its result has another size, "
        "as x[m, n] of two masks",
        "index by one mask, or by m.nonzero().squeeze(1) in the place of a mask m",
    ),
    (
        (".tolist() is not", "aten._local_scalar_dense", "item()", "DataDependentOutputException"),
        "the values of a tensor are needed as Python numbers, and are not known while the model is traced",
        "keep the computation in torch operations, or pass the number as an argument",
    ),
    (
        ("expected compiled_fn to be GraphModule",),
        "an optimizer's step cannot be traced within a program",
        "return the gradients, torch.autograd.grad(loss, parameters), or lower the step with --to aot_joint",
    ),
    (
        (*_OF_GRADIENTS, "_view_func_unsafe"),
        "a gradient within the model, as of torch.func.grad, cannot be traced",
        "leave out dynamic shapes, or lower the gradient as a function of its own, torch.func.grad(loss)",
    ),
    (
        ("FunctionalTensor on its own",),
        "a tensor of known values is made in a branch or in the body of a loop, which PyTorch does not decompose",
        "make it outside and use it there, or make it by torch.zeros, ones or full",
    ),
    (
        ("DynamicOutputShapeException",),
        "the shape of a result depends on the values of a tensor, which are not known while the model is traced",
        "compute it outside of the model, or with a result of a fixed shape",
    ),
    (
        ("your code specialized it",),
        "the model works with one size only of a dimension that dynamic_shapes says is dynamic",
        "leave that dimension out of dynamic_shapes, or compute with x.shape in its place",
    ),
    (
        ("Constraints violated",),
        "the model does not work with every size of a dimension that dynamic_shapes says is dynamic",
        "give the dimension the sizes that it works with, or leave it out of dynamic_shapes",
    ),
    (
        ("SparseTensorImpl", "Sparse CSR tensors", "Sparse CSC tensors", "Sparse BSR tensors", "Sparse BSC tensors"),
        "sparse tensors have no form in MLIR that torch-mlir imports",
        "lower the model with x.to_dense() in their place",
    ),
    (
        ('missing the required "forward"',),
        "the module has no forward method",
        "define forward, or lower its parts one by one",
    ),
    (
        ("FakeTensorDeviceMismatch",),
        "its tensors are on several devices",
        "make the model and all of its inputs on one device",
    ),
    (
        (
            "same reduction dim",
            "shapes cannot be multiplied",
            "must match the size",
            "size mismatch",
            "Given groups=",
            "shape '",
        ),
        "the shapes do not fit together",
        "check the input's shape against the layer on this line",
    ),
)


_EXPLANATION = re.compile(
    r"^ *Explanation: (?P<why>.{1,300}?)[ .]*(?: Found in <.*)?$(?:\n *Hint: (?P<remedy>.{1,300})$)?", re.M
)

_VIOLATED = re.compile(
    r"Constraints violated.*\n *- (?P<why>Not all values .*)(?:(?:\n *- .*)*\nSuggested fixes:\n(?P<fix>(?: +.*\n?)+))?"
)
"""What torch.export says of a dimension: the first condition that not all of its sizes meet, and those that do."""


def explain(error: BaseException, name: str, tracer: str) -> ExportError:
    """What an exception of a tracer means for the user: their line, the cause, what to try."""
    text = f"{type(error).__name__}: {error}{_within(error)}"
    place = user_line(error)
    violated = _VIOLATED.search(text)
    cause, advice = violated["why"] if violated else first_line(error), ""
    if explained := _EXPLANATION.search(text):  # of torch's graph breaks, whose first line says nothing
        cause = f"{type(error).__name__}: {explained['why']}"
        advice = (explained["remedy"] or "").removesuffix(".")
    for needles, meaning, remedy in _HINTS:
        if any(needle in text for needle in needles):
            cause, advice = f"{meaning} ({cause})", remedy
            break
    if violated and violated["fix"]:
        advice = "; ".join(map(str.strip, violated["fix"].splitlines()))
    lines = [f"{tracer} cannot trace {name}: {cause}"]
    if place:
        lines.append(quote(place))
    if advice:
        lines.append(f"  Try: {advice}.")
    explained = ExportError("\n".join(lines))
    explained.location = place
    return explained


def _within(error: BaseException | None) -> str:
    """The modules that an exception has come through, a line each."""
    names: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        names += [str(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)]
        error = error.__cause__ or error.__context__
    return "".join(f"\nwithin {name}" for name in dict.fromkeys(names))


def first_line(error: BaseException) -> str:
    """The kind of an exception and the first line of what it says."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}"[:400] if text else type(error).__name__


def user_line(error: BaseException) -> Location | None:
    """The innermost line of the user's own code in an exception's traceback."""
    frames = [
        Location(frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if is_user_file(frame.filename)
    ]
    return frames[-1] if frames else None


def bind_error(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> UsageError | None:
    """The error for a call that does not fit the model's signature, before anything is traced."""
    forward = getattr(model, "forward", model)
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        given = ", ".join([_kind(a) for a in args] + [f"{k}={_kind(v)}" for k, v in kwargs.items()]) or "nothing"
        return UsageError(f"{model_name(model)} takes {signature}, but was given ({given}): {error}")
    return None


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"tensor{list(shape)}" if shape is not None else type(value).__name__
