"""A launch of a Triton kernel as data, and the TTIR that it compiles to first.

Nothing here needs a GPU: the arguments are kept as what specialisation looks at
(type, alignment, size), so one launch can be compiled for any architecture.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irwidget.errors import UnsupportedError, UsageError, near
from irwidget.toolchain import triton_private
from irwidget.toolchain.run import Source
from irwidget.toolchain.triton_archs import Arch, find
from irwidget.trace import Diagnostic, Location

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Pointer:
    """What Triton's specialisation wants to know of a tensor."""

    dtype: Any
    address: int
    nbytes: int
    """Of the whole storage: AMD's buffer operations need less than 2 GiB."""

    def data_ptr(self) -> int:
        return self.address

    def ptr_range(self) -> int:
        return self.nbytes


@dataclass(frozen=True, slots=True)
class TypeName:
    """An argument given as a Triton type: `*fp16:16` is a 16-byte aligned pointer, `i32:16` a multiple of 16."""

    type: str
    attributes: str
    """Triton's descriptor: `D` for divisible by 16."""


@dataclass(frozen=True)
class Launch:
    """`kernel[grid](*arguments, **keywords)`, as one specialisation."""

    kernel: Any
    """The JITFunction, without the autotuner and heuristics around it."""
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    """By name: arguments, what autotuner and heuristics chose, and options such as num_warps."""
    arch: str
    """What the launch was captured for."""
    grid: tuple[int, ...] | None = None
    location: Location | None = None
    """The line that launched it."""
    config: str = ""
    """The autotuner's configuration: `BLOCK=128, num_warps=4`."""
    chosen: bool = True
    """False for a configuration that the autotuner tried on a GPU and did not choose."""
    notes: tuple[Diagnostic, ...] = ()
    """What there is to say of the cell that launched it."""
    sources: dict[str, tuple[Specialization, Source]] = field(
        default_factory=dict[str, "tuple[Specialization, Source]"], repr=False, compare=False
    )
    """What was compiled to TTIR so far, by architecture."""

    @property
    def name(self) -> str:
        return str(self.kernel.__name__)

    def compiled(
        self, arch: str | None = None, *, seconds: float | None = None, memory: int | None = None
    ) -> tuple[Specialization, Source]:
        """The specialisation and its TTIR for an architecture; compiled once, so that targets share their steps.

        Raises Triton's CompilationError or PassError when the kernel does not compile, UsageError for wrong
        arguments, ToolError when Triton's front end crashes, or takes more `seconds` or `memory` (bytes) than given.
        """
        from irwidget.frontends.triton.front_end import ttir

        target = find(arch or self.arch)
        if target.name not in self.sources:
            special = specialize(self.kernel, self.arguments, self.keywords, target)
            text = ttir(special, self.location, seconds=seconds, memory=memory)
            self.sources[target.name] = special, Source(text, "triton", name="ast-to-ttir")
        return self.sources[target.name]


@dataclass(frozen=True, slots=True)
class Specialization:
    """What Triton compiles: a kernel with the types, constants and facts of its arguments."""

    kernel: Any
    arch: Arch
    signature: Mapping[str, str]
    constants: Mapping[tuple[int, ...], Any]
    attributes: Mapping[tuple[int, ...], list[Any]]
    options: Any
    """The backend's complete options."""
    given: Mapping[str, Any]
    """The options that the launch gave."""
    bound: Mapping[str, Any]
    """The arguments by name, defaults filled in."""

    def __str__(self) -> str:
        """`BLOCK=1024, num_warps=4`: what tells specialisations of one kernel apart."""
        values = {self.kernel.arg_names[path[0]]: value for path, value in self.constants.items() if len(path) == 1}
        return ", ".join(f"{name}={_short(value)}" for name, value in {**values, **self.given}.items())

    @property
    def key(self) -> str:
        """Equal for launches that Triton compiles once. Raises PassError when it cannot read what the kernel names."""
        from irwidget.frontends.triton.device import as_it_is
        from irwidget.frontends.triton.failures import refused

        try:
            with as_it_is():  # Triton copies the globals that the kernel names
                source = self.kernel.cache_key
        except Exception as error:
            code = self.kernel.fn.__code__
            raise refused(self.kernel.__name__, str(error), Location(code.co_filename, code.co_firstlineno)) from error
        return repr(
            (source, self.arch.name, str(self.signature), str(self.constants), str(self.attributes), str(self.options))
        )


def _short(value: Any) -> str:
    return str(getattr(value, "__name__", None) or getattr(value, "value", value))


def backend_of(arch: Arch) -> Any:
    """Triton's backend for an architecture."""
    return triton_private.make_backend(arch)


_TYPE_NAME = re.compile(r"^(\*k?(?:\*)*[a-z]\w*|[iu]\d+|fp\d+|bf16|tf32|f\d+)(?::(1|16))?$")


def _pointer(tensor: torch.Tensor) -> Pointer:
    # allocators align storages; a view's offset is what breaks alignment
    storage = tensor.untyped_storage()
    address = (storage._cdata << 9) % (1 << 46) or 512  # pyright: ignore[reportPrivateUsage]
    offset = int(tensor.storage_offset()) * tensor.element_size()
    return Pointer(tensor.dtype, address + offset, storage.nbytes())


