"""`user-tool` of a pipeline: the user's program, with a dump after each pass where it can print them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from irwidget.readers import asking
from irwidget.readers import log as logs
from irwidget.readers.base import ReaderInput
from irwidget.readers.printed import PassDumps
from irwidget.toolchain import external
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState
from irwidget.trace import Step, Trace

_REFUSED = re.compile(r"(?:unknown|unrecogni[sz]ed|invalid|no such) (?:command line )?(?:argument|option|flag)", re.I)


def user_tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The passes of the user's program, as its help names a flag that prints them; else the program as one pass.

    Raises StepFailed when it fails, after the passes that it had printed.
    """
    path, words = external.located(run, step)
    told = asking.prints(words)
    flags = asking.flags(path, modules=True) if not told and asking.may_be_asked(path) else ()
    if not told and not flags:
        yield from external.user_tool(run, state, step)
        return
    run.tools[words[0]] = path
    printed = _Printed(os.path.basename(words[0]))
    command = [path, *words[1:], *flags]
    failure: StepFailed | None = None
    result = state
    try:
        result = external.own(run, state, step, command, printed.take)
    except StepFailed as failed:
        failure = failed
    if failure is not None and flags and _REFUSED.search(str(failure)):  # it has not read its input
        yield from external.user_tool(run, state, step)
        return
    run.diagnostics.extend(said for trace in printed.traces for said in trace.diagnostics)
    pipeline = step.command
    last: State | None = None
    for dump in (dump for trace in printed.traces for dump in trace.dumps if dump.step >= 0):
        last = TextState(dump.language, dump.text, dump.content)
        yield Pass(dump.name, lambda _, after=last: after, dump.options, dump.scope, pipeline, dump.seconds)
    if failure is not None:
        raise failure
    # What it leaves is what goes on; it is a dump of its own where it is not what the last pass left.
    if last is None or last.render(elide=True).text.strip() != result.render(elide=True).text.strip():
        yield Pass(printed.name, lambda _: result, shlex.join(words[1:]), pipeline=pipeline, seconds=0.0)
    else:
        yield Pass(f"{printed.name}, output", lambda _: result, shlex.join(words[1:]), pipeline=pipeline, seconds=0.0)


@dataclass(slots=True)
class _Printed:
    """What a program has printed of its passes."""

    name: str
    traces: list[Trace] = field(default_factory=list[Trace])

    def take(self, stderr: bytes) -> bytes:
        """Keep the dumps of what a program said; gives the rest where there are none."""
        given = ReaderInput(self.name, logs.of_bytes(stderr, self.name)) if stderr else ReaderInput(self.name)
        reader = PassDumps()
        self.traces = list(reader.read(given)) if given.log is not None and reader.recognises(given) else []
        if not self.traces:
            return stderr
        errors = [str(one) for trace in self.traces for one in trace.diagnostics if one.severity == "error"]
        return "\n".join(errors).encode("utf-8", "backslashreplace")
