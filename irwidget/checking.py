"""`--check`: execute what a lowering made and compare it with eager PyTorch.

Each level is executed through the standard route from its dialect, so that a
custom pass is judged by another path than its own.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from irwidget import llvm_routes, pipelines
from irwidget.dumps import Diagnostic, Dump, Step, Trace
from irwidget.toolchain.events import Array, Invocation
from irwidget.toolchain.execute import RESULTS
from irwidget.toolchain.run import Options, Source

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

SECONDS = 60.0
"""The time-out of one execution, compilation included, when the user gives none."""
LARGEST = 64 * 2**20
"""Bytes of the model beyond which nothing is executed: MLIR's naive loops would take minutes."""
_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 6e-2}

_FROM_TORCH = (
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
)
_BFLOAT = "func.func(arith-expand{include-bf16=true})"
"""The JIT has no library that converts bfloat16."""
_FROM_TOSA = "func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor,tosa-to-scf)"
_FROM_STABLEHLO = "func.func(chlo-legalize-to-stablehlo),stablehlo-legalize-to-linalg"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one dump's results compare with eager PyTorch."""

    dump: str
    """The name of the pass after which the IR was executed."""
    ok: bool
    max_abs: float | None = None
    """The largest absolute difference over all results; None when it could not be executed."""
    max_rel: float | None = None
    """The same, relative to the largest eager value."""
    reason: str = ""
    """Why it could not be executed, or how it differs."""

    def __str__(self) -> str:
        if self.max_abs is None:
            return f"after {self.dump}: not executed: {self.reason}"
        verdict = "equal to eager PyTorch" if self.ok else "DIFFERS from eager PyTorch"
        return f"after {self.dump}: {verdict} (max abs error {self.max_abs:.1e}, relative {self.max_rel:.1e})"


@dataclass(frozen=True)
class Expected:
    """Inputs of `@main` and what eager PyTorch makes of them."""

    invocation: Invocation
    outputs: tuple[torch.Tensor, ...]


def expect(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], program: ExportedProgram) -> Expected:
    """Run a copy of the model eagerly; its inputs and outputs as `@main` has them."""
    import torch
    from torch.utils import _pytree as pytree

    ours, given, named = copy.deepcopy((model, args, kwargs))
    call = ours.module() if isinstance(ours, torch.export.ExportedProgram) else ours
    with torch.no_grad():
        outputs = [leaf for leaf in pytree.tree_leaves(call(*given, **named)) if isinstance(leaf, torch.Tensor)]
    inputs = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    (returned,) = program.graph.find_nodes(op="output")
    values = [node.meta["val"] for node in returned.args[0] if hasattr(node, "meta")]
    return Expected(
        Invocation(
            tuple(_array(tensor) for tensor in inputs),
            tuple((value.dim(), value.element_size()) for value in values),
        ),
        tuple(outputs),
    )


def check(source: Source, trace: Trace, options: Options, expected: Expected, *, each: bool) -> Trace:
    """The trace with verdicts: `facts["check"]` for the last level that can be executed, and with `each` for all."""
    if source.size > LARGEST:
        reason = f"the model is larger than {LARGEST >> 20} MiB"
        return with_verdicts(trace, [Verdict(trace.dumps[-1].name, False, reason=reason)], each)
    passes = _passes(trace.dumps)
    runnable = [i for i, dump in enumerate(trace.dumps) if (i == 0 or dump.changed) and route(dump) is not None]
    verdicts: list[Verdict] = []
    # Without `each`, the last level that can be executed: not LLVM's for bfloat16, which the JIT cannot convert.
    last_of_step = {trace.dumps[i].step: i for i in runnable}
    for index in runnable if each else reversed(last_of_step.values()):
        verdicts.append(_one(source, trace.dumps[index], tuple(passes[1 : index + 1]), options, expected))
        if not each and verdicts[-1].max_abs is not None:
            break
    return with_verdicts(trace, verdicts, each)


