"""A small `triton-opt` over libtriton's passes, and the user's own `triton-opt` where there is one.

libtriton has no textual pipelines, but each `passes.*.add_*` is one pass and prints
its MLIR name and options. So the table of passes is read off libtriton itself: no
list to keep up to date.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.errors import near
from irwidget.toolchain import events, feeding, triton_glue, triton_llvm_opt, triton_private, triton_state
from irwidget.toolchain.mlir import PassFailed
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState
from irwidget.toolchain.triton_state import TritonState
from irwidget.trace import WHOLE, Step

_PATHS = {"triton-opt": "TRITON_OPT_PATH", "triton-llvm-opt": "TRITON_LLVM_OPT_PATH"}
_EXAMPLE = {"str": ("cuda:80", "gfx942"), "int": (4, 2), "bool": (False, True)}
"""For each type of argument, a value and another one: an option that changes with the argument is its option."""
_DEFAULTS: Mapping[str, Any] = {
    "target": "cuda:80",
    "num-warps": 4,
    "threads-per-warp": 32,
    "num-ctas": 1,
    "num-stages": 3,
    "num_stages": 2,
    "compute-capability": 80,
    "ptx-version": 80,
    "gfx-arch": "gfx942",
    "arch": "gfx942",
    "kPack": 1,
    "matrix-instruction-size": 0,
    "ftz": True,
    "emu-tf32": True,
    "hoist-layout-conversion": True,
}


@dataclass(frozen=True, slots=True)
class TritonPass:
    """A pass of libtriton."""

    name: str
    add: Callable[..., None]
    types: tuple[str, ...]
    """Of the arguments that `add` takes after the pass manager: `int`, `bool`, `str`."""
    options: tuple[str, ...]
    """The MLIR option that each argument sets."""
    fixed: Mapping[str, str]
    """The options that no argument sets, with the only value that each has here."""

    def build(self, context: Any, given: Mapping[str, str]) -> Any:
        """A pass manager with just this pass. Raises ValueError for an option that it does not have."""
        unknown = [name for name in given if name not in self.options and given[name] != self.fixed.get(name)]
        if unknown and unknown[0] in self.fixed:
            name = unknown[0]
            raise ValueError(f"{self.name} always has {name}={self.fixed[name]} here: libtriton does not let us set it")
        if unknown:
            has = f"it has {', '.join(self.options)}" if self.options else "it has none"
            raise ValueError(f"{self.name} has no option {unknown[0]!r} that libtriton lets us set; {has}")
        values = [
            _convert(given[option], kind) if option in given else _DEFAULTS.get(option, _EXAMPLE[kind][0])
            for option, kind in zip(self.options, self.types, strict=True)
        ]
        manager = _new_manager(context)
        self.add(manager, *values)
        return manager


def _convert(text: str, kind: str) -> Any:
    if kind == "int":
        return int(text)
    return text.lower() in {"true", "1"} if kind == "bool" else text


def _new_manager(context: Any) -> Any:
    ir = triton_private.libtriton("ir")
    return ir.pass_manager(context)


def new_context() -> Any:
    """A context with the dialects of all of Triton's back ends."""
    ir = triton_private.libtriton("ir")
    context = ir.context()
    ir.load_dialects(context)
    load_all_dialects(context)
    return context


def load_all_dialects(context: Any) -> None:
    for vendor in ("nvidia", "amd"):
        triton_private.libtriton(vendor).load_dialects(context)


@functools.cache
def known() -> dict[str, TritonPass]:
    """The passes of libtriton by their MLIR names."""
    passes, nvidia, amd = (triton_private.libtriton(name) for name in ("passes", "nvidia", "amd"))
    context = new_context()
    found: dict[str, TritonPass] = {}
    for group in (passes, nvidia.passes, amd.passes):
        for add in _adders(group):
            one = _probe(add, context)
            found.setdefault(one.name, one)
    return dict(sorted(found.items()))


def _adders(group: Any) -> Iterator[Callable[..., None]]:
    for name in sorted(dir(group)):
        value = getattr(group, name)
        if isinstance(value, types.ModuleType):
            yield from _adders(value)
        elif name.startswith("add_"):
            yield value


