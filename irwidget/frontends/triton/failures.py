"""Triton's errors, and those of a cell without a GPU, told with the user's line."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from irwidget.errors import IRWidgetError, PassError, UnsupportedError, UsageError
from irwidget.frontends.triton.memory import GLUON, NoValue
from irwidget.toolchain import triton_private
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Diagnostic, Location


class NotExecuted(UnsupportedError):
    """A launch that the CPU cannot execute: what comes after it in the cell has no values to go by."""


def reason(error: BaseException) -> str:
    """What an error began with, in a line: its class is named where its words are not ours."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = str(error) if isinstance(error, NotImplementedError) else f"{type(error).__name__}: {error}"
    return said.strip().partition("\n")[0]


_UNSUPPORTED = "UnsupportedOperatorException"
_NO_VALUES = ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode")
_NO_DATA_METHODS = (
    ".numpy() is not supported for tensor subclasses",
    "Cannot access data pointer of Tensor",
    ".tolist() is not supported",
)


def explain(error: Exception, *, launched: bool, notes: list[Diagnostic]) -> IRWidgetError | None:
    """Our error for one that ended a cell; None for the user's own, and where it had `launched` before.

    In the last case what was not run is put into `notes`.
    """
    if compilation := compile_error(error):
        return compilation
    if isinstance(error, NotExecuted) and launched:
        notes.append(Diagnostic("remark", f"the cell was run up to here: {error}", user_line(error)))
        return None
    if isinstance(error, IRWidgetError) and not isinstance(error, NoValue):
        return _with_line(error)
    if not _lacks_values(error):
        return None
    place = user_line(error)
    why = why_no_value(error) or _without_shape(error) or "without a GPU tensors have shapes and types but no values"
    reason = f"{place} needs the value of a tensor, and it has none: {why}"
    if launched:
        note = f"the cell was run up to here: {reason}. What was launched before is shown"
        note += way_out(why, "; --run executes launches")
        notes.append(Diagnostic("remark", note, place))
        return None
    way = way_out(why, ", or execute launches: --run")
    return UnsupportedError(f"No kernel was launched: {reason}. Launch the kernel before that line{way}")


def way_out(why: str, option: str) -> str:
    """What a message says of an option that gives values; nothing where no option does."""
    return "" if GLUON in why else option


def is_explained(error: BaseException) -> bool:
    """Whether `explain` has something to say of an error, or it is an interrupt, of which there is nothing to say."""
    if isinstance(error, IRWidgetError | KeyboardInterrupt):
        return True
    return _lacks_values(error) or compile_error(error) is not None


def _with_line(error: IRWidgetError) -> IRWidgetError:
    place = user_line(error)
    if place and isinstance(error, UsageError) and str(place) not in str(error):
        return type(error)(f"{error} (launched at {place})")
    return error


def ends_quietly(error: BaseException) -> bool:
    """Whether an error only means that the cell could not go on, after launches that are shown."""
    return isinstance(error, NotExecuted) or _lacks_values(error)


def needs_values(error: BaseException) -> bool:
    """Whether code failed because a fake tensor has no values."""
    if why_no_value(error):
        return True
    while error.__cause__ is not None:
        if type(error).__name__ in _NO_VALUES:
            return True
        error = error.__cause__
    return type(error).__name__ in _NO_VALUES or any(words in str(error) for words in _NO_DATA_METHODS)


def why_no_value(error: BaseException) -> str:
    """Why a tensor has no values; empty where an error does not say so."""
    return next((str(one) for one in causes(error) if isinstance(one, NoValue)), "")


def _lacks_values(error: BaseException) -> bool:
    """Whether a cell cannot go on without values."""
    return needs_values(error) or bool(_without_shape(error))


def _without_shape(error: BaseException) -> str:
    """Of which operator PyTorch does not know what it gives where there are no values, as of nested tensors."""
    operator = next((one for one in causes(error) if type(one).__name__ == _UNSUPPORTED), None)
    return f"without values PyTorch does not know what {operator} gives" if operator else ""


def user_line(error: BaseException) -> Location | None:
    """The innermost line of the user's code in an error's traceback."""
    found: Location | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_globals.get("__name__", "")
        if is_user_file(frame.f_code.co_filename) and not name.startswith(("irwidget.", "triton.", "torch.")):
            found = Location(frame.f_code.co_filename, line)
    return found


def compile_error(error: BaseException) -> PassError | None:
    """Triton's CompilationError as ours, with the lines of the user's kernel; None for other errors."""
    chain: list[Any] = [one for one in causes(error) if _is_compilation_error(one)]
    if not chain:
        return None
    location = _chained(_place(_function_of(one), one.node) for one in chain)
    message = _innermost_message(error, chain)
    kernel = _function_of(chain[0])
    return refused(getattr(kernel, "__name__", "the kernel"), message, location)


def unreadable(kernel: Any, error: BaseException) -> PassError:
    """The error of a kernel that names what Triton cannot take, with the line that names it."""
    code = kernel.fn.__code__
    location = _chained(_place(function, node) for function, node in triton_private.names_looked_up(error))
    return refused(kernel.__name__, str(error), location or Location(code.co_filename, code.co_firstlineno))


def _chained(places: Iterable[Location | None]) -> Location | None:
    """Those in the user's files as one, of which the outermost come first and each calls the next."""
    location: Location | None = None
    for place in places:
        if place and is_user_file(place.file):
            location = Location(place.file, place.line, place.column, location)
    return location


def refused(name: str, message: str, location: Location | None, diagnostics: tuple[Diagnostic, ...] = ()) -> PassError:
    """The error of a kernel that Triton's front end refuses, with the user's line."""
    text = f"{name} does not compile: {message}"
    if location:
        source = linecache.getline(location.file, location.line).rstrip()
        text += f"\n  at {location}\n    {source.strip()}" if source else f"\n  at {location}"
    diagnostics = diagnostics or (Diagnostic("error", message, location),)
    error = PassError(text, tool="triton", pass_name="ast-to-ttir", diagnostics=diagnostics)
    error.kernel = name
    return error


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, the one that caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_compilation_error(error: BaseException) -> bool:
    return any(cls.__name__ == "CompilationError" and cls.__module__.startswith("triton.") for cls in type(error).mro())


def _innermost_message(error: BaseException, chain: list[Any]) -> str:
    last = list(causes(error))[-1]
    if not _is_compilation_error(last):
        return f"{last}".strip() or type(last).__name__ if chain else str(error)
    message = str(getattr(last, "error_message", None) or last).strip()
    if called := _RECURSIVE.fullmatch(message):
        return f"{called[1]} calls itself, perhaps through others; Triton's functions cannot be recursive"
    return message


_RECURSIVE = re.compile(r"KeyError\('(?:[\w<>]+\.)*(\w+?)__\w*'\)")
"""What Triton says of a call of a function that is not compiled yet: the key is the name that it will have."""


def _function_of(error: Any) -> Any:
    """The JIT function whose source an error quotes."""
    if error.src is None:
        return None
    for function in triton_private.jit_functions():
        if function.src == error.src:
            return function
    return None


def _place(function: Any, node: Any) -> Location | None:
    """Where in its file a node of a JIT function is."""
    line = getattr(node, "lineno", None)
    if function is None or line is None:
        return None
    file, first = triton_private.definition(function)
    return Location(file, first + line - 1, node.col_offset + 1)
