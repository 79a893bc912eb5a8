"""What Triton compiles of a launch: a kernel with the types, constants and facts of its arguments, and settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irwidget.errors import UsageError, near
from irwidget.frontends.triton.stand_ins import Pointer, TypeName
from irwidget.toolchain import triton_private, triton_settings
from irwidget.toolchain.triton_archs import Arch
from irwidget.toolchain.triton_settings import Settings


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
    chosen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The options that Triton's settings chose, where they differ from those of a process without any."""
    settings: Settings = ()
    """The settings that are no options, as environment variables (see `triton_settings`)."""

    @property
    def gluon(self) -> bool:
        """Whether it is a kernel of Gluon's, which begins at TTGIR."""
        return bool(self.kernel.is_gluon())

    def __str__(self) -> str:
        """`BLOCK=1024, num_warps=4`: what tells specialisations of one kernel apart."""
        values = {self.kernel.arg_names[path[0]]: value for path, value in self.constants.items() if len(path) == 1}
        shown = {**values, **self.given, **self.chosen, **dict(self.settings)}
        return ", ".join(f"{name}={_short(value)}" for name, value in shown.items())

    @property
    def key(self) -> str:
        """Equal for launches that Triton compiles once. Raises PassError when it cannot read what the kernel names."""
        from irwidget.frontends.triton.failures import unreadable
        from irwidget.frontends.triton.scopes import as_it_is

        try:
            with as_it_is():  # Triton copies the globals that the kernel names
                source = self.kernel.cache_key
        except Exception as error:
            raise unreadable(self.kernel, error) from error
        parts = (self.signature, self.constants, self.attributes, self.options, self.settings)
        return repr((source, self.arch.name, *map(str, parts)))


def _short(value: Any) -> str:
    return str(getattr(value, "__name__", None) or getattr(value, "value", value))


def backend_of(arch: Arch) -> Any:
    """Triton's backend for an architecture."""
    return triton_private.make_backend(arch)


def specialize(kernel: Any, arguments: Iterable[Any], keywords: Mapping[str, Any], arch: Arch) -> Specialization:
    """Types, constants and facts of a launch, as Triton's own launcher finds them.

    Raises UsageError when the arguments do not fit the kernel's signature, UnsupportedError for settings by which
    Triton takes the compilation elsewhere.
    """
    settings = triton_settings.current()
    backend = backend_of(arch)
    positional = list(arguments)
    named = {name: value if name in kernel.arg_names else _option(value) for name, value in keywords.items()}
    typed: dict[str, TypeName] = {}
    for i, (param, value) in enumerate(zip(kernel.params, positional, strict=False)):
        if isinstance(value, TypeName):
            positional[i] = _dummy(param.name, value, typed)
    for name, value in named.items():
        if isinstance(value, TypeName):
            named[name] = _dummy(name, value, typed)
    options = triton_private.launch_settings(kernel, debug=named.pop("debug", None))
    given = {name: value for name, value in named.items() if name not in kernel.arg_names and value is not None}
    binder = triton_private.binder(kernel, backend)
    try:
        bound, found, rest = binder(*positional, **{**named, **options})
        triton_private.memory_key(found)
    except TypeError as error:
        unknown = [name for name in given if not hasattr(backend.parse_options({}), name)]
        raise UsageError(_wrong_arguments(kernel, error, unknown)) from None
    except Exception as error:  # of some types Triton says that it does not take them, of others what it did not find
        raise UsageError(_odd_argument(kernel, error, positional, named)) from None
    for i, param in enumerate(kernel.params):
        if param.name in typed:
            found[i] = (typed[param.name].type, typed[param.name].attributes)
    try:
        json.dumps(given)  # as steps have them
        packed = triton_private.packed(kernel, backend, {**named, **options}, bound, found, rest)
    except KeyError as error:
        unknown = next((name for name in named if f" {name} " in str(error)), "")
        known = [*kernel.arg_names, *vars(backend.parse_options({}))]
        raise UsageError(
            f"{kernel.__name__} has no argument and {arch.name} no launch option {unknown!r}. {near(unknown, known)}"
        ) from None
    except (ValueError, AssertionError) as error:
        raise UsageError(f"{kernel.__name__} on {arch.name}: {error}") from None
    except Exception as error:  # of an option that is not of the type that the backend computes with
        raise UsageError(_odd_options(kernel, arch, given, error)) from None
    if options["debug"]:
        given["debug"] = True
    if path := given.get("ir_override"):
        said = "irwidget does not follow IR that Triton takes from files. Leave it out, or lower the text of the file"
        raise UsageError(f"{kernel.__name__} is launched with ir_override={path!r}: {said}")
    complete, signature, constants, attributes = packed
    chosen = _chosen(backend, complete, given)
    return Specialization(kernel, arch, signature, constants, attributes, complete, given, bound, chosen, settings)


def _chosen(backend: Any, complete: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a launch that a process without settings would not find by itself."""
    with triton_settings.applied(()):
        plain = vars(backend.parse_options(dict(given)))
    chosen = {name: value for name, value in vars(complete).items() if value != plain.get(name)}
    if options := getattr(complete, "ptx_options", None):  # whose default Triton reads when it is imported
        chosen["ptx_options"] = options
    return {name: value for name, value in chosen.items() if name not in given or given[name] != value}


def _option(value: Any) -> Any:
    """A launch option as a value of Python's own, where it is a scalar of NumPy's or a constexpr."""
    kind, inner = triton_private.expression(value) or ("", None)
    value = inner if kind == "constexpr" else value
    return value.item() if isinstance(value, np.generic) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _odd_options(kernel: Any, arch: Arch, given: Mapping[str, Any], error: Exception) -> str:
    """What there is to say of launch options that are of no type that an option has."""
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{kernel.__name__} on {arch.name} cannot be launched with {shown}: {error}"


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


def _wrong_arguments(kernel: Any, error: TypeError, unknown: Sequence[str]) -> str:
    message = str(error).replace("dynamic_func()", kernel.__name__)
    if unknown:
        message += f", and it takes no {' and no '.join(map(repr, unknown))}"
    shown = ", ".join(f"{param.name}: tl.constexpr" if param.is_constexpr else param.name for param in kernel.params)
    return f"{message}. The kernel is {kernel.__name__}({shown})."
