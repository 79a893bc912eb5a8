"""What a process of a toolchain is asked, and what it answers: plain data, both ways."""

from __future__ import annotations

from dataclasses import dataclass

from irwidget.toolchain.events import PassStarted
from irwidget.toolchain.triton_layouts import Answer as Layout
from irwidget.toolchain.triton_layouts import Question
from irwidget.toolchains.carry import Parcel
from irwidget.trace import Step


@dataclass(frozen=True)
class Work:
    """Lower an object to one IR type, or to several."""

    parcel: Parcel
    """The object, its inputs and the keyword arguments of `irwidget.lower`."""
    to: str | list[str]
    toolchain: str
    folders: tuple[str, ...]
    """What its environment imports from first."""
    packages: tuple[str, ...]
    """What its environment brings, by the names that pip has."""
    timeout: float | None = None


@dataclass(frozen=True)
class Questions:
    """Ask the Triton of the environment about layouts."""

    asked: tuple[Question, ...]
    toolchain: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Ready:
    """The process has imported what it needs, and begins."""


@dataclass(frozen=True)
class Phase:
    """What it is at besides passes."""

    name: str


@dataclass(frozen=True)
class Began:
    """A pass begins, so many seconds after the run did."""

    started: PassStarted
    step: Step
    seconds: float


@dataclass(frozen=True)
class Answer:
    """What was made, and what went wrong."""

    file: bytes
    """The traces as an .irtrace file; empty where there is none."""
    names: tuple[str, ...] = ()
    """The IR type of each."""
    error: bytes = b""
    """The exception by pickle, without the lowerings that it holds."""
    failed: str = ""
    """The IR type of the lowering that the exception is about."""
    interrupted: str = ""
    """What an interrupt leaves to say."""
    layouts: tuple[Layout, ...] = ()
    """What the questions were answered with."""


Message = Ready | Phase | Began | Answer
