"""Each Triton kernel of Inductor's by Triton's own route, its lines led back to the user's."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.errors import PassError, ToolError, UsageError
from irwidget.frontends import triton
from irwidget.inductor.data import Kernel
from irwidget.toolchain.run import Options
from irwidget.trace import Content, Dump, Failure, Location, Texts, Trace, dump, renumbered


def lowered(
    made: Trace, kernels: Sequence[Kernel], to: str, arch: str, config: str | int | None, options: Options
) -> Trace:
    """The trace, then every kernel's passes to one of Triton's IR types, then all of their texts together."""
    count = len(made.steps)
    traces: list[tuple[Kernel, Trace]] = []
    failure: Failure | None = None
    for kernel in kernels:
        one = _of_kernel(kernel, to, arch, config, options)
        traces.append((kernel, one))
        if one.failure is not None:
            failure = replace(one.failure, step=one.failure.step + count if one.failure.step >= 0 else -1)
            break
    dumps = list(made.dumps)
    for kernel, one in traces:
        dumps += _moved(kernel, one, count)
    first = traces[0][1]
    joined = replace(
        made,
        dumps=tuple(dumps),
        steps=(*made.steps, *first.steps),
        diagnostics=(*made.diagnostics, *(said for _, one in traces for said in one.diagnostics)),
        tools={**made.tools, **first.tools},
        failure=failure,
        attachments={name: data for kernel, one in traces for name, data in _attachments(kernel, one).items()},
        facts={**made.facts, "kernels": {kernel.title: _facts(one) for kernel, one in traces}},
    )
    return joined if failure else _with_all(joined, [(kernel.title, dumps_of(kernel, one)) for kernel, one in traces])


def dumps_of(kernel: Kernel, one: Trace) -> Dump:
    """The last dump of a kernel."""
    return _moved(kernel, one, 0)[-1]


def _with_all(made: Trace, kernels: Sequence[tuple[str, Dump]]) -> Trace:
    language = kernels[0][1].language
    mark = ";" if language == "amdgcn" else "//"
    text: list[str] = []
    places: list[Location | None] = []
    for name, last in kernels:
        content = last.content
        text.append(f"{mark} kernel {name}\n{content.text.rstrip()}\n\n")
        lines = text[-1].count("\n") - 1
        places += [None, *(*content.locations, *[None] * lines)[:lines]]
    last = dump("all kernels", "".join(text), step=len(made.steps) - 1, language=language, locations=tuple(places))
    return replace(made, dumps=(*made.dumps, last))


def _of_kernel(kernel: Kernel, to: str, arch: str, config: str | int | None, options: Options) -> Trace:
    """A kernel's own lowering; one that Triton's front end refuses is a trace with its failure."""
    from irwidget.frontends.triton.launch import Launch
    from irwidget.frontends.triton.stand_ins import TypeName

    chosen = chosen_config(kernel, config)
    given: dict[str, Any] = {}
    for name, kind in kernel.signature.items():
        if name in chosen:
            given[name] = chosen[name]
        elif name in kernel.constants:
            given[name] = kernel.constants[name]
        elif kind != "constexpr":
            given[name] = TypeName(kind, "D" if name in kernel.divisible else "")
    given.update({name: value for name, value in chosen.items() if name not in kernel.signature and value is not None})
    said = ", ".join(f"{name}={value}" for name, value in chosen.items())
    try:
        launch = Launch(jit_function(kernel), (), given, arch, config=said)
        return triton.lower(launch, to=to, arch=arch, run=options)
    except (PassError, ToolError, UsageError) as error:
        step = Failure(-1, "ast-to-ttir", f"{kernel.title}: {error}", tool="triton")
        return Trace(to, (), failure=step, name=kernel.name)


def chosen_config(kernel: Kernel, wanted: str | int | None) -> Mapping[str, Any]:
    """The configuration that a user asks for, by number or by what it says; Inductor's first otherwise.

    Raises UsageError, with those there are, when there is no such one.
    """
    configs = kernel.configs or ({},)
    if wanted is None:
        return configs[0]
    if str(wanted).isdigit():
        if int(wanted) < len(configs):
            return configs[int(wanted)]
    else:
        words = dict(re.findall(r"(\w+)\s*[=:]\s*(\w+)", str(wanted)))
        for one in configs:
            if all(str(one.get(name)) == value for name, value in words.items()) and words:
                return one
    listed = "".join(f"\n  {number}: {dict(one)}" for number, one in enumerate(configs))
    raise UsageError(f"{kernel.name} has no configuration {wanted!r}. It has:{listed}")


def file_of(kernel: Kernel) -> str:
    """The name under which a kernel's source is known to Python and Triton."""
    return f"<inductor: {kernel.title}.py>"


_LAUNCHER = re.compile(r"^@triton_heuristics\..*?(?=^@triton\.jit\s+def (\w+))", re.M | re.S)
"""Inductor's launcher, before the kernel: its own are called `triton_` there, the user's as the user calls them."""


def jit_function(kernel: Kernel) -> Any:
    """The kernel as a Triton JIT function, without Inductor's launcher around it."""
    name, source = file_of(kernel), kernel.source.text
    plain = _LAUNCHER.sub(lambda found: "\n" * found[0].count("\n"), source)
    plain = plain.replace("triton_helpers.set_driver_to_gpu()", "")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": f"irwidget.inductor.{kernel.name}", "__file__": name}
    exec(compile(plain, name, "exec"), space)
    found = _LAUNCHER.search(source)
    return space[found[1] if found else kernel.name]


class _Relocated:
    """Texts whose locations are led on from lines of a generated kernel to lines of the user's."""

    def __init__(self, texts: Texts, place: Callable[[Location | None], Location | None]) -> None:
        self._texts, self._place = texts, place

    def content(self, index: int) -> Content:
        """The content. Waits and raises as the texts themselves."""
        found = self._texts.content(index)
        return replace(found, locations=tuple(map(self._place, found.locations)))

    def text(self, index: int) -> str:
        """The text. Waits and raises as the texts themselves."""
        return self._texts.text(index)

    def ready(self, index: int) -> bool:
        """Whether `content` would answer at once."""
        return self._texts.ready(index)

    def arrived(self, index: int) -> str | None:
        """The text; None while it is on its way."""
        return self._texts.arrived(index)


def _moved(kernel: Kernel, one: Trace, count: int) -> list[Dump]:
    name, places = file_of(kernel), kernel.source.places

    def place(line: Location | None) -> Location | None:
        if line is None or line.file != name:
            return line
        return places[line.line - 1] if 0 < line.line <= len(places) else None

    return [
        replace(
            each,
            texts=_Relocated(each.texts, place),
            step=each.step if each.step >= 0 else count - 1,
            scope=replace(each.scope, kernel=kernel.title) if not each.scope.kernel else each.scope,
        )
        for each in renumbered(one.dumps, count)
    ]


def _attachments(kernel: Kernel, one: Trace) -> dict[str, bytes]:
    stem = kernel.title.replace(", ", "-").replace(" ", "")
    return {f"{stem}.{name.rsplit('.', 1)[-1]}": data for name, data in one.attachments.items()}


def _facts(one: Trace) -> dict[str, Any]:
    left_out = ("specialization", "signature", "grid", "launched_at", "arch", "config")
    return {name: value for name, value in one.facts.items() if name not in left_out}
