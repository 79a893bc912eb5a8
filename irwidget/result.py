"""`Lowering`, what the user holds."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

from irwidget import bufferization, display, layouts, output, triton_schedule
from irwidget.bufferization import Bufferization
from irwidget.errors import UsageError
from irwidget.experiments import cell, experiment
from irwidget.experiments.cell import Cell, CellExperiment
from irwidget.experiments.experiment import Experiment, Judge
from irwidget.layouts import Layout, Layouts
from irwidget.reducing import reduce as reducing
from irwidget.reducing.reduce import Predicate, Progress
from irwidget.reducing.report import Reduced
from irwidget.toolchain import triton_layouts
from irwidget.toolchain.named import Constants
from irwidget.toolchain.run import Options
from irwidget.toolchain.triton_layouts import Ask
from irwidget.trace import Diagnostic, Dump, Failure, Step, Trace, Verdict, file, not_checked, plain
from irwidget.triton_schedule import Schedule

_NOT_HERE = not_checked("what was lowered ran in a copy of the kernel: low.edit(source=...).run(check=True)")


@dataclass(frozen=True)
class Origin:
    """How a lowering was made, for those that go on from it."""

    options: Options
    judge: Judge | None = None
    program: Callable[..., Reduced] | None = None
    """Makes the program small that was lowered, where that is here."""
    of_text: bool = False
    """Whether it was made of text, so that there is no program."""
    ask: Ask = triton_layouts.ask
    """Asks the Triton that made it about layouts."""
    constants: Constants | None = None
    """Those that its texts may only name."""
    cell: Cell | None = None
    """The cell that it was lowered in, where that can run again."""


class Lowering:
    """One model or kernel on its way to one IR type: the trace, plus what a user does with it."""

    def __init__(self, trace: Trace, results: Mapping[str, Any] | None = None) -> None:
        self.trace = trace
        self.results: Mapping[str, Any] = results or {}
        """What the front end made besides, by name."""
        self.file = ""
        """The file that it was loaded from; what takes the object that was lowered is not available then."""
        self.toolchain = ""
        """The toolchain that made it, where that is not this process's: `triton==3.6.0`. What goes on from here runs
        with it, too."""
        self.origin = Origin(Options())

    @property
    def program(self) -> Any:
        """The compiled program of a Spyre target, an `irwidget.spyre.SpyreProgram`; None for others."""
        return self.results.get("program")

    @property
    def kernel(self) -> Any:
        """The kernel of a Helion target that is MLIR, an `irwidget.helion.HelionLowering`; None for others."""
        return self.results.get("kernel")

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
        return self.trace.said

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
        """The passes inside dump `index`, run when asked for: those in `opt` or `llc` that changed something, or the
        steps of Triton's pipeliner and of its warp specialisation.

        Raises UsageError for another dump, and in a lowering that was loaded from a file.
        """
        self._needs_object("expand()")
        index, inside = experiment.number_of(self.trace, index), self.trace.inside
        dump = self.dumps[index]
        if inside is None or not inside.has(dump):
            step = self.trace.step_of(dump) or dump.name
            raise UsageError(f"Dump {index} is of {step}: dumps of opt, llc and Triton's pipeliner have passes inside")
        return inside.open(dump)

    @overload
    def edit(self, index: int = 0, text: str | None = None) -> Experiment[Lowering]: ...
    @overload
    def edit(self, *, source: str) -> CellExperiment[Lowering]: ...
    def edit(
        self, index: int = 0, text: str | None = None, *, source: str | None = None
    ) -> Experiment[Lowering] | CellExperiment[Lowering]:
        """Go on from dump `index` with another text, other passes, or both; `run()` of what this gives runs the rest.

        `low.edit(12, text).run()`, `low.edit(0).without("cse").run()`,
        `low.edit(4).replaced(7, "mlir-opt --canonicalize=max-iterations=1").run()`. The result shows itself beside this
        lowering, which stays as it is.

        `source` is another text of the `%%lower` cell that it was made in, `low.source`, without the magic: `run()`
        runs that as the cell would be and lowers what it makes, in a copy of this process, so that no variable of the
        notebook changes.

        Raises UsageError when nothing can go on from there, and of `source` where there is no such cell.
        """
        if source is not None:
            made = self._made_by_cell
            origin = made.origin
            return cell.begin(made, source, origin.cell, made._of_cell, origin.options, origin.judge)
        of = self.origin
        return experiment.begin(self, index, text, self._experiment, of.options, of.judge, of.constants)

    def reduce(
        self,
        predicate: Predicate | None = None,
        *,
        alone: bool = False,
        program: bool = False,
        seconds: float = 60.0,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
    ) -> Reduced:
        """The smallest IR on which this lowering still fails in the same way: `error.lowering.reduce()`.

        The same way is the same pass, operation and class of message. Of a complete lowering `predicate`, a function of
        the last text, says what is wrong. `alone` runs just the pass that failed; otherwise all steps run on the input.
        `program` looks for the smallest PyTorch program or Triton launch instead, as a file of Python: there a wrong
        result (`check=True`) is a failure too. What a front end refused is a program in any case.
        Stops after `seconds`, on Ctrl-C and when `stop` is set on another thread, with the best so far; `progress` is
        called with each smaller one.

        Raises UsageError when there is nothing to reduce: no failure, one that does not happen again, or no IR.
        """
        if program or self.trace.refused:
            if self.origin.program is None or self.file:
                self._needs_object("reduce(program=True)")
                raise UsageError("Only what was lowered in this process has a program: irwidget.reduce takes a file")
            return self.origin.program(self, predicate, seconds=seconds, progress=progress, stop=stop)
        return reducing.reduce(
            self, predicate, alone=alone, seconds=seconds, options=self.origin.options, progress=progress,
            words=("--toolchain", self.toolchain) if self.toolchain else (), stop=stop,
        )  # fmt: skip

    def _experiment(self, trace: Trace, results: Mapping[str, Any]) -> Lowering:
        made = Lowering(trace, results)
        made.origin, made.toolchain = self.origin, self.toolchain
        return made

    @property
    def _made_by_cell(self) -> Lowering:
        """What the cell made that this goes on from: nothing that was edited after it is in what the cell makes."""
        before = self.results.get("original")
        return before._made_by_cell if before is not None and before.origin.cell is self.origin.cell else self

    def _of_cell(self, trace: Trace, edited: Cell) -> Lowering:
        """What an edited cell gave: of what was lowered there, nothing is here but dumps."""
        options = replace(self.origin.options, stop=None, progress=None)
        made = Lowering(trace, {"original": self, "edited": 0})
        made.toolchain = self.toolchain
        made.origin = Origin(options, lambda *_: _NOT_HERE, ask=self.origin.ask, cell=edited)
        return made

    @property
    def source(self) -> str:
        """The text of the `%%lower` cell that it was lowered in, without the magic; empty where there is none."""
        return self.origin.cell.text if self.origin.cell else ""

    def why(self, *asked: Any) -> Any:
        """Of what torch.compile made: whether two kernels, operations or lines are one kernel, and if not, why.

        Each is a name (`triton_poi_fused_add_0`, `op3`), a line's number or a piece of the line; one alone asks what
        became of it. Raises UsageError for what is none, for none or more than two, and for other IR types.
        """
        self._needs_results("why()")
        answers = next((one for one in self.results.values() if hasattr(one, "why")), None)
        if answers is None:
            raise UsageError(f"why() is of what torch.compile makes, inductor_triton for one, and not of {self.target}")
        if len(asked) not in (1, 2):
            raise UsageError(
                "why() takes one or two of: a kernel's name, an operation's, a line's number, a piece of a line"
            )
        return answers.why(*asked)

    def layouts(self, dump: int | Dump | None = None) -> Layouts:
        """Who owns each element of the tensors of a dump of TTGIR, by its number or as `expand` gives it; by default
        of the last that has layouts. Shows itself: the dump, and the tensor of the line that the pointer is at.

        Raises UsageError where there are no layouts, ToolError without Triton, which is asked for them.
        """
        return layouts.of(self.trace, dump, self.origin.ask)

    def layout(self, what: str | int, dump: int | Dump | None = None) -> Layout:
        """The layout of one tensor of a dump: `what` is a value (`"%acc"`), a type as the dump writes it, or a line
        (from 1). `.owners(i, j)`, `.table("bank")`; `irwidget.layouts.movement` of two.

        Raises UsageError where there is no such layout, ToolError without Triton.
        """
        return layouts.of(self.trace, dump, self.origin.ask)[what]

    def schedule(self, dump: int | Dump | None = None) -> Schedule:
        """When and where the operations of pipelined loops run: by partition, stage and cluster, as Triton's scheduler
        has said in a dump, by its number or as `expand` gives it; by default in the last that says so. `.table()` is
        data; printed, it is text.

        Raises UsageError where nothing is scheduled.
        """
        return triton_schedule.of(self.trace, dump)

    def bufferization(self, index: int | None = None) -> Bufferization:
        """Why operands got buffers of their own when tensors became memory: the read, the write and the definition of
        each conflict that one-shot-bufferize found, with their lines of the dump before it, dump `index - 1`.

        `index` is the dump of one-shot-bufferize; by default the first. The pass runs again, up to its analysis.
        Printed, it is text. Raises UsageError where the pass did not run, and in a lowering that was loaded from a
        file; LoweringError where the analysis fails.
        """
        self._needs_object("bufferization()")
        place = bufferization.pass_of(self.trace, index)
        analysed = self.edit(place - 1).arranged([(0, bufferization.ANALYSIS)]).run()
        return Bufferization(self.dumps[place - 1], analysed.text)

    def run(self, *tensors: Any, **options: Any) -> Any:
        """Execute on the CPU what was lowered: a Helion kernel's module in its host function, or a Spyre program.

        `options` are those of `HelionLowering.run` (`config`, `timeout` ...) or of `SpyreProgram.run`.

        Raises UsageError for other targets and options, and what `HelionLowering.run` and `SpyreProgram.run` raise.
        """
        self._needs_results("run()")
        runs = next((one for one in self.results.values() if hasattr(one, "run")), None)
        if runs is None:
            raise UsageError(
                f"This lowering to {self.target} cannot be run: that takes a Helion kernel's helion_mlir, llvm_mlir or "
                "llvm_ir without a custom pipeline, or a target of Spyre. check=True executes a model"
            )
        try:
            inspect.signature(runs.run).bind(*tensors, **options)
        except TypeError as error:
            raise UsageError(f"run() of a lowering to {self.target}: {error}") from error
        return runs.run(*tensors, **options)

    def _needs_results(self, what: str) -> None:
        """Raises UsageError where what the front end made besides dumps is not here."""
        if self.toolchain:
            raise UsageError(
                f"{what} takes what the compiler made besides dumps, which stays in the process of {self.toolchain}: "
                "lower it without toolchain"
            )
        self._needs_object(what)

    def _needs_object(self, what: str) -> None:
        """Raises UsageError where there is only a file."""
        if self.file:
            raise UsageError(
                f"{what} is not available: this lowering was loaded from {self.file}, which has its dumps and not what "
                "was lowered. Lower it again, in this process"
            )

    def save(self, path: str | Path) -> Path:
        """Write the final IR to a file; all of the lowering, exactly, when the file's name ends in `.irtrace`.

        `irwidget.load` reads the latter. Waits for dumps that are on their way. Raises UsageError when the file
        cannot be written; what was there before an .irtrace file is then still there.
        """
        path = Path(path)
        if path.suffix == file.SUFFIX:
            return file.write([self.trace], path)
        return output.write(path, self.text)

    def to_html(self, path: str | Path | None = None) -> str:
        """One interactive page that needs no kernel and no network; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"{self.name}: {self.target}", path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but attachments as JSON-able data, in the words of an .irtrace file (docs/format.md)."""
        dumps = [
            {
                **plain.dump_to_json(dump),
                "changed": dump.changed,
                "text": dump.text,
                "lines": [place.line if place else 0 for place in dump.locations],
            }
            for dump in self.dumps
        ]
        return {**plain.frame_to_json(self.trace), "sources": dict(self.trace.sources), "dumps": dumps}

    def display(self) -> None:
        """Show the pass diff in the notebook, or the text fallback in a terminal."""
        from IPython.display import display as show

        show(self)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle([self])

    def __repr__(self) -> str:
        return f"<Lowering of {self.trace.summary}>"


def save(lowerings: Sequence[Lowering], path: str | Path) -> Path:
    """Keep all of several lowerings in one .irtrace file. Raises UsageError for another ending, as `Lowering.save`."""
    path = Path(path)
    if path.suffix != file.SUFFIX:
        where = path.with_suffix(file.SUFFIX) if path.name else f"x{file.SUFFIX}"
        raise UsageError(f"Lowerings are kept in {file.SUFFIX} files: {where}, say, not {path}")
    return file.write([lowering.trace for lowering in lowerings], path)
