"""The Spyre view as a Jupyter widget: a program's cores, tiles, memory and reasons. What it looks like is in js/."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

import traitlets

from irwidget.errors import IRWidgetError, UsageError
from irwidget.spyre.comparison import compare, told
from irwidget.spyre.picture import picture, texts
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.recompile import changes, recompile
from irwidget.spyre.searching import rows, search
from irwidget.spyre.sent import shared, shared_texts
from irwidget.views import base, spyre_fallbacks
from irwidget.views.base import packed
from irwidget.views.widget import PassDiff


class SpyreView(base.BundledView):
    """One compiled program: which core does which tile of which tensor, where it lies, and why.

    The selection is shared: `op` is a number in `ops`, `core` a core, `tensor` a buffer or nothing, `iteration` a
    number among the iterations of the coarse loops around the op. Set them from Python or observe them.
    """

    _code = "spyre"

    op = traitlets.Int(0).tag(sync=True)
    core = traitlets.Int(0).tag(sync=True)
    tensor = traitlets.Unicode().tag(sync=True)
    iteration = traitlets.Int(0).tag(sync=True)

    data = traitlets.Bytes().tag(sync=True)
    former = traitlets.Bytes().tag(sync=True)
    """The program before it was compiled again, and what changed."""
    texts = traitlets.Bytes().tag(sync=True)
    """OpSpecs, SuperDSC and bundle.mlir; sent when the page asks."""

    def __init__(self, program: SpyreProgram, **state: Any) -> None:
        self.program = program
        self.picture = picture(program)
        super().__init__(data=packed(shared(self.picture)), **{"op": opening(self.picture), **state})
        self.on_msg(self._asked)

    @property
    def ops(self) -> list[str]:
        """What `op` numbers: the ops in launch order."""
        return [f"{op['buffer']} = {op['func']}" for op in self.picture["ops"]]

    @traitlets.validate("op")
    def _op(self, proposal: Any) -> int:
        return _within("op", int(proposal.value), len(self.picture["ops"]))

    @traitlets.validate("core")
    def _core(self, proposal: Any) -> int:
        return _within("core", int(proposal.value), self.picture["cores"])

    @traitlets.validate("tensor")
    def _tensor(self, proposal: Any) -> str:
        if proposal.value and proposal.value not in self.picture["buffers"]:
            raise UsageError(f"There is no tensor {proposal.value!r} in {self.program.name}.")
        return str(proposal.value)

    @traitlets.validate("iteration")
    def _iteration(self, proposal: Any) -> int:
        if int(proposal.value) < 0:
            raise UsageError(f"There is no iteration {proposal.value}: they are counted from 0.")
        return int(proposal.value)

    def recompile(self, **change: Any) -> SpyreProgram:
        """Compile the program again with other options and show it beside the former one.

        Options: see `irwidget.spyre.recompile.recompile`. Raises what it raises; the view then stays as it is.
        """
        made = recompile(self.program, change)
        after = picture(made)
        former = {
            "picture": shared(self.picture),
            "changes": changes(self.picture, after),
            "fields": told(compare(self.program, made)),
        }
        self.program, self.picture = made, after
        with self.hold_sync():
            self.op = min(self.op, max(len(after["ops"]) - 1, 0))
            self.core = min(self.core, after["cores"] - 1)
            self.tensor = self.tensor if self.tensor in after["buffers"] else ""
            self.iteration = 0
            self.former, self.texts, self.data = packed(former), b"", packed(shared(after))
        return made

    def _asked(self, _widget: Any, content: Mapping[str, Any], _buffers: Any) -> None:
        """Answer a message of the page, errors included."""
        answer: dict[str, Any] = {"id": content.get("id")}
        try:
            kind = content.get("kind")
            if kind == "texts":
                self.texts = packed(shared_texts(texts(self.program)))
            elif kind == "search":
                found = search(self.program)
                self.send(answer, [packed({"method": found.method, "proven": found.proven, "plans": rows(found)})])
                return
            elif kind == "recompile":
                change: Any = content.get("change")
                if not isinstance(change, dict):
                    raise UsageError("a recompilation needs the options to change")
                self.recompile(**{str(k): v for k, v in cast("dict[Any, Any]", change).items()})
            else:
                raise UsageError(f"the Spyre view does not answer {kind!r}")
        except IRWidgetError as error:
            answer["error"] = str(error)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        self.send(answer)

    def close(self) -> None:
        """Take the view off the page and let go of its data."""
        super().close()
        for name in ("data", "former", "texts"):
            self.set_trait(name, b"")

    def __repr__(self) -> str:
        return f"<SpyreView of {self.program.name}: {len(self.picture['ops'])} ops on {self.picture['cores']} cores>"

    def saved(self) -> list[dict[str, Any]]:
        untouched = {name: value for name, value in state_of(self.program, self.picture).items() if name != "data"}
        chosen = {"op": self.op, "core": self.core, "tensor": self.tensor, "iteration": self.iteration}
        return [{"bundle": self._code, "state": untouched | chosen, "data": self.data}]

    def fallbacks(self) -> tuple[str, str]:
        return spyre_fallbacks.html(self.picture), spyre_fallbacks.text(self.picture)


def _within(what: str, value: int, count: int) -> int:
    if not -count <= value < count:
        raise UsageError(f"There is no {what} {value}: this program has {count}, counted from 0.")
    return value % count


class Lowered(base.Stack):
    """The programs of a lowering, and below them their passes."""

    def __init__(self, views: Sequence[SpyreView], passes: PassDiff) -> None:
        super().__init__(children=[*views, passes])
        self.views, self.passes = tuple(views), passes


def show(program: SpyreProgram, *, key: str | None = None) -> SpyreView:
    """Make the view of a program; showing again with the same key closes the view before."""
    return base.replace(key, SpyreView(program))


def opening(drawn: Mapping[str, Any]) -> int:
    """The op that a view opens with: the first that has tiles, since a host call has none."""
    return next((number for number, op in enumerate(drawn["ops"]) if op["tensors"]), 0)


def state_of(program: SpyreProgram, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The traits of a view that nobody has touched yet, with the program as `picture` drew it; bytes as base64."""
    return {
        "op": opening(drawn),
        "core": 0,
        "tensor": "",
        "iteration": 0,
        "former": "",
        "data": base64.b64encode(packed(shared(drawn))).decode(),
        "texts": base64.b64encode(packed(shared_texts(texts(program)))).decode(),
    }
