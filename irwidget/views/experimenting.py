"""Experiments in a view: what a page asks for, run in the background, as data that the notebook keeps."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from irwidget.errors import IRWidgetError, LoweringInterrupted, UsageError
from irwidget.experiments.cell import CellExperiment
from irwidget.experiments.comparison import compare
from irwidget.experiments.experiment import Experiment
from irwidget.experiments.passes import Planned, leavable
from irwidget.toolchain.events import PassStarted
from irwidget.trace import Step, Trace, Verdict, lines_of
from irwidget.views import beside
from irwidget.views.requested import asked_for
from irwidget.views.schema import experiments as schema

AnyExperiment = Experiment[Any] | CellExperiment[Any]
CELL = -1
"""The stage that stands for the cell."""


class Shows(Protocol):
    """The view that experiments are of."""

    traces: tuple[Trace, ...]

    def put(self, traces: tuple[Trace, ...], at: tuple[int, int, int, int] | None) -> None:
        """Show these lowerings; `at`: the lowering and that beside it, the dump of that and of the first."""
        ...

    def tell(self, experiments: list[schema.Experiment]) -> None:
        """Have the page know of the experiments as they are now."""
        ...


@dataclass
class _Kept:
    """An experiment, and what only this process has of it."""

    said: schema.Experiment
    lowering: Any = None
    stop: threading.Event = field(default_factory=threading.Event)


class Experiments:
    """The experiments of one view. Every public method may be called on any thread, and raises IRWidgetError."""

    def __init__(self, view: Shows, lowerings: Sequence[Any]) -> None:
        self._view = view
        self._lowerings = tuple(lowerings)
        """What the view shows besides experiments, in its order; empty where that cannot be edited."""
        self._kept: dict[int, _Kept] = {}
        self._lock = threading.RLock()

    # What a page asks for

    def answer(self, request: Mapping[str, Any]) -> bytes:
        """Do what a message of the page says; what there is to answer, as bytes. Raises UsageError."""
        asked = asked_for(request)
        match asked.do:
            case "plan":
                return json.dumps(self.plan(asked.trace, asked.stage)).encode()
            case "problems":
                return json.dumps(self.problems(asked.trace, asked.stage, asked.text or "")).encode()
            case "go":
                self.go(asked.trace, asked.stage, asked.text, asked.passes, name=asked.name, check=asked.check)
            case "without":
                self.without(asked.trace, asked.stage)
            case "again":
                self.again(asked.experiment)
            case "stop":
                self._found(asked.experiment).stop.set()
            case "rename":
                self.rename(asked.experiment, asked.name)
            case "remove":
                self.remove(asked.experiment)
            case "recall":
                self.recall(asked.experiments)
            case _:
                return self.files(asked.experiment)
        return b""

    def plan(self, trace: int, stage: int) -> schema.Plan:
        """What runs after a dump, and whether somebody reads its text as it is edited."""
        experiment = self._at(trace, stage)
        return {"passes": [_planned(one) for one in experiment.passes], "parser": experiment.read}

    def problems(self, trace: int, stage: int, text: str) -> list[schema.Problem]:
        """What the parser and the verifier say of a text in place of a dump."""
        found = self._at(trace, stage, text).problems()
        return [
            {
                "line": said.location.line if said.location else 0,
                "column": said.location.column if said.location else 0,
                "message": said.message,
            }
            for said in found
        ]

    def go(
        self,
        trace: int,
        stage: int,
        text: str | None,
        passes: list[schema.ArrangedPass] | None,
        *,
        name: str = "",
        check: bool = False,
    ) -> int:
        """Begin an experiment: from a dump, with another text or other passes or both, or from the cell; its id."""
        if stage == CELL:
            lowering, parent = self._of_cell(trace)
            index, before, after = CELL, lowering.source, "the cell"
        else:
            lowering, index, parent = self._dump(trace, stage)
            dump = lowering.trace.dumps[index]
            before, after = dump.text, dump.name
        said: schema.Experiment = {
            "id": 0,
            "name": name,
            "parent": parent,
            "lowering": self._origin(parent, trace),
            "stage": index,
            "after": after,
            "edit": None if text is None else _edit(before, text),
            "passes": passes,
            "check": check,
            "state": "running",
            "trace": -1,
            "message": "",
            "pipeline": "",
            "toolchain": getattr(lowering, "toolchain", ""),
            "switches": [],
            "cell": lowering.origin.cell.line if stage == CELL and lowering.source else "",
            "outcome": None,
        }
        kept = _Kept(said)
        experiment = self._experiment(kept, lowering)
        said["name"] = name or experiment.says
        with self._lock:
            said["id"] = max(self._kept, default=0) + 1
            self._kept[said["id"]] = kept
        self._start(kept, experiment)
        return said["id"]

    def without(self, trace: int, stage: int) -> int:
        """Begin an experiment that leaves out the pass of a dump, from the last dump before that it can begin at."""
        lowering, index, _ = self._dump(trace, stage)
        why = UsageError("The input is what everything starts from: there is no pass to leave out")
        for start in range(index - 1, -1, -1):
            try:
                planned: Sequence[Planned] = lowering.edit(start).passes
            except UsageError as error:
                why = error
                continue
            order: list[schema.ArrangedPass] = [
                {"place": place, "options": {}} for place, one in enumerate(planned) if one.index != index
            ]
            if len(order) == len(planned):
                break
            return self.go(trace, stage - index + start, None, order)
        raise UsageError(f"This pass cannot be left out. {why}")

    def again(self, experiment: int) -> None:
        """Run an experiment that does not run now."""
        kept = self._found(experiment)
        if kept.said["state"] == "running":
            raise UsageError("This experiment is running: stop it first")
        self._start(kept)

    def rename(self, experiment: int, name: str) -> None:
        """Give an experiment another name."""
        kept = self._found(experiment)
        if not name.strip():
            raise UsageError("An experiment has a name: this one is empty")
        with self._lock:
            kept.said["name"] = name.strip()
            if kept.lowering is not None:
                old: Trace = kept.lowering.trace
                first = old.name.partition(": ")[0]
                kept.lowering.trace = replace(old, name=f"{first}: {name.strip()}")
                self._show(None)
            self._tell()

    def remove(self, experiment: int) -> None:
        """Forget an experiment, and those that start from it."""
        self._found(experiment)
        with self._lock:
            gone = {experiment}
            while more := {id for id, one in self._kept.items() if one.said["parent"] in gone} - gone:
                gone |= more
            shown = any(self._kept[id].said["trace"] >= 0 for id in gone)
            for id in gone:
                self._kept.pop(id).stop.set()
            if shown:
                self._show(None)
            self._tell()

    def recall(self, experiments: Sequence[schema.Experiment]) -> None:
        """Take up experiments that were kept of an earlier view; they have not run here."""
        with self._lock:
            if self._kept or not self._lowerings:
                return
            known = {one["id"] for one in experiments}
            for one in experiments:
                if one["lowering"] < len(self._lowerings) and (one["parent"] == 0 or one["parent"] in known):
                    again: schema.Experiment = {**one, "state": "kept", "trace": -1, "message": "", "outcome": None}
                    self._kept[one["id"]] = _Kept(again)
            self._tell()

    def files(self, experiment: int) -> bytes:
        """The text and the commands of an experiment, as a zip archive."""
        kept = self._found(experiment)
        packed = io.BytesIO()
        with tempfile.TemporaryDirectory(prefix="irwidget-") as folder, zipfile.ZipFile(packed, "w") as archive:
            self._experiment(kept, self._base(kept)).save(folder)
            for file in sorted(Path(folder).iterdir()):
                archive.write(file, file.name)
        return packed.getvalue()

    def stop(self) -> None:
        """Stop what runs, and forget all."""
        for one in self._kept.values():
            one.stop.set()
        self._kept, self._lowerings = {}, ()

    # Where they start

    def _found(self, experiment: int) -> _Kept:
        if experiment not in self._kept:
            raise UsageError(f"There is no experiment {experiment} any more")
        return self._kept[experiment]

    def lowering_of(self, trace: int, stage: int) -> tuple[Any, int]:
        """What a dump of the view is in, and its number there. Raises UsageError where that cannot be edited."""
        lowering, index, _ = self._dump(trace, stage)
        return lowering, index

    def shown(self) -> list[Any]:
        """Every lowering that the view shows, experiments last; nothing where these cannot be edited."""
        return [*self._lowerings, *(one.lowering for one in list(self._kept.values()) if one.lowering is not None)]

    def cells(self) -> list[str]:
        """The text of the cell of each; "" where there is none."""
        return [getattr(one, "source", "") for one in self.shown()]

    def leavable(self) -> list[list[int]]:
        """For each the stages whose pass can be left out."""
        found: list[list[int]] = []
        for lowering, trace in zip(self.shown(), self._view.traces, strict=False):
            places = leavable(lowering.trace)
            found.append([stage for stage, dump in enumerate(trace.dumps) if lowering.trace.place_of(dump) in places])
        return found

    def _at(self, trace: int, stage: int, text: str | None = None) -> AnyExperiment:
        if stage == CELL:
            lowering, _ = self._holder(trace)
            return lowering.edit(source=lowering.source if text is None else text)
        lowering, index, _ = self._dump(trace, stage)
        return lowering.edit(index, text)

    def _holder(self, trace: int) -> tuple[Any, int]:
        """A lowering of the view, and the experiment that made it or 0."""
        if not self._lowerings:
            raise UsageError("These dumps cannot be edited: the view was not made of what irwidget.lower gave")
        if not 0 <= trace < len(self._view.traces):
            raise UsageError(f"There is no lowering {trace}")
        parent = next((id for id, one in self._kept.items() if one.said["trace"] == trace), 0)
        if not parent and trace >= len(self._lowerings):
            raise UsageError("Only the text of this run is kept: edit what the cell has made last")
        return (self._kept[parent].lowering if parent else self._lowerings[trace]), parent

    def _of_cell(self, trace: int) -> tuple[Any, int]:
        """The lowering that a cell made, of which one of the view is or goes on from a dump; likewise."""
        lowering, parent = self._holder(trace)
        while parent and self._kept[parent].said["stage"] != CELL:
            lowering, parent = self._base(self._kept[parent]), self._kept[parent].said["parent"]
        return lowering, parent

    def _dump(self, trace: int, stage: int) -> tuple[Any, int, int]:
        """What a dump of the view is in: its lowering, its number there, and the experiment that made it or 0."""
        lowering, parent = self._holder(trace)
        traces = self._view.traces
        if not 0 <= stage < len(traces[trace].dumps):
            raise UsageError(f"There is no stage {stage} of lowering {trace}")
        index = lowering.trace.place_of(traces[trace].dumps[stage])
        if index is None:
            raise UsageError("This dump was made by running the passes inside of a step: edit the one before the step")
        return lowering, index, parent

    def _origin(self, parent: int, trace: int) -> int:
        return self._kept[parent].said["lowering"] if parent else trace

    def _base(self, kept: _Kept) -> Any:
        """The lowering that an experiment starts from."""
        parent = kept.said["parent"]
        if not parent:
            return self._lowerings[kept.said["lowering"]]
        before = self._found(parent)
        if before.lowering is None:
            raise UsageError(f"Run {before.said['name']!r} first, which this starts from")
        return before.lowering

    def _experiment(self, kept: _Kept, base: Any) -> AnyExperiment:
        """What an experiment runs. Raises UsageError where the text that it changes is another one now."""
        said = kept.said
        if said["stage"] == CELL:
            source = base.source if said["edit"] is None else _edited(base.source, said["edit"])
            return base.edit(source=source).named(said["name"])
        dumps = base.trace.dumps
        if said["stage"] >= len(dumps) or dumps[said["stage"]].name != said["after"]:
            raise UsageError(
                f"Dump {said['stage']} is not of {said['after']} any more: the lowering is another one now"
            )
        text = None if said["edit"] is None else _edited(dumps[said["stage"]].text, said["edit"])
        experiment = base.edit(said["stage"], text).named(said["name"])
        order = said["passes"]
        return experiment if order is None else experiment.arranged([(one["place"], one["options"]) for one in order])

    # Running

    def _start(self, kept: _Kept, experiment: AnyExperiment | None = None) -> None:
        experiment = experiment or self._experiment(kept, self._base(kept))
        switches = experiment.switches
        with self._lock:
            kept.stop = threading.Event()
            kept.said.update({"state": "running", "message": "", "outcome": None})
            kept.said.update({"pipeline": experiment.pipeline, "switches": switches})
            self._tell()
        threading.Thread(target=self._run, args=(kept, experiment.named(kept.said["name"])), daemon=True).start()

    def _run(self, kept: _Kept, experiment: AnyExperiment) -> None:
        def progress(begun: PassStarted, _: Step, __: float) -> None:
            self._say(kept, message=begun.name)

        lowering: Any = None
        state: schema.ExperimentState = "done"
        message = ""
        try:
            lowering = experiment.run(check=kept.said["check"], stop=kept.stop, progress=progress)
        except LoweringInterrupted as stopped:
            lowering, state, message = stopped.lowering, "stopped", "Stopped"
        except IRWidgetError as error:
            lowering, state = error.lowering, "failed"
            failure = lowering.trace.failure if lowering is not None else None
            message = failure.message if failure else str(error)
        except BaseException as error:  # the page must not wait for ever
            state, message = "failed", f"{type(error).__name__}: {error}"
        with self._lock:
            if kept not in self._kept.values():
                return
            kept.said.update({"state": state, "message": message})
            kept.lowering = lowering
            if lowering is not None:
                self._show(kept)
            else:
                kept.said["trace"] = -1
            self._tell()
        if lowering is not None:
            self._compare(kept, experiment)

    def _compare(self, kept: _Kept, experiment: AnyExperiment) -> None:
        """Hold the experiment beside what it starts from, when all texts are there."""
        original, lowering = experiment.original, kept.lowering
        checks: tuple[Verdict | None, Verdict | None] = original.trace.check, lowering.trace.check
        try:
            if kept.said["check"] and checks[0] is None and experiment.judge and not original.trace.failure:
                checks = experiment.judge(original.trace, experiment.options, None), checks[1]
            found = beside.outcome(compare(original, lowering), checks)
        except IRWidgetError as error:
            self._say(kept, message=f"Not compared: {error}")
        else:
            self._say(kept, outcome=found)

    # What is shown

    def _say(self, kept: _Kept, **said: Any) -> None:
        with self._lock:
            if kept in self._kept.values():
                kept.said.update(cast(Any, said))
                self._tell()

    def _tell(self) -> None:
        self._view.tell([{**one.said} for one in self._kept.values()])

    def _show(self, fresh: _Kept | None) -> None:
        """Show the lowerings and the experiments that have run, in order; a fresh one beside what it starts from."""
        traces = [*self._view.traces[: len(self._lowerings)]]
        for one in self._kept.values():
            if one.lowering is not None:
                one.said["trace"] = len(traces)
                traces.append(one.lowering.trace)
        at = None
        if fresh is not None:
            parent = fresh.said["parent"]
            beside = self._kept[parent].said["trace"] if parent else fresh.said["lowering"]
            at = (fresh.said["trace"], beside, len(traces[beside].dumps) - 1, len(fresh.lowering.trace.dumps) - 1)
        self._view.put(tuple(traces), at)


def _planned(one: Planned) -> schema.PlannedPass:
    return {"name": one.name, "step": one.step.tool, "stage": one.index, "options": one.options}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _edit(before: str, after: str) -> schema.TextEdit | None:
    """What is other in a text, as one range of lines; None where nothing is."""
    old, new = lines_of(before), lines_of(after)
    if old == new:
        return None
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - first
    last = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return {
        "first": first,
        "gone": len(old) - first - last,
        "lines": new[first : len(new) - last],
        "of": _digest(before),
    }


def _edited(before: str, edit: schema.TextEdit) -> str:
    """The text with an edit in it. Raises UsageError where it is not the text that was edited."""
    if _digest(before) != edit["of"]:
        raise UsageError("What was edited has another text now: edit it again")
    lines = lines_of(before)
    lines[edit["first"] : edit["first"] + edit["gone"]] = edit["lines"]
    return "\n".join(lines) + "\n"
