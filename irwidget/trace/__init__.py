"""What a lowering is: a list of dumps. Plain data, the ground of everything else; no Jupyter, torch or MLIR here."""

from irwidget.trace.data import Diagnostic, Dump, Failure, Inside, Severity, Step, Trace, dump, renumbered
from irwidget.trace.location import Location, Node
from irwidget.trace.made import ContentCache
from irwidget.trace.scope import WHOLE, Scope, predecessors, shared_scope
from irwidget.trace.texts import Computed, Content, KnownTexts, Texts, lines_of
from irwidget.trace.verdicts import Element, Verdict, not_checked

__all__ = [
    "WHOLE",
    "Computed",
    "Content",
    "ContentCache",
    "Diagnostic",
    "Dump",
    "Element",
    "Failure",
    "Inside",
    "KnownTexts",
    "Location",
    "Node",
    "Scope",
    "Severity",
    "Step",
    "Texts",
    "Trace",
    "Verdict",
    "dump",
    "lines_of",
    "not_checked",
    "predecessors",
    "renumbered",
    "shared_scope",
]