def _type_name(text: str) -> Any:
    match = _TYPE_NAME.match(text.strip())
    if match is None:
        return text
    return 1 if match[2] == "1" else TypeName(match[1], "D" if match[2] else "")


def stand_in(argument: Any) -> Any:
    """An argument reduced to what specialisation looks at. Raises UsageError for what no kernel takes."""
    try:
        return _reduced(argument)
    except RecursionError:
        raise UsageError("A tuple among the arguments is nested too deeply for Triton") from None


def _reduced(argument: Any) -> Any:
    import torch

    if isinstance(argument, torch.Tensor):
        if argument.layout is not torch.strided:
            kind = str(argument.layout).removeprefix("torch.")
            raise UsageError(f"Triton's kernels take the memory of a tensor, and a {kind} tensor has more than one")
        return _pointer(argument)
    if isinstance(argument, str):
        return _type_name(argument)
    if isinstance(argument, tuple):
        items = [_reduced(item) for item in argument]
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    if type(argument).__name__ == "TensorDescriptor":
        reduced: Any = copy.copy(argument)
        reduced.base = _reduced(argument.base)
        return reduced
    if hasattr(argument, "data_ptr") and hasattr(argument, "dtype"):
        nbytes = argument.ptr_range() if hasattr(argument, "ptr_range") else 1 << 40
        return Pointer(argument.dtype, int(argument.data_ptr()), nbytes)
    return argument


def specialize(kernel: Any, arguments: Iterable[Any], keywords: Mapping[str, Any], arch: Arch) -> Specialization:
    """Types, constants and facts of a launch, as Triton's own launcher finds them.

    Raises UsageError when the arguments do not fit the kernel's signature, UnsupportedError for Gluon.
    """
    if kernel.is_gluon():
        raise UnsupportedError(f"{kernel.__name__} is a Gluon kernel; only @triton.jit kernels can be lowered")
    knobs = triton_private.knobs()
    backend = backend_of(arch)
    constexprs = {param.name for param in kernel.params if param.is_constexpr}
    positional, named = list(arguments), dict(keywords)
    typed: dict[str, TypeName] = {}
    for i, (param, value) in enumerate(zip(kernel.params, positional, strict=False)):
        if isinstance(value, TypeName):
            positional[i] = value.type if param.name in constexprs else _dummy(param.name, value, typed)
    for name, value in named.items():
        if isinstance(value, TypeName):
            named[name] = value.type if name in constexprs else _dummy(name, value, typed)
    options = {
        "debug": bool(named.pop("debug", None) or kernel.debug or knobs.runtime.debug),
        "instrumentation_mode": knobs.compilation.instrumentation_mode,
    }
    given = {name: value for name, value in named.items() if name not in kernel.arg_names and value is not None}
    binder = triton_private.binder(kernel, backend)
    try:
        bound, found, rest = binder(*positional, **{**named, **options})
    except TypeError as error:
        raise UsageError(_wrong_arguments(kernel, error)) from None
    except Exception as error:  # of some types Triton says that it does not take them, of others what it did not find
        raise UsageError(_odd_argument(kernel, error, positional, named)) from None
    for i, param in enumerate(kernel.params):
        if param.name in typed:
            found[i] = (typed[param.name].type, typed[param.name].attributes)
    try:
        packed = triton_private.packed(kernel, backend, {**named, **options}, bound, found, rest)
    except KeyError as error:
        unknown = next((name for name in given if name in str(error)), "")
        known = [*kernel.arg_names, *vars(backend.parse_options({}))]
        raise UsageError(
            f"{kernel.__name__} has no argument and {arch.name} no launch option {unknown!r}. {near(unknown, known)}"
        ) from None
    except (ValueError, AssertionError) as error:
        raise UsageError(f"{kernel.__name__} on {arch.name}: {error}") from None
    except Exception as error:  # of an option that is not of the type that the backend computes with
        shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise UsageError(f"{kernel.__name__} on {arch.name} cannot be launched with {shown}: {error}") from None
    if options["debug"]:
        given["debug"] = True
    complete, signature, constants, attributes = packed
    return Specialization(kernel, arch, signature, constants, attributes, complete, given, bound)


def _dummy(name: str, value: TypeName, typed: dict[str, TypeName]) -> int:
    """Something to bind in place of a type; its specialisation is replaced afterwards."""
    typed[name] = value
    return 2


def _odd_argument(kernel: Any, error: Exception, positional: list[Any], named: Mapping[str, Any]) -> str:
    """What there is to say of arguments that Triton's specialisation fails at; names those that may be meant."""
    given = dict(zip(kernel.arg_names, positional, strict=False)) | dict(named)
    kinds = ", ".join(f"{name}: {_kind(value)}" for name, value in given.items() if name in kernel.arg_names)
    said = f"{type(error).__name__}: {error}"
    return f"Triton does not take the arguments of {kernel.__name__}: {said}. They are {kinds}"


def _kind(value: Any) -> str:
    return f"tensor of {value.dtype}" if isinstance(value, Pointer) else type(value).__name__


def _wrong_arguments(kernel: Any, error: TypeError) -> str:
    message = str(error).replace("dynamic_func()", kernel.__name__)
    shown = ", ".join(f"{param.name}: tl.constexpr" if param.is_constexpr else param.name for param in kernel.params)
    return f"{message}. The kernel is {kernel.__name__}({shown})."
