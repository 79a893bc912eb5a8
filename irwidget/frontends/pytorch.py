"""PyTorch's models and functions: the front end, by torch.export and torch-mlir's importer, and its IR types."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irwidget import llvm_routes
from irwidget.checking import check as checking
from irwidget.checking import expected as expectations
from irwidget.checking.allowance import Unchecked
from irwidget.errors import ExportError, IRWidgetError, ToolError, UsageError
from irwidget.frontends import base, forms, importing, refusing
from irwidget.frontends import torch as export
from irwidget.frontends.base import Begun, FrontEnd, Given, Made
from irwidget.frontends.forms import PLAIN, Form
from irwidget.frontends.undo import bounded
from irwidget.lazy import cached_property
from irwidget.llvm_routes import TorchOptions
from irwidget.registry import Target
from irwidget.toolchain.named import Constants
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step, Trace, Verdict, not_checked

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def _torch_mlir_opt(pipeline: str, name: str) -> Step:
    return Step("torch-mlir-opt", f"builtin.module({pipeline})", name)


TORCH_BACKEND = _torch_mlir_opt(
    "func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline{extra-library=}",
    "torchdynamo-export-to-torch-backend-pipeline",
)
TOSA = _torch_mlir_opt("torch-backend-to-tosa-backend-pipeline", "torch-backend-to-tosa-backend-pipeline")
LINALG = _torch_mlir_opt(
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}",
    "torch-backend-to-linalg-on-tensors-backend-pipeline",
)
STABLEHLO = _torch_mlir_opt(
    "torch-backend-to-stablehlo-backend-pipeline{allow-non-finites=true}",
    "torch-backend-to-stablehlo-backend-pipeline",
)
TO_LINALG = (TORCH_BACKEND, LINALG)
_NAMES = {LINALG: "linalg", TOSA: "TOSA", STABLEHLO: "StableHLO"}


def _target(name: str, language: str, steps: tuple[Step, ...], summary: str) -> Target:
    # `--all` leaves machine code out: it takes a disassembler run per kernel
    return Target(name, "pytorch", language, steps, summary, options=TorchOptions, in_all=language != "sass")


TARGETS = (
    _target("torch_mlir", "mlir", (TORCH_BACKEND,), "torch dialect, decomposed"),
    _target("tosa_mlir", "mlir", (TORCH_BACKEND, TOSA), "TOSA"),
    _target("linalg_on_tensors_mlir", "mlir", TO_LINALG, "linalg on tensors"),
    _target("stablehlo_mlir", "mlir", (TORCH_BACKEND, STABLEHLO), "StableHLO"),
    *(
        _target(name, language, llvm_routes.steps(name, TO_LINALG), summary)
        for name, language, summary in (
            ("llvm_mlir", "mlir", "LLVM dialect"),
            ("llvm_ir", "llvm", "LLVM IR"),
            ("nvptx", "ptx", "PTX for NVIDIA GPUs"),
            ("amdgpu", "amdgcn", "assembly (AMDGCN) for AMD GPUs"),
            ("spirv", "spirv", "SPIR-V"),
            ("sass", "sass", "machine code of NVIDIA GPUs, of real kernels"),
        )
    ),
)


def _language(target: Target) -> str:
    """`linalg`, `TOSA` or `StableHLO`, where an IR type is reached by one of them."""
    return next((_NAMES[step] for step in target.steps if step in _NAMES), "")


def value_independent_steps() -> frozenset[Step]:
    """The steps of PyTorch's routes, with any target options, that do not look at the values of large floats.

    That to TOSA does: it transposes constants.
    """
    return llvm_routes.mlir_steps() | {*TO_LINALG, STABLEHLO}


class Model(Begun):
    """A model, exported at most once; one that cannot be exported is not exported again either."""

    def __init__(
        self,
        front_end: FrontEnd,
        given: Given,
        form: Form = PLAIN,
        then: Sequence[tuple[Form, Given]] = (),
        written: ExportedProgram | None = None,
    ) -> None:
        super().__init__(front_end, given)
        self._form = form
        self._then = then
        """The forms for what torch-mlir refuses of this one, which is none of the model as it is."""
        self._export_error: IRWidgetError | None = None
        self._import_error: IRWidgetError | None = None
        self._options = Options()
        self._lowered_by: dict[str, Model] = {}
        self._others: dict[str, Model | None] = {}
        self._written = written
        """What torch.export made before its operators were taken apart."""
        self._constants: Constants | None = None

    def prepare(self, options: Options) -> None:
        """Export it."""
        self._options = options
        if self._as_torch_mlir or self._other("") is None:
            _ = self._imported

    def lower(self, target: Target, extra: tuple[Step, ...], options: Options) -> Made:
        from irwidget.frontends import lost

        self._options = options
        model = self._lowered_by[target.name] = self._suited(target, options)
        if model is not self:
            model.prepare(options)
        source, frame = model._imported
        told = tuple(lost.remarks(model._program, _language(target)))
        if self._as_torch_mlir and target.steps:
            told = (*told, *forms.left_to_torch_mlir(self._program, _language(target).removeprefix("linalg")))
        frame = replace(frame, diagnostics=(*frame.diagnostics, *told))
        trace = refusing.named(base.run(source, (*target.steps, *extra), target.name, options, frame))
        return Made(trace, constants=model._constants)

    def _suited(self, target: Target, options: Options) -> Model:
        """This model, or its other form where it has one and torch-mlir refuses this, or lowers it to something else.

        Raises ExportError, before any pass is shown, for control flow that TOSA and StableHLO cannot say, and for what
        is doubtful and found to stop in a pass: operators, shapes and dtypes that an IR type has no form of.
        """
        if self._as_torch_mlir:
            return self
        language = _language(target)
        if language in ("TOSA", "StableHLO"):
            refusing.check_control_flow(self._program, self.given.called, language)
        if language == "TOSA":
            refusing.check_windows(self._program, self.given.called)
        other = self._other(language.removeprefix("linalg"))
        found_out = self._form is not PLAIN or (language and refusing.is_doubtful(self._program, language))
        if not target.steps or not (other or found_out):
            return self
        if other and other._form.instead:
            return other._suited(target, options)
        try:
            source, frame = self._imported
        except ExportError:
            if other is None:
                raise
            return other._suited(target, options)
        quiet = replace(options, dumps=False, progress=None)
        trace = refusing.named(base.run(source, target.steps, target.name, quiet, frame))
        failure, step = trace.failure, trace.failure and trace.step_of(trace.failure)
        by_llvm = step is not None and step.tool in ("opt", "llc")
        if failure is None or by_llvm or (other is None and failure.kind != "pass"):
            return self
        if other is None:
            raise refusing.stopped(self._program, self.given.called, failure, language or "the torch dialect")
        return other._suited(target, options)

    @property
    def _as_torch_mlir(self) -> bool:
        """Whether it is lowered as torch-mlir alone does."""
        return self.given.route == "explorer"

    def _other(self, language: str) -> Model | None:
        """The same model in other operators, of which torch-mlir's passes know more; None where this is all there is.

        `language` is `TOSA` or `StableHLO`, or empty for IR types by way of linalg.
        """
        if language not in self._others:
            found = forms.others(self.given, self._program, language) if self._form is PLAIN else self._then
            self._others[language] = self._in_form(*found[0], found[1:]) if found else None
        return self._others[language]

    def _in_form(self, form: Form, given: Given, then: Sequence[tuple[Form, Given]]) -> Model:
        """The same model in another form, traced once where it is given as it is here."""
        return Model(self.front_end, given, form, then, self._written if given is self.given else None)

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        """The result's, by the model itself; its own failure does not cost the lowering."""
        if (model := self._lowered_by.get(target.name, self)) is not self:
            return model.verdict(target, trace, options, source)
        try:
            with bounded("--check"):
                if isinstance(self._expected, str):
                    return not_checked(self._expected)
                begun = source or self._imported[0]
                found = checking.check(begun, trace, options, self._expected, each=self.given.check == "each")
                return found if source else checking.with_start(found, "the import")
        except ToolError as error:
            return not_checked(str(error))

    def check_model(self) -> None:
        """Raise UsageError for what is no PyTorch model, or does not take these inputs."""
        obj: Any = self.given.obj
        if isinstance(obj, str):
            raise UsageError("IR text starts at raw_ir: lower(text, to='raw_ir', pipeline='mlir-opt --canonicalize')")
        if not export.is_model(obj):
            kind = type(obj).__name__
            raise UsageError(f"lower() takes a torch.nn.Module, an ExportedProgram, a function or IR text, not {kind}")
        error = export.bind_error(obj, self.given.inputs, self.given.kwargs)
        if error:
            raise error

    @property
    def _program(self) -> ExportedProgram:
        """What torch.export makes of it, made once; one that it refuses is not exported again either."""
        if self._export_error is not None:
            raise self._export_error
        try:
            return self._first_export
        except (ExportError, ToolError, UsageError) as error:
            self._export_error = error
            raise

    @cached_property
    def _first_export(self) -> ExportedProgram:
        self.check_model()
        given, form = self.given, self._form
        return export.export(
            *(given.obj, given.inputs, given.kwargs, given.dynamic_shapes, given.called),
            in_parts=form.in_parts,
            more=form.decompositions,
            changes=form.changes,
            heard=self._hear,
            written=self._written,
        )

    def _hear(self, written: ExportedProgram) -> None:
        """Keep the program as it was written: a check may ask for it, and other forms are made of it."""
        self._written = written

    @cached_property
    def _expected(self) -> expectations.Expected | str:
        """What the model should return; or why that is not known."""
        given = self.given
        try:
            return expectations.expect(given.obj, given.inputs, given.kwargs, self._exported, seconds=checking.SECONDS)
        except Unchecked as error:
            return str(error)

    @cached_property
    def _exported(self) -> expectations.ExportedCopy:
        return expectations.ExportedCopy.of(self._program, self._written)

    @property
    def _imported(self) -> tuple[Source, Trace]:
        """The model as MLIR, made once."""
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
        if self.given.check:
            _ = self._exported  # an import changes the graph
        name, how = self.given.called, self._options
        started = time.perf_counter()
        program = self._program
        with bounded("torch-mlir's importer"):
            imported = importing.import_program(program, name, isolate=how.isolate, memory=how.memory)
        seconds = time.perf_counter() - started
        remarks = (*imported.remarks, *self._form.remarks)
        frame = Trace("", (), name=name, sources=imported.sources, diagnostics=remarks)
        if imported.weights:
            imported.weights.safe = value_independent_steps()
        self._constants = imported.constants
        source = Source(imported.bytecode, name="torch.export", seconds=seconds, weights=imported.weights)
        return source, frame


class PyTorch(FrontEnd):
    """Takes modules, exported programs and functions; these are nobody else's, so none is recognised as its own."""

    name = "pytorch"
    starts_from = "a PyTorch model"
    packages = ("torch", "torch-mlir")
    needs_torch = True
    without_dynamic_shapes = ""

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        planned = super().plan(wanted, options, route)
        ours = [target for target in planned if target.options is TorchOptions]
        if not ours:
            return planned
        names = [target.name for target in ours]
        choices = llvm_routes.choose(names, route, base.options_for(ours[0], options))
        return [
            replace(target, steps=llvm_routes.steps(target.name, TO_LINALG, choices))
            if target.name in llvm_routes.NAMES
            else target
            for target in planned
        ]

    def begin(self, given: Given) -> Begun:
        return Model(self, given)


FRONT_END = PyTorch()
