"""Lowerings that are kept while somebody asks about them, each under a name of its own.

What runs the user's code runs in a child, `python -m irwidget lower`, and leaves an .irtrace file: it may print, crash
or take long, and what it showed up to there is kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irwidget import files
from irwidget.errors import UsageError, near
from irwidget.experiments.comparison import compare
from irwidget.queries import bounds, comparing
from irwidget.queries.questions import Answer, Questions
from irwidget.saved import load_all
from irwidget.toolchain import processes

if TYPE_CHECKING:
    from irwidget.result import Lowering

SECONDS = 600.0
"""What a lowering may take where nobody says."""
_LONGEST = 1e6
"""Seconds that one may be given."""
_FOR_PEOPLE = frozenset(
    "--save --html --output --from-cache --open --load --follow --targets --doctor --help -h --diff --passes".split()
)
"""Options of the command line that print, or write files, and lower nothing here."""
_GRACE = 60.0
"""Seconds that its process may take beyond that, to start and to write."""


class Session:
    """Lowerings by name. Every question raises UsageError for a name that is not there."""

    def __init__(self) -> None:
        self._lowerings: dict[str, Lowering] = {}
        self._questions: dict[str, Questions] = {}

    @property
    def lowerings(self) -> Mapping[str, Lowering]:
        """What is kept, by name."""
        return self._lowerings

    def kept(self, first: int = 0, count: int | None = None) -> Answer:
        """What is kept, by name, from the `first` on, as many as fit into an answer."""
        bounds.check(first, count)
        found = bounds.part([(name, str(low)) for name, low in self._lowerings.items()], first, count)
        return {**found, "items": dict(found["items"])}

    def add(self, low: Lowering) -> str:
        """Keep a lowering; its name is that of the model and the IR type, numbered on where it is taken."""
        stem = re.sub(r"[^\w.]+", "-", f"{low.name or 'ir'}-{low.target}").strip("-")
        name, number = stem, 1
        while name in self._lowerings:
            number += 1
            name = f"{stem}-{number}"
        self._lowerings[name] = low
        self._questions[name] = Questions(low.trace)
        return name

    def get(self, name: str) -> Lowering:
        """A lowering by its name."""
        if name not in self._lowerings:
            known = near(name, self._lowerings) if self._lowerings else "None is kept: lower or open something first."
            raise UsageError(f"There is no lowering {name!r}. {known}")
        return self._lowerings[name]

    def ask(self, name: str) -> Questions:
        """The questions to a lowering."""
        self.get(name)
        return self._questions[name]

    def lower(self, file: str, to: str = "", arguments: Sequence[str] = (), seconds: float = SECONDS) -> Answer:
        """Lower the models and kernels of a Python file, or a file of IR; `arguments` as of `irwidget lower`.

        Answers an overview of each, a failed one too, and what the command said of failures.
        """
        path = files.there(file)
        seconds = _limit(seconds)
        for word in arguments:
            if word.split("=")[0] in _FOR_PEOPLE or re.match(r"-o(?!-)", word):
                raise UsageError(f"{word} is for the command line")
        with tempfile.TemporaryDirectory(prefix="irwidget-") as folder:
            kept = Path(folder, "lowerings.irtrace")
            options = [*(["--to", to] if to else []), "--timeout", f"{seconds:g}", *arguments]
            said = _run(["lower", str(path.resolve()), *options, "--save", str(kept)], seconds + _GRACE)
            # the file is gone after this: all of it is read now
            names = [self.add(low) for low in (load_all(kept) if kept.exists() else [])]
        return self._made(names, said)

    def lower_text(self, text: str, to: str = "", arguments: Sequence[str] = (), seconds: float = SECONDS) -> Answer:
        """Lower Python that is given as text, or IR; otherwise as `lower`."""
        python = re.search(r"^\s*(import|from|def|class)\s+\w", text, re.MULTILINE) is not None
        with tempfile.TemporaryDirectory(prefix="irwidget-") as folder:
            path = Path(folder, "cell.py" if python else "ir")
            path.write_text(text, encoding="utf-8")
            return self.lower(str(path), to, arguments, seconds)

    def open(self, path: str, form: str = "") -> Answer:
        """Open an .irtrace file, a compiler's log or a folder of dumps, by the reader `form` where one is named."""
        from irwidget.commands import opened

        if path in ("", "-"):
            raise UsageError(f"There is nothing to open at {path!r}: name a file or a folder")
        return self._made([self.add(low) for low in opened(path, form or None).values()], "")

    def compare(self, left: str, right: str) -> Answer:
        """Two lowerings pass by pass: the first after which they differ, and what each costs at the end."""
        return comparing.answer(compare(self.get(left), self.get(right)))

    def reduce(self, name: str, seconds: float = 60.0, contains: str = "") -> Answer:
        """The smallest IR on which a failed lowering still fails, and a report for its compiler's developers.

        contains: of a complete lowering, what is wrong with it: that its last text contains this.
        """
        low = self.get(name)
        if low.trace.refused:
            raise UsageError(
                f"{name} was refused before there was IR to make small; python -m irwidget reduce FILE.py "
                f"--to {low.target} makes the program small"
            )
        if not contains and low.trace.failure is None:
            raise UsageError(f"{name} is complete: say by `contains` what text at its end is wrong")
        if contains and low.trace.failure is None and contains not in low.text:
            raise UsageError(f"The text at the end of {name} does not contain {contains!r}: nothing to look for")
        reduced = low.reduce((lambda text: contains in text) if contains else None, seconds=_limit(seconds))
        reduced = reduced.of_text(contains) if contains else reduced
        return {
            "operations": [reduced.before, reduced.operations],
            "complete": reduced.complete,
            "report": bounds.short(reduced.report, bounds.MOST),
        }

    def _made(self, names: Sequence[str], said: str) -> Answer:
        found = bounds.part([(name, self._questions[name].overview()) for name in names])
        left = {"more": bounds.part(names, found["next"])} if "next" in found else {}  # which `overview` tells of
        return {"lowerings": dict(found["items"]), **left, **({"said": bounds.short(said, 3000)} if said else {})}


def _limit(seconds: float) -> float:
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"seconds is a number above 0 and at most {_LONGEST:g}, not {seconds:g}")
    return seconds


def _run(words: Sequence[str], seconds: float) -> str:
    """Run `python -m irwidget`; what it said of failures, and that it took too long or died."""
    command = [sys.executable, "-m", "irwidget", *words]
    nothing = subprocess.DEVNULL
    with processes.session(command, nothing, subprocess.PIPE) as child:
        try:
            said = child.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            processes.end(child.pid)
            told = f"\nnot done after {seconds:g} s, and ended: what was lowered is lost; give it more seconds"
            said = child.communicate()[1] + told.encode()
    if child.returncode == 0:
        return ""
    how = f"ended with {child.returncode}" if child.returncode > 0 else f"ended by signal {-child.returncode}"
    return said.decode(errors="replace").strip() or f"the process that ran the file {how}, and said nothing"
