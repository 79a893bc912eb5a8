"""What becomes of a lowering that did not go well: an error that says where and why, and holds what was made."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Generator, Mapping
from typing import Protocol, TypeVar

from irwidget.errors import IRWidgetError, LoweringInterrupted, PassError, ToolError, UnsupportedError, UsageError
from irwidget.toolchain import budget
from irwidget.toolchain.language import suffix
from irwidget.toolchain.parsing import INPUT
from irwidget.toolchain.run import Options
from irwidget.trace import Failure, Trace


class Held(Protocol):
    """What an error holds: the lowering as far as it got."""

    trace: Trace


_Held = TypeVar("_Held", bound=Held)


@contextlib.contextmanager
def limited(options: Options) -> Generator[None]:
    """Give the lowering inside its budget; an interrupt of it becomes LoweringInterrupted, which says where it struck.

    Raises ToolError when the time is up.
    """
    with budget.of(budget.Budget(options.timeout, options.memory)) as whole:
        try:
            yield
        except LoweringInterrupted:
            raise
        except KeyboardInterrupt:
            raise LoweringInterrupted(f"interrupted in {whole.doing} after {whole.spent:.0f} s") from None
        except budget.TimeIsUp:
            raise whole.exceeded(whole.doing) from None


@contextlib.contextmanager
def keeping(lowering: Held) -> Generator[None]:
    """What goes wrong from here on does not lose what was made."""
    try:
        yield
    except ToolError as error:
        error.lowering = error.lowering or lowering
        raise
    except KeyboardInterrupt:
        stop = LoweringInterrupted("--check was interrupted")
        stop.lowering = lowering
        raise stop from None


def interrupted(lowering: Held) -> LoweringInterrupted:
    failure = lowering.trace.failure
    error = LoweringInterrupted(failure.message if failure else "interrupted")
    error.lowering = lowering
    return error


def finished(lowering: _Held) -> _Held:
    """The lowering when it is complete; raises otherwise."""
    if lowering.trace.failure:
        raise error_of(lowering)
    return lowering


def first_of(failed: Mapping[str, IRWidgetError | LoweringInterrupted], made: Mapping[str, Held]) -> BaseException:
    """The first of some errors, with all that was made and the others as notes: what went wrong for several is said
    once.
    """
    first, *others = dict.fromkeys(map(str, failed.values()))
    error = next(iter(failed.values()))
    error.lowerings = made
    for message in (first, *others):
        names = ", ".join(name for name, one in failed.items() if str(one) == message)
        if message != first:
            error.add_note(f"{names}: {message}")
        elif "," in names:
            error.add_note(f"It is the same for {names}")
    return error


def error_of(lowering: Held) -> IRWidgetError:
    """The exception that a failed lowering is raised as."""
    failure = lowering.trace.failure
    assert failure
    message = _message(failure, lowering.trace)
    error: IRWidgetError
    if failure.kind == "usage":
        error = UsageError(message)
    elif failure.kind == "unsupported":
        error = UnsupportedError(message)
    elif failure.kind in ("tool", "interrupt"):
        error = ToolError(message, tool=failure.tool, pass_name=failure.pass_name, reproducer=failure.reproducer)
    else:
        error = PassError(
            message,
            tool=failure.tool,
            pass_name=failure.pass_name,
            diagnostics=failure.diagnostics,
            reproducer=failure.reproducer,
        )
    error.lowering = lowering
    return error


def _message(failure: Failure, trace: Trace) -> str:
    """What failed, where in the user's code, and how to see it again."""
    import linecache

    from irwidget.frontends.places import describe

    if failure.kind == "usage":
        return failure.message
    step = f" ({of})" if (of := trace.step_of(failure)) else ""
    unread = failure.message.startswith("the IR does not parse")
    subject = f"{failure.pass_name}{step} failed: " if failure.kind == "pass" and not unread else ""
    lines = [f"{subject}{failure.message}"]
    for diagnostic in failure.diagnostics[:1]:
        if diagnostic.location and diagnostic.location.file != INPUT:  # the message shows it
            code = linecache.getline(diagnostic.location.file, diagnostic.location.line).strip()
            lines.append(f"  at {describe(diagnostic.location)}" + (f": {code}" if code else ""))
    if trace.dumps:
        count = len(trace.dumps)
        kept = f"The {count} dumps before it are" if count > 1 else "What it started from is"
        lines.append(f"  {kept} kept: error.lowering")
    if failure.reproducer and failure.tool == "ptxas":
        lines.append("  To see it again: error.lowering.save('before.ptx'), then")
        lines.append(f"  {failure.reproducer}")
    elif failure.reproducer:
        number = trace.before_failure
        file = f"before{suffix(trace.dumps[number].language) if trace.dumps else '.mlir'}"
        keep = f"error.lowering.save('{file}')"
        if number < len(trace.dumps) - 1:
            keep = f"open('{file}', 'w').write(error.lowering.dumps[{number}].text)"
        lines.append(f"  To see it again: {keep}, then")
        flags = " --external" if of and of.program else ""
        lines.append(f"  python -m irwidget lower {file} --to raw_ir --pipeline {_quoted(failure.reproducer)}{flags}")
    return "\n".join(lines)


def _quoted(words: str) -> str:
    """A shell word: in double quotes where these hold it as it is, because pipelines have single ones inside."""
    return shlex.quote(words) if re.search(r'["$`\\!]', words) else f'"{words}"'
