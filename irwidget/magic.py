"""`%%lower` and `%lower`: arguments -> lower() -> a view."""

from __future__ import annotations

import argparse
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from IPython.core.completer import context_matcher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import clear_output
from traitlets import Enum, Float

from irwidget import arguments, cells, commands, display, imports, private_ipython, reports, rerun, routes, versus
from irwidget.commands import check_pipeline, first_that_fits, lower_all, targets_of
from irwidget.errors import IRWidgetError, LoweringInterrupted, UsageError
from irwidget.frontends import places
from irwidget.frontends import torch as frontend
from irwidget.frontends.cell import Call, Candidate, variable
from irwidget.progress import ProgressLine
from irwidget.result import save

_log = logging.getLogger(__name__)
IMPORTING = "in the import of PyTorch, which goes on, "
"""Where an interrupt ends the waiting only."""


@magics_class
class LowerMagics(Magics):
    """The magics. What they take for options that a line does not give is set by `%config LowerMagics.timeout = 60`."""

    shell: InteractiveShell  # pyright: ignore[reportIncompatibleVariableOverride]

    timeout = Float(600.0, allow_none=True, help="Seconds that a lowering may take; None: as long as it wants.")
    timeout.tag(config=True)
    route = Enum(("robust", "explorer"), "robust", help="The route: robust, or explorer, PyTorch Explorer's own.")
    route.tag(config=True)

    def _parsed(self, line: str, prog: str, *, objects: bool) -> argparse.Namespace:
        # Options come with the front ends: an import that Ctrl-C ends leaves half of them.
        self._wait(imports.OURS, first=not objects)
        defaults: dict[str, Any] = {"timeout": self.timeout}
        if "--interactive" not in line:
            defaults["route"] = self.route
        return arguments.parse(line, prog, objects=objects, defaults=defaults)

    def _wait(self, names: tuple[str, ...], *, first: bool) -> None:
        """Wait for the thread that imports. On a page, what is said meanwhile goes when the cell has more to say.

        With all that the cell has shown: something is said only where this comes `first` in it.
        """
        said: list[str] = []

        def late() -> None:
            if first and display.cell_id(self.shell) is not None:
                said.append("importing what lowerings need, once in each kernel")
                print(*said)

        try:
            with _one_line(IMPORTING):
                imports.wait(names, late)
        finally:
            if said:
                clear_output(wait=True)

    # A pipeline is full of braces and dollars that mean something to its tools.
    @no_var_expand
    @cell_magic("lower")
    def lower_cell(self, line: str, cell: str) -> None:
        """Run the cell, then lower the models in it: `%%lower --to tosa_mlir`."""
        with _one_line():
            self._lower_cell(line, cell)

    def _lower_cell(self, line: str, cell: str) -> None:
        parsed = self._parsed(line, "%%lower", objects=False)
        if reports.answered(parsed):
            return
        if parsed.command:
            self._run(cell, parsed)
            return
        options = arguments.pipeline_options(parsed) if parsed.interactive else {}
        if parsed.interactive:
            check_pipeline(parsed)
        wanted = [] if parsed.interactive and not parsed.to else targets_of(parsed)
        if cells.needs_torch(wanted):
            self._wait(imports.TORCH, first=True)  # the cell is about to import some of it, too
        with _interrupts_of(self.shell) as interrupted:
            try:
                errors: list[BaseException] = []
                candidates = cells.candidates(self.shell, line, cell, wanted, parsed, errors=errors)
            except cells.AlreadyShown:
                if interrupted:
                    raise LoweringInterrupted(interrupted[0]) from None
                raise
        if parsed.interactive:
            candidates = cells.unrefused(candidates)
            self._edit(candidates, [parsed.model or "", *arguments.split(parsed.inputs)], parsed, options)
        else:
            rerun.refused(candidates, cell, parsed)
            self._lower(candidates, wanted, parsed, cell=(line, cell))
        if errors:
            raise cells.AlreadyShown.of(errors[0])

    def _run(self, cell: str, parsed: argparse.Namespace) -> None:
        """Run the cell as a command line, and show the passes that it prints; how it failed is raised at the end."""
        with ProgressLine(enabled=not parsed.text and display.cell_id(self.shell) is not None) as progress:
            view: Any = None

            def came(found: Mapping[str, Any]) -> None:
                nonlocal view
                view = self._grow(view, found, progress)

            done, problem = commands.run(cell, parsed, progress, None if parsed.text else came)
            if done:
                self._show(done, parsed, progress, view)
        if problem:
            raise problem

    def _grow(self, view: Any, found: Mapping[str, Any], progress: ProgressLine) -> Any:
        """Show what has come so far, in the view that has shown what came before; gives the view."""
        results = list(found.values())
        if view is None:
            view = display.shown(results, display.place(self.shell))
            progress.show(view, again=True)
        else:
            display.grow(view, results)
        return view

    @no_var_expand
    @line_magic("lower")
    def lower_line(self, line: str) -> None:
        """Lower an object that exists already: `%lower model x --to tosa_mlir`."""
        with _one_line():
            self._lower_line(line)

    def _lower_line(self, line: str) -> None:
        parsed = self._parsed(line, "%lower", objects=True)
        if reports.answered(parsed):
            return
        if parsed.from_cache:
            with ProgressLine(enabled=False) as progress:
                self._show(cells.cached(parsed.from_cache, parsed.to or ""), parsed, progress)
            return
        if parsed.open and parsed.follow:
            self._follow(parsed)
            return
        if parsed.open:
            with ProgressLine(enabled=False) as progress:
                self._show(commands.opened(parsed.open, parsed.format), parsed, progress)
            return
        if parsed.interactive:
            check_pipeline(parsed)
        wanted = [] if parsed.interactive else targets_of(parsed)
        names = [*([parsed.model] if parsed.model else []), *parsed.names, *arguments.split(parsed.inputs)]
        if not names:
            raise UsageError("%lower needs the name of a model: %lower model x --to tosa_mlir")
        values = [variable(name, self.shell.user_ns) for name in names]
        shapes = variable(parsed.dynamic_shapes, self.shell.user_ns) if parsed.dynamic_shapes else None
        candidate = Candidate(names[0], values[0], (Call(tuple(values[1:]), told=True, dynamic_shapes=shapes),))
        if parsed.interactive:
            self._edit([candidate], names, parsed, arguments.pipeline_options(parsed))
        else:
            self._lower([candidate], wanted, parsed)

    def _follow(self, parsed: argparse.Namespace) -> None:
        """Show a log that grows, from its first dump on; the view follows it until its cell runs again."""
        found = commands.followed(parsed.open, parsed.format)
        with ProgressLine(enabled=display.cell_id(self.shell) is not None) as progress:
            progress.say(f"waiting for the first dump in {parsed.open}")
            view = self._show(next(found), parsed, progress)
        threading.Thread(target=self._go_on, args=(found, view, parsed), name="irwidget-follow", daemon=True).start()

    def _go_on(self, found: Iterator[Mapping[str, Any]], view: Any, parsed: argparse.Namespace) -> None:
        try:
            for done in found:
                if view is None or view.comm is None:
                    return
                self._bind("_lowering", done, parsed)
                display.grow(view, list(done.values()))
        except IRWidgetError as error:  # the log is gone: what was shown stays
            _log.info("%s is not followed any more: %s", parsed.open, error)

    def _edit(
        self,
        candidates: Sequence[Candidate],
        names: Sequence[str],
        parsed: argparse.Namespace,
        options: Mapping[str, Any],
    ) -> None:
        """Show the pipeline widget of each model, and bind it to `_pipeline`; `names` are the user's."""
        from IPython.display import display as show

        from irwidget.editor.widget import Pipeline
        from irwidget.views.base import Stack, replace

        made: dict[str, Pipeline] = {}
        for candidate in candidates:
            name = parsed.name or candidate.name
            make = partial(Pipeline, to=parsed.to, names=names, name=name, **options)
            made[candidate.name] = first_that_fits(candidate, make)
        self._bind("_pipeline", made, parsed)
        widgets = list(made.values())
        show(replace(display.place(self.shell), widgets[0] if len(widgets) == 1 else Stack(children=widgets)))

    def _bind(self, name: str, made: Mapping[str, Any], parsed: argparse.Namespace) -> None:
        """Put what was made into the user's namespace: by itself, or several by name."""
        result: Any = next(iter(made.values())) if len(made) == 1 else dict(made)
        for one in (name, *([parsed.out] if parsed.out else [])):
            self.shell.user_ns[one] = result

    def _lower(
        self,
        candidates: Sequence[Candidate],
        wanted: Sequence[str],
        parsed: argparse.Namespace,
        cell: tuple[str, str] | None = None,
    ) -> None:
        """Lower each model to each target and show what came out; the first error is raised at the end.

        `cell` is the line of the magic and the text below it.
        """
        # Nobody watches a notebook that is executed without a page; such runs send no cell id.
        with ProgressLine(enabled=not parsed.text and display.cell_id(self.shell) is not None) as progress:
            make = partial(versus.compared, namespace=self.shell.user_ns) if parsed.versus else lower_all
            done, problems = make(candidates, wanted, parsed, progress)
            if done and cell:
                rerun.attach(done, self.shell, *cell, parsed)
            if done:
                self._show(done, parsed, progress)
        if problems:
            raise problems[0]

    def _show(
        self, done: Mapping[str, Any], parsed: argparse.Namespace, progress: ProgressLine, view: Any = None
    ) -> Any:
        """Show, and write what is asked for; `view` has shown what came before. Gives the view, None for text."""
        self._bind("_lowering", done, parsed)
        results = list(done.values())
        if parsed.html:
            display.page(results, "; ".join(done), parsed.html)
        if parsed.save:
            save(versus.sides(results), parsed.save)
        if parsed.text:
            if begun := versus.with_passes(results):
                print(display.text(begun))
            return None
        if view is None:
            view = display.shown(results, display.place(self.shell))
        else:
            display.grow(view, results, last=True)
        progress.show(view)
        return view


