"""`lower(...)`, the one entry point, and `Lowering`, what the user holds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from irwidget import helion, imports, pipelines, planning, routes
from irwidget import options as options_of
from irwidget.checking import check as checking
from irwidget.checking import expected as expectations
from irwidget.errors import ExportError, IRWidgetError, LoweringInterrupted, ToolError, UsageError
from irwidget.expand import LLVMPasses
from irwidget.failures import finished, interrupted, keeping, limited
from irwidget.lazy import cached_property
from irwidget.toolchain import budget
from irwidget.toolchain.run import Interrupted, Options, Progress, Source
from irwidget.trace import Diagnostic, Dump, Failure, Step, Trace, Verdict, not_checked

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from irwidget.frontends.kernels import Kernel
    from irwidget.helion import HelionLowering
    from irwidget.spyre import SpyreProgram


class Lowering:
    """One model or kernel on its way to one IR type: the trace, plus what a user does with it."""

    def __init__(self, trace: Trace, program: SpyreProgram | None = None, kernel: HelionLowering | None = None) -> None:
        self.trace = trace
        self.program = program
        """The compiled program of a Spyre target."""
        self.kernel = kernel
        """The lowered kernel of a Helion target that is MLIR: its module, links and in-place form."""

    @property
    def target(self) -> str:
        """The IR type that was asked for."""
        return self.trace.target

    @property
    def name(self) -> str:
        """The model or kernel."""
        return self.trace.name

    @property
    def text(self) -> str:
        """The IR after the last pass that ran."""
        return self.trace.dumps[-1].text if self.trace.dumps else ""

    @property
    def dumps(self) -> tuple[Dump, ...]:
        """The input (dump 0) and the IR after every pass."""
        return self.trace.dumps

    @property
    def steps(self) -> tuple[Step, ...]:
        """The tools that ran, with their arguments."""
        return self.trace.steps

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the compilers remarked."""
        return self.trace.diagnostics

    @property
    def tools(self) -> Mapping[str, str]:
        """Names and versions of what made it."""
        return self.trace.tools

    @property
    def failure(self) -> Failure | None:
        """Where and why it stopped early; None when it is complete."""
        return self.trace.failure

    @property
    def check(self) -> Verdict | None:
        """How the result compares with eager PyTorch; None when `check` was not asked for."""
        return self.trace.check

    def expand(self, index: int) -> tuple[Dump, ...]:
        """The LLVM passes inside dump `index`, of `opt` or `llc`, that changed something; run when asked for.

        Raises UsageError for another dump.
        """
        dump, inside = self.dumps[index], self.trace.inside
        if inside is None or not inside.has(dump):
            step = self.trace.step_of(dump) or dump.name
            raise UsageError(f"Dump {index} is of {step}: only dumps of opt and llc have passes inside")
        return inside.open(dump)

    def run(self, *tensors: Any) -> Any:
        """Execute on the CPU what was lowered: a Helion kernel's module in its host function, or a Spyre program.

        Raises UsageError for other targets, and what `HelionLowering.run` and `SpyreProgram.run` raise.
        """
        runs = self.kernel or self.program
        if runs is None:
            raise UsageError(
                f"This lowering to {self.target} cannot be run: that takes a Helion kernel's helion_mlir, llvm_mlir or "
                "llvm_ir without a custom pipeline, or a target of Spyre. check=True executes a model"
            )
        return runs.run(*tensors)

    def save(self, path: str | Path) -> Path:
        """Write the final IR to a file."""
        path = Path(path)
        path.write_text(self.text, encoding="utf-8")
        return path

    def to_html(self, path: str | Path | None = None) -> str:
        """One interactive page that needs no kernel and no network; written to `path` when given."""
        return page([self], f"{self.name}: {self.target}", path)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able data."""
        trace = self.trace
        return {
            "target": trace.target,
            "name": trace.name,
            "tools": dict(trace.tools),
            "steps": [dataclasses.asdict(step) for step in trace.steps],
            "dumps": [_dump_dict(dump) for dump in trace.dumps],
            "diagnostics": [dataclasses.asdict(diagnostic) for diagnostic in trace.diagnostics],
            "failure": dataclasses.asdict(trace.failure) if trace.failure else None,
            "sources": dict(trace.sources),
            "facts": dict(trace.facts),
            "check": dataclasses.asdict(trace.check) if trace.check else None,
        }

    def display(self) -> None:
        """Show the pass diff in the notebook, or the text twin in a terminal."""
        from IPython.display import display

        display(self)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return shown([self], key=f"lowering {id(self)}")._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        state = "failed" if self.failure else "complete"
        return f"<Lowering of {self.name or 'IR'} to {self.target}: {len(self.dumps)} dumps, {state}>"


def shown(lowerings: Sequence[Lowering], key: str | None) -> Any:
    """The widget of lowerings: the diff of their passes, below the programs of Spyre targets."""
    from irwidget import views

    return views.show([lowering.trace for lowering in lowerings], programs=_programs(lowerings), key=key)


def page(lowerings: Sequence[Lowering], title: str, path: str | Path | None = None) -> str:
    """The same as one offline page; written to `path` when given."""
    from irwidget import views

    made = views.page([lowering.trace for lowering in lowerings], title, _programs(lowerings))
    if path is not None:
        Path(path).write_text(made, encoding="utf-8")
    return made


def _programs(lowerings: Sequence[Lowering]) -> list[SpyreProgram]:
    """Each once: lowering one model to several IR types of Spyre compiles it once."""
    return list({id(one.program): one.program for one in lowerings if one.program is not None}.values())


def _dump_dict(dump: Dump) -> dict[str, Any]:
    content = dump.content
    return {
        "name": dump.name,
        "step": dump.step,
        "language": dump.language,
        "options": dump.options,
        "seconds": dump.seconds,
        "scope": dataclasses.asdict(dump.scope),
        "changed": content.changed,
        "text": content.text,
        "lines": [place.line if place else 0 for place in content.locations],
    }


@overload
def lower(  # pyright: ignore[reportOverlappingOverload]  # str is a Sequence[str] too
    obj: Any, *inputs: Any, to: str, kwargs: Mapping[str, Any] | None = ..., **options: Any
) -> Lowering: ...
@overload
def lower(
    obj: Any, *inputs: Any, to: Sequence[str], kwargs: Mapping[str, Any] | None = ..., **options: Any
) -> dict[str, Lowering]: ...
def lower(
    obj: Any,
    *inputs: Any,
    to: str | Sequence[str],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    pipeline: str | None = None,
    route: Literal["robust", "explorer"] = "robust",
    dumps: bool = True,
    elide: bool = True,
    check: bool | Literal["each"] = False,
    timeout: float | None = None,
    memory: float | None = None,
    isolate: bool = True,
    external: bool = False,
    name: str | None = None,
    progress: Progress | None = None,
    **target_options: Any,
) -> Lowering | dict[str, Lowering]:
    """Lower a model, kernel or IR text to an IR type and keep the IR after every pass.

    `obj` is an `nn.Module`, an `ExportedProgram`, a function, or IR text; `inputs`
    are its example inputs (tensors or any pytree) and `kwargs` its keyword inputs.
    `to` names an IR type of `irwidget.targets()`; a list of names gives a dict, and
    exports the object once. `name` is what the result is called, `dynamic_shapes` is
    torch.export's, and `route="explorer"` takes PyTorch Explorer's fixed list of passes.

    `pipeline` is a custom pipeline that goes on from there
    (`mlir-opt --canonicalize | user-tool ./mine`); its tools run embedded where
    they can, and as real programs with `external=True`.

    `check=True` executes the result on the CPU and compares every element with eager
    PyTorch, as exactly as float64 says what it should be; `low.check` is the verdict.
    `check="each"` executes every dump that can stand alone. What cannot be executed is
    `not checked`, with the reason.

    `dumps=False` keeps the last dump only, `elide=False` prints large constants,
    `timeout` is in seconds for everything together, from export to the last text and
    for all of several IR types; waiting for other lowerings, and for the first import
    of PyTorch, does not count. Each later look at a text has as long again. `memory` is in GiB for the worker (by
    default three quarters of what the machine or its container has); `isolate=False`
    runs the passes in this process, where a limit is looked at between passes.
    `progress` is called as each pass begins.

    Raises UsageError, ExportError, PassError, ToolError, UnsupportedError (all
    IRWidgetError), and LoweringInterrupted on Ctrl-C. When passes had begun,
    the error's `lowering` holds every dump before it. Of several IR types all are
    tried before the first error is raised; its `lowerings` has them by name.
    """
    options_of.check(
        {
            "kwargs": kwargs,
            "pipeline": pipeline,
            "route": route,
            "dumps": dumps,
            "elide": elide,
            "check": check,
            "timeout": timeout,
            "memory": memory,
            "isolate": isolate,
            "external": external,
            "name": name,
            "progress": progress,
        }
    )
    options = Options(
        isolate=isolate,
        timeout=timeout and float(timeout),
        dumps=dumps,
        elide=elide,
        progress=progress,
        keep_constants=bool(check),
        memory=options_of.memory_bytes(memory),
        target=tuple(sorted((key, str(value)) for key, value in target_options.items())),
    )
    with limited(options):
        wanted, extra = planning.planned(to, pipeline, route, external, target_options, options)
        start = Start(obj, inputs, kwargs or {}, dynamic_shapes, name, check, target_options)
        if isinstance(to, str):
            return start.lower(wanted[0], extra, options)
        return _each(wanted, lambda target: start.lower(target, extra, options))


def _each(wanted: Sequence[routes.Target], make: Callable[[routes.Target], Lowering]) -> dict[str, Lowering]:
    """Lower to every IR type, then raise what went wrong first: one that fails does not cost the others."""
    made: dict[str, Lowering] = {}
    failed: dict[str, IRWidgetError] = {}
    for target in wanted:
        try:
            made[target.name] = make(target)
        except IRWidgetError as error:
            if error.lowering:
                made[target.name] = error.lowering
            failed[target.name] = error
        except LoweringInterrupted as stop:
            stop.lowerings = made | ({target.name: stop.lowering} if stop.lowering else {})
            raise
        except Exception as error:  # a defect of ours, or of a library, in this one
            failed[target.name] = IRWidgetError(f"{target.name}: {type(error).__name__}: {error}")
            failed[target.name].__cause__ = error
    if failed:
        raise _first_of(failed, made)
    return made


def _first_of(failed: Mapping[str, IRWidgetError], made: Mapping[str, Lowering]) -> IRWidgetError:
    """The first error, with the others as notes: what went wrong for several IR types is said once."""
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


class Start:
    """An object and its inputs, on the way to one or more IR types; exported at most once."""

    def __init__(
        self,
        obj: Any,
        inputs: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        dynamic_shapes: Any,
        name: str | None,
        check: bool | Literal["each"],
        target_options: Mapping[str, Any],
    ) -> None:
        self.obj, self.inputs, self.kwargs, self.dynamic_shapes = obj, inputs, kwargs, dynamic_shapes
        self.given_name = name
        self.check: bool | Literal["each"] = check
        self.target_options = target_options
        self._import_error: IRWidgetError | None = None
        self._options = Options()

    def prepare(self, target: routes.Target) -> None:
        """Do what the passes wait for: a PyTorch model is exported. Raises ExportError or UsageError."""
        _await_torch(target)
        if target.source == "pytorch" and target.name != "torch_script_graph_ir" and not helion.is_kernel(self.obj):
            _ = self._imported

    def lower(self, target: routes.Target, extra: tuple[Step, ...], options: Options) -> Lowering:
        """To one IR type, then through the steps of a custom pipeline; with a verdict where one was asked for."""
        lowering = self._lower(target, extra, options)
        if self.check and lowering.check is None:
            lowering.trace = checking.with_verdict(lowering.trace, not_checked(self._unexecuted(target)))
        return lowering

    def _lower(self, target: routes.Target, extra: tuple[Step, ...], options: Options) -> Lowering:
        _await_torch(target)
        if target.source != "raw":
            pipelines.check_flow(extra, target.name, target.language)
        if target.name == "torch_script_graph_ir":
            self._check_model()
            from irwidget.frontends import torchscript

            with budget.enforced("torch.jit.trace"):
                traced = torchscript.lower(self.obj, self.inputs, self.kwargs, self.name)
            return self._go_on(traced, target, extra, options)
        if target.name in ("llvm_mlir", "llvm_ir") and helion.is_kernel(self.obj):
            target = replace(target, source="helion")
        if target.source in ("triton", "helion", "spyre"):
            return self._lower_kernel(target, extra, options)
        if target.source == "raw":
            return self._lower_text(target, extra, options)
        self._options = options
        source, frame = self._imported
        lowering = _run(source, (*target.steps, *extra), target.name, options, frame)
        if self.check:
            with keeping(lowering):
                lowering.trace = checking.with_verdict(lowering.trace, self._verdict(source, lowering.trace, options))
        return lowering

    def _verdict(self, source: Source, trace: Trace, options: Options) -> Verdict:
        """The result's, by the model itself; its own failure does not cost the lowering."""
        try:
            with budget.enforced("--check"):
                if isinstance(self._expected, str):
                    return not_checked(self._expected)
                return checking.check(source, trace, options, self._expected, each=self.check == "each")
        except ToolError as error:
            return not_checked(str(error))
        except Interrupted:
            raise interrupted(Lowering(trace)) from None

    def _unexecuted(self, target: routes.Target) -> str:
        """Why a lowering that nobody checked is not."""
        if target.source == "raw":
            return "IR of your own has no eager PyTorch to compare with"
        what = "a TorchScript graph" if target.language == "torchscript" else f"{target.name} of a kernel"
        return f"{what} is not executed"

    @property
    def name(self) -> str:
        from irwidget.frontends import torch as frontend

        return self.given_name or frontend.model_name(self.obj)

    def _lower_text(self, target: routes.Target, extra: tuple[Step, ...], options: Options) -> Lowering:
        if not isinstance(self.obj, str):
            raise UsageError(f"raw_ir starts from IR text, not from a {type(self.obj).__name__}")
        from irwidget.frontends import raw

        steps = extra or raw.checks(self.obj)
        frame = Trace("", (), name=self.given_name or "IR", diagnostics=raw.remarks(self.obj, steps))
        return _run(raw.source(self.obj, steps), steps, target.name, options, frame)

    def _lower_kernel(self, target: routes.Target, extra: tuple[Step, ...], options: Options) -> Lowering:
        """By the object's own front end; a custom pipeline goes on from the text that it gives."""
        try:
            with budget.enforced(f"the front end of {target.source.capitalize()}"):
                program = self._kernel.program if target.source == "spyre" else None
                trace, kernel = self._kernel.lower(target.source, target.name, options, self.check)
        except Interrupted as stop:
            raise interrupted(Lowering(replace(stop.trace, steps=(*stop.trace.steps, *extra)))) from None
        if self.given_name:
            trace = replace(trace, name=self.given_name)
        if trace.failure or not extra:
            return finished(Lowering(replace(trace, steps=(*trace.steps, *extra)), program, kernel))
        return self._go_on(trace, target, extra, options, program)

    def _go_on(
        self,
        trace: Trace,
        target: routes.Target,
        extra: tuple[Step, ...],
        options: Options,
        program: SpyreProgram | None = None,
    ) -> Lowering:
        """Through a custom pipeline, from the text that a front end has given."""
        from irwidget.frontends import raw

        if not extra:
            return Lowering(trace, program)
        return _run(raw.source(trace.dumps[-1].text, extra), extra, target.name, options, trace, program)

    @cached_property
    def _kernel(self) -> Kernel:
        from irwidget.frontends.kernels import Kernel

        return Kernel(self.obj, self.inputs, self.kwargs, self.target_options)

    def _check_model(self) -> None:
        from irwidget.frontends import kernels
        from irwidget.frontends import torch as frontend

        if isinstance(self.obj, str):
            raise UsageError("IR text starts at raw_ir: lower(text, to='raw_ir', pipeline='mlir-opt --canonicalize')")
        if not frontend.is_model(self.obj):
            kind = type(self.obj).__name__
            raise UsageError(f"lower() takes a torch.nn.Module, an ExportedProgram, a function or IR text, not {kind}")
        if kind := kernels.kind_of(self.obj):
            raise UsageError(f"{self.name} is a {kind} kernel: lower it to one of the IR types {kind.lower()}_...")
        error = frontend.bind_error(self.obj, self.inputs, self.kwargs)
        if error:
            raise error

    @cached_property
    def _program(self) -> ExportedProgram:
        from irwidget.frontends import torch as frontend

        with budget.enforced("torch.export"):
            return frontend.export(self.obj, self.inputs, self.kwargs, self.dynamic_shapes, self.name)

    @cached_property
    def _expected(self) -> expectations.Expected | str:
        """What the model should return; or why that is not known."""
        try:
            return expectations.expect(self.obj, self.inputs, self.kwargs, self._exported, seconds=checking.SECONDS)
        except expectations.Unchecked as error:
            return str(error)

    @cached_property
    def _exported(self) -> expectations.Program:
        return expectations.Program.of(self._program)

    @property
    def _imported(self) -> tuple[Source, Trace]:
        """The model as MLIR, made once; a model that cannot be exported is not exported again either."""
        if self._import_error is not None:
            raise self._import_error
        try:
            return self._first_import
        except (ExportError, ToolError, UsageError) as error:
            self._import_error = error
            raise

    @cached_property
    def _first_import(self) -> tuple[Source, Trace]:
        """The model as MLIR, and a trace without dumps that carries what is known so far."""
        from irwidget.frontends import importing

        self._check_model()
        if self.check:
            _ = self._exported  # an import changes the graph
        started = time.perf_counter()
        program = self._program
        how = self._options
        with budget.enforced("torch-mlir's importer"):
            imported = importing.import_program(program, self.name, isolate=how.isolate, memory=how.memory)
        seconds = time.perf_counter() - started
        frame = Trace("", (), name=self.name, sources=imported.sources, diagnostics=imported.remarks)
        if imported.weights:
            imported.weights.safe = routes.blind_steps()
        source = Source(imported.bytecode, name="torch.export", seconds=seconds, weights=imported.weights)
        return source, frame


def _await_torch(target: routes.Target) -> None:
    """PyTorch is imported by a thread that no interrupt reaches; this one waits for it, outside of the time limit."""
    if target.source != "raw":
        with budget.uncounted("the import of PyTorch"):
            imports.wait()


def _run(
    source: Source,
    steps: tuple[Step, ...],
    target: str,
    options: Options,
    before: Trace,
    program: SpyreProgram | None = None,
) -> Lowering:
    """Run steps on a source, after what has been done before it."""

    def finish(trace: Trace) -> Lowering:
        trace = replace(trace, inside=LLVMPasses(source, trace, options))
        return Lowering(before.then(trace), program)

    try:
        lowering = finish(source.run(steps, options, target=target))
    except Interrupted as stop:
        raise interrupted(finish(stop.trace)) from None
    return finished(lowering)
