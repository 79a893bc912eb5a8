"""The pipeline: every pass in order, each leaving a dump (section 15)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from irwidget.dumps import Dump, Step, Trace, dump
from irwidget.spyre import texts
from irwidget.spyre.bundling import Bundle, HostCall, bundle
from irwidget.spyre.candidates import propagate
from irwidget.spyre.chunking import chunk_large_tensors
from irwidget.spyre.cleanup import eliminate_dead_code, promote_constants, split_multi_ops, validate_ops
from irwidget.spyre.division import divide
from irwidget.spyre.hardware import SEMANTICS
from irwidget.spyre.ir import Graph
from irwidget.spyre.kernel import Kernel, make_kernel
from irwidget.spyre.lowering import lower_graph
from irwidget.spyre.named import hinted_divisions, named_sizes, propagate_names
from irwidget.spyre.options import make_options
from irwidget.spyre.padding import pad_matmuls
from irwidget.spyre.pool import plan_pool
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.restickify import choose_layouts, commit_layouts, insert_restickify
from irwidget.spyre.scratchpad import co_optimize, plan_scratchpad
from irwidget.spyre.tiling import coarse_tile, set_advances

T = TypeVar("T")

STEPS = {
    "fx": Step("spyre", "FX graph: capture, decompositions, rewrites", "fx"),
    "loop-ir": Step("spyre", "loop IR: layouts, padding, tiling, core division, scratchpad", "loop-ir"),
    "scheduler": Step("spyre", "kernels: pool, bundling", "scheduler"),
    "codegen": Step("spyre", "OpSpec, SuperDSC, bundle.mlir, host module", "codegen"),
}


@dataclass
class _Recorder:
    """Takes the dump after each pass; texts are made when they are read."""

    dumps: list[Dump] = field(default_factory=list[Dump])
    previous: object = None

    def __call__(
        self, name: str, step: str, language: str, run: Callable[[], T], show: Callable[[T], texts.Shown], options: str = "",
    ) -> T:
        begun = time.perf_counter()
        result = run()
        self.dumps.append(texts.lazy_dump(
            name, step, language, lambda: show(result), self.dumps[-1] if self.dumps else None,
            options=options, seconds=time.perf_counter() - begun,
        ))
        return result


def compile(  # noqa: A001  (the public name)
    fn: Any, inputs: Any, cores: int = 32, *, name: str | None = None, **options: Any,
) -> SpyreProgram:
    """Compile a function or module for Spyre, from FX to SuperDSC, bundle and host module.

    `inputs`: tensors (real, meta or fake), TensorSpecs and plain values, as a sequence, or a mapping of keywords;
    nothing of their size is allocated. `cores`: 1 to 32. Options: see `irwidget.spyre.Options`.

    Raises UsageError for bad options, UnsupportedError for what the front end refuses, ExportError when the
    function cannot be traced.
    """
    given = make_options(cores, options)
    from irwidget.spyre.capture import capture, decompose
    from irwidget.spyre.rewrites import rewrite

    record = _Recorder()
    label = name or getattr(fn, "__name__", type(fn).__name__)
    captured = record("capture", "fx", "fx", lambda: capture(fn, inputs, given), texts.captured)
    module = record("decompositions", "fx", "fx", lambda: decompose(captured), texts.fx)
    module = record("rewrites", "fx", "fx", lambda: rewrite(module), texts.fx, "addmm mm-to-bmm unit-bmm bmm-unflatten")

    found: dict[str, Any] = {}

    def lowered() -> Graph:
        graph, found["constants"] = lower_graph(module, captured.inputs)
        return graph

    def loop_pass(pass_name: str, change: Callable[[Graph], Graph], on: Graph, options: str = "") -> Graph:
        return record(pass_name, "loop-ir", "text", lambda: change(on), texts.graph, options)

    graph = record("lower", "loop-ir", "text", lowered, texts.graph)
    graph = loop_pass("deadcode_elimination", eliminate_dead_code, graph)
    graph = loop_pass("split_multi_ops", split_multi_ops, graph)
    candidates = record("propagate_spyre_tensor_layouts", "loop-ir", "text", lambda: propagate(graph), texts.candidates(graph))
    graph = loop_pass("validate_ops", validate_ops, graph)
    choice = record(
        "optimize_restickify_locations", "loop-ir", "text", lambda: choose_layouts(graph, candidates, given),
        texts.layouts(graph), f"layout_solver={given.layout_solver} beam_width={given.beam_width}",
    )
    graph = loop_pass("finalize_layouts", lambda g: commit_layouts(g, choice), graph)
    graph = loop_pass("insert_restickify", lambda g: insert_restickify(g, choice), graph)
    graph = loop_pass("insert_bmm_padding", pad_matmuls, graph)
    graph = loop_pass("dedup_and_promote_constants", promote_constants, graph)
    if given.chunk_large_tensors:
        graph = loop_pass("chunk_large_tensors", lambda g: chunk_large_tensors(g, given), graph)
    graph = loop_pass("propagate_named_dims", lambda g: propagate_names(g), graph)
    hints = {} if given.ignore_hints else hinted_divisions(graph, given)
    if not given.ignore_hints:
        graph = loop_pass("coarse_tile", coarse_tile, graph)
    graph, divisions = record(
        "work_distribution", "loop-ir", "text", lambda: divide(graph, given, hints), texts.divided, f"cores={given.cores}",
    )
    if given.co_optimizing_lx_planning and given.lx_planning:
        graph = loop_pass("co_optimize_division", lambda g: co_optimize(g, divisions, given), graph)
    pad = record("scratchpad_planning", "loop-ir", "text", lambda: plan_scratchpad(graph, given),
                 texts.scratchpad(graph), f"lx_solver={given.lx_solver} bytes={given.lx_bytes}")
    pool = record("memory_planning", "scheduler", "text", lambda: plan_pool(graph, pad.addresses), texts.pool(graph))
    steps = record("spyre_fuse_nodes", "scheduler", "text", lambda: bundle(graph, pad.addresses, pool.offsets), texts.bundles)
    places = {**{n: ("lx", a) for n, a in pad.addresses.items()}, **{n: ("pool", a) for n, a in pool.offsets.items()}}
    made = record("opspec", "codegen", "python", lambda: _kernels(graph, steps, given, places, bool(pool.offsets)), texts.opspecs)
    record("superdsc", "codegen", "json", lambda: made, texts.superdscs)
    record("bundle_mlir", "codegen", "mlir", lambda: made, texts.bundle_mlirs, f"unroll_loops={given.unroll_loops}")
    record("host_module", "codegen", "python", lambda: made, texts.host(graph, pool.bytes))
    trace = Trace(
        "spyre_host", tuple(record.dumps), tuple(STEPS.values()), tools={"spyre front end": SEMANTICS}, name=label,
        facts={"semantics": SEMANTICS, "cores": given.cores, "kernels": sum(isinstance(s, Kernel) for s in made),
               "restickify_cost": choice.cost, "pool_bytes": pool.bytes},
        diagnostics=texts.diagnostics(graph, divisions, made),
    )
    return SpyreProgram(
        label, given, graph, made, divisions, choice, pad, pool, trace, {**captured.bound, **found["constants"]},
        captured.call_inputs, captured.output_tree, named_sizes(graph),
    )


def _kernels(
    graph: Graph, steps: tuple[Bundle | HostCall, ...], options: Any, places: Mapping[str, tuple[str, int]], pooled: bool,
) -> tuple[Kernel | HostCall, ...]:
    return tuple(
        step if isinstance(step, HostCall) else set_advances(graph, make_kernel(graph, step, options, places, pooled))
        for step in steps
    )


def empty_dump(name: str) -> Dump:
    return dump(name, "", step="fx", language="text")