@contextlib.contextmanager
def _one_line(where: str = "") -> Generator[None]:
    """What an interrupt leaves in the cell, wherever it strikes."""
    began = time.monotonic()
    try:
        yield
    except LoweringInterrupted:
        raise
    except KeyboardInterrupt:
        raise LoweringInterrupted(f"interrupted {where}after {time.monotonic() - began:.0f} s") from None


@contextlib.contextmanager
def _interrupts_of(shell: InteractiveShell) -> Generator[list[str]]:
    """Have an interrupt of the user's own code noted, with its line, in place of IPython's page of frames."""
    noted: list[str] = []
    began = time.monotonic()

    def note(_shell: Any, _kind: Any, error: BaseException, *_: Any, **__: Any) -> None:
        if isinstance(error, LoweringInterrupted):
            noted.append(str(error))
            return
        place = frontend.user_line(error)
        where = f", {places.describe(place)}" if place else ""
        noted.append(f"interrupted in the cell's own code{where}, after {time.monotonic() - began:.0f} s")

    if private_ipython.handles_exceptions(shell):  # somebody else's
        yield noted
        return
    shell.set_custom_exc((KeyboardInterrupt,), note)
    try:
        yield noted
    finally:
        shell.set_custom_exc((), None)


@context_matcher()
def complete(context: Any) -> Any:
    """Completion of the options of %%lower and %lower, and of the IR types after --to."""
    line: str = context.line_with_cursor[: context.cursor_position] if context.cursor_line == 0 else ""
    words = line.split()
    if not words or words[0] not in ("%%lower", "%lower"):
        return {"completions": []}
    from IPython.core.completer import SimpleCompletion

    token = "" if line.endswith(" ") else words[-1]
    previous = words[-1] if line.endswith(" ") else words[-2] if len(words) > 1 else ""
    if previous == "--to":
        done, _, token = token.rpartition(",")
        names = [f"{done},{name}" if done else name for name in routes.targets() if name.startswith(token)]
    elif known := arguments.words_for(previous):
        names = [name for name in known if name.startswith(token)]
    elif token.startswith("-") or not token:
        names = [name for name in arguments.option_names() if name.startswith(token)]
    else:
        names = []
    return {"completions": [SimpleCompletion(name, type="param") for name in names], "suppress": bool(names)}


def _help(prog: str, *, objects: bool) -> Callable[[], str]:
    """What IPython asks a magic for when somebody types `%lower?`: its options, those of other packages too."""
    return lambda: arguments.parser(prog, objects=objects).format_help()


setattr(LowerMagics.lower_cell, "getdoc", _help("%%lower", objects=False))  # noqa: B010
setattr(LowerMagics.lower_line, "getdoc", _help("%lower", objects=True))  # noqa: B010


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion; start the worker and the import of PyTorch in the background."""
    magics = LowerMagics(shell)
    shell.register_magics(magics)
    private_ipython.configure(shell, magics)
    private_ipython.add_matcher(shell, complete)
    from irwidget.toolchain import client

    imports.begin()
    client.warm()


def unload(shell: InteractiveShell) -> None:
    """End the worker and, after the module that it is at, the import; take the completion back."""
    from irwidget.toolchain import client

    imports.end()
    client.shutdown()
    private_ipython.remove_matcher(shell, complete)
