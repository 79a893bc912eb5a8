"""MLIR by torch-mlir's bindings: contexts, textual pipelines taken apart, snapshots, text.

Runs in the worker process (or, with `isolate=False`, in the kernel). Never
imports torch: the worker starts in a third of a second without it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget import private_torch_mlir
from irwidget.toolchain import assert_names, locations, parsing
from irwidget.trace import WHOLE, Content, Diagnostic, Scope, syntax

ir: Any = None
passmanager: Any = None

_LOADERS = (
    "torch-func-backend-type-conversion",
    "func.func(convert-torch-to-tmtensor)",
    "func.func(convert-torch-to-stablehlo)",
)
"""torch_c, tm_tensor, stablehlo and chlo cannot be loaded by name: a pass that depends on them loads them."""
_BUFFER = "-"
"""The file of locations in text that is parsed."""
LARGE_ELEMENTS = 10
"""Dense constants of more elements than this are elided."""
_NO_RESOURCES = "{-#\n\n#-}"
"""What MLIR prints when every resource is elided."""
LARGE_RESOURCE = 64
"""Resource blobs of more characters than this are elided."""
_RESOURCE = re.compile(r"dense_resource<([^>]+)>")


class PipelineError(Exception):
    """MLIR could not parse a pipeline."""


class PassFailed(Exception):
    """A pass signalled failure; `name` where something before it did, as the parser."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...], name: str = "") -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.name = name


def _load() -> None:
    global ir, passmanager
    if ir is None:
        from torch_mlir import ir as mlir_ir  # pyright: ignore[reportMissingImports]
        from torch_mlir import passmanager as mlir_passmanager  # pyright: ignore[reportMissingImports]

        ir, passmanager = mlir_ir, mlir_passmanager


_spare: list[Any] = []


def prepare() -> None:
    """Make the next context before somebody waits for it."""
    if not _spare:
        _spare.append(_make_context())


def new_context() -> Any:
    """A context that knows every dialect and pass of the torch-mlir wheel."""
    return _spare.pop() if _spare else _make_context()


def _make_context() -> Any:
    _load()
    from torch_mlir.dialects import torch as torch_dialect  # pyright: ignore[reportMissingImports]

    context = ir.Context()
    torch_dialect.register_dialect(context)
    if private_torch_mlir.has_stablehlo():
        private_torch_mlir.register_stablehlo_passes()
    with context:
        empty = ir.Module.parse("module {}")
        for loader in _LOADERS:
            with contextlib.suppress(ValueError):  # a build may lack it: a pipeline that names it says so
                passmanager.PassManager.parse(f"builtin.module({loader})").run(empty.operation)
    return context


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """One pass of a pipeline, able to run by itself."""

    name: str
    options: str
    anchors: tuple[str, ...]

    @property
    def pipeline(self) -> str:
        text = self.name + (f"{{{self.options}}}" if self.options else "")
        for anchor in reversed(self.anchors):
            text = f"{anchor}({text})"
        return text

    @property
    def scope(self) -> Scope:
        inner = [anchor for anchor in self.anchors if anchor != "builtin.module"]
        return Scope(anchor=inner[-1]) if inner else WHOLE


def plan(pipeline: str, context: Any) -> list[PlannedPass]:
    """Take a textual pipeline apart into its passes, registered pipelines expanded.

    Raises PipelineError with MLIR's message when the text does not parse.
    """
    _load()
    try:
        expanded = str(passmanager.PassManager.parse(pipeline, context=context))
    except ValueError as error:
        raise PipelineError(str(error).strip()) from None
    return [_reparsable(leaf, context) for leaf in leaves(expanded)]


def _reparsable(leaf: PlannedPass, context: Any) -> PlannedPass:
    """A few options print as `name=` and do not parse back; left out, they take their default."""
    if "= " not in leaf.options + " ":
        return leaf
    try:
        passmanager.PassManager.parse(leaf.pipeline, context=context)
    except ValueError:
        return reparsable(leaf)
    return leaf


def reparsable(leaf: PlannedPass) -> PlannedPass:
    """A pass as it was printed, without the options that print as `name=`."""
    kept = [option for option in leaf.options.split() if not option.endswith("=")]
    return PlannedPass(leaf.name, " ".join(kept), leaf.anchors)


def leaves(pipeline: str) -> Iterator[PlannedPass]:
    """The passes of a printed pipeline, in order."""
    anchors: list[str] = []
    position = 0
    name = re.compile(r"[\w.\-]+")
    while position < len(pipeline):
        match = name.match(pipeline, position)
        if match is None:
            if pipeline[position] == ")":
                anchors.pop()
            position += 1
            continue
        position = match.end()
        following = pipeline[position : position + 1]
        if following == "(":
            anchors.append(match[0])
            position += 1
            continue
        options = ""
        if following == "{":
            end = _closing_brace(pipeline, position)
            options = " ".join(pipeline[position + 1 : end].split())
            position = end + 1
        yield PlannedPass(match[0], options, tuple(anchors))


