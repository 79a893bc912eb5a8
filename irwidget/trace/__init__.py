"""What a lowering is: a list of dumps. Plain data, the ground of everything else; no Jupyter, torch or MLIR here."""

from irwidget.trace.data import (
    Content,
    Diagnostic,
    Dump,
    Failure,
    Location,
    Node,
    Severity,
    Step,
    Trace,
    dump,
)
from irwidget.trace.verdicts import Element, Verdict, not_checked

__all__ = [
    "Content",
    "Diagnostic",
    "Dump",
    "Element",
    "Failure",
    "Location",
    "Node",
    "Severity",
    "Step",
    "Trace",
    "Verdict",
    "dump",
    "not_checked",
]
