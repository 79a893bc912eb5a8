"""Triton's Python front end: a kernel's syntax tree to TTIR, in a copy of this process.

It builds IR by native code that some kernels crash, and it runs Python of the user's (constexprs, loops that are
unrolled) that may never end. The copy has the kernel with all that it refers to; what comes back is text.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
from dataclasses import dataclass

from irwidget.errors import ToolError
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.specialization import Specialization, backend_of
from irwidget.toolchain import forked, processes, triton_glue, triton_names, triton_private
from irwidget.trace import Location

_TOOL, _PASS = "triton", "ast-to-ttir"


@dataclass(frozen=True)
class _Outcome:
    """What the copy sends back: the TTIR or the error, and what was printed meanwhile (`tl.static_print`)."""

    text: str
    printed: str
    raised: forked.Raised | None = None


def ttir(
    special: Specialization,
    launched: Location | None = None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
) -> str:
    """The TTIR of a specialisation with its locations, those of block arguments included (see `triton_names`).

    Raises Triton's CompilationError, PassError where the IR that it makes is not valid, and ToolError when it
    crashes or takes more than `seconds` or `memory` (bytes).
    """
    name = str(special.kernel.__name__)
    try:
        outcome = forked.call(
            lambda: _outcome(special), seconds=seconds, memory=memory or processes.memory_limit(), cuda=False
        )
    except forked.Died as death:
        raise _ended(name, f"crashed on {name}: the process {death}", launched) from None
    except forked.TimedOut:
        raise _ended(name, f"timed out on {name} (after {seconds:.3g} s)", launched) from None
    except MemoryError:
        raise _ended(name, f"ran out of memory on {name}", launched) from None
    if outcome.printed:
        sys.stdout.write(outcome.printed)
    if outcome.raised:
        raise outcome.raised.again()
    return outcome.text


def _ended(name: str, how: str, launched: Location | None) -> ToolError:
    message = f"Triton's front end {how}"
    if launched:
        source = linecache.getline(launched.file, launched.line).strip()
        message += f"\n  launched at {launched}" + (f"\n    {source}" if source else "")
    error = ToolError(message, tool=_TOOL, pass_name=_PASS)
    error.kernel = name
    return error


def _outcome(special: Specialization) -> _Outcome:
    """What the copy does. Running out of memory is for the caller to tell."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), triton_glue.captured_stderr() as said:
        try:
            return _Outcome(_make(special), printed.getvalue())
        except (Exception, SystemExit) as error:
            if any(isinstance(one, MemoryError) for one in failures.causes(error)):
                raise MemoryError from error
            raised = forked.Raised.of(_told(special, error, said()))
    return _Outcome("", _MODULE.split(printed.getvalue())[0], raised)


_MODULE = re.compile(r'^(?:#loc\d* = loc\(|"?builtin\.module)', re.M)
"""Begins the module that Triton prints when it is not valid: the error says more."""


def _make(special: Specialization) -> str:
    backend = backend_of(special.arch)
    source = triton_private.ast_source(special.kernel, special.signature, special.constants, special.attributes)
    ir = triton_private.libtriton("ir")
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generators = backend.get_codegen_implementation(special.options)
    module = triton_private.module_of(source, backend, special.options, generators, context)
    return triton_names.text(module)


def _told(special: Specialization, error: BaseException, said: str) -> BaseException:
    """Triton's CompilationError as it is; of anything else what the user can act on, for its traceback stays here."""
    if failures.compile_error(error):
        # as triton.compile does: the visits of the syntax tree tell the user nothing
        triton_private.filter_traceback(error)
        return error
    found = triton_glue.failure(f"{type(error).__name__}: {error}", said)
    place = failures.user_line(error) or next((one.location for one in found.diagnostics if one.location), None)
    return failures.refused(special.kernel.__name__, str(found), place, found.diagnostics)