def _closing_brace(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise PipelineError(f"unbalanced braces in pipeline: {text}")


def run(planned: PlannedPass, module: Any, *, verify: bool = True, more: bool = False) -> None:
    """Run one pass on a module, in place. Raises PassFailed with its diagnostics.

    `more` says that the next pass has the same anchors. Like MLIR, which groups such passes, the functions are then
    verified and the module is not.
    """
    operations = [module.operation]
    if more and planned.anchors == ("builtin.module", "func.func"):
        operations = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
        planned = PlannedPass(planned.name, planned.options, ("func.func",))
    manager = passmanager.PassManager.parse(planned.pipeline, context=module.context)
    manager.enable_verifier(verify)
    before = assert_names.of(module) if planned.name in assert_names.PASSES else None
    try:
        for operation in operations:
            manager.run(operation)
    except ir.MLIRError as error:
        found = tuple(_diagnostic(d) for d in error.error_diagnostics)
        raise PassFailed(found[0].message if found else error.message, found) from None
    if before is not None:
        assert_names.number_from_zero(module, before, ir.SymbolTable)


def parse(source: bytes | str, context: Any) -> Any:
    """A module from bytecode or text. Raises PassFailed with the parser's or verifier's diagnostics.

    What is wrong with a text is told with the line that it is in.
    """
    try:
        return ir.Module.parse(source, context=context)
    except ir.MLIRError as error:
        found = tuple(_diagnostic(d) for d in error.error_diagnostics)
        if isinstance(source, str) and found:
            found = tuple(parsing.placed(source, one, _BUFFER) for one in found)
            raise PassFailed(parsing.explained(source, found[0]), found) from None
        raise PassFailed(found[0].message if found else error.message, found) from None


def operations(root: Any) -> Iterator[Any]:
    """All operations inside of one, each before those inside of it."""
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from operations(view.operation)


def is_elided(value: Any) -> bool:
    """Whether an attribute is a constant of so many elements that texts leave them out."""
    return isinstance(value, ir.DenseElementsAttr) and not value.is_splat and len(value) > LARGE_ELEMENTS


def main_of(module: Any) -> Any:
    """The function `main` of a module; None where there is none."""
    named = (view.operation for view in module.body.operations if "sym_name" in view.attributes)
    return next((one for one in named if one.attributes["sym_name"].value == "main"), None)


def bytecode(module: Any) -> bytes:
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def _diagnostic(info: Any) -> Diagnostic:
    place = str(info.location)
    return Diagnostic(
        severity=str(info.severity).rsplit(".", 1)[-1].lower(),  # pyright: ignore[reportArgumentType]
        message=str(info.message),
        location=locations.user_location(place)
        or next((frame for frame in locations.frames(place) if not locations.is_installed(frame.file)), None),
        notes=tuple(_diagnostic(note) for note in info.notes),
    )


def content(asm: str) -> Content:
    """IR printed with debug information, as text and a user's line for each of its lines."""
    text, places = locations.strip(asm)
    text = text.rstrip("\n").removesuffix(_NO_RESOURCES).rstrip("\n") + "\n"
    return Content(text, True, places[: text.count("\n")])


@dataclass(slots=True)
class MlirState:
    """A module at one point of a lowering."""

    module: Any
    language: str = "mlir"
    resources: Mapping[str, str] | None = None
    """What a text that is elided has for each resource, when that is known; empty for a large one."""

    def snapshot(self) -> MlirState:
        """A copy that later passes leave alone. Attributes, so weights, are shared."""
        return MlirState(self.module.operation.clone(), self.language, self.resources)

    def render(self, elide: bool) -> Content:
        """The text, with the user's source line for each of its lines."""
        return content(self.asm(elide=elide))

    def asm(self, *, elide: bool) -> str:
        """The text with locations.

        MLIR writes a resource out to find that it is too large to be shown, which takes seconds for a model's weights:
        it is told to leave all out, and those that are known to be small are put in here.
        """
        if not elide:
            return self._printed()
        if self.resources is not None:
            asm = self._printed(large_elements_limit=LARGE_ELEMENTS, large_resource_limit=0)
            named = dict.fromkeys(_RESOURCE.findall(asm))
            if named.keys() <= self.resources.keys():
                shown = [f"      {name}: {text}" for name in named if (text := self.resources[name])]
                return _with_resources(asm, shown)
        return self._printed(large_elements_limit=LARGE_ELEMENTS, large_resource_limit=LARGE_RESOURCE)

    def _printed(self, **limits: int) -> str:
        return self.module.operation.get_asm(enable_debug_info=True, assume_verified=True, **limits)


def _with_resources(asm: str, shown: Sequence[str]) -> str:
    """A text without resources, with a section of them."""
    if not shown:
        return asm
    section = "{-#\n  dialect_resources: {\n    builtin: {\n" + ",\n".join(shown) + "\n    }\n  }\n#-}\n"
    return asm.rstrip("\n").removesuffix(_NO_RESOURCES) + section


def shown_resources(module: Any) -> dict[str, str]:
    """What a text that is elided has for each resource of a module; empty for those that are left out."""
    asm = MlirState(module).asm(elide=True)
    return dict.fromkeys(_RESOURCE.findall(asm), "") | syntax.written(asm)