def _probe(add: Callable[..., None], context: Any) -> TritonPass:
    """Find a pass's name and which option each argument of its `add_*` sets, by adding it."""
    signature = (add.__doc__ or "").split("\n1. ")[-1].split("\n")[0]
    kinds = tuple(
        "bool" if kind == "bool" else "str" if kind == "str" else "int"
        for kind in re.findall(r"arg[1-9]\d*: ([^,)]*)", signature)
    )

    def printed(values: list[Any]) -> tuple[str, dict[str, str]]:
        manager = _new_manager(context)
        add(manager, *values)
        call = triton_glue.pass_call(manager, None, "")
        return call.name, dict(pair.split("=", 1) for pair in call.options.split() if "=" in pair)

    base = [_EXAMPLE[kind][0] for kind in kinds]
    name, options = printed(base)
    names: list[str] = []
    for i, kind in enumerate(kinds):
        other = [*base[:i], _EXAMPLE[kind][1], *base[i + 1 :]]
        changed = [option for option, value in printed(other)[1].items() if options.get(option) != value]
        names.append(changed[0] if changed else f"argument-{i}")
    fixed = {option: value for option, value in options.items() if option not in names}
    return TritonPass(name, add, kinds, tuple(names), fixed)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The passes of `triton-opt --a --b='x=1'`; embedded, or the program that TRITON_OPT_PATH or PATH names."""
    program = os.environ.get(_PATHS[step.tool]) or shutil.which(step.tool)
    if program:
        return _external(program, state, step)
    if step.tool == "triton-llvm-opt":
        return triton_llvm_opt.tool(state, step)
    return _embedded(run, state, step)


def parse(arguments: str) -> list[tuple[str, dict[str, str]]]:
    """Passes and their options from command-line flags or `--pass-pipeline=builtin.module(a,tt.func(b{x=1}))`."""
    found: list[tuple[str, dict[str, str]]] = []
    for word in shlex.split(arguments):
        flag, _, value = word.lstrip("-").partition("=")
        if flag == "pass-pipeline":
            for name, options in re.findall(r"([\w-]+)(?:\{([^}]*)\})?(?=[,)]|$)", value):
                found.append((name, _options(options)))
        else:
            found.append((flag, _options(value)))
    return found


def _options(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(text) if "=" in pair)


def check(step: Step) -> None:
    """Raise StepFailed for passes and options that there are not; a real program knows its own."""
    if os.environ.get(_PATHS[step.tool]) or shutil.which(step.tool):
        return
    if step.tool == "triton-llvm-opt":
        triton_llvm_opt.check(step)
        return
    context = new_context()
    for name, given in _checked(step):
        try:
            known()[name].build(context, given)
        except ValueError as error:
            raise StepFailed(events.Failed("usage", str(error), name, step.tool)) from None


def _checked(step: Step) -> list[tuple[str, dict[str, str]]]:
    asked = parse(step.arguments)
    for name, _ in asked:
        if name not in known():
            hint = near(name, known())
            listed = "" if hint.startswith("Known") else f" It knows {len(known())}: {', '.join(known())}."
            message = (
                f"this triton-opt (libtriton, embedded) has no pass {name!r}. {hint}{listed} "
                "Set TRITON_OPT_PATH to use a real one."
            )
            raise StepFailed(events.Failed("usage", message, name, step.tool))
    return asked


def _embedded(run: Run, state: State, step: Step) -> Iterator[Pass]:
    if not isinstance(state, TritonState) or state.language != "mlir":
        message = f"triton-opt reads TTIR or TTGIR, not {state.language}"
        raise StepFailed(events.Failed("usage", message, tool=step.tool))
    asked = _checked(step)
    if state.module is None:
        with triton_glue.captured_stderr() as said:
            try:
                state.module = triton_state.parse(state, load_all_dialects)
            except RuntimeError as error:
                failure = triton_glue.unparsed(state.text, str(error), said())
                raise StepFailed(events.Failed("pass", str(failure), "parse", step.tool, failure.diagnostics)) from None
    module = state.module
    for name, given in asked:
        try:
            manager = known()[name].build(module.context, given)
        except ValueError as error:
            raise StepFailed(events.Failed("usage", str(error), name, step.tool)) from None
        call = triton_glue.pass_call(manager, module, "triton-opt")

        def apply(_: State, call: triton_glue.PendingPass = call) -> State:
            after = TritonState("mlir", module=call.run(), metadata=state.metadata, facts=state.facts)
            run.diagnostics.extend(call.said)
            return after

        yield Pass(call.name, apply, call.options, call.scope, call.pipeline)


def _external(program: str, state: State, step: Step) -> Iterator[Pass]:
    """The user's own program: text in, text out."""
    command = [program, *shlex.split(step.arguments), "-"]
    if step.tool == "triton-opt":
        command.append("--mlir-print-debuginfo")

    def apply(before: State) -> State:
        text = before.raw() if isinstance(before, TritonState) else before.render(False).text
        done = feeding.run(command, text.encode(), None)
        said, made = done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")
        if done.returncode:
            raise PassFailed(
                said.strip().split("\n")[0] or f"{program} ended with {done.returncode}", triton_glue.diagnostics(said)
            )
        if isinstance(before, TritonState) and before.language == "mlir":
            return TritonState("mlir", text=made, metadata=before.metadata, facts=before.facts)
        return TextState(before.language, made)

    yield Pass(step.tool, apply, step.arguments, WHOLE, shlex.join(command))
