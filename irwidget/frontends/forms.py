"""The forms in which a model can be exported: as it is, or in operators that more of torch-mlir's passes know.

Where torch-mlir lowers a program as it is, that is what is shown, to the letter; the other form is for what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from irwidget.frontends.base import Given
from irwidget.private_torch_export import known_sizes
from irwidget.trace import Diagnostic

if TYPE_CHECKING:
    from torch.export import ExportedProgram


@dataclass(frozen=True)
class Form:
    """How a model is exported."""

    in_parts: bool = False
    """Complex numbers as real and imaginary parts."""
    decompositions: Mapping[Any, Callable[..., Any]] = field(default_factory=dict[Any, Any])
    """Those besides torch-mlir's, by operator."""
    changes: tuple[Callable[[ExportedProgram], None], ...] = ()
    """What is changed in the exported program itself, as indices that count from the back."""
    instead: bool = False
    """Whether it is shown where torch-mlir lowers the program as it is, too: to something else."""
    remarks: tuple[Diagnostic, ...] = ()
    """What the user should know of it."""


PLAIN = Form()


def others(given: Given, program: ExportedProgram, language: str = "") -> list[tuple[Form, Given]]:
    """The other forms of a model, each with what is then exported in its place; each is for what the one before is not.

    The first is in place of what torch-mlir lowers to something else, where it does, the last of what is refused.
    `language` is that of the IR type where it has fewer operators than linalg: `TOSA` or `StableHLO`.
    """
    from irwidget.frontends import (
        batching,
        complex_parts,
        counting,
        decompositions,
        decompositions_empty,
        indices,
        inferring,
        refusing,
    )

    chosen = decompositions.of(program, language)
    backwards = indices.wrong(program, language)
    changes = (indices.from_the_front,) if backwards else ()
    if language == "TOSA" and refusing.is_dynamic(program):
        changes = (*changes, counting.counted, batching.beside_inputs, inferring.inferred)
    wrong = [
        f"{operator} is decomposed: as it is, torch-mlir lowers it to something else, or refuses it"
        for operator in chosen.wrong
    ]
    wrong += [
        f"{operator}: torch-mlir lowers negative indices as they are, so they are given from the front"
        for operator in backwards
    ]
    said = [f"{operator} is decomposed: torch-mlir's passes refuse the program with it" for operator in chosen.refused]
    found: list[tuple[Form, Given]] = []
    if wrong:
        table = {operator: chosen.table[operator] for operator in chosen.wrong}
        found.append((Form(False, table, changes, True, _remarks(wrong)), given))
    if language == "TOSA" and indices.by_number(program):
        said.append("aten.select.int at an index of no dimensions is a read of a row of one: TOSA has no such numbers")
        changes = (indices.as_places, *changes)
    if language != "TOSA" and decompositions_empty.of_none(program):
        said.append("tensors of no elements are new ones: torch-mlir's passes refuse operators that make them")
        changes = (*changes, decompositions_empty.as_new)
    if known_sizes(program):
        said.append(
            "sizes that are known to be a number, as in view(n // 4, 4), are it: torch-mlir's passes refuse others"
        )
        changes = (*changes, _with_known_sizes)
    if language == "TOSA" and batching.of(program):
        said.append("tensors with as many rows as an input are chosen beside it: TOSA has no sizes that are computed")
    if language == "TOSA" and counting.of(program):
        said.append("sizes that numbers are divided by, or the like, are counted: TOSA has none that are computed")
    if language == "TOSA" and inferring.of(program):
        said.append("dynamic sizes of views are inferred: TOSA has none that are computed")
    in_parts = complex_parts.has_complex(program)
    if in_parts:
        given = _in_parts(given)
        changed = " and of its inputs and results" if complex_parts.in_signature(program) else ""
        said.append(
            f"complex numbers of the model{changed} are real and imaginary parts, in a last dimension of two: "
            "torch-mlir's passes refuse the operators of complex numbers"
        )
    if wrong or said:
        found.append((Form(in_parts, chosen.table, changes, False, _remarks(said + wrong)), given))
    return found


def left_to_torch_mlir(program: ExportedProgram, language: str = "") -> tuple[Diagnostic, ...]:
    """Remarks on what another form would be in place of, for a program that is lowered as torch-mlir alone does."""
    from irwidget.frontends import decompositions, indices

    said = [str(operator) for operator in decompositions.of(program, language).wrong]
    said += [f"negative indices of {operator}" for operator in indices.wrong(program, language)]
    why = "torch-mlir lowers it to something else, or refuses it; the robust route decomposes it"
    return _remarks([f"{one}, as it is here: {why}" for one in said])


def _with_known_sizes(program: ExportedProgram) -> None:
    for node, value in known_sizes(program).items():
        node.meta["val"] = value
        node.meta.pop("tensor_meta", None)  # which torch-mlir's importer reads first


def _in_parts(given: Given) -> Given:
    """The model that takes and returns pairs of real numbers, and these."""
    from irwidget.frontends import complex_parts, dynamic_shapes

    model = complex_parts.RealSignature(given.obj, given.inputs, given.kwargs)
    shapes = dynamic_shapes.flat(given.dynamic_shapes, model.forward, given.inputs, len(given.kwargs))
    shapes = dynamic_shapes.with_pairs(shapes, (*given.inputs, *given.kwargs.values()))
    inputs, kwargs = complex_parts.as_real((given.inputs, dict(given.kwargs)))
    return replace(given, obj=model, inputs=inputs, kwargs=kwargs, dynamic_shapes=shapes, name=given.called)


def _remarks(said: list[str]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic("remark", one) for one in said)