def _passes(dumps: Sequence[Dump]) -> list[Step]:
    """A step for each dump's own pass; the first, for the input, is empty."""
    return [pipelines.parse(dump.pipeline)[0] if dump.pipeline else Step("", "") for dump in dumps]


def route(dump: Dump) -> str | None:
    """The standard pipeline from a dump's dialects to LLVM's; None when it is no whole module on its own."""
    text = dump.text
    if dump.language != "mlir" or "torch_c." in text or "@main" not in text:
        return None
    if "!torch." in text:
        first = _FROM_TORCH
    elif " chlo." in text or "stablehlo." in text:
        first = _FROM_STABLEHLO
    elif "tosa." in text:
        first = _FROM_TOSA
    elif "llvm.func @main" in text:
        return "builtin.module(canonicalize)"
    else:
        first = ""
    steps = (llvm_routes.LOOPS, llvm_routes.TO_LLVM)
    rest = [step.arguments.removeprefix("builtin.module(").removesuffix(")") for step in steps]
    return f"builtin.module({','.join(part for part in (first, _BFLOAT, *rest) if part)})"


def _one(source: Source, dump: Dump, steps: tuple[Step, ...], options: Options, expected: Expected) -> Verdict:
    """Execute the IR after some passes."""
    execute = Step("execute", route(dump) or "")
    timeout = min(SECONDS, options.timeout) if options.timeout else SECONDS
    how = replace(options, dumps=True, timeout=timeout, progress=None, invocation=expected.invocation)
    trace = source.run((*steps, execute), how)
    if trace.failure:
        return Verdict(dump.name, False, reason=trace.failure.message.splitlines()[0])
    results: Sequence[Array] = trace.facts[RESULTS]
    return _compare(dump.name, results[len(results) - len(expected.outputs) :], expected.outputs)


def compare(name: str, results: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> Verdict:
    """How results compare with those of eager PyTorch."""
    return _compare(name, [_array(result) for result in results], outputs)


def _compare(name: str, results: Sequence[Array], outputs: Sequence[torch.Tensor]) -> Verdict:
    import torch

    max_abs = max_rel = 0.0
    ok = True
    for result, output in zip(results, outputs, strict=True):
        if result.shape != tuple(output.shape):
            return Verdict(name, False, float("inf"), float("inf"), f"shape {result.shape}, not {tuple(output.shape)}")
        if not result.data:
            continue
        got = torch.frombuffer(bytearray(result.data), dtype=output.dtype).reshape(output.shape).to(torch.float64)
        want = output.to(torch.float64)
        difference = (got - want).abs()
        error = float(torch.where(got.isnan() & want.isnan() | (got == want), 0.0, difference).max())
        error = float("inf") if error != error else error
        scale = max(1.0, float(want.abs().nan_to_num(posinf=0.0).max()))
        max_abs, max_rel = max(max_abs, error), max(max_rel, error / scale)
        ok = ok and error <= _TOLERANCES.get(str(output.dtype).removeprefix("torch."), 0.0) * scale
    return Verdict(name, ok, max_abs, max_rel)


def with_verdicts(trace: Trace, verdicts: Sequence[Verdict], each: bool) -> Trace:
    """The trace with the verdicts as facts and in words."""
    if not verdicts:
        verdicts = [Verdict(trace.dumps[-1].name, False, reason="no dump is a module that can be executed")]
    wrong = next((verdict for verdict in verdicts if verdict.max_abs is not None and not verdict.ok), None)
    facts: dict[str, Any] = {"check": asdict(wrong or verdicts[-1])}
    if each:
        facts["check each"] = [asdict(verdict) for verdict in verdicts]
        facts["first wrong pass"] = wrong.dump if wrong else None
    said = Diagnostic("error" if wrong else "remark", f"check: {wrong or verdicts[-1]}")
    return replace(trace, facts={**trace.facts, **facts}, diagnostics=(*trace.diagnostics, said))


def _array(tensor: torch.Tensor) -> Array:
    import torch

    flat = tensor.detach().contiguous()
    return Array(flat.reshape(-1).view(torch.uint8).numpy().tobytes() if flat.numel() else b"", tuple(tensor.shape))
